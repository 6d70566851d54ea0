"""Static quantisation written down: pairs of QuantizeLinear and DequantizeLinear around the products of a copy."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np

from ingot.dtypes import Array
from ingot.ir.model import Model
from ingot.ir.node import Node
from ingot.ir.value import Value
from ingot.ops.quantization.parameters import Parameters, parameters
from ingot.quantise.options import PRODUCTS, Options
from ingot.quantise.placement import Placement
from ingot.quantise.products import Product
from ingot.quantise.weights import Coded
from ingot.quantise.writer import Writer


def activation_parameters(
    placement: Placement, ranges: Mapping[Value, tuple[float, float]], options: Options
) -> dict[str, Parameters]:
    """The scale and zero point of each value by name; values that share a scale share the object."""
    dtype, symmetric = options.activation_dtype, options.symmetric_activations
    shared = {}
    for value in dict.fromkeys(placement.values.values()):
        low, high = (np.asarray(end, np.float64) for end in ranges[value])
        shared[value] = parameters(low, high, dtype, symmetric)
    return {value.name: shared[other] for value, other in placement.values.items()}


def write_static(
    model: Model,
    products: Collection[Product],
    activations: Mapping[str, Parameters],
    weights: Mapping[str, Coded],
    biases: Mapping[str, Array],
    options: Options,
) -> Model:
    """A copy of `model` in which these products read codes; products that are not among them read floats.

    Weights, and biases to be written, are by the keys of the products.
    """
    writer = Writer(model)
    quantised = {product.node.output.name for product in products}
    shared: dict[int, tuple[Value, Value]] = {}
    for name, chosen in activations.items():
        _quantise_value(writer, name, _constants(writer, name, chosen, shared), quantised)
    for product in products:
        if product.weight is not None:
            weight = weights[product.key]
            node = writer.node(product)
            node.replace_input(product.weight_position, writer.weight(product.weight.name, weight))
            entering = product.node.inputs[product.activations[0]]
            assert entering is not None
            bias = biases.get(product.key)
            if bias is not None and not options.integer_biases:
                node.inputs = (*node.inputs[:2], writer.constant(f"{node.output.name}_bias", bias))
            elif bias is not None:
                _write_bias(writer, node, product, bias, weight.scale, activations[entering.name].scale)
    return writer.finish()


def pair(writer: Writer, value: Value, scale: Value, zero: Value) -> Value:
    """A value rounded to codes and back, written behind it."""
    codes = Node("QuantizeLinear", [value, scale, zero], [writer.fresh(f"{value.name}_quantized")])
    back = Node("DequantizeLinear", [codes.output, scale, zero], [writer.fresh(f"{value.name}_dequantized")])
    writer.after(value, codes, back)
    return back.output


def _quantise_value(writer: Writer, name: str, chosen: tuple[Value, Value], quantised: Collection[str]) -> None:
    """Have all readers but products in float read what a value is after rounding; outputs stay as they are."""
    value = writer.values[name]
    readers = [use for use in value.uses if not _is_float_product(use.node, writer, quantised)]
    rounded = pair(writer, value, *chosen)
    for node, position in readers:
        node.replace_input(position, rounded)


def _write_bias(
    writer: Writer, node: Node, product: Product, bias: Array, weight_scale: Array, input_scale: Array
) -> None:
    """A bias in steps of what it is added to, of 32 bits; one that is too large for them stays in float."""
    name = f"{node.output.name}_bias" if product.bias is None else product.bias.name
    scale = np.maximum(weight_scale * input_scale, np.finfo(np.float32).tiny).astype(np.float32)
    scale = np.tile(scale, bias.size // scale.size) if scale.ndim else scale
    steps = np.rint(bias.astype(np.float64) / scale)
    if np.abs(steps).max(initial=0.0) <= np.iinfo(np.int32).max:
        value = writer.dequantised(name, steps.astype(np.int32), scale, None, 0)
    else:
        value = writer.constant(name, bias)
    node.inputs = (*node.inputs[:2], value)


def _is_float_product(node: Node, writer: Writer, quantised: Collection[str]) -> bool:
    return node.applies(*PRODUCTS) and node.graph is writer.graph and node.output.name not in quantised


def _constants(
    writer: Writer, name: str, chosen: Parameters, shared: dict[int, tuple[Value, Value]]
) -> tuple[Value, Value]:
    if id(chosen) not in shared:
        scale = writer.constant(f"{name}_scale", chosen.scale)
        shared[id(chosen)] = scale, writer.constant(f"{name}_zero_point", chosen.zero_point)
    return shared[id(chosen)]
