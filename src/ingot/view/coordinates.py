"""Horizontal places of vertices in ordered rows, by the method of Brandes and Köpf.

Vertices are joined to vertical blocks with the median of their neighbours, from four corners of the picture; each of
the four arrangements is made compact, and a vertex stands between the two in the middle. Lines that pass through many
rows are straight.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from ingot.view.ranks import Layered


def centres(picture: Layered, widths: Sequence[float], gaps: Sequence[float]) -> list[float]:
    """The centre of each vertex, such that those of a row do not overlap.

    Neighbours in a row are at least the mean of their gaps apart.
    """
    count = len(picture.ranks)
    if all(len(row) <= 1 for row in picture.rows):
        return [0.0] * count
    conflicts = _conflicts(picture)
    rows = picture.rows
    flipped = [list(reversed(row)) for row in rows]
    arrangements = []
    for is_up in (False, True):
        for is_mirrored in (False, True):
            ordered = flipped if is_mirrored else rows
            neighbours = picture.below if is_up else picture.above
            root = _blocks(ordered[::-1] if is_up else ordered, neighbours, conflicts, count)
            xs = _compact(ordered, root, widths, gaps)
            arrangements.append([-x for x in xs] if is_mirrored else xs)
    return _balanced(arrangements, widths)


def _conflicts(picture: Layered) -> set[tuple[int, int]]:
    """Edges that cross a segment of a line between two bends: that segment is drawn straight."""
    conflicts: set[tuple[int, int]] = set()
    items = picture.count
    for upper, lower in zip(picture.rows, picture.rows[1:], strict=False):
        if len(upper) < 2 or len(lower) < 2:
            continue
        place = {vertex: number for number, vertex in enumerate(upper)}
        left, scanned = 0, 0
        for number, vertex in enumerate(lower):
            inner = next((a for a in picture.above[vertex] if a >= items), None) if vertex >= items else None
            if inner is None and number < len(lower) - 1:
                continue
            right = len(upper) if inner is None else place[inner]
            for scanning in lower[scanned : number + 1]:
                for above in picture.above[scanning]:
                    at = place[above]
                    if (at < left or at > right) and not (above >= items and scanning >= items):
                        conflicts.add((above, scanning))
            scanned, left = number + 1, right
    return conflicts


def _blocks(
    rows: Sequence[Sequence[int]], neighbours: Sequence[Sequence[int]], conflicts: set[tuple[int, int]], count: int
) -> list[int]:
    """For each vertex the first of its block, rows being gone through in order, each from its begin."""
    root = list(range(count))
    last = list(range(count))
    place = [0] * count
    for row in rows:
        for number, vertex in enumerate(row):
            place[vertex] = number
    for row in rows[1:]:
        limit = -1
        for vertex in row:
            beside = neighbours[vertex]
            if not beside:
                continue
            if len(beside) > 1:
                beside = sorted(beside, key=place.__getitem__)
                middle = (len(beside) - 1) / 2
                medians = [beside[int(middle)], beside[int(middle + 0.5)]]
            else:
                medians = beside  # type: ignore[assignment]
            for other in medians:
                if (
                    last[vertex] == vertex
                    and limit < place[other]
                    and (other, vertex) not in conflicts
                    and (vertex, other) not in conflicts
                ):
                    last[other] = vertex
                    root[vertex] = root[other]
                    last[vertex] = root[vertex]
                    limit = place[other]
    return root


def _compact(
    rows: Sequence[Sequence[int]], root: Sequence[int], widths: Sequence[float], gaps: Sequence[float]
) -> list[float]:
    """The places of blocks, as far to the begin of rows as they fit, then pulled towards what stands behind them."""
    apart: dict[int, dict[int, float]] = {}
    behind: dict[int, dict[int, float]] = {}
    for row in rows:
        for left, right in pairwise(row):
            a, b = root[left], root[right]
            distance = (widths[left] + widths[right] + gaps[left] + gaps[right]) / 2
            before = apart.setdefault(b, {})
            if distance > before.get(a, 0.0):
                before[a] = distance
                behind.setdefault(a, {})[b] = distance
    blocks = dict.fromkeys(root[vertex] for row in rows for vertex in row)
    waits = {block: len(apart.get(block, ())) for block in blocks}
    ready = [block for block in blocks if not waits[block]]
    order: list[int] = []
    xs: dict[int, float] = {}
    while ready:
        block = ready.pop()
        order.append(block)
        xs[block] = max((xs[left] + distance for left, distance in apart.get(block, {}).items()), default=0.0)
        for right in behind.get(block, ()):
            waits[right] -= 1
            if not waits[right]:
                ready.append(right)
    for block in reversed(order):
        following = behind.get(block)
        if following:
            xs[block] = max(xs[block], min(xs[right] - distance for right, distance in following.items()))
    return [xs[root[vertex]] for vertex in range(len(root))]


def _balanced(arrangements: Sequence[list[float]], widths: Sequence[float]) -> list[float]:
    """The mean of the two arrangements in the middle, all aligned with the narrowest."""
    spans = []
    for xs in arrangements:
        low = min(x - width / 2 for x, width in zip(xs, widths, strict=True))
        high = max(x + width / 2 for x, width in zip(xs, widths, strict=True))
        spans.append((low, high))
    low, high = min(spans, key=lambda span: span[1] - span[0])
    for number, (begin, end) in enumerate(spans):
        move = low - begin if number % 2 == 0 else high - end
        arrangements[number][:] = [x + move for x in arrangements[number]]
    places = []
    for four in zip(*arrangements, strict=True):
        _, a, b, _ = sorted(four)
        places.append((a + b) / 2)
    return places
