"""Ranks: which row of a layered picture each item stands in, and the bends of edges that pass through rows between."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field

from ingot.dataclass import dataclass

MOST_BENDS = 12
"""Bends for an item, on average, beyond which the longest lines are drawn as stubs: they would fill the picture."""


@dataclass(frozen=True, slots=True)
class Line:
    """What leads from one item to others: `values` have the same readers, and share one line."""

    values: tuple[int, ...]
    source: int
    targets: tuple[int, ...]


@dataclass(slots=True, eq=False)
class Layered:
    """Vertices in rows: the items, then the bends of lines; `above` and `below` are neighbours in adjacent rows.

    `trunks` has for each line its bends from row to row; a line without any leads to the next row, or is a stub.
    """

    count: int
    ranks: list[int]
    rows: list[list[int]] = field(default_factory=list)
    above: list[list[int]] = field(default_factory=list)
    below: list[list[int]] = field(default_factory=list)
    trunks: list[list[int]] = field(default_factory=list)
    stubs: set[int] = field(default_factory=set)

    @property
    def height(self) -> int:
        return len(self.rows)


def layered(count: int, lines: Sequence[Line], first: Iterable[int] = (), last: Iterable[int] = ()) -> Layered:
    """`count` items in rows, such that lines lead downwards; `first` stand in the first row, `last` in the last.

    Items are numbered in topological order: a line to a smaller number leads upwards, and is a stub.
    """
    ranks = _ranks(count, lines, set(first), set(last))
    picture = Layered(count, ranks)
    spans = [max(ranks[target] for target in line.targets) - ranks[line.source] for line in lines]
    bends_left = MOST_BENDS * count + 400
    for number in sorted(range(len(lines)), key=lambda number: spans[number]):
        bends_left -= max(0, spans[number] - 1)
        if bends_left < 0 or any(ranks[target] <= ranks[lines[number].source] for target in lines[number].targets):
            picture.stubs.add(number)
    picture.rows = [[] for _ in range(max(ranks, default=-1) + 1)]
    for item, rank in enumerate(ranks):
        picture.rows[rank].append(item)
    picture.above, picture.below = [[] for _ in range(count)], [[] for _ in range(count)]
    for number, line in enumerate(lines):
        picture.trunks.append([])
        if number not in picture.stubs:
            _add(picture, line)
    return picture


def _add(picture: Layered, line: Line) -> None:
    """Enter a line: one trunk down to the last of its readers, which the others branch off."""
    start = picture.ranks[line.source]
    end = max(picture.ranks[target] for target in line.targets)
    trunk = picture.trunks[-1]
    upper = line.source
    at = [line.source]
    for rank in range(start + 1, end):
        bend = len(picture.ranks)
        picture.ranks.append(rank)
        picture.rows[rank].append(bend)
        picture.above.append([upper])
        picture.below.append([])
        picture.below[upper].append(bend)
        trunk.append(bend)
        at.append(bend)
        upper = bend
    for target in line.targets:
        upper = at[picture.ranks[target] - 1 - start]
        picture.below[upper].append(target)
        picture.above[target].append(upper)


def _ranks(count: int, lines: Sequence[Line], first: set[int], last: set[int]) -> list[int]:
    """The rank of each item: as high as what it reads allows, but close to its readers if it reads less."""
    readers: list[list[int]] = [[] for _ in range(count)]
    sources: list[list[int]] = [[] for _ in range(count)]
    for line in lines:
        for target in line.targets:
            if line.source < target:
                readers[line.source].append(target)
                sources[target].append(line.source)
    ranks = [0] * count
    for item in range(count):
        least = 1 if first and item not in first else 0
        ranks[item] = max((ranks[source] + 1 for source in sources[item]), default=least)
    for item in reversed(range(count)):
        reads_less = len(sources[item]) < len(readers[item]) or not sources[item]
        if item not in first and readers[item] and reads_less:
            ranks[item] = max(ranks[item], min(ranks[reader] for reader in readers[item]) - 1)
    bottom = max((ranks[item] for item in range(count) if item not in last), default=0) + 1
    for item in last:
        ranks[item] = bottom
    used = sorted(set(ranks))
    rows = {rank: row for row, rank in enumerate(used)}
    return [rows[rank] for rank in ranks]
