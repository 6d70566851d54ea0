"""The order of vertices within rows: sweeps by barycentres, then exchanges of neighbours, for few crossings."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Sequence

from ingot.view.ranks import Layered

_SWEEPS = 8
_ROUNDS = 4
_WORK = 120_000
"""Vertices and edges that sweeps and rounds may go through in all, but for the first of them."""


def arrange(picture: Layered) -> None:
    """Order the rows of a picture."""
    rows = picture.rows
    place = [0] * len(picture.ranks)
    for row in rows:
        _number(row, place)
    size = len(picture.ranks) + sum(map(len, picture.below))
    sweeps = max(2, min(_SWEEPS, _WORK // max(1, size)))
    best, order = -1, [list(row) for row in rows]
    for sweep in range(sweeps):
        for row in rows[1:]:
            _sort(row, picture.above, place)
        for row in reversed(rows[:-1]):
            _sort(row, picture.below, place)
        count = crossings(picture, place)
        if best < 0 or count < best:
            best, order = count, [list(row) for row in rows]
        elif sweep > 2:
            break
        if not best:
            break
    for row, ordered in zip(rows, order, strict=True):
        row[:] = ordered
        _number(row, place)
    for _ in range(max(1, min(_ROUNDS, _WORK // max(1, size))) if best else 0):
        if not sum(_exchange(row, picture, place) for row in rows):
            break


def crossings(picture: Layered, place: Sequence[int] | None = None) -> int:
    """The number of times that edges between adjacent rows cross."""
    if place is None:
        numbers = [0] * len(picture.ranks)
        for row in picture.rows:
            _number(row, numbers)
        place = numbers
    total = 0
    for row in picture.rows:
        if len(row) < 2:
            continue
        passed: list[int] = []
        for vertex in row:
            lower = sorted([place[below] for below in picture.below[vertex]])
            for target in lower:
                total += len(passed) - bisect_right(passed, target)
            for target in lower:
                insort(passed, target)
    return total


def _number(row: Sequence[int], place: list[int]) -> None:
    for number, vertex in enumerate(row):
        place[vertex] = number


def _sort(row: list[int], neighbours: Sequence[Sequence[int]], place: list[int]) -> None:
    """Order a row by the mean place of neighbours in an adjacent one; who has none there stays where it is."""
    if len(row) < 2:
        return
    means = []
    for vertex in row:
        beside = neighbours[vertex]
        if not beside:
            means.append(-1.0)
        elif len(beside) == 1:
            means.append(place[beside[0]])
        else:
            means.append(sum([place[other] for other in beside]) / len(beside))
    movable = [row[number] for _, number in sorted([(mean, number) for number, mean in enumerate(means) if mean >= 0])]
    following = iter(movable)
    row[:] = [vertex if mean < 0 else next(following) for vertex, mean in zip(row, means, strict=True)]
    _number(row, place)


def _exchange(row: list[int], picture: Layered, place: list[int]) -> bool:
    """Exchange neighbours of a row where that leaves fewer crossings; whether any were."""
    changed = False
    for number in range(len(row) - 1):
        left, right = row[number], row[number + 1]
        gain = 0
        for neighbours in (picture.above, picture.below):
            a, b = neighbours[left], neighbours[right]
            if not a or not b:
                continue
            if len(a) == 1 and len(b) == 1:
                gain += (place[a[0]] > place[b[0]]) - (place[a[0]] < place[b[0]])
                continue
            others = [place[other] for other in b]
            for other in a:
                at = place[other]
                for beside in others:
                    gain += (at > beside) - (at < beside)
        if gain > 0:
            row[number], row[number + 1] = right, left
            place[left], place[right] = number + 1, number
            changed = True
    return changed
