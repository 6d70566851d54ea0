"""Imputer: one value of the input replaced by others."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ingot import prim
from ingot.dtypes import DType
from ingot.errors import CheckError, ShapeError
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.ml.element_types import Numbers


@operator("Imputer", since=1, domain="ai.onnx.ml")
def imputer(
    x: Numbers,
    /,
    *,
    imputed_value_floats: Sequence[float] | None = None,
    imputed_value_int64s: Sequence[int] | None = None,
    replaced_value_float: float = 0.0,
    replaced_value_int64: int = 0,
) -> Numbers:
    """`x` with what equals the replaced value (NaN equals NaN) replaced by the imputed one.

    Floats use the attributes for floats, integers those for integers; there is one imputed value, or one for each
    feature (the last axis).
    """
    values = _values(x.dtype.kind == "f", imputed_value_floats, imputed_value_int64s)
    _check_count(len(values), x.shape[-1] if x.ndim else 1)
    if x.dtype.kind == "f":
        replaced = np.isnan(x) if np.isnan(replaced_value_float) else x == np.float32(replaced_value_float)
    else:
        replaced = x == replaced_value_int64
        bounds = np.iinfo(x.dtype)
        if not all(bounds.min <= value <= bounds.max for value in values):
            raise CheckError(f"an imputed value does not fit {x.dtype}: {[*values]}")
    return np.where(replaced, np.array(values, x.dtype), x).reshape(x.shape)


@imputer.infer
def infer(
    x: Fact,
    /,
    *,
    imputed_value_floats: Sequence[float] | None,
    imputed_value_int64s: Sequence[int] | None,
    **_: object,
) -> Inferred:
    if x.dtype is not None:
        floating = x.dtype in (DType.FLOAT32, DType.FLOAT64)
        values = _values(floating, imputed_value_floats, imputed_value_int64s)
        if x.shape and isinstance(x.shape[-1], int):
            _check_count(len(values), x.shape[-1])
    return x.type


@imputer.lower
def lower(
    x: prim.Tensor,
    /,
    *,
    imputed_value_floats: Sequence[float] | None,
    imputed_value_int64s: Sequence[int] | None,
    replaced_value_float: float,
    replaced_value_int64: int,
) -> prim.Tensor:
    floating = x.dtype in (DType.FLOAT32, DType.FLOAT64)
    values = _values(floating, imputed_value_floats, imputed_value_int64s)
    features = x.shape[-1] if x.rank else 1
    if not isinstance(features, int):
        raise prim.Refused("a statically unknown number of features")
    _check_count(len(values), features)
    if not floating:
        bounds = np.iinfo(x.dtype.numpy)
        if not all(bounds.min <= value <= bounds.max for value in (*values, replaced_value_int64)):
            raise prim.Refused(f"values that do not fit {x.dtype}")
        replaced = prim.apply("equal", x, replaced_value_int64)
    elif np.isnan(replaced_value_float):
        replaced = prim.apply("is_nan", x)
    else:
        replaced = prim.apply("equal", x, float(np.float32(replaced_value_float)))
    return prim.reshape(prim.where(replaced, prim.constant(np.array(values, x.dtype.numpy)), x), x.shape)


def _values(floating: bool, floats: Sequence[float] | None, ints: Sequence[int] | None) -> Sequence[float]:
    if floating and floats and not ints:
        return floats
    if not floating and ints and not floats:
        return ints
    wanted = "imputed_value_floats" if floating else "imputed_value_int64s"
    raise CheckError(f"an input of {'floats' if floating else 'integers'} takes {wanted} and no other imputed values")


def _check_count(count: int, features: int) -> None:
    if count not in (1, features):
        raise ShapeError(f"there are {count} imputed values, expected 1 or one for each of {features} features")
