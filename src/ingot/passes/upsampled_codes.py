"""Transposed convolutions of codes whose windows do not overlap: a convolution of single pixels, spread over blocks."""

from __future__ import annotations

from typing import Any

import numpy as np

from ingot.builder import inserting, op
from ingot.dataclass import dataclass
from ingot.dims import Dim
from ingot.dtypes import Array, DType
from ingot.infer.driver import Facts
from ingot.ir.model import Model, nested_graphs
from ingot.ir.node import Node
from ingot.ir.tensor import Tensor
from ingot.ir.types import TensorType
from ingot.ops.facts import Fact
from ingot.passes.replacing import add_constant, replace
from ingot.queries.values import dtype, elements, only_reader, produced_by, read


def spread_pixels(model: Model, facts: Facts) -> int:
    """Replace a ConvTranspose of dequantised bytes by a Conv whose channels are spread over blocks of pixels; how many.

    Each pixel has a block of its own. The result is quantised before it is spread, if nothing else reads it; then its
    channels lie side by side, as in convolutions before and after it. Sums are of the same products.
    """
    replaced = 0
    for graph in list(nested_graphs(model.graph)):
        for node in list(graph):
            if node.graph is None or not node.applies("ConvTranspose"):
                continue
            filters = _filters(node, facts)
            if filters is not None:
                _rewrite(node, filters, facts)
                replaced += 1
    return replaced


@dataclass(frozen=True, slots=True)
class _Filters:
    """Codes of filters of one pixel, a scale and a zero point for each or one for all, and biases.

    Those of one place of a block, which has `block` rows and columns, lie side by side.
    """

    codes: Array
    scale: Array
    zero: Array | None
    bias: Array | None
    block: int


def _filters(node: Node, facts: Facts) -> _Filters | None:
    weights = produced_by(node.inputs[1], "DequantizeLinear")
    if produced_by(node.inputs[0], "DequantizeLinear") is None or weights is None or weights.get("block_size", 0):
        return None
    codes, scale, zero = (elements(read(weights, place), facts) for place in range(3))
    bias = elements(read(node, 2), facts)
    if codes is None or codes.ndim != 4 or codes.dtype not in (np.int8, np.uint8) or scale is None or scale.ndim > 1:
        return None
    if (read(weights, 2) is not None and zero is None) or (read(node, 2) is not None and bias is None):
        return None
    block = codes.shape[2]
    if block != codes.shape[3] or block < 2 or list(node.get("strides", [1, 1])) != [block, block]:
        return None
    plain = not any(node.get("pads", [])) and not any(node.get("output_padding", [])) and "output_shape" not in node
    if not plain or node.get("group", 1) != 1 or any(step != 1 for step in node.get("dilations", [])):
        return None
    if node.get("auto_pad", "NOTSET") not in ("NOTSET", "VALID"):
        return None
    shape = facts[node.output].shape
    if shape is None or shape[0] is None or not all(isinstance(size, int) for size in shape[1:]):
        return None
    if scale.size > 1 and int(weights.get("axis", 1)) % 4 != 1:
        return None

    def spread(values: Array | None) -> Array | None:
        return values if values is None or values.size == 1 else np.tile(values.reshape(-1), block * block)

    turned = np.ascontiguousarray(codes.transpose(2, 3, 1, 0)).reshape(-1, codes.shape[0], 1, 1)
    scales = spread(scale)
    assert scales is not None
    return _Filters(turned, scales, spread(zero), spread(bias), block)


def _rewrite(node: Node, filters: _Filters, facts: Facts) -> None:
    graph, sizes, block = node.graph, facts[node.output].shape, filters.block
    assert graph is not None
    assert sizes is not None
    batch, (outputs, *whole) = sizes[0], [size for size in sizes[1:] if isinstance(size, int)]
    assert batch is not None
    height, width = (size // block for size in whole)

    def constant(array: Array, name: str) -> Any:
        return add_constant(Tensor(array), name, graph, facts)

    def noted(result: Any, kind: DType, *shape: Dim) -> Any:
        facts[result.value] = Fact(TensorType(kind, shape))
        return result

    quantised, kind = _quantised(node, facts), DType.FLOAT32
    end = node if quantised is None else quantised
    with inserting(before=end):
        zero = None if filters.zero is None else constant(filters.zero, "zeros")
        codes, scale = constant(filters.codes, "filters"), constant(filters.scale, "scales")
        weights = noted(op.DequantizeLinear(codes, scale, zero, axis=0), kind, *filters.codes.shape)
        bias = None if filters.bias is None else constant(filters.bias, "bias")
        small = batch, len(filters.codes), height, width
        y = noted(op.Conv(node.inputs[0], weights, bias, kernel_shape=[1, 1]), kind, *small)
        if quantised is not None:
            kind = _kind(quantised, facts)
            options = {"output_dtype": quantised.get("output_dtype")} if "output_dtype" in quantised else {}
            y = noted(op.QuantizeLinear(y, quantised.inputs[1], read(quantised, 2), **options), kind, *small)
        y = noted(op.Transpose(y, perm=[0, 2, 3, 1]), kind, batch, height, width, len(filters.codes))
        places = constant(np.array([0, 0, 0, block, block, outputs], np.int64), "places")
        y = noted(op.Reshape(y, places), kind, batch, height, width, block, block, outputs)
        y = noted(op.Transpose(y, perm=[0, 1, 3, 2, 4, 5]), kind, batch, height, block, width, block, outputs)
        pixels = constant(np.array([0, *whole, outputs], np.int64), "pixels")
        y = noted(op.Reshape(y, pixels), kind, batch, *whole, outputs)
        y = op.Transpose(y, perm=[0, 3, 1, 2])
    replace(end.output, y.value, facts)


def _quantised(node: Node, facts: Facts) -> Node | None:
    """The only reader, if it quantises all elements alike."""
    reader = only_reader(node.output)
    if reader is None or not reader.applies("QuantizeLinear") or reader.get("precision", 0):
        return None
    scale = elements(read(reader, 1), facts)
    return reader if scale is not None and scale.size == 1 else None


def _kind(node: Node, facts: Facts) -> DType:
    kind = dtype(node.output, facts)
    assert kind is not None
    return kind
