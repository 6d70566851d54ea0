"""Blocks of a graph that repeat: nodes that follow each other with the same operators, attributes and wiring.

A layer that a model has twelve times is recognised as twelve instances, whatever its values are called. Weights may
differ, in shape and value: they are parameters of a block, as are the values that it reads of others.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator, Sequence
from hashlib import blake2b
from typing import TypeAlias

import numpy as np

from ingot.dataclass import dataclass
from ingot.dtypes import DType
from ingot.ir.attribute import Attribute, AttributeKind
from ingot.ir.graph import Graph
from ingot.ir.node import Node
from ingot.ir.tensor import SparseTensor, Tensor
from ingot.ir.value import Value

_NUMBER = re.compile(r"(\d{1,15})")
_SHORTEST = 3
"""Nodes of the shortest block."""

_LONGEST = 3000
"""Nodes of the longest one: the search takes time in proportion."""

_LEAST_SAVED = 8
"""Nodes that a block spares a reader at least, to be worth a function."""


Numbers: TypeAlias = np.ndarray[tuple[int], np.dtype[np.int64]]
Flags: TypeAlias = np.ndarray[tuple[int], np.dtype[np.bool_]]


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """Instances of one structure, in the order of the graph; `runs` are those that follow each other without a gap.

    `arguments` are the values that an instance reads of others, `results` the places (node, output) of what others read
    of it: the same places in every instance.
    """

    instances: tuple[tuple[Node, ...], ...]
    runs: tuple[tuple[int, int], ...]
    arguments: tuple[tuple[Value, ...], ...]
    results: tuple[tuple[int, int], ...]

    @property
    def nodes(self) -> set[Node]:
        return {node for instance in self.instances for node in instance}


def repeated_blocks(graph: Graph) -> list[Block]:
    """The blocks of a graph, which share no node; subgraphs are not looked into."""
    nodes = graph.nodes
    codes: dict[Hashable, int] = {}
    signature = np.array([codes.setdefault(_signature(node, place), len(codes)) for place, node in enumerate(nodes)])
    crossings = _crossings(graph, nodes)
    used = np.zeros(len(nodes), bool)
    blocks: list[Block] = []
    for start, period, count in _candidates(signature):
        end = start + (count + 1) * period
        if used[start : min(end, len(nodes))].any():
            start, end = _free_part(used, start, min(_region_end(signature, start, period), len(nodes)))
            if end - start < 2 * period:
                continue
        else:
            end = _region_end(signature, start, period)
        places = _instances(nodes, start, end, period, crossings)
        if places is None or used[places[0] : places[-1] + period].any():
            continue
        places = [*places, *_elsewhere(nodes, signature, places, period, used)]
        places.sort()
        if period * (len(places) - 1) < _LEAST_SAVED:
            continue
        for place in places:
            used[place : place + period] = True
        blocks.append(_block(nodes, places, period))
    return blocks


def _candidates(signature: Numbers) -> list[tuple[int, int, int]]:
    """Starts, periods and counts of repetition, those first that spare most nodes."""
    candidates: list[tuple[int, int, int, int]] = []
    length = len(signature)
    for period in range(_SHORTEST, min(length // 2, _LONGEST) + 1):
        same = np.concatenate([[False], signature[period:] == signature[:-period], [False]])
        edges = np.flatnonzero(same[1:] != same[:-1])
        for first, last in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
            count = (last - first) // period
            if count and count * period >= _LEAST_SAVED:
                candidates.append((-count * period, period, first, count))
    return [(first, period, count) for _, period, first, count in sorted(candidates)]


def _region_end(signature: Numbers, start: int, period: int) -> int:
    same = signature[start + period :] == signature[start : len(signature) - period]
    stops = np.flatnonzero(~same)
    return start + period + (int(stops[0]) if stops.size else len(same))


def _free_part(used: Flags, start: int, end: int) -> tuple[int, int]:
    """The longest stretch between two places of which nothing is used."""
    edges = np.flatnonzero(np.diff(np.concatenate([[True], used[start:end], [True]]).astype(np.int8)))
    stretches = [(int(b - a), start + int(a), start + int(b)) for a, b in zip(edges[::2], edges[1::2], strict=True)]
    _, first, last = max(stretches, default=(0, start, start))
    return first, last


def _instances(
    nodes: Sequence[Node],
    start: int,
    end: int,
    period: int,
    crossings: Numbers,
) -> list[int] | None:
    """Where the instances in a region begin: cut where fewest values cross, with equal wiring; None if none repeat."""
    options = []
    most = (end - start) // period
    for offset in range(period):
        count = (end - start - offset) // period
        if count < 2:
            break
        cuts = crossings[start + offset : start + offset + count * period + 1 : period]
        options.append((float(cuts.mean()) + (0.6 if count < most else 0.0), offset, count))
    likely = sorted(options)[:24]
    likely.sort(key=lambda option: option[0] + 0.5 * _mixed_numbers(nodes, start + option[1], period))
    for _, offset, count in likely[:12]:
        places = [start + offset + place * period for place in range(count)]
        longest = _longest_alike(nodes, places, period)
        if len(longest) >= 2:
            return longest
    return None


def _mixed_numbers(nodes: Sequence[Node], start: int, period: int) -> int:
    """How badly the names of an instance fit those of the next.

    That is how many numbers beside one it bears where the next bears the number behind, and how many of its names
    differ in more than numbers.
    """
    numbers: set[str] = set()
    odd = 0
    for one, other in zip(nodes[start : start + period], nodes[start + period : start + 2 * period], strict=True):
        for mine, theirs in zip(_names(one), _names(other), strict=True):
            numbers |= set(counted_up(mine, theirs))
            odd += _NUMBER.split(mine)[::2] != _NUMBER.split(theirs)[::2]
    return max(len(numbers) - 1, 0) + odd


def weight_names(node: Node) -> list[str]:
    return [value.name for value in node.inputs if value is not None and is_weight(value)]


def _names(node: Node) -> list[str]:
    return [*weight_names(node), node.name, *(value.name for value in node.outputs)]


def counted_up(one: str, other: str) -> Iterator[str]:
    """The numbers in `one` that `other` has one higher, where the rest of both is the same."""
    mine, theirs = _NUMBER.split(one), _NUMBER.split(other)
    if mine[::2] == theirs[::2]:
        for number, following in zip(mine[1::2], theirs[1::2], strict=True):
            if int(following) == int(number) + 1:
                yield number


def _longest_alike(nodes: Sequence[Node], places: list[int], period: int) -> list[int]:
    best: list[int] = []
    current: list[int] = []
    wiring: Hashable = None
    for place in places:
        own = _wiring(nodes[place : place + period])
        current = [*current, place] if current and own == wiring else [place]
        wiring = own
        if len(current) > len(best):
            best = current
    return best


def _elsewhere(
    nodes: Sequence[Node],
    signature: Numbers,
    places: list[int],
    period: int,
    used: Flags,
) -> list[int]:
    """Where the same block stands besides, in nodes that nothing has used."""
    pattern = signature[places[0] : places[0] + period]
    wiring = _wiring(nodes[places[0] : places[0] + period])
    busy = used.copy()
    for place in places:
        busy[place : place + period] = True
    more = []
    for place in np.flatnonzero(signature[: len(signature) - period + 1] == pattern[0]).tolist():
        if busy[place : place + period].any() or (signature[place : place + period] != pattern).any():
            continue
        if _wiring(nodes[place : place + period]) == wiring:
            more.append(place)
            busy[place : place + period] = True
    return more


def _block(nodes: Sequence[Node], places: list[int], period: int) -> Block:
    instances = tuple(tuple(nodes[place : place + period]) for place in places)
    runs: list[tuple[int, int]] = []
    for index, place in enumerate(places):
        if runs and places[index - 1] + period == place:
            runs[-1] = (runs[-1][0], index + 1)
        else:
            runs.append((index, index + 1))
    columns = [_read_from_outside(instance) for instance in instances]
    arguments = tuple(dict.fromkeys(zip(*columns, strict=True)))
    results = sorted({place for instance in instances for place in _read_by_others(instance)})
    return Block(instances, tuple(runs), arguments, tuple(results))


def _read_from_outside(instance: Sequence[Node]) -> list[Value]:
    own = {value for node in instance for value in node.outputs}
    reads = [value for node in instance for value in node.inputs if value is not None and value not in own]
    return [value for value in dict.fromkeys(reads) if not is_weight(value)]


def _read_by_others(instance: Sequence[Node]) -> list[tuple[int, int]]:
    own = set(instance)
    return [
        (place, index)
        for place, node in enumerate(instance)
        for index, value in enumerate(node.outputs)
        if value.is_output or any(user not in own for user in value.users)
    ]


def _wiring(instance: Sequence[Node]) -> Hashable:
    """Who reads what within an instance; values of others and weights by the order in which they are first read."""
    own = {value: (place, index) for place, node in enumerate(instance) for index, value in enumerate(node.outputs)}
    others: dict[Value, int] = {}
    weights: dict[Value, int] = {}
    rows: list[Hashable] = []
    for node in instance:
        for value in node.inputs:
            if value is None:
                rows.append(None)
            elif value in own:
                rows.append(own[value])
            elif is_weight(value):
                rows.append(("weight", weights.setdefault(value, len(weights))))
            else:
                rows.append(("other", others.setdefault(value, len(others))))
    return tuple(rows)


def is_weight(value: Value) -> bool:
    """Whether a value is a constant of a graph that nobody can replace by an input."""
    return value.constant is not None and value.producer is None


def _crossings(graph: Graph, nodes: Sequence[Node]) -> Numbers:
    """For each place between two nodes, how many values computed before it are read behind it."""
    place = {node: index for index, node in enumerate(nodes)}
    steps = np.zeros(len(nodes) + 2, np.int64)
    for index, node in enumerate(nodes):
        for value in node.outputs:
            last = max((place.get(_in_graph(user, graph), index) for user in value.users), default=index)
            if value.is_output:
                last = max(last, index + 1)
            steps[index + 1] += 1
            steps[last + 1] -= 1
    return np.cumsum(steps)


def _in_graph(node: Node, graph: Graph) -> Node:
    """The node of `graph` that holds a node of its subgraphs, or the node itself."""
    while node.graph is not graph and node.graph is not None and node.graph.parent is not None:
        node = node.graph.parent
    return node


def _signature(node: Node, place: int) -> Hashable:
    """What nodes of a block have in common; a place of its own where a node must stay alone."""
    if node.subgraphs or node.device_configurations:
        return place
    inputs = tuple(None if value is None else is_weight(value) for value in node.inputs)
    outputs = tuple(bool(value.name) for value in node.outputs)
    attributes = tuple(_attribute_key(attribute) for attribute in node.attributes.values())
    return node.domain, node.op_type, node.overload, bool(node.name), inputs, outputs, attributes


def _attribute_key(attribute: Attribute) -> Hashable:
    head = (attribute.name, attribute.kind, attribute.ref, attribute.doc_string)
    if attribute.kind.element in (AttributeKind.TENSOR, AttributeKind.SPARSE_TENSOR):
        return *head, tuple(_tensor_key(tensor) for tensor in attribute.tensors)
    if attribute.kind.element is AttributeKind.TYPE:
        return *head, str(attribute.value)
    return *head, repr(attribute.value)


def _tensor_key(tensor: Tensor | SparseTensor) -> Hashable:
    if isinstance(tensor, SparseTensor):
        return id(tensor)
    content = tuple(tensor.strings()) if tensor.dtype is DType.STRING else blake2b(tensor.raw()).digest()
    return tensor.name, tensor.doc_string, tuple(tensor.metadata.items()), tensor.dtype, tensor.shape, content
