"""Where buffers lie in one piece of memory: those whose lives do not overlap share a place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

ALIGN = 64
"""A cache line, and a vector."""


@dataclass(frozen=True, slots=True)
class Life:
    """The bytes of a buffer, and the first and last step that need it."""

    size: int
    first: int
    last: int


def offsets(lives: Sequence[Life]) -> tuple[list[int], int]:
    """The place of each buffer, and the bytes of all together: the largest first, each in the lowest gap that fits."""
    placed: list[tuple[int, int, Life]] = []
    found = [0] * len(lives)
    total = 0
    for index in sorted(range(len(lives)), key=lambda i: -lives[i].size):
        life = lives[index]
        size = -(-life.size // ALIGN) * ALIGN
        at = 0
        for start, end, other in placed:  # in order of their starts
            if other.first <= life.last and life.first <= other.last:
                if at + size <= start:
                    break
                at = max(at, end)
        found[index] = at
        total = max(total, at + size)
        placed.append((at, at + size, life))
        placed.sort(key=lambda item: item[0])
    return found, total
