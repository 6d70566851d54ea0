"""Equal stretches one after the other in a sequence: the layers of a model, whatever its nodes are called."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import TypeAlias

from ingot.dataclass import dataclass

Pairs: TypeAlias = Sequence[tuple[int, int]]
"""Edges between elements of a sequence, as the places of these."""

_LONGEST_PERIOD = 4000
_MOST_OFFSETS = 400
_MOST_COMPARED = 1024
"""Elements that are compared at once."""

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


def best_repeat(signs: Sequence[int], sizes: Sequence[int], edges: Pairs, least: int) -> Repeat | None:
    """The repeat in a sequence that covers most, or None.

    Stretches are equal if the signs of their elements are, and the edges between these. A stretch has at least `least`
    leaves, `sizes` being those of the elements; but one that consists of equal shorter ones is these. Where a repeat
    may begin at several places, fewest values cross its borders.
    """
    if len(signs) < 2:
        return None
    sums = [0, *accumulate(sizes)]
    candidates = sorted(_candidates(signs, sums, least), key=lambda entry: (-entry[0], entry[1].period))
    for _, repeat, slack in candidates[:8]:
        moved = _moved(repeat, slack, edges)
        same = _alike(moved, edges)
        if same is not None:
            return _finest(same, signs, sums, edges)
    return None


def crossings(edges: Pairs, length: int) -> list[int]:
    """For each place where a sequence of some length can be cut, the number of elements that are read across it."""
    last = [0] * length
    for source, target in edges:
        last[source] = max(last[source], target)
    change = [0] * (length + 1)
    for place, end in enumerate(last):
        if end > place:
            change[place + 1] += 1
            change[end + 1] -= 1
    return list(accumulate(change))


def _candidates(signs: Sequence[int], sums: Sequence[int], least: int) -> Iterator[tuple[int, Repeat, int]]:
    """Repeats with what they save, less if they are few, and how many places they can be moved to the right."""
    length = len(signs)
    for period in range(1, min(length // 2, _LONGEST_PERIOD) + 1):
        for start, end in _runs(signs, period):
            count = (end - start) // period + 1
            if sums[start + period] - sums[start] >= least:
                saved = (sums[start + period * count] - sums[start + period]) * (count - 1) // count
                yield saved, Repeat(start, period, count), end - start - period * (count - 1)


def _runs(signs: Sequence[int], period: int) -> Iterator[tuple[int, int]]:
    """The longest stretches, of at least a period, in which each element is equal to the one a period later.

    Any of them has a place that is a multiple of the period: looking there is enough.
    """
    reached, most = 0, len(signs) - period
    for place, (one, other) in enumerate(zip(signs[::period], signs[period::period], strict=False)):
        anchor = place * period
        if one != other or anchor < reached:
            continue
        start = anchor
        while start and signs[start - 1] == signs[start - 1 + period]:
            start -= 1
        reached, step = anchor + 1, 1
        while reached < most and step:
            if signs[reached : reached + step] == signs[reached + period : reached + period + step]:
                reached, step = min(reached + step, most), min(2 * step, _MOST_COMPARED)
            else:
                step //= 2
        if reached - start >= period:
            yield start, reached


def _moved(repeat: Repeat, slack: int, edges: Pairs) -> Repeat:
    """The same repeat, begun where the fewest values cross its borders."""
    if not slack:
        return repeat
    start, length = repeat.start, repeat.period * repeat.count + slack
    inside = [(a - start, min(b - start, length - 1)) for a, b in edges if start <= a < start + length]
    across = crossings([(a, b) for a, b in inside if b > a], length)
    borders = range(repeat.period, repeat.period * repeat.count, repeat.period)
    offsets = range(min(slack, repeat.period - 1, _MOST_OFFSETS) + 1)
    best = min(offsets, key=lambda offset: (sum(across[border + offset] for border in borders), offset))
    return Repeat(start + best, repeat.period, repeat.count)


def _alike(repeat: Repeat, edges: Pairs) -> Repeat | None:
    """The longest row of stretches whose inner edges are the same; None if there is none of two."""
    period = repeat.period
    shapes: list[set[tuple[int, int]]] = [set() for _ in range(repeat.count)]
    for a, b in edges:
        if repeat.start <= a < repeat.end and repeat.start <= b < repeat.end:
            copy, place = divmod(a - repeat.start, period)
            other, end = divmod(b - repeat.start, period)
            if copy == other:
                shapes[copy].add((place, end))
    best, first = (0, 0), 0
    for copy in range(1, repeat.count + 1):
        if copy == repeat.count or shapes[copy] != shapes[first]:
            best = max(best, (copy - first, -first))
            first = copy
    count, start = best[0], -best[1]
    return Repeat(repeat.start + start * period, period, count) if count >= 2 else None


def _finest(repeat: Repeat, signs: Sequence[int], sums: Sequence[int], edges: Pairs) -> Repeat:
    """A repeat as one of the shortest stretches that its own consist of: four equal columns are not two pairs."""
    inside, start = signs[repeat.start : repeat.end], repeat.start
    for period in range(1, repeat.period // 2 + 1):
        if repeat.period % period == 0 and inside[period:] == inside[:-period]:
            finer = Repeat(start, period, repeat.period // period * repeat.count)
            has_enough = sums[start + period] - sums[start] >= _LEAST_LEAVES
            return finer if has_enough and _alike(finer, edges) == finer else repeat
    return repeat
