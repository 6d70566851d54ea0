"""Where allocations lie in one arena: those whose lifetimes do not overlap share memory."""

from __future__ import annotations

from collections.abc import Sequence

ALIGN = 64
"""A cache line, and a vector."""

Lifetime = tuple[int, int]
"""The first and the last step that need an allocation."""


class Arena:
    """Memory for allocations of certain lifetimes, whatever their sizes are."""

    def __init__(self, lifetimes: Sequence[Lifetime]) -> None:
        self._neighbours = _neighbours(lifetimes)

    def offsets(self, sizes: Sequence[int]) -> tuple[list[int], int]:
        """The offset of each allocation, and the bytes of all: the largest first, each in the lowest gap that fits."""
        starts: list[int] = [-1] * len(sizes)
        ends = starts.copy()
        total = 0
        for index in sorted(range(len(sizes)), key=sizes.__getitem__, reverse=True):
            size = -(-sizes[index] // ALIGN) * ALIGN
            if size == 0:
                starts[index] = ends[index] = 0
                continue
            at = 0
            for start, end in sorted([(starts[i], ends[i]) for i in self._neighbours[index] if starts[i] >= 0]):
                if at + size <= start:
                    break
                if end > at:
                    at = end
            starts[index] = at
            ends[index] = at + size
            total = max(total, at + size)
        return starts, total


def _neighbours(lifetimes: Sequence[Lifetime]) -> list[list[int]]:
    """For each allocation, the others that are needed at the same time as it."""
    neighbours: list[list[int]] = [[] for _ in lifetimes]
    live: list[int] = []
    for index in sorted(range(len(lifetimes)), key=lambda i: lifetimes[i][0]):
        first, _ = lifetimes[index]
        live = [other for other in live if lifetimes[other][1] >= first]
        for other in live:
            neighbours[index].append(other)
            neighbours[other].append(index)
        live.append(index)
    return neighbours


def rounded(size: int) -> int:
    """A size with all but its first three bits rounded up: at most an eighth more, so that it may grow a little."""
    step = max(ALIGN, 1 << max(0, size.bit_length() - 4))
    return -(-size // step) * step
