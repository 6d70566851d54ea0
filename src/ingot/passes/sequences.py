"""Sequences that tensors stand for: elements that are known, the parts of a tensor, what a loop appends.

Kernels know tensors alone. Where it is known what a sequence is made of, what is read of it is a tensor that can be
computed without it: an element, a Gather from the tensor that was split, or from the rows that a loop collects. An
optional that holds something is what it holds.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np

from ingot.builder import inserting, op
from ingot.dataclass import dataclass
from ingot.ir.domains import TRAINING
from ingot.ir.graph import Graph
from ingot.ir.model import Model
from ingot.ir.node import Node
from ingot.ir.tensor import Tensor
from ingot.ir.value import Value
from ingot.ops.catalog import Catalog
from ingot.passes.collected_sequences import READERS, Rows, collected_sequences, graph_of, maps_to_loops
from ingot.passes.parts_by_one import is_by_one, splits_by_ones
from ingot.passes.repeated_parts import repeat_parts
from ingot.passes.replacing import drop

_BRANCHES = ("then_branch", "else_branch")


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


_Known: TypeAlias = _Elements | _Parts | Rows


def sequences_to_tensors(model: Model, catalog: Catalog) -> int:
    """Compute what is read of sequences and optionals from tensors, where it is known what they hold; how many nodes.

    The types of the values of the model are left to an inference that follows. A model with a gradient in it stays as
    it is, as that names values of the graph. What a loop appended in no run is an empty tensor when it is put together.
    """
    if not any(node.applies(*_MAKERS, "Optional") for node in model.nodes()):
        return 0
    if any(node.applies("Gradient", domain=TRAINING) for node in model.graph):
        return 0
    maps_to_loops(model)
    by_ones = splits_by_ones(model, catalog)
    loops = list(collected_sequences(model, catalog))  # which have no body any more
    rewriting = _Rewriting({sequence: rows for _, sequence, rows in loops}, by_ones)
    rewriting.graph(model.graph)
    for loop, _, _ in loops:
        drop(loop)  # where nobody read what it appended
    return rewriting.changed + repeat_parts(model, catalog)


_MAKERS = ("SequenceConstruct", "SequenceEmpty", "SplitToSequence")


class _Rewriting:
    """What is known of sequences on the way through a model."""

    def __init__(self, known: dict[Value, _Known], by_ones: Mapping[Node, bool]) -> None:
        """`by_ones` are splits whose sizes say that all parts are of size one, and whether these keep the axis."""
        self._known = known
        self._by_ones = by_ones
        self._holds: dict[Value, Value] = {}
        self.changed = len(known)

    def graph(self, graph: Graph) -> None:
        for node in list(graph.nodes):
            if node.graph is not graph:
                continue  # what it reads is computed by the branches of an If
            for inner in node.subgraphs:
                self.graph(inner)
            if node.applies("If"):
                self._branches(node)
            else:
                self._node(node)

    def _node(self, node: Node) -> None:
        sequence = self._sequence(node)
        if sequence is not None:
            self._known[node.outputs[0]] = sequence
            return
        first = node.inputs[0] if node.inputs else None
        if node.applies("Optional") and first is not None:
            self._holds[node.outputs[0]] = first
            return
        with inserting(before=node):
            sequence = None if first is None else self._known.get(first)
            result = self._optional(node, first) if first in self._holds else self._read(node, sequence)
            if result is not None and node.outputs[0].is_output:
                result = op.Identity(result).value
        if result is not None:
            node.outputs[0].replace_uses(result)
            drop(node)
            self.changed += 1

    def _branches(self, node: Node) -> None:
        """Have the branches of an If compute what is read of the sequences that they give."""
        graph, branches = node.graph, [graph_of(node, name) for name in _BRANCHES]
        assert graph is not None
        sides = zip(*(branch.outputs for branch in branches), strict=True)
        moved = {
            place: results
            for place, (value, side) in enumerate(zip(node.outputs, sides, strict=True))
            if value.uses and not value.is_output and (results := self._in_branches(value, branches, side))
        }
        if not moved:
            return
        remaining = [place for place in range(len(node.outputs)) if place not in moved]
        for side, branch in enumerate(branches):
            read = [values[side] for results in moved.values() for values in results.values()]
            branch.outputs[:] = [*(branch.outputs[place] for place in remaining), *read]
        for name in _BRANCHES:
            del node.attributes[name]
        count = len(branches[0].outputs)
        other = Node("If", node.inputs, count, dict(zip(_BRANCHES, branches, strict=True)), name=node.name)
        graph.insert_before(node, other)
        readers = [reader for results in moved.values() for reader in results]
        for old, new in zip(
            [*(node.outputs[place] for place in remaining), *(r.outputs[0] for r in readers)],
            other.outputs,
            strict=True,
        ):
            old.replace_uses(new)
        for reader in readers:
            drop(reader)
        self.changed += len(readers)

    def _in_branches(
        self, value: Value, branches: list[Graph], side: tuple[Value, ...]
    ) -> dict[Node, list[Value]] | None:
        """What each reader of a result of an If reads, computed in either branch; None if one reads something else."""
        known = [self._known.get(result) for result in side]
        results: dict[Node, list[Value]] = {}
        for use in value.uses:
            if use.position or not use.node.applies(*READERS):
                return None
            values = []
            for branch, sequence in zip(branches, known, strict=True):
                if not isinstance(sequence, _Elements):
                    return None
                with inserting(at_end_of=branch):
                    result = self._read(use.node, sequence)
                    if result is None:
                        return None
                    values.append(_value(op.Identity(result)))
            results[use.node] = values
        return results

    def _sequence(self, node: Node) -> _Known | None:
        """What the sequence that a node makes is made of; None if it makes none, or that is not known."""
        inputs = list(node.inputs)
        before = None if not inputs or inputs[0] is None else self._known.get(inputs[0])
        if node.applies("SequenceEmpty"):
            return _Elements(())
        if node.applies("SequenceConstruct"):
            return _Elements(tuple(value for value in inputs if value is not None))
        if node.applies("SplitToSequence") and inputs[0] is not None:
            has_ones = node in self._by_ones
            keeps_axis = self._by_ones.get(node, bool(_attribute(node, "keepdims", 1)))
            parts = _Parts(inputs[0], int(_attribute(node, "axis", 0)), keeps_axis)
            return parts if has_ones or is_by_one(node) else None
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
        return self._holds[first] if node.applies("OptionalGetElement") else None

    def _read(self, node: Node, sequence: _Known | None) -> Value | None:
        """A tensor for what a node reads of a sequence; None if it reads none, or that is not known."""
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
        case Rows(tensor=rows, rank=rank):
            if not -rank - new_axis <= axis < rank + new_axis:
                return None
            axis %= rank + new_axis
            order = [*range(1, axis + 1), 0, *range(axis + 1, rank + 1)]
            moved = op.Transpose(rows, perm=order) if axis else op.Identity(rows)
            if new_axis:
                return _value(moved)
            before = [op.Shape(moved, start=0, end=axis)] if axis else []
            after = [op.Shape(moved, start=axis + 2)] if axis + 1 < rank else []
            both = op.Mul(op.Shape(moved, start=axis, end=axis + 1), op.Shape(moved, start=axis + 1, end=axis + 2))
            return _value(op.Reshape(moved, op.Concat(*before, both, *after, axis=0), allowzero=1))


def _position(positions: list[Value | None], count: int, last: int, default: int | None) -> int | None:
    """A constant position in a sequence of `count`, from the front; None if it is not known or there is no such."""
    position = positions[0] if positions else None
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
