"""Where allocations lie in one arena: those whose lifetimes do not overlap share memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

ALIGN = 64
"""A cache line, and a vector."""


@dataclass(frozen=True, slots=True)
class Lifetime:
    """The bytes of an allocation, and the first and last step that need it."""

    size: int
    first: int
    last: int


def offsets(lifetimes: Sequence[Lifetime]) -> tuple[list[int], int]:
    """The offset of each allocation, and the bytes of all: the largest first, each in the lowest gap that fits."""
    placed: list[tuple[int, int, Lifetime]] = []
    starts = [0] * len(lifetimes)
    total = 0
    for index in sorted(range(len(lifetimes)), key=lambda i: -lifetimes[i].size):
        lifetime = lifetimes[index]
        size = -(-lifetime.size // ALIGN) * ALIGN
        at = 0
        for start, end, other in placed:  # in order of their starts
            if other.first <= lifetime.last and lifetime.first <= other.last:
                if at + size <= start:
                    break
                at = max(at, end)
        starts[index] = at
        total = max(total, at + size)
        placed.append((at, at + size, lifetime))
        placed.sort(key=lambda item: item[0])
    return starts, total


def rounded(size: int) -> int:
    """A size with all but its first three bits rounded up: at most an eighth more, so that it may grow a little."""
    step = max(ALIGN, 1 << max(0, size.bit_length() - 4))
    return -(-size // step) * step
