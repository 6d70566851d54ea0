"""Groups of leaves inside of groups: the tree that is drawn, and what flows between the parts of one group."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import field
from typing import Literal, TypeAlias

from ingot.dataclass import dataclass
from ingot.view.flow import Flow

GroupKind = Literal["graph", "scope", "repeat", "block", "part"]
"""A whole graph; a module; equal parts in a row; one of these; and a stretch of a graph too long to be drawn."""


@dataclass(slots=True, eq=False)
class Group:
    """Parts that are drawn as one box until it is opened: groups, and leaves by their index in the flow."""

    kind: GroupKind
    title: str
    parts: list[Part] = field(default_factory=list)
    of_class: str = ""

    def leaves(self) -> Iterator[int]:
        """The leaves inside, in the order of the parts."""
        pending: list[Part] = [self]
        while pending:
            part = pending.pop()
            if isinstance(part, Group):
                pending.extend(reversed(part.parts))
            else:
                yield part

    def groups(self) -> Iterator[Group]:
        """The group itself and those inside, outermost first."""
        pending = [self]
        while pending:
            group = pending.pop()
            yield group
            pending.extend(part for part in reversed(group.parts) if isinstance(part, Group))


Part: TypeAlias = "Group | int"


@dataclass(frozen=True, slots=True)
class Wire:
    """A value that leads from part to part of a group, by their index; None is the world around the group."""

    value: int
    source: int | None
    target: int | None


class Tree:
    """The groups of one flow; says what flows between the parts of any of them."""

    def __init__(self, flow: Flow, root: Group) -> None:
        self.flow = flow
        self.root = root
        self._first: dict[int, int] = {}
        order: list[int] = []
        self._ranges: dict[Group, tuple[int, int]] = {}
        self._number(root, order)
        self.places = [0] * len(flow.leaves)
        for place, leaf in enumerate(order):
            self.places[leaf] = place
        self._sources = [self.places[leaf] for leaf in flow.sources]
        self._targets = [self.places[leaf] for leaf in flow.targets]
        self._by_source = sorted(range(len(self._sources)), key=self._sources.__getitem__)
        self._by_target = sorted(range(len(self._targets)), key=self._targets.__getitem__)

    def count(self, part: Part) -> int:
        """The number of leaves in a part."""
        if not isinstance(part, Group):
            return 1
        first, end = self._ranges[part]
        return end - first

    def wires(self, group: Group) -> list[Wire]:
        """What flows between the parts of a group, and in and out of it: each value once for a pair of parts."""
        first, end = self._ranges[group]
        sources, targets = self._sources, self._targets
        leaving = _between(self._by_source, sources, first, end)
        entering = _between(self._by_target, targets, first, end)
        edges = sorted([*leaving, *(edge for edge in entering if not first <= sources[edge] < end)])
        starts = [self._start(part) for part in group.parts]

        def part_of(place: int) -> int | None:
            return bisect_right(starts, place) - 1 if first <= place < end else None

        rows = dict.fromkeys((self.flow.values[edge], part_of(sources[edge]), part_of(targets[edge])) for edge in edges)
        return [Wire(value, source, target) for value, source, target in rows if source != target]

    def _start(self, part: Part) -> int:
        return self._ranges[part][0] if isinstance(part, Group) else self.places[part]

    def _number(self, root: Group, order: list[int]) -> None:
        """Give each leaf a place so that those of a group stand together."""
        pending: list[tuple[Part, bool]] = [(root, False)]
        while pending:
            part, is_done = pending.pop()
            if not isinstance(part, Group):
                order.append(part)
            elif is_done:
                self._ranges[part] = (self._first.pop(id(part)), len(order))
            else:
                self._first[id(part)] = len(order)
                pending.append((part, True))
                pending.extend((inner, False) for inner in reversed(part.parts))


def flat(parts: Sequence[Part]) -> list[int]:
    """The leaves in parts, in order."""
    return list(Group("part", "", list(parts)).leaves())


def _between(order: list[int], places: list[int], first: int, end: int) -> list[int]:
    """The edges, which are in the order of their places, from a place to before another."""
    begin = bisect_left(order, first, key=places.__getitem__)
    return order[begin : bisect_left(order, end, begin, key=places.__getitem__)]
