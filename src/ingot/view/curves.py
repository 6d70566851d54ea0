"""The curves along which lines are drawn: down through rows, and from row to row in the gaps between them."""

from __future__ import annotations

from collections.abc import Iterator

from ingot.dataclass import dataclass
from ingot.view.reflow import Placed


@dataclass(frozen=True, slots=True)
class Curve:
    """From one box to another: `corners` are the points where it changes between straight down and across a gap."""

    track: int
    source: int
    target: int
    corners: tuple[tuple[float, float], ...]


def curves(placed: Placed) -> Iterator[Curve]:
    """The lines of a level, one for each reader, in its own coordinates; stubs are left out."""
    layout = placed.level.layout
    for number, track in enumerate(layout.tracks):
        if track.is_stub:
            continue
        line = track.line
        start_x, start_y = _end(placed, line.source, line.values, track.leaves, is_source=True)
        rank = layout.ranks[line.source]
        for target, enters in zip(line.targets, track.enters, strict=True):
            corners = [(start_x, start_y)]
            x = start_x
            for place, bend in enumerate(placed.bends[number][: layout.ranks[target] - rank - 1]):
                corners += _across(placed, rank + place, x, bend)
                x = bend
            end_x, end_y = _end(placed, target, line.values, enters, is_source=False)
            corners += _across(placed, layout.ranks[target] - 1, x, end_x)
            corners.append((end_x, end_y))
            yield Curve(number, line.source, target, tuple(corners))


def _across(placed: Placed, rank: int, x: float, to: float) -> list[tuple[float, float]]:
    """From the bottom of a row to the top of the next one."""
    return [(x, placed.row_tops[rank] + placed.row_heights[rank]), (to, placed.row_tops[rank + 1])]


def _end(placed: Placed, item: int, values: tuple[int, ...], offset: float, *, is_source: bool) -> tuple[float, float]:
    """Where a line leaves or enters an item: of an open one, at the port of its value."""
    top = placed.tops[item] + (placed.heights[item] if is_source else 0.0)
    inner = placed.inner.get(item)
    if inner is not None:
        kind = "port out" if is_source else "port in"
        for port, each in enumerate(inner.level.items):
            if each.kind == kind and values[0] in each.values:
                return placed.lefts[item] + inner.lefts[port], top
        offset = 0.0
    return placed.lefts[item] + placed.widths[item] / 2 + offset, top
