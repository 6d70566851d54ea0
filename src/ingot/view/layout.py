"""The layout of one group: rows of boxes, and lines that lead from row to row between them."""

from __future__ import annotations

from collections.abc import Sequence

from ingot.dataclass import dataclass
from ingot.view.coordinates import centres
from ingot.view.order import arrange
from ingot.view.ranks import Layered, Line, layered

BOX_GAP = 22.0
"""Pixels between boxes of a row; between lines there are fewer."""

LINE_GAP = 11.0

PORT_GAP = 12.0
"""Pixels between the ends of lines at one side of a box, at most."""


@dataclass(frozen=True, slots=True)
class Box:
    """The size of an item; `pinned` is the row that it must stand in."""

    width: float
    height: float
    pinned: str = ""


@dataclass(frozen=True, slots=True)
class Track:
    """A line with its bends, from the row below its source on, and where it leaves and enters boxes.

    Bends have a row and a centre. `leaves` and `enters` are distances from the centres of boxes; a stub has no bends
    and is not drawn in full.
    """

    line: Line
    bends: tuple[tuple[int, float], ...]
    leaves: float
    enters: tuple[float, ...]
    is_stub: bool


@dataclass(frozen=True, slots=True)
class Layout:
    """Where the items of a group stand: the row and the centre of each, and the order within rows.

    `rows` have items, and bends as negative numbers: -1 - i is bend i of `bends`, a track and its place along it.
    """

    ranks: tuple[int, ...]
    centres: tuple[float, ...]
    rows: tuple[tuple[int, ...], ...]
    bends: tuple[tuple[int, int], ...]
    tracks: tuple[Track, ...]


def lay_out(boxes: Sequence[Box], lines: Sequence[Line]) -> Layout:
    """Places for boxes in topological order, and for the lines between them."""
    first = [item for item, box in enumerate(boxes) if box.pinned == "first"]
    last = [item for item, box in enumerate(boxes) if box.pinned == "last"]
    picture = layered(len(boxes), lines, first, last)
    arrange(picture)
    bend_count = len(picture.ranks) - len(boxes)
    widths = [box.width for box in boxes] + [0.0] * bend_count
    gaps = [BOX_GAP if box.width else LINE_GAP for box in boxes] + [LINE_GAP] * bend_count
    xs = centres(picture, widths, gaps)
    leaves, enters = _ports(boxes, lines, xs, picture)
    tracks = tuple(
        Track(
            line,
            tuple((picture.ranks[bend], xs[bend]) for bend in picture.trunks[number]),
            leaves[number],
            enters[number],
            number in picture.stubs,
        )
        for number, line in enumerate(lines)
    )
    bends = [(0, 0)] * bend_count
    for number, trunk in enumerate(picture.trunks):
        for place, bend in enumerate(trunk):
            bends[bend - len(boxes)] = (number, place)
    rows = tuple(
        tuple(vertex if vertex < len(boxes) else len(boxes) - 1 - vertex for vertex in row) for row in picture.rows
    )
    return Layout(tuple(picture.ranks[: len(boxes)]), tuple(xs[: len(boxes)]), rows, tuple(bends), tracks)


def _ports(
    boxes: Sequence[Box], lines: Sequence[Line], xs: Sequence[float], picture: Layered
) -> tuple[list[float], list[tuple[float, ...]]]:
    """Where lines leave and enter boxes, side by side in the order of where they come from or lead to."""
    leaving: dict[int, list[tuple[float, int]]] = {}
    entering: dict[int, list[tuple[float, int]]] = {}
    for number, line in enumerate(lines):
        if number in picture.stubs:
            continue
        along = [line.source, *picture.trunks[number]]
        leaving.setdefault(line.source, []).append((xs[[*along, line.targets[0]][1]], number))
        for target in line.targets:
            upper = along[picture.ranks[target] - 1 - picture.ranks[line.source]]
            entering.setdefault(target, []).append((xs[upper], number))
    leaves = [0.0] * len(lines)
    for item, ends in leaving.items():
        for offset, (_, number) in zip(_spread(len(ends), boxes[item].width), sorted(ends), strict=True):
            leaves[number] = offset
    at: dict[tuple[int, int], float] = {}
    for item, ends in entering.items():
        for offset, (_, number) in zip(_spread(len(ends), boxes[item].width), sorted(ends), strict=True):
            at[number, item] = offset
    return leaves, [
        tuple(at.get((number, target), 0.0) for target in line.targets) for number, line in enumerate(lines)
    ]


def _spread(count: int, width: float) -> list[float]:
    """Distances from the centre of a side for so many ends."""
    if count == 1:
        return [0.0]
    step = min(PORT_GAP, max(0.0, width - 16) / (count - 1))
    return [(number - (count - 1) / 2) * step for number in range(count)]
