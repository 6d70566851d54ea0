"""Static quantisation written down: pairs of QuantizeLinear and DequantizeLinear around the products of a copy."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np

from ingot.dtypes import Array, DType
from ingot.ir.graph import Graph
from ingot.ir.model import Model
from ingot.ir.node import Node
from ingot.ir.value import Value
from ingot.quantise.options import PRODUCTS, Options
from ingot.quantise.parameters import Parameters, parameters
from ingot.quantise.placement import Placement
from ingot.quantise.products import Product
from ingot.quantise.weights import Coded, coded, weight_parameters

OPSET = 13
"""The first version of the standard operators with a scale for each channel."""

_MOST_BIAS = float(np.iinfo(np.int32).max) - 256
"""The largest code of a bias, with room for the rounding of float32 scales."""


def activation_parameters(
    placement: Placement, ranges: Mapping[Value, tuple[float, float]], options: Options
) -> dict[str, Parameters]:
    """The scale and zero point of each value by name; values that share a scale share the object."""
    shared = {
        value: parameters(
            np.asarray(low, np.float64), np.asarray(high, np.float64), options.activation_dtype,
            options.symmetric_activations,
        )
        for value, (low, high) in ranges.items()
    }  # fmt: skip
    return {value.name: shared[other] for value, other in placement.values.items()}


def write_static(
    model: Model, products: Collection[Product], activations: Mapping[str, Parameters], options: Options
) -> Model:
    """A copy of `model` in which these products read codes; products that are not among them read floats."""
    writer = _Writer(model.copy(), options)
    quantised = {product.node.output.name for product in products}
    for name, chosen in activations.items():
        writer.quantise_value(name, chosen, quantised)
    for product in products:
        writer.quantise_weight(product, activations)
    writer.graph.sort()
    return writer.finish()


def bias_scale(weight_scale: Array, input_scale: Array, groups: int = 1) -> Array:
    """The scale of a bias: that of what it is added to."""
    scale: Array = np.maximum(weight_scale * input_scale, np.finfo(np.float32).tiny).astype(np.float32)
    return np.tile(scale, groups) if scale.ndim else scale


def product_weight(product: Product, options: Options, input_scale: Array | None, bias: Array | None) -> Coded:
    """The weight of a product in codes; its scales are at least such that a bias has a code of 32 bits."""
    array = product.weight_array()
    axis = product.channel_axis if options.granularity != "tensor" else None
    chosen = weight_parameters(
        array, options.weight_dtype, axis, symmetric=options.symmetric_weights, reduced=options.reduced
    )
    if bias is not None and input_scale is not None:
        reach = np.abs(bias.astype(np.float64)).reshape(-1, array.shape[product.channel_axis or 0]).max(0)
        least = (reach if chosen.scale.ndim else reach.max()) / _MOST_BIAS / float(input_scale)
        if (least > chosen.scale).any() and options.symmetric_weights:
            scale = np.maximum(chosen.scale, least).astype(np.float32)
            chosen = Parameters(scale, chosen.zero_point, chosen.dtype, chosen.low, chosen.high)
    return coded(array, chosen, axis)


class _Writer:
    """The copy being written: values by name, and the weights in codes that products share."""

    def __init__(self, model: Model, options: Options) -> None:
        self._model = model
        self.graph: Graph = model.graph
        self._options = options
        self._values = {value.name: value for value in self.graph.values()}
        self._nodes = {node.output.name: node for node in self.graph if node.outputs}
        self._shared: dict[int, tuple[Value, Value]] = {}
        self._weights: dict[tuple[str, int | None, bytes], Value] = {}

    def quantise_value(self, name: str, chosen: Parameters, quantised: Collection[str]) -> None:
        """Have all readers but products in float read what a value is after rounding; outputs stay as they are."""
        value = self._values[name]
        scale, zero = self._parameters(name, chosen)
        readers = [use for use in value.uses if not self._is_float_product(use.node, quantised)]
        codes = Node("QuantizeLinear", [value, scale, zero], [self._fresh(f"{name}_quantized")])
        back = Node("DequantizeLinear", [codes.output, scale, zero], [self._fresh(f"{name}_dequantized")])
        self._after(value, codes, back)
        for node, position in readers:
            node.replace_input(position, back.output)

    def quantise_weight(self, product: Product, activations: Mapping[str, Parameters]) -> None:
        """Have a product read its weight and its bias from codes."""
        if product.weight is None:
            return
        node = self._nodes[product.node.output.name]
        entering = product.node.inputs[product.activations[0]]
        assert entering is not None
        input_scale = activations[entering.name].scale
        bias = None if product.bias is None or product.bias.constant is None else product.bias.constant.numpy()  # type: ignore[union-attr]
        weight = product_weight(product, self._options, input_scale, bias)
        node.replace_input(product.weight_position, self._weight(product.weight.name, weight))
        if bias is None or product.bias is None:
            return
        groups = bias.size // weight.scale.size if weight.scale.ndim else 1
        scale = bias_scale(weight.scale, input_scale, groups)
        steps = np.rint(bias.astype(np.float64) / scale)
        if np.abs(steps).max(initial=0.0) <= np.iinfo(np.int32).max:
            node.replace_input(2, self._dequantised(product.bias.name, steps.astype(np.int32), scale, None, 0))

    def finish(self) -> Model:
        """The model without what nobody reads any more."""
        for value in list(self.graph.initializers.values()):
            if not (value.uses or value.is_output or value.is_input):
                self.graph.initializers.remove(value)
        return self._model

    def _is_float_product(self, node: Node, quantised: Collection[str]) -> bool:
        return node.applies(*PRODUCTS) and node.graph is self.graph and node.output.name not in quantised

    def _parameters(self, name: str, chosen: Parameters) -> tuple[Value, Value]:
        if id(chosen) not in self._shared:
            self._shared[id(chosen)] = (
                self._constant(f"{name}_scale", chosen.scale),
                self._constant(f"{name}_zero_point", chosen.zero_point),
            )
        return self._shared[id(chosen)]

    def _weight(self, name: str, weight: Coded) -> Value:
        key = name, weight.axis if weight.scale.ndim else None, weight.scale.tobytes()
        if key not in self._weights:
            zero = weight.zero_point
            self._weights[key] = self._dequantised(name, weight.codes, weight.scale, zero, weight.axis)
        return self._weights[key]

    def _dequantised(self, name: str, codes: Array, scale: Array, zero: Array | None, axis: int) -> Value:
        inputs: list[Value | None] = [
            self._constant(f"{name}_quantized", codes),
            self._constant(f"{name}_scale", scale),
        ]
        inputs += [] if zero is None else [self._constant(f"{name}_zero_point", zero)]
        attributes = {"axis": axis} if scale.ndim else {}
        node = Node("DequantizeLinear", inputs, [self._fresh(f"{name}_dequantized")], attributes)
        self._first(node)
        return node.output

    def _constant(self, name: str, array: Array) -> Value:
        return self.graph.add_initializer(self.graph.fresh_name(name), np.asarray(array, order="C"))

    def _fresh(self, name: str) -> str:
        return self.graph.fresh_name(name)

    def _after(self, value: Value, *nodes: Node) -> None:
        if value.producer is not None:
            self.graph.insert_after(value.producer, *nodes)
        else:
            self._first(*nodes)

    def _first(self, *nodes: Node) -> None:
        self.graph.insert_before(self.graph.nodes[0], *nodes)


def opset_for(*dtypes: DType) -> int:
    """The first version of the standard operators whose DequantizeLinear has these codes."""
    if any(dtype.bits == 2 for dtype in dtypes):
        return 25
    return 21 if any(dtype.bits == 4 for dtype in dtypes) else OPSET
