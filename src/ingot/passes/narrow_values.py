"""Values in fewer bits: what products of float32 read and compute is kept in 16 bits, and computed with in float32.

`Cast(Cast(x, to=float16), to=float)` is put where such a value is computed, and everything reads that: a kernel stores
16 bits, and products multiply them as they are. Operators that move elements read what was rounded. What a graph
returns is not rounded.
"""

from __future__ import annotations

import numpy as np

from ingot.builder import inserting, op
from ingot.dtypes import DType
from ingot.infer.driver import Facts
from ingot.ir.graph import Graph
from ingot.ir.model import Model, nested_graphs
from ingot.ir.node import Node
from ingot.ir.tensor import Tensor
from ingot.ir.types import TensorType
from ingot.ir.value import Value
from ingot.ops.facts import Fact
from ingot.passes.replacing import add_constant
from ingot.passes.reshape import VIEWS
from ingot.passes.round_products import NARROW, constant_elements, weights_refuse
from ingot.queries.values import dtype, elements, produced_by

_OPERANDS = {"MatMul": (0, 1), "Gemm": (0, 1), "Conv": (0, 1), "ConvTranspose": (0, 1), "Attention": (0, 1, 2)}
"""The operators that are products, and which of their inputs are multiplied."""

_PAST_KEY = 4
"""The input of Attention from which on it has more keys, which come from another run, and are read once."""

_MOVING = (*VIEWS, "Transpose", "Identity", "Slice", "Split", "Expand", "DepthToSpace", "SpaceToDepth")
"""Operators that give elements of their first input as they are."""

_ELEMENTWISE = (
    "Add", "Sub", "Mul", "Div", "Neg", "Abs", "Max", "Min", "Where", "Clip", "Relu", "LeakyRelu", "PRelu", "Elu",
    "Selu", "Celu", "Sigmoid", "HardSigmoid", "HardSwish", "Swish", "Mish", "Softplus", "Tanh", "Erf", "Gelu", "Sqrt",
    "Exp", "Log", "Pow", "BatchNormalization",
)  # fmt: skip
"""Operators that become the epilogue of the product that they read, which stores their result."""


def narrow_values(model: Model, facts: Facts, precision: str) -> int:
    """Keep what products read and compute in a precision of 16 bits, in subgraphs too; how many products.

    `facts` stay true. Products with weights that the precision does not have stay as they are.
    """
    nodes = [node for graph in nested_graphs(model.graph) for node in graph]
    chosen = [node for node in nodes if _takes(node, facts, precision)]
    narrowing = _Narrowing(facts, NARROW[precision])
    for node in chosen:
        narrowing.round_operands(node)
    for node in chosen:
        narrowing.round_result(node)
    return len(chosen)


def _takes(node: Node, facts: Facts, precision: str) -> bool:
    """Whether a node is a product of float32 whose constants the precision has."""
    places = node.rule_in(_OPERANDS)
    if places is None or dtype(node.outputs[0], facts) is not DType.FLOAT32:
        return False
    if node.applies("Attention") and any(value is not None for value in node.inputs[_PAST_KEY:]):
        return False
    for place in places:
        array = constant_elements(node.inputs[place], facts)
        if array is None and elements(node.inputs[place], facts) is not None:
            return False
        if array is not None and (array.ndim < 2 or weights_refuse([array], precision) is not None):
            return False
    return True


class _Narrowing:
    """The rewriting of a model: every value is rounded once."""

    def __init__(self, facts: Facts, narrow: DType) -> None:
        self._facts, self._narrow = facts, narrow
        self._rounded: set[Value] = set()
        self._weights: dict[tuple[Graph, Value], Value] = {}

    def round_operands(self, node: Node) -> None:
        for place in node.rule_in(_OPERANDS) or ():
            operand = node.inputs[place]
            assert operand is not None
            if constant_elements(operand, self._facts) is not None:
                node.replace_input(place, self._weight(node, operand))
                continue
            source = _moved(operand, self._facts)
            if not _is_softmax(source):  # attention holds its weights in registers
                self._round(source)

    def round_result(self, node: Node) -> None:
        """Round what a product stores: its result after its epilogue, unless that are scores of attention."""
        stored = value = node.output
        while (reader := _reader(value)) is not None:
            if reader.applies("Softmax", "LogSoftmax"):
                return
            if reader.applies(*_ELEMENTWISE) and dtype(reader.output, self._facts) is DType.FLOAT32:
                stored = value = reader.output
            elif reader.applies(*_MOVING) and len(reader.outputs) == 1:
                value = reader.output
            else:
                break
        self._round(stored)

    def _round(self, value: Value) -> None:
        graph = value.graph
        assert graph is not None
        readers = value.uses
        if value in self._rounded or not readers:
            return
        with inserting(after=value.producer) if value.producer is not None else inserting(before=graph.nodes[0]):
            narrow = op.Cast(value, to=int(self._narrow))
            wide = op.Cast(narrow, to=int(DType.FLOAT32))
        self._note(narrow.value, value, self._narrow)
        self._note(wide.value, value, DType.FLOAT32)
        self._rounded |= {value, wide.value}
        for node, place in readers:
            node.replace_input(place, wide.value)

    def _weight(self, node: Node, value: Value) -> Value:
        graph = node.graph
        assert graph is not None
        if (graph, value) not in self._weights:
            array = constant_elements(value, self._facts)
            assert array is not None
            held = Tensor(np.ascontiguousarray(array).astype(self._narrow.numpy))
            stored = add_constant(held, f"{value.name}_{self._narrow.name.lower()}", graph, self._facts)
            with inserting(before=node):
                wide = op.Cast(stored, to=int(DType.FLOAT32))
            self._note(wide.value, value, DType.FLOAT32)
            self._weights[graph, value] = wide.value
        return self._weights[graph, value]

    def _note(self, new: Value, like: Value, kind: DType) -> None:
        self._facts[new] = Fact(TensorType(kind, self._facts[like].shape))


def _is_softmax(value: Value) -> bool:
    """Whether a value is a softmax, or one with zeros in the place of NaN."""
    chosen = produced_by(value, "Where")
    if chosen is None:
        return produced_by(value, "Softmax") is not None
    asked, shares = produced_by(chosen.inputs[0], "IsNaN"), chosen.inputs[2]
    return asked is not None and asked.inputs[0] is shares and produced_by(shares, "Softmax") is not None


def _moved(value: Value, facts: Facts) -> Value:
    """The value whose elements a value has, in other places."""
    while (node := value.producer) is not None and (node.applies(*_MOVING) or _is_filled(node)):
        source = node.inputs[0]
        if source is None or dtype(source, facts) is not DType.FLOAT32 or elements(source, facts) is not None:
            break
        value = source
    return value


def _is_filled(node: Node) -> bool:
    """Whether a node puts zeros around its first input."""
    return node.applies("Pad") and len(node.inputs) == 2 and node.get("mode", "constant") == "constant"


def _reader(value: Value) -> Node | None:
    """The one node that reads a value, in the graph that has it; None if others do, or a graph returns it."""
    readers = {use.node for use in value.uses}
    if len(readers) != 1 or value.is_output:
        return None
    (reader,) = readers
    return reader if reader.graph is value.graph else None
