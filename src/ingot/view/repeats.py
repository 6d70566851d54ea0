"""Equal stretches one after the other in a sequence: the layers of a model, whatever its nodes are called."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ingot.dataclass import dataclass
from ingot.view.flow import Indices

_LONGEST_PERIOD = 4000
_MOST_OFFSETS = 400
_LEAST_LEAVES = 3
"""Of a stretch that a longer one consists of: pairs, as of a convolution and its activation, say too little."""


@dataclass(frozen=True, slots=True)
class Repeat:
    """`count` stretches of `period` elements each, the first of which begins at `start`."""

    start: int
    period: int
    count: int

    @property
    def end(self) -> int:
        return self.start + self.period * self.count


def best_repeat(signs: Sequence[int], sizes: Sequence[int], edges: Indices, least: int) -> Repeat | None:
    """The repeat in a sequence that covers most, or None.

    Stretches are equal if the signs of their elements are, and the edges between these, given as rows of places. A
    stretch has at least `least` leaves, `sizes` being those of the elements; but one that consists of equal shorter
    ones is these. Where a repeat may begin at several places, fewest values cross its borders.
    """
    if len(signs) < 2:
        return None
    sums = np.concatenate([[0], np.cumsum(sizes)])
    candidates = sorted(
        _candidates(np.array(signs, np.int64), sums, least), key=lambda entry: (-entry[0], entry[1].period)
    )
    for _, repeat, slack in candidates[:8]:
        moved = _moved(repeat, slack, edges)
        same = _alike(moved, edges)
        if same is not None:
            return _finest(same, np.array(signs, np.int64), sums, edges)
    return None


def crossings(edges: Indices, length: int) -> Indices:
    """For each place where a sequence of some length can be cut, the number of elements that are read across it."""
    last = np.zeros(length, np.int64)
    np.maximum.at(last, edges[:, 0], edges[:, 1])
    read = np.flatnonzero(last > np.arange(length))
    change = np.zeros(length + 2, np.int64)
    np.add.at(change, read + 1, 1)
    np.add.at(change, last[read] + 1, -1)
    return np.cumsum(change)[: length + 1]


def _candidates(signs: Indices, sums: Indices, least: int) -> Iterator[tuple[int, Repeat, int]]:
    """Repeats with what they save, less if they are few, and how many places they can be moved to the right."""
    length = len(signs)
    for period in range(1, min(length // 2, _LONGEST_PERIOD) + 1):
        equal = signs[:-period] == signs[period:]
        if np.count_nonzero(equal) < period:
            continue
        runs = np.flatnonzero(np.diff(np.concatenate([[False], equal, [False]]).astype(np.int8))).reshape(-1, 2)
        for start, end in runs[runs[:, 1] - runs[:, 0] >= period].tolist():
            count = (end - start) // period + 1
            if sums[start + period] - sums[start] >= least:
                saved = int(sums[start + period * count] - sums[start + period]) * (count - 1) // count
                yield saved, Repeat(start, period, count), end - start - period * (count - 1)


def _moved(repeat: Repeat, slack: int, edges: Indices) -> Repeat:
    """The same repeat, begun where the fewest values cross its borders."""
    if not slack:
        return repeat
    length = repeat.period * repeat.count + slack
    inside = edges[(edges[:, 0] >= repeat.start) & (edges[:, 0] < repeat.start + length)] - repeat.start
    inside[:, 1] = np.minimum(inside[:, 1], length - 1)
    across = crossings(inside[inside[:, 1] > inside[:, 0]], length)
    borders = np.arange(1, repeat.count) * repeat.period
    offsets = range(min(slack, repeat.period - 1, _MOST_OFFSETS) + 1)
    best = min(offsets, key=lambda offset: (int(across[borders + offset].sum()), offset))
    return Repeat(repeat.start + best, repeat.period, repeat.count)


def _alike(repeat: Repeat, edges: Indices) -> Repeat | None:
    """The longest row of stretches whose inner edges are the same; None if there is none of two."""
    inside = edges[(edges >= repeat.start).all(axis=1) & (edges < repeat.end).all(axis=1)] - repeat.start
    copies = inside // repeat.period
    inner = inside[copies[:, 0] == copies[:, 1]]
    shapes: list[set[tuple[int, int]]] = [set() for _ in range(repeat.count)]
    for copy, (a, b) in zip((inner[:, 0] // repeat.period).tolist(), (inner % repeat.period).tolist(), strict=True):
        shapes[copy].add((a, b))
    best, first = (0, 0), 0
    for copy in range(1, repeat.count + 1):
        if copy == repeat.count or shapes[copy] != shapes[first]:
            best = max(best, (copy - first, -first))
            first = copy
    count, start = best[0], -best[1]
    return Repeat(repeat.start + start * repeat.period, repeat.period, count) if count >= 2 else None


def _finest(repeat: Repeat, signs: Indices, sums: Indices, edges: Indices) -> Repeat:
    """A repeat as one of the shortest stretches that its own consist of: four equal columns are not two pairs."""
    inside, start = signs[repeat.start : repeat.end], repeat.start
    for period in range(1, repeat.period // 2 + 1):
        if repeat.period % period == 0 and np.array_equal(inside[period:], inside[:-period]):
            finer = Repeat(start, period, repeat.period // period * repeat.count)
            has_enough = sums[start + period] - sums[start] >= _LEAST_LEAVES
            return finer if has_enough and _alike(finer, edges) == finer else repeat
    return repeat
