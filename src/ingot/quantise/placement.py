"""Which values of a model are quantised in a static quantisation, and which of them share a scale.

A product reads codes. A value that only moves elements of another, or picks among them, has the codes of that one, so
that nothing is rounded between. What a product computes stays in float up to the next value that a product reads: a
bias, an activation and a residual sum round once. onnxruntime has integer kernels only where results are codes too; for
it, what convolutions and their neighbours compute is quantised as well.
"""

from __future__ import annotations

from collections.abc import Iterable

from ingot.dataclass import dataclass
from ingot.dtypes import DType
from ingot.ir.graph import Graph
from ingot.ir.node import Node
from ingot.ir.value import Value
from ingot.quantise.options import Options
from ingot.quantise.prepare import Prepared
from ingot.quantise.products import Product
from ingot.queries.moving import MOVING
from ingot.queries.values import dtype, only_reader

_COMPANIONS = ("Add", "Mul", "Concat", "AveragePool", "GlobalAveragePool", "Resize", "Sigmoid", "LeakyRelu")
"""Operators that onnxruntime computes in integers where it reads and writes codes."""

_ACTIVATIONS = ("Relu", "Clip")


@dataclass(frozen=True, slots=True)
class Placement:
    """The values to quantise, each with the value whose scale it has: itself, or another of the list."""

    values: dict[Value, Value]


def place(prepared: Prepared, products: Iterable[Product], options: Options) -> Placement:
    """The values that quantised products read, and those that have to have codes for them to have some."""
    placing = _Placing(prepared)
    products = list(products)
    for product in products:
        for position in product.activations:
            value = product.node.inputs[position]
            assert value is not None
            placing.require(value)
    if options.engine == "onnxruntime":
        placing.surround(products)
    return Placement({value: placing.representative(value) for value in placing.required})


class _Placing:
    """The values required so far, and which of them are tied to have one scale."""

    def __init__(self, prepared: Prepared) -> None:
        self._facts = prepared.facts
        self._graph: Graph = prepared.model.graph
        self.required: dict[Value, None] = {}
        self._tied: dict[Value, Value] = {}

    def representative(self, value: Value) -> Value:
        while (other := self._tied.get(value, value)) is not value:
            value = other
        return value

    def require(self, value: Value) -> None:
        """Quantise a value, and what it moves elements from, with one scale for both."""
        pending = [value]
        while pending:
            current = pending.pop()
            if current in self.required:
                continue
            self.required[current] = None
            sources = self._sources(current)
            for source in sources:
                pending.append(source)
                self._tie(current, source)

    def surround(self, products: Iterable[Product]) -> None:
        """Quantise what convolutions compute, activations included, and what goes on in codes from there."""
        for product in products:
            if product.node.applies("Conv", "ConvTranspose"):
                self._require_result(product.node)
        for node in self._graph:
            operands = [value for value in node.inputs if value is not None]
            if node.applies("AveragePool", "GlobalAveragePool", "Resize", "LeakyRelu"):
                operands = operands[:1]
            if node.applies(*_COMPANIONS) and all(value in self.required for value in operands):
                self._require_result(node)

    def _require_result(self, node: Node) -> None:
        result = self._activated(node.output)
        if result.uses and self._quantisable(result):
            self.require(result)

    def _sources(self, value: Value) -> list[Value]:
        """What a value has its elements from, where all of that can be quantised."""
        node = value.producer
        if node is None:
            return []
        if node.applies("Concat"):
            sources = [source for source in node.inputs if source is not None]
            return sources if all(map(self._quantisable, sources)) else []
        interpolates = node.applies("Resize") and node.get("mode", "nearest") in ("nearest", "linear")
        if not (node.applies(*MOVING) or interpolates) or (node.applies("MaxPool") and value.index):
            return []
        source = node.inputs[0]
        return [source] if source is not None and self._quantisable(source) else []

    def _quantisable(self, value: Value) -> bool:
        return (
            dtype(value, self._facts) is DType.FLOAT32
            and value.graph is self._graph
            and not (value.is_initializer and not value.is_input)
        )

    def _tie(self, one: Value, other: Value) -> None:
        first, second = self.representative(one), self.representative(other)
        if first is not second:
            self._tied[first] = second

    @staticmethod
    def _activated(value: Value) -> Value:
        """What becomes of a value by the activation that alone reads it; itself where there is none."""
        reader: Node | None = only_reader(value)
        return reader.output if reader is not None and reader.applies(*_ACTIVATIONS) else value
