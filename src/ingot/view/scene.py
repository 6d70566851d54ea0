"""A model as it is drawn: the levels of its groups, each laid out when it is first asked for.

Leaves, groups and values have numbers, given in the order of graphs; the page knows them by these.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field
from typing import Literal

from ingot.dataclass import dataclass
from ingot.ir.graph import Graph
from ingot.ir.model import Model
from ingot.ir.node import Node
from ingot.ir.value import Value
from ingot.view.boxes import Label, Row, group_label, leaf_label
from ingot.view.families import family_of, mixture
from ingot.view.flow import Leaf, flow_of
from ingot.view.groups import grouped
from ingot.view.layout import Box, Layout, lay_out
from ingot.view.ranks import Line
from ingot.view.tree import Group, Tree

ItemKind = Literal["port in", "port out", "node", "input", "outer", "output", "group"]

_PORTS: dict[bool, Box] = {True: Box(0.0, 0.0, "first"), False: Box(0.0, 0.0, "last")}


@dataclass(frozen=True, slots=True)
class Item:
    """A box of a level, or the end at its border of `values` that enter or leave it.

    `opens` is the level inside: of a group, or of a node with graphs of its own; `members` those of a repeat. `size` is
    the number of nodes.
    """

    kind: ItemKind
    number: int
    label: Label
    box: Box
    values: tuple[int, ...] = ()
    family: str = ""
    mixture: tuple[tuple[str, float], ...] = ()
    opens: int | None = None
    members: tuple[int, ...] = ()
    of_class: str = ""
    size: int = 1


@dataclass(frozen=True, slots=True)
class Level:
    """The inside of a group, laid out with all of its parts closed."""

    number: int
    title: str
    of_class: str
    items: tuple[Item, ...]
    lines: tuple[Line, ...]
    layout: Layout


@dataclass(slots=True, eq=False)
class _Place:
    """A group in its tree, or the node whose graphs are the parts of a level."""

    tree: Tree | None
    group: Group | None
    node: Node | None
    around: int | None
    level: Level | None = None
    members: tuple[int, ...] = ()


@dataclass(slots=True, eq=False)
class Scene:
    """The levels of a model; `root` is the main graph."""

    model: Model
    root: int = 0
    values: list[Value] = field(default_factory=list)
    leaves: list[tuple[int, int]] = field(default_factory=list)
    """For each leaf its level and its index in the flow of its graph."""

    _places: list[_Place] = field(default_factory=list)
    _trees: dict[Graph, int] = field(default_factory=dict)
    """The level of each graph that was grouped."""

    _first: dict[Tree, int] = field(default_factory=dict)
    """The number of the first leaf of each tree."""

    _numbers: dict[Value, int] = field(default_factory=dict)
    _groups: dict[Group, int] = field(default_factory=dict)
    _bodies: dict[Node, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.root = self._graph(self.model.graph, None, self.model.graph.name)

    def level(self, number: int) -> Level:
        """A level by its number; IndexError if there is none."""
        if number < 0:
            raise IndexError(number)
        place = self._places[number]
        if place.level is None:
            place.level = self._bodies_of(number, place) if place.group is None else self._laid_out(number, place)
        return place.level

    def heading(self, number: int) -> tuple[str, str]:
        """What a level is called, and the class of its module, if that is known; it need not be laid out."""
        place = self._places[number]
        if place.group is not None:
            return place.group.title, place.group.of_class
        assert place.node is not None
        return place.node.op_type, ""

    def around(self, number: int) -> int | None:
        """The level that has this one as a part, of a function that of a call; None for a graph that nothing opens."""
        return self._places[number].around

    def members(self, number: int) -> tuple[int, ...]:
        """The levels of the parts of a repeat; none for other levels."""
        return self._places[number].members

    def leaf(self, number: int) -> Leaf:
        """A leaf by its number; IndexError if there is none."""
        if number < 0:
            raise IndexError(number)
        level, index = self.leaves[number]
        tree = self._places[level].tree
        assert tree is not None
        return tree.flow.leaves[index]

    def number_of(self, value: Value) -> int:
        """The number of a value, a new one if it had none."""
        if value not in self._numbers:
            self._numbers[value] = len(self.values)
            self.values.append(value)
        return self._numbers[value]

    def everything(self) -> Iterator[int]:
        """The numbers of all levels, those of subgraphs and functions included; functions without calls come last."""
        functions = iter(self.model.functions.values())
        number = 0
        while True:
            while number < len(self._places):
                place = self._places[number]
                if place.tree is not None and place.group is place.tree.root:
                    first = self._first[place.tree]
                    for index, leaf in enumerate(place.tree.flow.leaves, first):
                        if leaf.node is not None:
                            self._body(leaf.node, self.leaves[index][0])
                yield number
                number += 1
            function = next(functions, None)
            if function is None:
                return
            self._graph(function.graph, None, function.name)

    def _graph(self, graph: Graph, around: int | None, title: str) -> int:
        """The level of a whole graph, which is grouped if it was not yet."""
        if graph in self._trees:
            return self._trees[graph]
        tree = grouped(flow_of(graph), title, is_inner=graph is not self.model.graph)
        first = self._first[tree] = len(self.leaves)
        root = self._trees[graph] = len(self._places)
        pending: list[tuple[Group, int | None]] = [(tree.root, around)]
        self.leaves += [(root, index) for index in range(len(tree.flow.leaves))]
        while pending:
            group, outside = pending.pop()
            number = len(self._places)
            self._groups[group] = number
            self._places.append(_Place(tree, group, None, outside))
            for part in reversed(group.parts):
                if isinstance(part, Group):
                    pending.append((part, number))
                else:
                    self.leaves[first + part] = (number, part)
        for group in tree.root.groups():
            if group.kind == "repeat":
                inner = (self._groups[part] for part in group.parts if isinstance(part, Group))
                self._places[self._groups[group]].members = tuple(inner)
        return root

    def _body(self, node: Node, around: int) -> int | None:
        """The level inside a node: its only graph, or one that has its graphs as parts; None if it has none."""
        function = self.model.function_of(node)
        if function is not None:
            return self._graph(function.graph, around, function.name)
        graphs = [(name, graph) for name, attribute in node.attributes.items() for graph in attribute.graphs]
        if not graphs:
            return None
        if len(graphs) == 1:
            return self._graph(graphs[0][1], around, graphs[0][0])
        if node not in self._bodies:
            self._bodies[node] = number = len(self._places)
            self._places.append(_Place(None, None, node, around))
            for name, graph in graphs:
                self._graph(graph, number, name)
        return self._bodies[node]

    def _bodies_of(self, number: int, place: _Place) -> Level:
        """The graphs of a node side by side."""
        node = place.node
        assert node is not None
        items = []
        for name, attribute in node.attributes.items():
            for graph in attribute.graphs:
                inner = self._graph(graph, number, name)
                tree, group = self._places[inner].tree, self._places[inner].group
                assert tree is not None
                assert group is not None
                items.append(self._group_item(tree, group, inner))
        return Level(number, node.op_type, "", tuple(items), (), lay_out([item.box for item in items], []))

    def _laid_out(self, number: int, place: _Place) -> Level:
        tree, group = place.tree, place.group
        assert tree is not None
        assert group is not None
        entering, lines_between, leaving = _wires(tree, group)
        first = len(entering)
        items = [self._port(tree, values, True) for values in entering.values()]
        lines = [
            Line(self._named(tree, values), port, tuple(first + target for target in targets))
            for port, (targets, values) in enumerate(entering.items())
        ]
        for part in group.parts:
            if isinstance(part, Group):
                items.append(self._group_item(tree, part, self._groups[part]))
            else:
                items.append(self._leaf_item(tree, part, number))
        last = len(items)
        items += [self._port(tree, values, False) for values in leaving.values()]
        ends = {value: last + port for port, values in enumerate(leaving.values()) for value in values}
        bundles: dict[tuple[int, tuple[int, ...]], list[int]] = {}
        for (source, value), targets in lines_between.items():
            inner = tuple(first + target for target in targets)
            bundles.setdefault((source, (*inner, ends[value]) if value in ends else inner), []).append(value)
        lines += [
            Line(self._named(tree, values), first + source, targets) for (source, targets), values in bundles.items()
        ]
        layout = lay_out([item.box for item in items], lines)
        return Level(number, group.title, group.of_class, tuple(items), tuple(lines), layout)

    def _port(self, tree: Tree, values: Sequence[int], is_input: bool) -> Item:
        kind: ItemKind = "port in" if is_input else "port out"
        return Item(kind, -1, Label(""), _PORTS[is_input], self._named(tree, values))

    def _leaf_item(self, tree: Tree, index: int, around: int) -> Item:
        leaf = tree.flow.leaves[index]
        number = self._first[tree] + index
        label = leaf_label(leaf)
        if leaf.node is None:
            return Item(leaf.kind, number, label, label.box)
        body = self._body(leaf.node, around)
        size = 1
        if body is not None:
            size = self._size(body)
            label = Label(label.title, (*label.rows, Row("note", f"{size:,} node{'s' if size > 1 else ''} inside")))
        return Item("node", number, label, label.box, family=family_of(leaf.node), opens=body, size=size)

    def _size(self, level: int) -> int:
        """The number of nodes of the graphs of a level, those of graphs inside of them not counted."""
        place = self._places[level]
        graphs = [place.tree] if place.tree is not None else []
        if place.node is not None:
            graphs = [tree for graph in place.node.subgraphs if (tree := self._places[self._trees[graph]].tree)]
        return sum(leaf.node is not None for tree in graphs for leaf in tree.flow.leaves)

    def _group_item(self, tree: Tree, group: Group, number: int) -> Item:
        label = group_label(group, tree)
        nodes = [node for leaf in group.leaves() if (node := tree.flow.leaves[leaf].node) is not None]
        return Item(
            "group",
            -1,
            label,
            label.box,
            mixture=tuple(mixture(nodes)) if nodes else (),
            opens=number,
            members=self._places[number].members,
            of_class=group.of_class,
            size=len(nodes),
        )

    def _named(self, tree: Tree, values: Sequence[int]) -> tuple[int, ...]:
        """The numbers of values of a flow in this scene."""
        return tuple(self.number_of(tree.flow.named[index]) for index in values)


def _wires(
    tree: Tree, group: Group
) -> tuple[dict[tuple[int, ...], list[int]], dict[tuple[int, int], list[int]], dict[int, list[int]]]:
    """The values that enter a group by the parts that read them; the readers of values by their source; and the values
    that leave it by their source. A value that leaves has an entry among the second too.
    """
    entering: dict[int, list[int]] = {}
    between: dict[tuple[int, int], list[int]] = {}
    leaving: dict[int, list[int]] = {}
    for wire in tree.wires(group):
        if wire.source is None:
            assert wire.target is not None
            entering.setdefault(wire.value, []).append(wire.target)
        elif wire.target is None:
            leaving.setdefault(wire.source, []).append(wire.value)
            between.setdefault((wire.source, wire.value), [])
        else:
            between.setdefault((wire.source, wire.value), []).append(wire.target)
    by_readers: dict[tuple[int, ...], list[int]] = {}
    for value, targets in entering.items():
        by_readers.setdefault(tuple(sorted(targets)), []).append(value)
    return by_readers, between, leaving
