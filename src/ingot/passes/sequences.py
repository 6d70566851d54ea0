"""Sequences that tensors stand for: elements that are known, the parts of a tensor, what a loop appends.

Kernels know tensors alone. Where it is known what a sequence is made of, what is read of it is a tensor that can be
computed without it: an element, a Gather from the tensor that was split, or from the rows that a loop collects. An
optional that holds something is what it holds.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np

from ingot.builder import inserting, op
from ingot.dataclass import dataclass
from ingot.dims import symbols
from ingot.infer.driver import Facts, infer
from ingot.ir.domains import TRAINING
from ingot.ir.graph import Graph
from ingot.ir.model import Model
from ingot.ir.node import Node
from ingot.ir.tensor import Tensor
from ingot.ir.types import TensorType
from ingot.ir.value import Value
from ingot.ops.catalog import Catalog
from ingot.passes.replacing import drop
from ingot.queries.values import fact

_HEADS = 2
"""Inputs of the body of a Loop before its states: the number of the run, and the condition."""

_READERS = ("SequenceAt", "SequenceLength", "ConcatFromSequence")


@dataclass(frozen=True, slots=True)
class _Elements:
    """A sequence of these tensors."""

    values: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class _Parts:
    """The parts of size one of a tensor along an axis, which they keep or lose."""

    tensor: Value
    axis: int
    keeps_axis: bool


@dataclass(frozen=True, slots=True)
class _Rows:
    """The rows of a tensor, of so many axes each."""

    tensor: Value
    rank: int


_Known: TypeAlias = _Elements | _Parts | _Rows


def sequences_to_tensors(model: Model, catalog: Catalog) -> int:
    """Compute what is read of sequences and optionals from tensors, where it is known what they hold; how many nodes.

    The types of the values of the model are left to an inference that follows. A model with a gradient in it stays as
    it is, as that names values of the graph. What a loop appended in no run is an empty tensor when it is put together.
    """
    if not any(node.applies(*_MAKERS, "Optional") for node in model.nodes()):
        return 0
    if any(node.applies("Gradient", domain=TRAINING) for node in model.graph):
        return 0
    loops = list(_collected(model, catalog))
    rewriting = _Rewriting({sequence: rows for _, sequence, rows in loops})
    rewriting.graph(model.graph)
    for loop, _, _ in loops:
        drop(loop)  # where nobody read what it appended
    return rewriting.changed


_MAKERS = ("SequenceConstruct", "SequenceEmpty", "SplitToSequence")


class _Rewriting:
    """What is known of sequences on the way through a model."""

    def __init__(self, known: dict[Value, _Known]) -> None:
        self._known = known
        self._held: dict[Value, Value] = {}
        self.changed = len(known)

    def graph(self, graph: Graph) -> None:
        for node in list(graph.nodes):
            for inner in node.subgraphs:
                self.graph(inner)
            self._node(node)

    def _node(self, node: Node) -> None:
        sequence = self._sequence(node)
        if sequence is not None:
            self._known[node.outputs[0]] = sequence
            return
        first = node.inputs[0] if node.inputs else None
        if node.applies("Optional") and first is not None:
            self._held[node.outputs[0]] = first
            return
        with inserting(before=node):
            result = self._optional(node, first) if first in self._held else self._read(node, first)
            if result is not None and node.outputs[0].is_output:
                result = op.Identity(result).value
        if result is not None:
            node.outputs[0].replace_uses(result)
            drop(node)
            self.changed += 1

    def _sequence(self, node: Node) -> _Known | None:
        """What the sequence that a node makes is made of; None if it makes none, or that is not known."""
        inputs = list(node.inputs)
        before = None if not inputs or inputs[0] is None else self._known.get(inputs[0])
        if node.applies("SequenceEmpty"):
            return _Elements(())
        if node.applies("SequenceConstruct"):
            return _Elements(tuple(value for value in inputs if value is not None))
        if node.applies("SplitToSequence") and inputs[0] is not None and (len(inputs) < 2 or inputs[1] is None):
            return _Parts(inputs[0], int(_attribute(node, "axis", 0)), bool(_attribute(node, "keepdims", 1)))
        if node.applies("Identity"):
            return before
        if not isinstance(before, _Elements):
            return None
        values = before.values
        if node.applies("SequenceInsert") and inputs[1] is not None:
            place = _position(inputs[2:], len(values), len(values), default=len(values))
            return None if place is None else _Elements((*values[:place], inputs[1], *values[place:]))
        if node.applies("SequenceErase"):
            place = _position(inputs[1:], len(values), len(values) - 1, default=len(values) - 1)
            return None if place is None else _Elements((*values[:place], *values[place + 1 :]))
        return None

    def _optional(self, node: Node, first: Value | None) -> Value | None:
        """What is read of an optional that holds something."""
        if node.applies("OptionalHasElement"):
            return _value(op.Identity(np.array(True)))
        assert first is not None
        return self._held[first] if node.applies("OptionalGetElement") else None

    def _read(self, node: Node, first: Value | None) -> Value | None:
        """A tensor for what a node reads of a sequence; None if it reads none, or that is not known."""
        sequence = None if first is None else self._known.get(first)
        if sequence is None:
            return None
        if node.applies("SequenceAt"):
            return _at(sequence, node.inputs[1])
        if node.applies("SequenceLength"):
            return _length(sequence)
        if node.applies("ConcatFromSequence"):
            return _joined(sequence, int(_attribute(node, "axis", 0)), bool(_attribute(node, "new_axis", 0)))
        return None


def _at(sequence: _Known, position: Value | None) -> Value | None:
    if position is None:
        return None
    if isinstance(sequence, _Elements):
        place = _position([position], len(sequence.values), len(sequence.values) - 1, default=None)
        return None if place is None else sequence.values[place]
    keeps = isinstance(sequence, _Parts) and sequence.keeps_axis
    at = op.Reshape(position, np.ones(1, np.int64) if keeps else np.zeros(0, np.int64))
    return _value(op.Gather(sequence.tensor, at, axis=sequence.axis if isinstance(sequence, _Parts) else 0))


def _length(sequence: _Known) -> Value:
    if isinstance(sequence, _Elements):
        return _value(op.Identity(np.array(len(sequence.values), np.int64)))
    axis = sequence.axis if isinstance(sequence, _Parts) else 0
    size = op.Shape(sequence.tensor, start=axis, end=None if axis == -1 else axis + 1)
    return _value(op.Reshape(size, np.zeros(0, np.int64)))


def _joined(sequence: _Known, axis: int, new_axis: bool) -> Value | None:
    match sequence:
        case _Elements(values=values):
            if not values:
                return None
            parts = [op.Unsqueeze(value, np.array([axis])) for value in values] if new_axis else list(values)
            return _value(op.Concat(*parts, axis=axis))
        case _Parts():
            is_whole = axis == sequence.axis and new_axis != sequence.keeps_axis
            return _value(op.Identity(sequence.tensor)) if is_whole else None
        case _Rows(tensor=rows, rank=rank):
            if not -rank - new_axis <= axis < rank + new_axis:
                return None
            axis %= rank + new_axis
            order = [*range(1, axis + 1), 0, *range(axis + 1, rank + 1)]
            moved = op.Transpose(rows, perm=order) if axis else op.Identity(rows)
            if new_axis:
                return _value(moved)
            before = [op.Shape(moved, start=0, end=axis)] if axis else []
            after = [op.Shape(moved, start=axis + 2)] if axis + 1 < rank else []
            return _value(op.Reshape(moved, op.Concat(*before, np.array([-1]), *after, axis=0)))


def _collected(model: Model, catalog: Catalog) -> Iterator[tuple[Node, Value, _Rows]]:
    """The sequences that loops of the main graph append a tensor of the same sizes to in every run, as rows instead.

    A loop that collects rows is put beside each of these loops, which come first; they have no body any more.
    """
    candidates = [place for place, node in enumerate(model.graph.nodes) if any(_appended(node))]
    if not candidates:
        return
    twin = model.copy()
    facts = infer(twin, catalog=catalog, overrule=True)
    nodes, twins = model.graph.nodes, twin.graph.nodes
    outer = {name for value in twin.graph.values() for name in _names(value, facts)}
    for place in candidates:
        ranks = [
            _rank(inserted, facts, outer) if inserted is not None else None for inserted in _appended(twins[place])
        ]
        if any(rank is not None for rank in ranks):
            yield from _rewritten(nodes[place], ranks)


def _appended(node: Node) -> list[Value | None]:
    """For each state of a loop, what every run appends to it, if it is a sequence that begins empty and only grows."""
    if not node.applies("Loop"):
        return []
    body = _body(node)
    return [_appended_to(node, body, place) for place in range(len(node.inputs) - _HEADS)]


def _appended_to(node: Node, body: Graph, place: int) -> Value | None:
    start, state, grown = node.inputs[_HEADS + place], body.inputs[_HEADS + place], body.outputs[1 + place]
    insert, result = grown.producer, node.outputs[place]
    if start is None or start.producer is None or not start.producer.applies("SequenceEmpty"):
        return None
    if insert is None or insert.graph is not body or not insert.applies("SequenceInsert"):
        return None
    if len(insert.inputs) > 2 and insert.inputs[2] is not None:
        return None
    alone = [(use.node, use.position) for use in state.uses] == [(insert, 0)] and not state.is_output
    returned = sum(value is grown for value in body.outputs) == 1 and not grown.uses
    read = all(use.node.applies(*_READERS) and use.position == 0 for use in result.uses) and not result.is_output
    return insert.inputs[1] if alone and returned and read else None


def _rank(value: Value, facts: Facts, outer: set[str]) -> int | None:
    """The rank of a tensor of a body whose sizes are the same in every run: numbers, or sizes around the loop."""
    shape = fact(value, facts).shape
    if shape is None or any(size is None or not symbols(size) <= outer for size in shape):
        return None
    return len(shape)


def _names(value: Value, facts: Facts) -> set[str]:
    shape = fact(value, facts).shape if isinstance(value.type, TensorType) else None
    return {name for size in shape or () if size is not None for name in symbols(size)}


def _rewritten(node: Node, ranks: list[int | None]) -> Iterator[tuple[Node, Value, _Rows]]:
    """Put a loop that collects what is appended beside one; what its sequences are then."""
    graph, body = node.graph, _body(node)
    assert graph is not None
    gone = {place: rank for place, rank in enumerate(ranks) if rank is not None}
    inserted = _appended(node)
    remaining = [place for place in range(len(node.outputs)) if place not in gone]
    with inserting(at_end_of=body):
        rows = [_value(op.Identity(inserted[place])) for place in gone]
    body.outputs[:] = [body.outputs[0], *(body.outputs[1 + place] for place in remaining), *rows]
    for place in sorted(gone, reverse=True):
        state = body.inputs[_HEADS + place]
        for user in state.users:
            body.remove(user)
        del body.inputs[_HEADS + place]
    inputs = [value for place, value in enumerate(node.inputs) if place - _HEADS not in gone]
    outputs = list(node.outputs)
    del node.attributes["body"]
    loop = Node("Loop", inputs, len(remaining) + len(gone), {"body": body}, name=node.name)
    graph.insert_before(node, loop)
    for place, value in zip(remaining, loop.outputs, strict=False):
        outputs[place].replace_uses(value)
    for place, value in zip(gone, loop.outputs[len(remaining) :], strict=True):
        yield node, outputs[place], _Rows(value, gone[place])


def _position(given: list[Value | None], count: int, last: int, default: int | None) -> int | None:
    """A constant position in a sequence of `count`, from the front; None if it is not known or there is no such."""
    position = given[0] if given else None
    if position is None:
        return default if default is not None and default >= 0 else None
    number = _constant(position)
    if number is None or not -count <= number <= last:
        return None
    return number + count if number < 0 else number


def _constant(value: Value) -> int | None:
    constant: Any = None if value.is_input else value.constant
    if value.producer is not None and value.producer.applies("Constant"):
        constant = value.producer.get("value")
        if value.producer.get("value_int") is not None:
            return int(_attribute(value.producer, "value_int", 0))
    if not isinstance(constant, Tensor) or constant.size != 1 or not constant.dtype.is_integer:
        return None
    return int(constant.item())


def _attribute(node: Node, name: str, default: int) -> int:
    number = node.get(name, default)
    assert isinstance(number, int)
    return number


def _value(result: Any) -> Value:
    value: Value = result.value
    return value


def _body(node: Node) -> Graph:
    body = node["body"]
    assert isinstance(body, Graph)
    return body
