"""Products of matrices, in the ways keras.ops has for them."""

from __future__ import annotations

from typing import Any

from ingot.builder import Var, op
from ingot.convert.keras.conversion import Conversion, cast
from ingot.convert.keras.operations.elementwise import operand_of, result_type
from ingot.convert.keras.products import einsum
from ingot.convert.keras.rule import rule
from ingot.convert.operands import rank
from ingot.dtypes import DType


@rule("ops.Matmul")
def matmul(c: Conversion, operation: Any, x1: Any, x2: Any) -> Var:
    one, other = c.operand(x1), c.operand(x2)
    if one.dtype is DType.INT8 and other.dtype is DType.INT8:
        return cast(op.MatMulInteger(one, other), result_type(c))
    return op.MatMul(operand_of(c, x1), operand_of(c, x2))


@rule("ops.Einsum")
def summed(c: Conversion, operation: Any, *operands: Any, **named: Any) -> Var:
    return einsum(operation.subscripts, *(operand_of(c, x) for x in operands))


@rule("ops.Dot", "ops.Inner")
def dot(c: Conversion, operation: Any, x1: Any, x2: Any) -> Var:
    one, other = operand_of(c, x1), operand_of(c, x2)
    if rank(one) == 0 or rank(other) == 0:
        return one * other
    axis = rank(other) - 1 if rank(other) == 1 or type(operation).__name__ == "Inner" else rank(other) - 2
    return _contracted(one, other, [rank(one) - 1], [axis])


@rule("ops.Tensordot")
def tensordot(c: Conversion, operation: Any, x1: Any, x2: Any) -> Var:
    one, other = operand_of(c, x1), operand_of(c, x2)
    axes = operation.axes
    if isinstance(axes, int):
        return _contracted(one, other, list(range(rank(one) - axes, rank(one))), list(range(axes)))
    left, right = ([each] if isinstance(each, int) else list(each) for each in axes)
    return _contracted(one, other, [axis % rank(one) for axis in left], [axis % rank(other) for axis in right])


@rule("ops.Outer")
def outer(c: Conversion, operation: Any, x1: Any, x2: Any) -> Var:
    return op.Reshape(operand_of(c, x1), [-1, 1]) * op.Reshape(operand_of(c, x2), [1, -1])


@rule("ops.Vdot")
def flat_dot(c: Conversion, operation: Any, x1: Any, x2: Any) -> Var:
    return op.MatMul(op.Reshape(operand_of(c, x1), [-1]), op.Reshape(operand_of(c, x2), [-1]))


@rule("ops.Det")
def determinant(c: Conversion, operation: Any, x: Any) -> Var:
    return op.Det(operand_of(c, x))


@rule("ops.CDist")
def distances(c: Conversion, operation: Any, x: Any, y: Any) -> Var:
    apart = op.Unsqueeze(operand_of(c, x), [-2]) - op.Unsqueeze(operand_of(c, y), [-3])
    return op.ReduceL2(apart, [-1], keepdims=0)


def _contracted(one: Var, other: Var, left: list[int], right: list[int]) -> Var:
    letters = iter("abcdefghijklmnopqrstuvwxyz")
    first = [next(letters) for _ in range(rank(one))]
    second = [next(letters) for _ in range(rank(other))]
    for a, b in zip(left, right, strict=True):
        second[b] = first[a]
    remaining = [axis for axis in first + second if not (axis in first and axis in second)]
    return op.Einsum(one, other, equation=f"{''.join(first)},{''.join(second)}->{''.join(remaining)}")
