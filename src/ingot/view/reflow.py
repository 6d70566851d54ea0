"""Where everything stands once groups are open: each open group makes way for itself in the group around it.

Rows keep their order, and what does not touch an open group keeps its place. `page/reflow.js` does the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

from ingot.dataclass import dataclass
from ingot.view.layout import BOX_GAP, LINE_GAP
from ingot.view.scene import Item, Level, Scene

ROW_GAP = 30.0
HEADER = 28.0
MARGIN = 16.0
"""Pixels between the frame of an open group and what is inside, at the sides and at the bottom."""

NARROWEST, CHOSEN = 60.0, 120.0
"""Pixels of an open group, at least, and of the words that tell which of equal parts is drawn."""


@dataclass(slots=True, eq=False)
class Placed:
    """A level in the picture, its top left corner at the origin; `lefts` and `tops` are those of its items.

    `inner` are the items that are open. `bends` are the horizontal places of the bends of each track.
    """

    level: Level
    width: float
    height: float
    lefts: list[float] = field(default_factory=list)
    tops: list[float] = field(default_factory=list)
    widths: list[float] = field(default_factory=list)
    heights: list[float] = field(default_factory=list)
    row_tops: list[float] = field(default_factory=list)
    row_heights: list[float] = field(default_factory=list)
    inner: dict[int, Placed] = field(default_factory=dict)
    bends: list[list[float]] = field(default_factory=list)


def place(
    scene: Scene, number: int, opened: set[int], around: tuple[int, ...] = (), least: float = NARROWEST
) -> Placed:
    """A level with all levels inside that are open; of a repeat, the first of its parts is drawn for all of them.

    `around` are the levels that it is inside of: a function that calls itself is open once. `least` is how wide it is
    at least.
    """
    while members := scene.members(number):
        number = members[0]
    level = scene.level(number)
    inner = {
        item: place(scene, each.opens, opened, (*around, number), _titled(each))
        for item, each in enumerate(level.items)
        if each.opens is not None and each.opens in opened and each.opens not in (*around, number)
    }
    widths = [inner[item].width if item in inner else each.box.width for item, each in enumerate(level.items)]
    heights = [inner[item].height if item in inner else each.box.height for item, each in enumerate(level.items)]
    layout = level.layout
    centres = list(layout.centres)
    bends = [[x for _, x in track.bends] for track in layout.tracks]
    for row in layout.rows:
        if any(vertex in inner for vertex in row):
            _push_apart(row, centres, bends, layout.bends, widths)
    edges = [(centre - width / 2, centre + width / 2) for centre, width in zip(centres, widths, strict=True)]
    edges += [(x, x) for track in bends for x in track]
    margin, header = (MARGIN, HEADER) if around else (0.0, 0.0)
    left = min((edge[0] for edge in edges), default=0.0) - margin
    right = max((edge[1] for edge in edges), default=0.0) + margin
    left -= max(0.0, least - (right - left)) / 2
    placed = Placed(level, max(right - left, least), 0.0, widths=widths, heights=heights, inner=inner)
    y = header
    for row in layout.rows:
        tallest = max((heights[vertex] for vertex in row if vertex >= 0), default=0.0)
        placed.row_tops.append(y)
        placed.row_heights.append(tallest)
        y += tallest + (ROW_GAP if tallest else ROW_GAP / 2)
    last = placed.row_heights[-1] if placed.row_heights else 0.0
    placed.height = y - (ROW_GAP if last else ROW_GAP / 2) + (margin if last else 0.0)
    for item, centre in enumerate(centres):
        row_top, tallest = placed.row_tops[layout.ranks[item]], placed.row_heights[layout.ranks[item]]
        placed.lefts.append(centre - widths[item] / 2 - left)
        placed.tops.append(row_top + (tallest - heights[item]) / 2)
        if level.items[item].kind in ("port in", "port out"):
            placed.tops[-1] = 0.0 if level.items[item].kind == "port in" else placed.height
    placed.bends = [[x - left for x in track] for track in bends]
    return placed


def _titled(item: Item) -> float:
    """How wide an open group is, at least: there is room for its title, and for which of equal parts is drawn."""
    return max(NARROWEST, item.box.width + (CHOSEN if item.members else 0.0))


def _push_apart(
    row: Sequence[int],
    centres: list[float],
    bends: list[list[float]],
    bend_of: Sequence[tuple[int, int]],
    widths: Sequence[float],
) -> None:
    """Move what stands beside the widest box of a row outwards, as far as the boxes need it."""

    def x(vertex: int) -> float:
        if vertex >= 0:
            return centres[vertex]
        track, number = bend_of[-1 - vertex]
        return bends[track][number]

    def move(vertex: int, to: float) -> None:
        if vertex >= 0:
            centres[vertex] = to
        else:
            track, number = bend_of[-1 - vertex]
            bends[track][number] = to

    def half(vertex: int) -> float:
        return (widths[vertex] + BOX_GAP) / 2 if vertex >= 0 and widths[vertex] else LINE_GAP / 2

    pivot = max(range(len(row)), key=lambda number: half(row[number]))
    for number in range(pivot + 1, len(row)):
        before, vertex = row[number - 1], row[number]
        move(vertex, max(x(vertex), x(before) + half(before) + half(vertex)))
    for number in range(pivot - 1, -1, -1):
        after, vertex = row[number + 1], row[number]
        move(vertex, min(x(vertex), x(after) - half(after) - half(vertex)))
