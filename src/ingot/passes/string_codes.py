"""Strings as codes: strings that are only moved and compared with constants become numbers, and are looked up last.

Machine code has no strings. The strings that a model names, as keys, categories and constants, are the words of a
table, and a code is a place in it: what enters is encoded once, by the reference, what leaves is looked up once, and
all that is in between is computed with codes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field
from typing import Any

import numpy as np

from ingot.builder import inserting, op
from ingot.dataclass import dataclass
from ingot.dtypes import Array, DType
from ingot.ir.domains import ML
from ingot.ir.graph import Graph
from ingot.ir.model import Model
from ingot.ir.node import Node
from ingot.ir.tensor import Tensor
from ingot.ir.types import TensorType
from ingot.ir.value import Value
from ingot.ops.ml.labels import label_array

_UNKNOWN = -1
"""The code of every string that the model does not name."""

_MOVES: dict[str, slice] = {
    **dict.fromkeys(
        ("Identity", "Reshape", "Squeeze", "Unsqueeze", "Flatten", "Transpose", "Slice", "Gather", "GatherElements",
         "GatherND", "Split", "Expand", "Tile", "Compress", "ReverseSequence"),
        slice(0, 1),
    ),
    "Concat": slice(0, None),
    "Where": slice(1, 3),
    "ScatterElements": slice(0, 3, 2),
    "ScatterND": slice(0, 3, 2),
}  # fmt: skip
"""Operators whose results are made of elements of these inputs."""


def encode_strings(model: Model) -> int:
    """Have strings moved and compared as codes where that takes fewer nodes of strings; how many are replaced.

    The types of the values of the model are left to an inference that follows.
    """
    replaced = 0
    for group in _groups(model.graph):
        if not group.refusal and group.saved > 0:
            _encode(group)
            replaced += len(group.moves) + len(group.lookups)
    return replaced


@dataclass(eq=False, slots=True)
class _Group:
    """String values that nodes move elements between, so that all have codes or none."""

    values: list[Value] = field(default_factory=list)
    moves: list[Node] = field(default_factory=list)
    lookups: list[Node] = field(default_factory=list)
    constants: dict[Value, Array] = field(default_factory=dict)
    entering: list[Value] = field(default_factory=list)
    """Those that other nodes compute, or the caller passes."""
    leaving: list[Value] = field(default_factory=list)
    """Those that its nodes move, and other nodes read or the graph returns."""

    @property
    def refusal(self) -> str | None:
        """Why its strings cannot have codes."""
        if self.entering and self.leaving:
            return "strings that the model does not name would be lost"
        if any(node.applies("Equal") and not any(v in self.constants for v in node.inputs) for node in self.lookups):
            return "two strings that the model does not name may be equal"
        return None

    @property
    def saved(self) -> int:
        """By how many nodes of strings there are fewer."""
        widening = sum(
            node.applies("OneHotEncoder", domain=ML) or node.applies("TfIdfVectorizer") for node in self.lookups
        )
        return len(self.moves) + len(self.lookups) + widening - len(self.entering) - len(self.leaving)


def _groups(graph: Graph) -> Iterator[_Group]:
    strings = [value for value in graph.values() if _is_string(value)]
    seen: set[Value] = set()
    for value in strings:
        if value not in seen:
            yield _group_of(value, seen)


def _group_of(first: Value, seen: set[Value]) -> _Group:
    group, pending, nodes = _Group(), [first], set[Node]()
    seen.add(first)
    while pending:
        value = pending.pop()
        group.values.append(value)
        constant = _constant(value)
        if constant is not None:
            group.constants[value] = constant
        elif value.producer is None or not _moved(value.producer):
            group.entering.append(value)
        is_read = value.is_output
        for node in value.users:
            if node.graph is not value.graph:
                is_read = True
            elif node not in nodes and _moved(node):
                nodes.add(node)
                group.moves.append(node)
            elif node not in nodes and _words(node) is not None:
                nodes.add(node)
                group.lookups.append(node)
            else:
                is_read = is_read or node not in nodes
        if is_read and value.producer is not None and _moved(value.producer):
            group.leaving.append(value)
        linked = [other for node in (value.producer, *value.users) for other in _linked(node, value)]
        pending += dict.fromkeys(other for other in linked if other not in seen)
        seen.update(linked)
    return group


def _linked(node: Node | None, value: Value) -> list[Value]:
    """The strings that a node in the graph of a value moves, or compares, with those that it gives."""
    if node is None or node.graph is not value.graph:
        return []
    if node.applies("Equal"):
        return [other for other in node.inputs if other is not None and _is_string(other)]
    moved = _moved(node)
    return [*moved, *node.outputs] if moved else []


def _moved(node: Node) -> list[Value]:
    """The strings among the inputs that a node makes its results of; none for a node that does not only move them."""
    if node.applies("ArrayFeatureExtractor", domain=ML):
        places: slice | None = slice(0, 1)
    else:
        places = node.rule_in(_MOVES)
    moved = [] if places is None else [value for value in node.inputs[places] if value is not None]
    return moved if moved and all(map(_is_string, moved)) else []


def _words(node: Node) -> Sequence[str] | None:
    """The strings that a node compares its input with; None if it does something else with it."""
    words: Any = None
    if node.applies("LabelEncoder", domain=ML) and "keys_tensor" not in node.attributes:
        words = node.get("keys_strings")
    elif node.applies("OneHotEncoder", domain=ML):
        words = node.get("cats_strings")
    elif node.applies("TfIdfVectorizer"):
        words = node.get("pool_strings")
    elif node.applies("Equal"):
        words = ()
    return None if words is None else tuple(words)


def _encode(group: _Group) -> None:
    named = [word for node in group.lookups for word in _words(node) or ()]
    named += [word for constant in group.constants.values() for word in constant.reshape(-1).tolist()]
    codes = {word: code for code, word in enumerate(dict.fromkeys(named))}
    twins: dict[Value, Value] = {}
    own = {*group.moves, *group.lookups}
    graph = next(iter(own)).graph
    assert graph is not None
    first = next(node for node in graph if node in own)
    for value, constant in group.constants.items():
        numbers = np.array([codes[word] for word in constant.reshape(-1).tolist()], np.int64).reshape(constant.shape)
        twins[value] = graph.add_initializer(graph.fresh_name(f"{value.name}_codes"), numbers)
    for value in group.entering:
        with inserting(before=first) if value.producer is None else inserting(after=value.producer):
            encoder = op.domain(ML).LabelEncoder
            twins[value] = encoder(
                value, keys_strings=list(codes), values_int64s=list(codes.values()), default_int64=_UNKNOWN
            ).value
    for node in group.lookups:
        _number_words(node, codes)
    for value, twin in twins.items():
        for node in own.intersection(value.users):
            node.inputs = [twin if read is value else read for read in node.inputs]
    for value in group.values:
        if value not in twins and isinstance(value.type, TensorType):
            value.type = TensorType(DType.INT64, value.type.shape)
    for value in group.leaving:
        _look_up(value, list(codes), own)


def _number_words(node: Node, codes: dict[str, int]) -> None:
    for kind in ("keys", "cats", "pool"):
        words = node.get(f"{kind}_strings")
        if words is not None:
            node[f"{kind}_int64s"] = [codes[word] for word in words]
            del node[f"{kind}_strings"]


def _look_up(value: Value, words: list[str], own: set[Node]) -> None:
    """Have what reads strings read the words that codes stand for."""
    assert value.producer is not None
    shape = value.type.shape if isinstance(value.type, TensorType) else None
    with inserting(after=value.producer):
        strings = op.Gather(label_array(words), value).value
    strings.type = TensorType(DType.STRING, shape)
    assert strings.producer is not None
    value.replace_uses(strings, keep=[*own, strings.producer])


def _is_string(value: Value) -> bool:
    return isinstance(value.type, TensorType) and value.type.dtype is DType.STRING


def _constant(value: Value) -> Array | None:
    if isinstance(value.constant, Tensor) and not value.is_input:
        return value.constant.numpy()
    node = value.producer
    if node is None or not node.applies("Constant"):
        return None
    if isinstance(tensor := node.get("value"), Tensor):
        return tensor.numpy()
    if (words := node.get("value_strings")) is not None:
        return label_array(list(words)) if words else None
    return None if (word := node.get("value_string")) is None else label_array([word]).reshape(())
