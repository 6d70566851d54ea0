"""Groups of a graph: its modules by their scopes, rows of equal parts, and stretches of what is still too long."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from ingot.ir.attribute import AttributeKind
from ingot.ir.node import Node
from ingot.ir.value import Value
from ingot.view.drafts import Draft, Drafts
from ingot.view.flow import Edges, Flow, Leaf, constant_of
from ingot.view.repeats import Pairs, best_repeat, crossings
from ingot.view.scopes import scopes_of
from ingot.view.titles import RESIDUAL, title_of
from ingot.view.tree import Group, Part, Tree, flat

MOST_PARTS = 60
"""Parts of one group that are drawn side by side; a longer row is cut into stretches."""

MOST_AMONG_GROUPS = 16
"""The same where there are groups among them, from which single nodes would distract."""

_LEAST_INPUTS = 4
"""Inputs or outputs of one name but for numbers that are drawn as one."""

_STRETCH = 30
"""Parts of a stretch, about."""

_LEAST_IN_BLOCK = 6
"""Nodes that a repeated block has at least, where it is not made of modules."""

_LEAST_TO_FOLD = 12
"""Nodes of a group from which on repeats of single nodes are folded."""

_MOST_OF_ALL = 0.8
"""The share of the nodes of a branch from which on a module is the branch."""

_ABOUT = 0.25
"""How much modules of one class may differ in size and still be drawn as one."""

_COMPARED = frozenset(
    {AttributeKind.FLOAT, AttributeKind.INT, AttributeKind.STRING, AttributeKind.FLOATS, AttributeKind.INTS}
)


def grouped(flow: Flow, title: str = "", *, is_inner: bool = False) -> Tree:
    """The leaves of a flow in groups, every part after what it reads.

    A graph that `is_inner`, of a node or of a function, is framed by itself: a module that is nearly all of it is not.
    """
    building = _Building(flow)
    parts = building.parts(list(range(len(flow.leaves))), range(len(flow.sources)), 0)
    if is_inner:
        parts = _without_frame(parts, flow.leaves)
    return Tree(flow, Group("graph", title, _bundled(parts, flow.leaves)))


def _without_frame(parts: list[Part], leaves: Sequence[Leaf]) -> list[Part]:
    """Parts, those of a module in its place if it is the only one and has most of the nodes."""
    modules = [part for part in parts if isinstance(part, Group)]
    if len(modules) != 1 or modules[0].kind != "scope":
        return parts
    nodes = sum(leaf.node is not None for leaf in leaves)
    if len(list(modules[0].leaves())) < _MOST_OF_ALL * nodes:
        return parts
    place = parts.index(modules[0])
    return [*parts[:place], *modules[0].parts, *parts[place + 1 :]]


def _bundled(parts: list[Part], leaves: Sequence[Leaf]) -> list[Part]:
    """Parts, inputs and outputs whose names differ in numbers alone as one group: `past.0.key`, `past.0.value`."""
    families: dict[tuple[str, str], list[int]] = {}
    for part in parts:
        if not isinstance(part, Group) and leaves[part].node is None:
            stem = re.match(r"\D*(?=\d)", leaves[part].name)
            if stem is not None and stem[0].strip("._"):
                families.setdefault((leaves[part].kind, stem[0].strip("._")), []).append(part)
    bundles = {
        members[0]: Group("part", f"{stem} × {len(members)}", list(members))
        for (_, stem), members in families.items()
        if len(members) >= _LEAST_INPUTS
    }
    inside = {leaf for bundle in bundles.values() for leaf in bundle.leaves()} - set(bundles)
    return [part if isinstance(part, Group) else bundles.get(part, part) for part in parts if part not in inside]


class _Building:
    def __init__(self, flow: Flow) -> None:
        self._flow = flow
        self._drafts = Drafts(flow, scopes_of(flow.leaves))
        numbers: dict[object, int] = {}
        self._signs: list[int] = [
            numbers.setdefault(_sign(leaf) if leaf.node is not None else place, len(numbers))
            for place, leaf in enumerate(flow.leaves)
        ]
        self._numbers = numbers

    def parts(self, leaves: Sequence[int], edges: Edges, depth: int) -> list[Part]:
        """The parts of a group with these leaves, and edges between them."""
        drafts = self._drafts.divide(leaves, edges, depth)
        inside = self._drafts.edges_inside(drafts, edges)
        parts = [self._part(draft, inner, depth) for draft, inner in zip(drafts, inside, strict=True)]
        return self._shortened(self._folded(parts, edges), edges)

    def _part(self, draft: Draft, edges: Edges, depth: int) -> Part:
        if draft.scope is None or len(draft.leaves) == 1:
            return draft.leaves[0]
        parts = self.parts(draft.leaves, edges, depth + 1)
        scope = draft.scope
        if len(parts) == 1 and isinstance(inner := parts[0], Group):
            if inner.kind == "scope" or (inner.kind == "repeat" and _stem(scope.name) == scope.name):
                inner.title = f"{scope.name}/{inner.title}"
                return inner
            if inner.kind == "part":
                parts = inner.parts
        return Group("scope", scope.name, parts, scope.of_class)

    def _folded(self, parts: list[Part], edges: Edges) -> list[Part]:
        """Parts, rows of equal ones among them as groups of their own."""
        if not any(isinstance(part, Group) for part in parts) and len(parts) < _LEAST_TO_FOLD:
            return parts
        sizes = [len(flat([part])) for part in parts]
        signs = self._alike([self._sign_of(part) for part in parts], parts, sizes)
        return self._fold(parts, signs, sizes, self._rows(parts, edges))

    def _alike(self, signs: list[int], parts: Sequence[Part], sizes: Sequence[int]) -> list[int]:
        """Signs of parts, the same for numbered modules of one class and about one size, most of which are equal.

        The first layer of a model often has a few nodes more than the others, and is a layer all the same.
        """
        families: dict[tuple[str, str], list[int]] = {}
        for place, part in enumerate(parts):
            if isinstance(part, Group) and part.kind == "scope" and _stem(part.title) != part.title:
                families.setdefault((_stem(part.title), part.of_class), []).append(place)
        for places in families.values():
            [(sign, count)] = Counter(signs[place] for place in places).most_common(1)
            middle = sorted(sizes[place] for place in places)[len(places) // 2]
            for place in places:
                if 2 * count > len(places) and abs(sizes[place] - middle) <= _ABOUT * middle:
                    signs[place] = sign
        return signs

    def _fold(self, parts: list[Part], signs: list[int], sizes: list[int], rows: Pairs) -> list[Part]:
        has_modules = any(isinstance(part, Group) for part in parts)
        repeat = best_repeat(signs, sizes, rows, 2 if has_modules else _LEAST_IN_BLOCK)
        if repeat is None:
            return parts
        if has_modules and not _are_numbered(
            [parts[repeat.start + place :: repeat.period][: repeat.count] for place in range(repeat.period)]
        ):
            return parts

        def slice_of(first: int, end: int) -> list[Part]:
            inner = [(a - first, b - first) for a, b in rows if first <= a < end and first <= b < end]
            return self._fold(parts[first:end], signs[first:end], sizes[first:end], inner)

        blocks: list[Part] = []
        for copy in range(repeat.count):
            first = repeat.start + copy * repeat.period
            if repeat.period == 1:
                blocks.append(parts[first])
            else:
                inner = slice_of(first, first + repeat.period)
                blocks.append(Group("block", self._title(inner), inner))
        title = _common_title(blocks) or self._title([*flat(blocks[:1])])
        row = Group("repeat", title, blocks, _common_class(blocks))
        return [*slice_of(0, repeat.start), row, *slice_of(repeat.end, len(parts))]

    def _shortened(self, parts: list[Part], edges: Edges) -> list[Part]:
        """Parts, with stretches of single nodes between groups as groups of their own, if there are too many."""
        while len(parts) > (MOST_AMONG_GROUPS if any(isinstance(part, Group) for part in parts) else MOST_PARTS):
            groups: list[Part] = []
            run: list[Part] = []
            has_nodes = any(self._is_node(part) for part in parts)
            for part in [*parts, None]:
                if part is not None and self._is_inside(part, has_nodes):
                    run.append(part)
                    continue
                groups += self._stretches(run, edges)
                run = []
                groups += [] if part is None else [part]
            if len(groups) == len(parts):
                break
            parts = groups
        return parts

    def _is_inside(self, part: Part, has_nodes: bool) -> bool:
        """Whether a part may become one of a stretch: a node, or a stretch where there are nothing but these."""
        return self._is_node(part) or (isinstance(part, Group) and part.kind == "part" and not has_nodes)

    def _is_node(self, part: Part) -> bool:
        return not isinstance(part, Group) and self._flow.leaves[part].node is not None

    def _stretches(self, run: list[Part], edges: Edges) -> list[Part]:
        """A run of parts, cut at places that few values cross; as it is, if it is short."""
        if len(run) < _LEAST_IN_BLOCK:
            return run
        across = crossings(self._rows(run, edges), len(run))
        count = max(1, round(len(run) / _STRETCH))
        cuts = [0]
        for number in range(1, count):
            ideal, reach = number * len(run) / count, 0.4 * len(run) / count
            places = range(max(cuts[-1] + 2, int(ideal - reach)), min(len(run) - 2, int(ideal + reach)) + 1)
            if places:
                cuts.append(min(places, key=lambda place: (across[place], abs(place - ideal))))
        stretches = [run[first:end] for first, end in zip(cuts, [*cuts[1:], len(run)], strict=True)]
        return [Group("part", self._title(stretch), stretch) for stretch in stretches]

    def _rows(self, parts: Sequence[Part], edges: Edges) -> Pairs:
        """The edges between parts, as pairs of their places, each once."""
        owner = {leaf: place for place, part in enumerate(parts) for leaf in flat([part])}
        sources, targets = self._flow.sources, self._flow.targets
        pairs = {(owner.get(sources[edge]), owner.get(targets[edge])) for edge in edges}
        return sorted((a, b) for a, b in pairs if a is not None and b is not None and a != b)

    def _sign_of(self, part: Part) -> int:
        """A number that equal parts share."""
        if not isinstance(part, Group):
            return self._signs[part]
        inner = tuple(self._sign_of(each) for each in part.parts)
        return self._numbers.setdefault((part.kind, part.of_class, inner), len(self._numbers))

    def _title(self, parts: Sequence[Part]) -> str:
        leaves = (self._flow.leaves[leaf] for leaf in flat(parts))
        scopes = [part.title for part in parts if isinstance(part, Group) and part.kind == "scope"]
        return title_of(Counter(_counted_as(leaf.node) for leaf in leaves if leaf.node is not None), scopes)


def _sign(leaf: Leaf) -> object:
    """What equal nodes share: the operator, what kinds of inputs it reads, and attributes that are numbers or texts."""
    node = leaf.node
    assert node is not None
    return (
        node.domain,
        node.op_type,
        len(node.outputs),
        tuple(_sort(value) for value in node.inputs),
        _attributes(node),
    )


def _sort(value: Value | None) -> str:
    return "omitted" if value is None else "weight" if constant_of(value) is not None else "value"


def _attributes(node: Node) -> tuple[tuple[str, object], ...]:
    if not node.attributes:
        return ()
    return tuple(
        sorted((name, attribute.value) for name, attribute in node.attributes.items() if attribute.kind in _COMPARED)
    )


def _counted_as(node: Node) -> str:
    """The operator of a node; a sum with a weight is no sum of two branches."""
    is_sum = node.applies("Add", "Sum") and not any(_sort(value) == "weight" for value in node.inputs)
    return RESIDUAL if is_sum else node.op_type


def _are_numbered(columns: Sequence[Sequence[Part]]) -> bool:
    """Whether modules that stand at the same place in equal blocks have the same name but for a number."""
    titles = [{_stem(part.title) for part in column if isinstance(part, Group)} for column in columns]
    return (
        any(titles)
        and all(len(stems) <= 1 for stems in titles)
        and any(_stem(part.title) != part.title for column in columns for part in column if isinstance(part, Group))
    )


def _stem(title: str) -> str:
    return re.sub(r"[._]?\d+(?= \(\d+\)|/|$)", "", title)


def _common_title(blocks: Sequence[Part]) -> str:
    """The name of numbered modules without their numbers: `layer` for `layer.0`, `layer.1`; empty for `0`, `1`."""
    titles = [block.title for block in blocks if isinstance(block, Group)]
    stems = {_stem(title) for title in titles}
    if len(stems) == 1:
        return stems.pop()
    return titles[0] if titles else ""


def _common_class(blocks: Iterable[Part]) -> str:
    classes = {block.of_class if isinstance(block, Group) else "" for block in blocks}
    return classes.pop() if len(classes) == 1 else ""
