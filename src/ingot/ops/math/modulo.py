"""Mod: what division leaves."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

import numpy as np

from ingot import prim
from ingot.dims import Dim
from ingot.dtypes import Array
from ingot.errors import UnsupportedError
from ingot.ir.value import Value
from ingot.ops import shapes
from ingot.ops.define import operator, superseded
from ingot.ops.facts import Fact, Inferred
from ingot.ops.math.following import followed
from ingot.ops.math.operands import common_dtype, require_alike, require_divisors
from ingot.ops.math.precision import rounded
from ingot.ops.math.restated import in_type, is_unsigned, number, wide_integer
from ingot.ops.older import dtype_of
from ingot.ops.typesets import NUMERIC, NUMERIC_3, types
from ingot.prim.functions import FLOATING, UNSIGNED

T: TypeAlias = Annotated[Array, types("T", {10: NUMERIC_3, 13: NUMERIC})]


@operator("Mod", since=28)
def mod(a: T, b: T, /, *, fmod: int = 0) -> T:
    """The remainder of `a / b`, with the sign of `b`; with `fmod`, with the sign of `a`.

    InputError if an integer divisor is zero; a float leaves NaN then.
    """
    _require_flag(fmod)
    require_alike(a, b)
    require_divisors(a, b)
    return rounded(np.fmod if fmod else np.mod, a, b)


@mod.infer
def infer_mod(a: Fact, b: Fact, /, *, fmod: int) -> Inferred:
    _require_flag(fmod)
    return followed(common_dtype(a, b), _truncated_remainder if fmod else lambda x, y: x % y, a, b)


@mod.lower
def lower(a: prim.Tensor, b: prim.Tensor, /, *, fmod: int) -> prim.Tensor:
    left = prim.apply("remainder", a, b)
    if fmod or a.dtype in UNSIGNED:
        return left
    signs_differ = prim.apply("xor", prim.apply("less", left, 0), prim.apply("less", b, 0))
    zero = prim.apply("copysign", left, b) if a.dtype in FLOATING else left
    return prim.where(prim.apply("equal", left, 0), zero, prim.where(signs_differ, left + b, left))


@mod.downgrade
def downgrade(op: Any, a: Value, b: Value, /, *, fmod: int) -> Any:
    dtype = dtype_of(a)
    if fmod or dtype.is_integer:
        return op.Mod(a, b, fmod=fmod)
    zero = number(0, dtype)
    left = op.Mod(a, b, fmod=1)
    with_sign_of_b = op.Where(op.Xor(op.Less(left, zero), op.Less(b, zero)), op.Add(left, b), left)
    return op.Where(op.Equal(left, zero), op.Mul(op.Sign(b), zero), with_sign_of_b)


def _truncated_remainder(x: Dim, y: Dim) -> Dim | None:
    if isinstance(x, int) and isinstance(y, int):
        return abs(x) % abs(y) * (-1 if x < 0 else 1)
    return x % y if shapes.is_natural(x) and shapes.is_natural(y) else None


def _require_flag(fmod: int) -> None:
    shapes.require(fmod in (0, 1), f"fmod is {fmod}, it must be 0 or 1")


@operator("Mod", since=(10, 13))
def mod_13(a: T, b: T, /, *, fmod: int = 0) -> T:
    """The same, of floats with `fmod` alone."""
    raise superseded()


@mod_13.upgrade
def upgrade(op: Any, a: Value, b: Value, /, *, fmod: int) -> Any:
    return op.Mod(a, b, fmod=fmod)


@mod_13.downgrade
def downgrade_13(op: Any, a: Value, b: Value, /, *, fmod: int, version: int) -> Any:
    dtype = dtype_of(a)
    if version >= 10:
        return op.Mod(a, b, fmod=fmod)
    if not dtype.is_integer:
        raise UnsupportedError("the remainder of floats has no exact equivalent")
    wide = wide_integer(dtype)

    def compute(a: Any, b: Any) -> Any:
        left = op.Sub(a, op.Mul(op.Div(a, b), b))
        if fmod or is_unsigned(dtype):
            return left
        zero = number(0, wide)
        signs_differ = op.Xor(op.Less(left, zero), op.Less(b, zero))
        return op.Where(op.And(signs_differ, op.Not(op.Equal(left, zero))), op.Add(left, b), left)

    return compute(a, b) if wide is dtype else in_type(op, wide, compute, a, b)
