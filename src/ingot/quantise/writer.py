"""The copy of a model that a quantisation is written into: its nodes by name, its new constants, its dead weights."""

from __future__ import annotations

import numpy as np

from ingot.dtypes import Array
from ingot.ir.graph import Graph
from ingot.ir.model import Model
from ingot.ir.node import Node
from ingot.ir.tensor import Tensor
from ingot.ir.value import Value
from ingot.quantise.products import Product
from ingot.quantise.weights import Coded

MICROSOFT = "com.microsoft"


class Writer:
    """A copy being written, and the weights in codes that nodes share."""

    def __init__(self, model: Model) -> None:
        self.model = model.copy()
        self.graph: Graph = self.model.graph
        self.values = {value.name: value for value in self.graph.values()}
        self._nodes = dict(zip(model.graph, self.graph, strict=True))
        self._weights: dict[tuple[str, bytes], Value] = {}

    def node(self, product: Product) -> Node:
        """The node of the copy that a product of the original is."""
        return self._nodes[product.node]

    def constant(self, name: str, array: Array) -> Value:
        """A new initialiser with a name like this one."""
        return self.graph.add_initializer(self.graph.fresh_name(name), np.asarray(array, order="C"))

    def fresh(self, name: str) -> str:
        """A name like this one that is free."""
        return self.graph.fresh_name(name)

    def weight(self, name: str, weight: Coded) -> Value:
        """What a DequantizeLinear makes of a weight in codes; the same for all that read these."""
        key = name, weight.digest
        if key not in self._weights:
            zero = weight.zero_point if weight.has_zero_point else None
            self._weights[key] = self.dequantised(
                name, weight.codes, weight.scale, zero, weight.axis, weight.block_size
            )
        return self._weights[key]

    def dequantised(
        self, name: str, codes: Array, scale: Array, zero: Array | None, axis: int, block_size: int = 0
    ) -> Value:
        """A constant read by DequantizeLinear; without a zero point, zero is the code 0."""
        inputs: list[Value | None] = [
            self.constant(f"{name}_quantized", codes),
            self.constant(f"{name}_scale", scale),
        ]
        inputs += [] if zero is None else [self.constant(f"{name}_zero_point", zero)]
        attributes = ({"axis": axis} if scale.ndim else {}) | ({"block_size": block_size} if block_size else {})
        node = Node("DequantizeLinear", inputs, [self.fresh(f"{name}_dequantized")], attributes)
        self.first(node)
        return node.output

    def put_in_place(self, node: Node, new: Node) -> None:
        """Have one node compute what another did, under the same names."""
        names = [value.name for value in node.outputs]
        self.graph.splice(node, [new], dict(zip(node.outputs, new.outputs, strict=True)))
        for name, value in zip(names, new.outputs, strict=True):
            if name and not value.is_output:
                value.name = name

    def after(self, value: Value, *nodes: Node) -> None:
        """Put nodes right behind where a value is defined."""
        if value.producer is not None:
            self.graph.insert_after(value.producer, *nodes)
        else:
            self.first(*nodes)

    def first(self, *nodes: Node) -> None:
        """Put nodes before all others."""
        self.graph.insert_before(self.graph.nodes[0], *nodes)

    def finish(self) -> Model:
        """The model in order, without what nobody reads any more."""
        self.graph.sort()
        for value in list(self.graph.initializers.values()):
            if not (value.uses or value.is_output or value.is_input):
                self.graph.initializers.remove(value)
        return self.model


def set_constant(node: Node, position: int, array: Array) -> None:
    """Give an input of a node another constant of the old one's type: of its name, unless others read the old one."""
    graph, old = node.graph, node.inputs[position]
    assert graph is not None
    assert old is not None
    assert isinstance(old.constant, Tensor)
    elements = np.asarray(array, old.constant.dtype.numpy, order="C")
    if len(old.uses) == 1 and old.is_initializer and not old.is_output:
        old.constant = Tensor(elements, name=old.name)
        old.type = old.constant.type
        return
    node.replace_input(position, graph.add_initializer(graph.fresh_name(old.name), elements))
