"""Operations on the bits of integers: BitShift and BitwiseAnd, -Or, -Xor, -Not."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

import numpy as np

from ingot import prim
from ingot.dtypes import Array, DType
from ingot.ir.types import TensorType
from ingot.ir.value import Value
from ingot.ops import shapes
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.math.elementwise import elementwise
from ingot.ops.math.operands import common_dtype, require_alike
from ingot.ops.math.restated import in_type, number, wide_integer
from ingot.ops.older import dtype_of
from ingot.ops.typesets import INTEGERS, UNSIGNED, types
from ingot.prim.functions import SIGNED

T: TypeAlias = Annotated[Array, types("T", INTEGERS)]
TShift: TypeAlias = Annotated[Array, types("T", {11: UNSIGNED, 28: INTEGERS})]


@operator("BitShift", since=(11, 28))
def bit_shift(x: TShift, y: TShift, /, *, direction: str) -> TShift:
    """The bits of `x` moved `y` places to the LEFT, or to the RIGHT, where copies of the sign bit move in.

    By a negative number of places, or by more than there are, only what moves in is left.
    """
    _require_known(direction)
    require_alike(x, y)
    inside = (y >= 0) & (y < x.dtype.itemsize * 8)
    places = np.where(inside, y, 0).astype(x.dtype)
    shifted = np.left_shift(x, places) if direction == "LEFT" else np.right_shift(x, places)
    moved_in = np.where((x < 0) & (direction == "RIGHT"), -1, 0).astype(x.dtype)
    return np.where(inside, shifted, moved_in)


@operator("BitwiseAnd", since=18)
def bitwise_and(a: T, b: T, /) -> T:
    """The bits set in both."""
    require_alike(a, b)
    return np.asarray(np.bitwise_and(a, b))


@operator("BitwiseOr", since=18)
def bitwise_or(a: T, b: T, /) -> T:
    """The bits set in one of them or in both."""
    require_alike(a, b)
    return np.asarray(np.bitwise_or(a, b))


@operator("BitwiseXor", since=18)
def bitwise_xor(a: T, b: T, /) -> T:
    """The bits set in one of them, but not in both."""
    require_alike(a, b)
    return np.asarray(np.bitwise_xor(a, b))


@operator("BitwiseNot", since=18)
def bitwise_not(x: T, /) -> T:
    """The bits not set."""
    return np.asarray(np.bitwise_not(x))


bitwise_not.infer(shapes.same)


@bit_shift.infer
def infer_shift(x: Fact, y: Fact, /, *, direction: str) -> Inferred:
    _require_known(direction)
    return _alike(x, y)


@bitwise_and.infer
@bitwise_or.infer
@bitwise_xor.infer
def infer_two(a: Fact, b: Fact, /) -> Inferred:
    return _alike(a, b)


bitwise_and.lower(elementwise("and"))
bitwise_or.lower(elementwise("or"))
bitwise_xor.lower(elementwise("xor"))
bitwise_not.lower(elementwise("invert"))


@bit_shift.lower
def lower_shift(x: prim.Tensor, y: prim.Tensor, /, *, direction: str) -> prim.Tensor:
    function = f"shift_{direction.lower()}"
    if x.dtype not in SIGNED:
        return prim.apply(function, x, y)
    # A negative number of places is too many without a sign; negative numbers move right as their opposites do.
    unsigned = DType[f"U{x.dtype.name}"]
    fill = prim.where(prim.apply("less", x, 0), prim.scalar(-1, x.dtype), 0)
    bits = prim.apply("xor", x, fill) if direction == "RIGHT" else x
    moved = prim.cast(prim.apply(function, prim.cast(bits, unsigned), prim.cast(y, unsigned)), x.dtype)
    return prim.apply("xor", moved, fill) if direction == "RIGHT" else moved


@bit_shift.downgrade
def downgrade_shift(op: Any, x: Value, y: Value, /, *, direction: str, version: int) -> Any:
    dtype = dtype_of(x)
    if version >= 11:
        return _signed_shift(op, x, y, direction, dtype)
    wide, most = wide_integer(dtype), np.asarray(dtype.bits, np.int64)
    places = op.Where(op.Less(y, number(dtype.bits, dtype)), op.Cast(y, to=int(DType.INT64)), most)
    powers = _powers(dtype.bits, wide)

    def compute(x: Any) -> Any:
        if direction == "LEFT":
            return op.Mul(x, op.Gather(np.append(powers, powers[:1] * 0), places, axis=0))
        in_range = op.Gather(np.append(powers >= 1, False).astype(wide.numpy), places, axis=0)
        return op.Mul(op.Div(x, op.Gather(np.append(powers, powers[:1]), places, axis=0)), in_range)

    return compute(x) if wide is dtype else in_type(op, wide, compute, x)


def _powers(count: int, dtype: DType) -> Array:
    """1, 2, 4 and so on."""
    return np.left_shift(np.uint64(1), np.arange(count, dtype=np.uint64)).astype(dtype.numpy)


def _signed_shift(op: Any, x: Value, y: Value, direction: str, dtype: DType) -> Any:
    """A shift of unsigned integers of the same bits; negative ones move to the right as their opposites do."""
    unsigned = int(DType[f"U{dtype.name}"])
    fill = op.Where(op.Less(x, number(0, dtype)), number(-1, dtype), number(0, dtype))
    bits = op.BitwiseXor(x, fill) if direction == "RIGHT" else x
    moved = op.BitShift(op.Cast(bits, to=unsigned), op.Cast(y, to=unsigned), direction=direction)
    back = op.Cast(moved, to=int(dtype))
    return op.BitwiseXor(back, fill) if direction == "RIGHT" else back


@bitwise_and.downgrade
def downgrade_and(op: Any, a: Value, b: Value, /) -> Any:
    return _both(op, a, b)


@bitwise_or.downgrade
def downgrade_or(op: Any, a: Value, b: Value, /) -> Any:
    return op.Sub(op.Add(a, b), _both(op, a, b))


@bitwise_xor.downgrade
def downgrade_xor(op: Any, a: Value, b: Value, /) -> Any:
    return op.Sub(op.Add(a, b), op.Mul(_both(op, a, b), number(2, dtype_of(a))))


@bitwise_not.downgrade
def downgrade_not(op: Any, x: Value, /) -> Any:
    return op.Sub(np.bitwise_not(number(0, dtype_of(x))), x)


def _both(op: Any, a: Value, b: Value) -> Any:
    """The bits set in both integers, one an index of an additional axis."""
    dtype = dtype_of(a)
    wide = DType.INT64 if dtype.bits < 64 else DType.UINT64
    powers = _powers(dtype.bits, wide)

    def bits(x: Value) -> Any:
        natural = op.Cast(x, to=int(wide))
        if wide is DType.INT64:
            natural = op.Mod(natural, number(2**dtype.bits, wide))
        return op.Mod(op.Div(op.Unsqueeze(natural, [-1]), powers), number(2, wide))

    common = op.Mul(op.Mul(bits(a), bits(b)), powers)
    return op.Cast(op.ReduceSum(common, [-1], keepdims=0), to=int(dtype))


def _alike(a: Fact, b: Fact) -> Inferred:
    dtype = common_dtype(a, b)
    shape = shapes.broadcast(a.shape, b.shape)
    return None if dtype is None else TensorType(dtype, shape)


def _require_known(direction: str) -> None:
    shapes.require(direction in ("LEFT", "RIGHT"), f"direction is '{direction}', it must be 'LEFT' or 'RIGHT'")
