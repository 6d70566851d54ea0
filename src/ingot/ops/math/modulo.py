"""Mod: what division leaves."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import numpy as np

from ingot.dims import Dim
from ingot.dtypes import Array
from ingot.ops import shapes
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.math.following import followed
from ingot.ops.math.operands import common_dtype, require_alike, require_divisors
from ingot.ops.math.precision import rounded
from ingot.ops.typesets import NUMERIC, NUMERIC_3, types

T: TypeAlias = Annotated[Array, types("T", {10: NUMERIC_3, 13: NUMERIC})]


@operator("Mod", since=(10, 13, 28))
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


def _truncated_remainder(x: Dim, y: Dim) -> Dim | None:
    if isinstance(x, int) and isinstance(y, int):
        return abs(x) % abs(y) * (-1 if x < 0 else 1)
    return x % y if shapes.is_natural(x) and shapes.is_natural(y) else None


def _require_flag(fmod: int) -> None:
    shapes.require(fmod in (0, 1), f"fmod is {fmod}, it must be 0 or 1")
