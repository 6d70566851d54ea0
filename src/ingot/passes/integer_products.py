"""Products of dequantised tensors as products of their codes: exact sums of bytes, scaled after."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from ingot.builder import inserting, op
from ingot.dataclass import dataclass
from ingot.dtypes import Array, DType
from ingot.infer.driver import Facts
from ingot.ir.model import Model, nested_graphs
from ingot.ir.node import Node
from ingot.ir.tensor import Tensor
from ingot.ir.types import TensorType
from ingot.ir.value import Value
from ingot.ops.facts import Fact
from ingot.ops.linalg.byte_products import are_held, sum_type
from ingot.passes.replacing import add_constant, replace
from ingot.queries.values import dtype, elements, only_reader, produced_by, rank, read, shape

_BYTES = (DType.INT8, DType.UINT8)
_WINDOWS = ("auto_pad", "dilations", "group", "kernel_shape", "pads", "strides")


def integer_products(model: Model, facts: Facts) -> int:
    """Replace Conv, MatMul and Gemm of dequantised bytes by ConvInteger and MatMulInteger, scaled; how many.

    Scales are constants: one for the left operand, one or one for each column or filter for the right one. Where the
    result is quantised at once, or after Relu, the scale of that is part of theirs. Results change by rounding.
    """
    replaced = 0
    for graph in list(nested_graphs(model.graph)):
        for node in list(graph):
            if node.graph is None or not node.applies("Conv", "MatMul", "Gemm"):
                continue
            operands = _operands(node, facts)
            if operands is not None:
                _rewrite(node, operands, facts)
                replaced += 1
    return replaced


@dataclass(frozen=True, slots=True)
class _Codes:
    """Bytes, their scale, or scales along `axis`, and their zero points, if any."""

    codes: Value
    scale: Array
    axis: int
    zero: Value | None


@dataclass(frozen=True, slots=True)
class _Operands:
    """The operands of a product; `bias` has one number, or one for each column or filter, of which `scale` has too."""

    left: _Codes
    right: _Codes
    scale: Array
    bias: Array | None


def _operands(node: Node, facts: Facts) -> _Operands | None:
    left, right = _codes(node.inputs[0], facts), _codes(node.inputs[1], facts)
    if left is None or right is None or left.scale.size != 1 or dtype(node.output, facts) is not DType.FLOAT32:
        return None
    sizes = shape(right.codes, facts)
    if sizes is None or shape(node.output, facts) is None or _columns_refuse(node, right, len(sizes)):
        return None
    products = prod(sizes[1:]) if node.applies("Conv") else sizes[-1 if node.get("transB", 0) else -2]
    if len(sizes) < 2 or (sum_type(products) is not DType.INT32 and not _are_held(node, right, facts)):
        return None
    bias = None
    if (third := read(node, 2)) is not None:
        bias = _bias(third, facts)
        if bias is None or (node.applies("Conv") and bias.ndim != 1) or bias.ndim > 1 + (bias.shape[0] == 1):
            return None
    return _Operands(left, right, (left.scale * right.scale).reshape(-1), bias)


def _columns_refuse(node: Node, right: _Codes, axes: int) -> str | None:
    """Why the scales of the right operand are not one, or one for each column or filter."""
    if node.applies("Gemm") and (node.get("transA", 0) or node.get("alpha", 1.0) != 1 or node.get("beta", 1.0) != 1):
        return "it is transposed or scaled"
    if right.scale.size == 1:
        return None
    columns = 0 if node.applies("Conv") or node.get("transB", 0) else axes - 1
    return None if right.axis % axes == columns else "scales are along another axis"


def _are_held(node: Node, right: _Codes, facts: Facts) -> bool:
    """Whether 32 bits hold the sums of the products of all bytes with those of the right operand, which are known."""
    codes, zero = elements(right.codes, facts), elements(right.zero, facts)
    if codes is None:
        return False
    axes = tuple(range(1, codes.ndim)) if node.applies("Conv") else (codes.ndim - (1 if node.get("transB", 0) else 2),)
    points = np.zeros((), np.int64) if zero is None else zero.astype(np.int64)
    if points.size > 1:
        points = points.reshape([-1 if axis == right.axis % codes.ndim else 1 for axis in range(codes.ndim)])
    return are_held(codes.astype(np.int64) - points, axes)


def _codes(value: Value | None, facts: Facts) -> _Codes | None:
    """The bytes that a value is dequantised from, each axis of them whole."""
    node = produced_by(value, "DequantizeLinear")
    if node is None or dtype(node.inputs[0], facts) not in _BYTES or node.get("block_size", 0):
        return None
    codes, scale, zero = node.inputs[0], elements(read(node, 1), facts), read(node, 2)
    if codes is None or scale is None or scale.dtype != np.float32 or scale.ndim > 1 or not np.isfinite(scale).all():
        return None
    if zero is not None and elements(zero, facts) is None:
        return None
    return _Codes(codes, scale, int(node.get("axis", 1)), zero)


def _bias(value: Value, facts: Facts) -> Array | None:
    """A constant bias, which may be dequantised."""
    known = elements(value, facts)
    if known is not None:
        return known if known.dtype == np.float32 and known.ndim else None
    node = produced_by(value, "DequantizeLinear")
    if node is None or (read(node, 2) is not None and elements(read(node, 2), facts) is None):
        return None
    codes, scale = elements(node.inputs[0], facts), elements(read(node, 1), facts)
    if (
        codes is None
        or scale is None
        or scale.dtype != np.float32
        or codes.ndim != 1
        or scale.size not in (1, codes.size)
    ):
        return None
    zero = elements(read(node, 2), facts)
    steps = codes.astype(np.int64) - (0 if zero is None else zero.astype(np.int64))
    return steps.astype(np.float32) * scale.reshape(-1)


def _rewrite(node: Node, operands: _Operands, facts: Facts) -> None:
    scale, bias = operands.scale, operands.bias
    quantised = _quantised(node, facts)
    if quantised is not None:
        steps = elements(quantised.inputs[1], facts)
        assert steps is not None
        scale, bias = scale / steps.reshape(()), None if bias is None else bias / steps.reshape(())
    axes = rank(node.output, facts)
    assert axes is not None
    sizes = facts[node.output].shape
    wide, real = (Fact(TensorType(kind, sizes)) for kind in (DType.INT32, DType.FLOAT32))

    def noted(result: Any, fact: Fact) -> Any:
        facts[result.value] = fact
        return result

    def beside(values: Array) -> Array:
        if not node.applies("Conv") or values.size == 1:
            return values.reshape(() if values.size == 1 else -1)
        return values.reshape(-1, *(1,) * (axes - 2))

    with inserting(before=node):
        sums = noted(_sums(node, operands, facts), wide)
        y = noted(op.Cast(sums, to=int(DType.FLOAT32)), real)
        y = op.Mul(y, beside(scale))
        if bias is not None:
            y = op.Add(noted(y, real), beside(bias))
    replace(node.output, y.value, facts)
    if quantised is not None:
        graph = quantised.graph
        assert graph is not None
        one = add_constant(Tensor(np.ones((), np.float32)), "one", graph, facts)
        attributes = {"output_dtype": quantised.get("output_dtype")} if "output_dtype" in quantised else {}
        with inserting(before=quantised):
            codes = op.QuantizeLinear(quantised.inputs[0], one, read(quantised, 2), **attributes)
        replace(quantised.output, codes.value, facts)


def _sums(node: Node, operands: _Operands, facts: Facts) -> Any:
    left, right = operands.left, operands.right
    if node.applies("Conv"):
        attributes = {name: node.get(name) for name in _WINDOWS if name in node}
        return op.ConvInteger(left.codes, right.codes, left.zero, right.zero, **attributes)
    matrix: Any = right.codes
    if node.get("transB", 0):
        matrix = op.Transpose(matrix, perm=[1, 0])
        known = facts[right.codes]
        assert known.shape is not None
        assert known.dtype is not None
        facts[matrix.value] = Fact(TensorType(known.dtype, known.shape[::-1]))
    return op.MatMulInteger(left.codes, matrix, left.zero, right.zero)


def _quantised(node: Node, facts: Facts) -> Node | None:
    """The node that quantises the result of a product, or that of a Relu of it, by one positive scale."""
    reader = only_reader(node.output)
    if reader is not None and reader.applies("Relu"):
        reader = only_reader(reader.output)
    if reader is None or not reader.applies("QuantizeLinear") or reader.get("block_size", 0):
        return None
    scale = elements(reader.inputs[1], facts)
    if scale is None or scale.dtype != np.float32 or scale.size != 1 or not (np.isfinite(scale) & (scale > 0)).all():
        return None
    return None if reader.get("precision", 0) or reader.inputs[1] is reader.inputs[0] else reader
