"""Weights alone as codes: DequantizeLinear with blocks, or onnxruntime's product of a matrix of few bits."""

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
from ingot.quantise.writer import MICROSOFT, Writer
from ingot.queries.values import read

_SMALLEST_BLOCK = 16
"""Of MatMulNBits, whose blocks are powers of two."""


def write_weights(
    model: Model,
    products: Collection[Product],
    weights: Mapping[str, Coded],
    biases: Mapping[str, Array],
    options: Options,
) -> Model:
    """A copy of `model` whose products read these weights and new biases, by the names of what they compute."""
    writer = Writer(model)
    write_recurrent(writer, [product for product in products if product.is_recurrent], weights, options)
    for product in products:
        if product.is_recurrent:
            continue
        assert product.weight is not None
        weight = weights[product.key]
        node = writer.node(product)
        bias = biases.get(product.key)
        if bias is not None:
            node.inputs = (*node.inputs[:2], writer.constant(f"{node.output.name}_bias", bias))
        if options.engine == "onnxruntime" and _fits_n_bits(product, weight):
            _write_n_bits(writer, node, product, weight)
            writer.model.opset_imports[MICROSOFT] = 1
        else:
            node.replace_input(product.weight_position, writer.weight(product.weight.name, weight))
    return writer.finish()


def _fits_n_bits(product: Product, weight: Coded) -> bool:
    node, size = product.node, weight.block_size
    plain = node.applies("MatMul") or (
        not node.get("transA", 0) and node.get("alpha", 1.0) == 1.0 and (read(node, 2) is None or _has_bias(product))
    )
    return plain and size >= _SMALLEST_BLOCK and size & (size - 1) == 0 and product.weight_position == 1


def _has_bias(product: Product) -> bool:
    return product.bias is not None


def _write_n_bits(writer: Writer, node: Node, product: Product, weight: Coded) -> None:
    """MatMulNBits: codes are unsigned, a row for each column of the weight."""
    assert product.weight is not None
    bits = DType.of(weight.codes.dtype).bits
    middle = 0 if str(DType.of(weight.codes.dtype)).startswith("u") else 1 << (bits - 1)
    columns_first = product.sum_axis == 1
    codes, scale, zero = (
        array if columns_first else array.T
        for array in (weight.codes.astype(np.int64) + middle, weight.scale, weight.zero_point.astype(np.int64) + middle)
    )
    columns, rows = codes.shape
    missing = -rows % weight.block_size
    codes = np.pad(codes, [(0, 0), (0, missing)])
    packed = _packed(codes.astype(np.uint8), bits).reshape(columns, -1, weight.block_size * bits // 8)
    name = product.weight.name
    entering = node.inputs[0]
    inputs: list[Value | None] = [
        entering,
        writer.constant(f"{name}_quantized", packed),
        writer.constant(f"{name}_scale", scale.reshape(-1)),
    ]
    is_middle = bool((zero == 1 << (bits - 1)).all())
    bias = read(node, 2) if node.applies("Gemm") else None
    if not is_middle or bias is not None:
        inputs.append(None if is_middle else writer.constant(f"{name}_zero_point", _zero_points(zero, bits)))
    if bias is not None:
        inputs += [None, bias]
    attributes = {"K": rows, "N": columns, "bits": bits, "block_size": weight.block_size}
    product_node = Node(
        "MatMulNBits", inputs, [writer.fresh(f"{node.output.name}_nbits")], attributes, domain=MICROSOFT, name=node.name
    )
    writer.put_in_place(node, product_node)


def _zero_points(zero: Array, bits: int) -> Array:
    each = 8 // bits
    padded = np.pad(zero, [(0, 0), (0, -zero.shape[1] % each)])
    return _packed(padded.astype(np.uint8), bits).reshape(-1)


def _packed(values: Array, bits: int) -> Array:
    """Values along the last axis, as many a byte as fit, the first in the lowest bits."""
    each = 8 // bits
    parts = values.reshape(*values.shape[:-1], -1, each)
    shifts = (np.arange(each) * bits).astype(np.uint8)
    packed: Array = np.bitwise_or.reduce(parts << shifts, axis=-1).astype(np.uint8)
    return packed
