"""Dynamic quantisation written down: activations are quantised by the range of each run, products are of integers.

`DynamicQuantizeLinear`, then `MatMulInteger` or `ConvInteger`, then a cast and a product with both scales.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np

from ingot.dtypes import Array, DType
from ingot.ir.model import Model
from ingot.ir.node import Node
from ingot.ir.value import Value
from ingot.quantise.options import Options
from ingot.quantise.products import Product
from ingot.quantise.recurrent import write_recurrent
from ingot.quantise.weights import Coded
from ingot.quantise.writer import Writer
from ingot.queries.values import read


def write_dynamic(
    model: Model,
    products: Collection[Product],
    weights: Mapping[str, Coded],
    biases: Mapping[str, Array],
    options: Options,
) -> Model:
    """A copy of `model` in which these products are of integers; weights and new biases are by what they compute."""
    writing = _DynamicWriter(model, weights, biases)
    for product in products:
        if not product.is_recurrent:
            writing.quantise(product)
    write_recurrent(writing.writer, [product for product in products if product.is_recurrent], weights, options)
    return writing.writer.finish()


class _DynamicWriter:
    def __init__(self, model: Model, weights: Mapping[str, Coded], biases: Mapping[str, Array]) -> None:
        self.writer = Writer(model)
        self._coded = weights
        self._biases = biases
        self._activations: dict[Value, tuple[Value, Value, Value]] = {}
        self._weights: dict[tuple[object, ...], tuple[Value, Value, Value]] = {}

    def quantise(self, product: Product) -> None:
        """Put a product of integers, and what makes floats of it, in the place of a node."""
        writer, node = self.writer, self.writer.node(product)
        graph, stem = writer.graph, node.output.name
        entering = node.inputs[0]
        assert entering is not None
        codes, scale, zero = self._activation(entering)
        other, other_scale, other_zero = self._other(product, node)
        convolves = node.applies("Conv")
        attributes = list(node.attributes.values()) if convolves else []
        integers = Node(
            "ConvInteger" if convolves else "MatMulInteger",
            [codes, other, zero, other_zero],
            [writer.fresh(f"{stem}_int32")],
            attributes,
            name=node.name and f"{node.name}_quantized",
        )
        floats = Node("Cast", [integers.output], [writer.fresh(f"{stem}_cast")], {"to": int(DType.FLOAT32)})
        both = Node("Mul", [scale, other_scale], [writer.fresh(f"{stem}_scale")])
        scaled = Node("Mul", [floats.output, both.output], [writer.fresh(f"{stem}_scaled")])
        graph.insert_before(node, integers, floats, both, scaled)
        result = scaled.output
        bias, array = read(node, 2), self._biases.get(stem, product.bias_array())
        if array is not None:
            wide = _beside(array, product.weight_array().ndim) if convolves else array
            bias = writer.constant(f"{stem}_bias" if bias is None else f"{bias.name}_reshaped", wide)
        elif bias is not None and convolves:
            bias = self._beside(bias, product.weight_array().ndim, node)
        if bias is not None:
            total = Node("Add", [result, bias], [writer.fresh(f"{stem}_biased")])
            graph.insert_before(node, total)
            result = total.output
        node.output.replace_uses(result)
        name = node.output.name
        graph.remove(node)
        if not result.is_output and name not in graph.outputs.names:
            result.name = name

    def _beside(self, bias: Value, rank: int, node: Node) -> Value:
        """A bias that a run computes, as it is broadcast against the result of a convolution."""
        writer = self.writer
        shape = writer.constant(f"{bias.name}_shape", np.asarray([1, -1, *[1] * (rank - 2)]))
        reshaped = Node("Reshape", [bias, shape], [writer.fresh(f"{bias.name}_reshaped")])
        writer.graph.insert_before(node, reshaped)
        return reshaped.output

    def _activation(self, value: Value) -> tuple[Value, Value, Value]:
        """Codes, scale and zero point of a value, computed once for all that read it."""
        if value not in self._activations:
            name = value.name
            outputs = [self.writer.fresh(f"{name}_{part}") for part in ("quantized", "scale", "zero_point")]
            node = Node("DynamicQuantizeLinear", [value], outputs)
            self.writer.after(value, node)
            codes, scale, zero = node.outputs
            self._activations[value] = codes, scale, zero
        return self._activations[value]

    def _other(self, product: Product, node: Node) -> tuple[Value, Value, Value]:
        if product.weight is None:
            value = node.inputs[1]
            assert value is not None
            return self._activation(value)
        transposed = node.applies("Gemm") and bool(node.get("transB", 0))
        weight, alpha = self._coded[product.key], np.float32(node.get("alpha", 1.0))
        key = product.weight.name, node.op_type, transposed, float(alpha), weight.digest
        if key not in self._weights:
            codes = weight.codes.T if transposed else weight.codes
            writer, name = self.writer, product.weight.name
            scale = weight.scale * alpha
            if node.applies("Conv") and scale.ndim:
                scale = _beside(scale, weight.codes.ndim)
            zero = weight.zero_point if weight.zero_point.any() else weight.zero_point.reshape(-1)[:1].reshape(())
            self._weights[key] = (
                writer.constant(f"{name}_quantized", codes),
                writer.constant(f"{name}_scale", scale),
                writer.constant(f"{name}_zero_point", zero),
            )
        return self._weights[key]


def _beside(array: Array, rank: int) -> Array:
    """One number for each channel, as it is broadcast against the result of a convolution."""
    return array.reshape(1, -1, *[1] * (rank - 2))
