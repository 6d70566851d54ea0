"""Operations on the bits of integers: BitShift and BitwiseAnd, -Or, -Xor, -Not."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import numpy as np

from ingot.dtypes import Array
from ingot.ir.types import TensorType
from ingot.ops import shapes
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.math.operands import common_dtype, require_alike
from ingot.ops.typesets import INTEGERS, UNSIGNED, types

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


def _alike(a: Fact, b: Fact) -> Inferred:
    dtype = common_dtype(a, b)
    shape = shapes.broadcast(a.shape, b.shape)
    return None if dtype is None else TensorType(dtype, shape)


def _require_known(direction: str) -> None:
    shapes.require(direction in ("LEFT", "RIGHT"), f"direction is '{direction}', it must be 'LEFT' or 'RIGHT'")
