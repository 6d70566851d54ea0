"""Recurrent networks with weights in codes: a DequantizeLinear before each, or onnxruntime's LSTM of bytes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ingot.dtypes import Array
from ingot.ir.node import Node
from ingot.ir.value import Value
from ingot.quantise.options import Options
from ingot.quantise.products import Product
from ingot.quantise.weights import Coded
from ingot.quantise.writer import MICROSOFT, Writer

_INPUTS = 8
"""Of an LSTM: those after the weights are its bias, lengths, states and peepholes."""


def write_recurrent(
    writer: Writer, products: Sequence[Product], weights: Mapping[str, Coded], options: Options
) -> None:
    """Have recurrent networks read these weights, by the keys of the products.

    For onnxruntime in the mode `dynamic`, an LSTM both of whose weights are among them computes in integers: what it
    reads is quantised by its range, and its state by the range of each step.
    """
    by_node: dict[Node, list[Product]] = {}
    for product in products:
        by_node.setdefault(writer.node(product), []).append(product)
    for node, parts in by_node.items():
        in_integers = options.engine == "onnxruntime" and options.mode == "dynamic"
        if in_integers and node.applies("LSTM") and len(parts) == 2 and not node.get("layout", 0):
            _write_integers(writer, node, [(part, weights[part.key]) for part in parts])
            continue
        for part in parts:
            assert part.weight is not None
            node.replace_input(part.weight_position, writer.weight(part.weight.name, weights[part.key]))


def _write_integers(writer: Writer, node: Node, parts: Sequence[tuple[Product, Coded]]) -> None:
    """DynamicQuantizeLSTM in the place of a node: its weights are stored input by gate."""
    inputs: list[Value | None] = [*node.inputs, *[None] * (_INPUTS - len(node.inputs))]
    scales: list[Value | None] = []
    for part, weight in parts:
        assert part.weight is not None
        name, directions = part.weight.name, len(weight.codes)
        inputs[part.weight_position] = writer.constant(f"{name}_quantized", weight.codes.swapaxes(1, 2))
        scales += [
            writer.constant(f"{name}_scale", _by_direction(weight.scale, directions)),
            writer.constant(f"{name}_zero_point", _by_direction(weight.zero_point, directions)),
        ]
    attributes = [attribute for attribute in node.attributes.values() if attribute.name != "layout"]
    names = [value.name and writer.fresh(f"{value.name}_integers") for value in node.outputs]
    integers = Node("DynamicQuantizeLSTM", [*inputs, *scales], names, attributes, domain=MICROSOFT, name=node.name)
    writer.put_in_place(node, integers)
    writer.model.opset_imports[MICROSOFT] = 1


def _by_direction(parts: Array, directions: int) -> Array:
    """Scales as `[directions]`, or `[directions, channels]`."""
    return np.full(directions, parts) if parts.ndim == 0 else parts.reshape(directions, -1)
