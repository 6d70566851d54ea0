"""Groups of leaves inside of groups: the tree that is drawn, and what flows between the parts of one group."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field
from typing import Literal, TypeAlias

import numpy as np

from ingot.dataclass import dataclass
from ingot.view.flow import Flow, Indices

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
        self.places = np.zeros(len(flow.leaves), np.int64)
        self.places[order] = np.arange(len(order))
        sources, targets = self.places[flow.sources], self.places[flow.targets]
        self._by_source, self._by_target = np.argsort(sources, kind="stable"), np.argsort(targets, kind="stable")
        self._sources, self._targets = sources, targets
        self._sorted_sources, self._sorted_targets = sources[self._by_source], targets[self._by_target]

    def count(self, part: Part) -> int:
        """The number of leaves in a part."""
        if not isinstance(part, Group):
            return 1
        first, end = self._ranges[part]
        return end - first

    def wires(self, group: Group) -> list[Wire]:
        """What flows between the parts of a group, and in and out of it: each value once for a pair of parts."""
        first, end = self._ranges[group]
        begin, stop = np.searchsorted(self._sorted_sources, [first, end])
        leaving = self._by_source[begin:stop]
        begin, stop = np.searchsorted(self._sorted_targets, [first, end])
        entering = self._by_target[begin:stop]
        entering = entering[(self._sources[entering] < first) | (self._sources[entering] >= end)]
        edges = np.sort(np.concatenate([leaving, entering]))
        starts = np.array([self._start(part) for part in group.parts], np.int64)
        source, target = self._part_of(self._sources[edges], starts, first, end), None
        target = self._part_of(self._targets[edges], starts, first, end)
        across = source != target
        rows = zip(
            self.flow.values[edges][across].tolist(), source[across].tolist(), target[across].tolist(), strict=True
        )
        return [Wire(v, None if s < 0 else s, None if t < 0 else t) for v, s, t in dict.fromkeys(rows)]

    def _part_of(self, places: Indices, starts: Indices, first: int, end: int) -> Indices:
        parts = np.searchsorted(starts, places, side="right") - 1
        parts[(places < first) | (places >= end)] = -1
        return parts

    def _start(self, part: Part) -> int:
        return self._ranges[part][0] if isinstance(part, Group) else int(self.places[part])

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
