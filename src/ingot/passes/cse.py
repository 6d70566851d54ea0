"""Common subexpressions: what is computed twice from the same is computed once, and equal constants are one."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Hashable
from typing import TypeAlias

from ingot.dtypes import DType
from ingot.infer.driver import Facts
from ingot.ir.attribute import Attribute
from ingot.ir.graph import Graph
from ingot.ir.model import Model
from ingot.ir.node import Node
from ingot.ir.tensor import SparseTensor, Tensor
from ingot.ir.value import Value
from ingot.ops.catalog import Catalog, standard
from ingot.passes.replacing import replace, stands_in
from ingot.queries.values import fact

Seen: TypeAlias = "ChainMap[Hashable, tuple[Value, ...]]"

_SAMPLE = 64
"""Bytes at either end of a tensor that two must share before all of them are compared."""

_SMALL = 4096
"""Bytes of a tensor in an attribute that is compared by what it holds."""


def share(model: Model, facts: Facts, *, catalog: Catalog | None = None, constants: bool = True) -> int:
    """Read the first of equal values everywhere, and remove the others; how many nodes and constants.

    Two values are equal if they are the same operator of the same inputs, or integers that inference knows to be the
    same sizes, or the same constant. Random operators, those with subgraphs and those that nothing is known of stay.
    Without `constants` every constant stays, under its own name.
    """
    return _Sharing(model, facts, catalog or standard(), constants).graph(model.graph, ChainMap())


class _Sharing:
    def __init__(self, model: Model, facts: Facts, catalog: Catalog, constants: bool) -> None:
        self._constants = constants
        self._imports = model.opset_imports
        self._facts = facts
        self._catalog = catalog

    def graph(self, graph: Graph, seen: Seen) -> int:
        """Share what a graph computes with itself, and with what is before it in the graphs around it."""
        shared = 0
        for value in list(graph.initializers.values()) if self._constants else ():
            shared += not (value.is_input or value.is_output) and self._constant(value, seen)
        for node in graph:
            for subgraph in node.subgraphs:
                shared += self.graph(subgraph, seen.new_child())
            for key in (self._key(node), self._sizes_key(node)):
                if key is not None and node.graph is not None:
                    first = seen.get(key)
                    if first is None or first[0].graph is None:  # none yet, or it went with the last that read it
                        seen[key] = node.outputs
                    else:
                        shared += first is not node.outputs and self._merge(node, first)
        return shared

    def _merge(self, node: Node, first: tuple[Value, ...]) -> bool:
        wanted = [(old, new) for old, new in zip(node.outputs, first, strict=True) if old.uses or old.is_output]
        if not all(new.name and stands_in(old, new) for old, new in wanted):
            return False
        for old, new in wanted:
            replace(old, new, self._facts)
        return True

    def _key(self, node: Node) -> Hashable:
        operator = self._catalog.operator_of(node, self._imports)
        if operator is None or operator.runtime is not None or node.subgraphs:
            return None
        attributes = frozenset(_attribute_key(attribute) for attribute in node.attributes.values())
        named = tuple(bool(value.name) for value in node.outputs)
        return "node", node.domain, node.op_type, node.inputs, attributes, named

    def _sizes_key(self, node: Node) -> Hashable:
        if len(node.outputs) != 1 or node.applies("Constant"):
            return None
        known = fact(node.output, self._facts)
        if not known.elements or any(element is None for element in known.elements):
            return None
        return "sizes", known.dtype, known.shape, known.elements

    def _constant(self, value: Value, seen: Seen) -> bool:
        """Whether a constant was given before; two are compared in full only if their ends are the same."""
        if not isinstance(value.constant, Tensor):
            return False
        key = ("constant", *_constant_key(value.constant))
        for count in range(8):
            (first,) = seen.get((*key, count), (value,))
            if first is value or first.graph is None:
                seen[*key, count] = (value,)
                return False
            assert isinstance(first.constant, Tensor)
            if _equal(first.constant, value.constant):
                graph = value.graph
                value.replace_uses(first)
                if graph is not None:
                    graph.initializers.remove(value)
                return True
        return False


def _constant_key(tensor: Tensor) -> tuple[Hashable, ...]:
    if tensor.dtype is DType.STRING or not tensor.is_loaded:
        return (id(tensor),)
    raw = tensor.raw()
    return tensor.dtype, tensor.shape, bytes(raw[:_SAMPLE]), bytes(raw[-_SAMPLE:])


def _equal(a: Tensor, b: Tensor) -> bool:
    return a is b or (a.dtype is not DType.STRING and a.raw() == b.raw())


def _attribute_key(attribute: Attribute) -> Hashable:
    value = attribute.value
    match value:
        case Tensor() if value.dtype is not DType.STRING and value.nbytes <= _SMALL:
            return attribute.name, value.dtype, value.shape, bytes(value.raw())
        case Tensor():
            return attribute.name, id(value)
        case SparseTensor():
            return attribute.name, id(value)
        case tuple() if attribute.tensors:
            return attribute.name, tuple(id(tensor) for tensor in attribute.tensors)
    return attribute.name, attribute.kind, attribute.ref, repr(value)
