"""Scaler: features shifted, then scaled."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ingot import prim
from ingot.dtypes import Array, DType
from ingot.errors import ShapeError
from ingot.ir.types import TensorType
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.ml.element_types import Float32, Numbers


@operator("Scaler", since=1, domain="ai.onnx.ml")
def scaler(x: Numbers, /, *, offset: Sequence[float] | None = None, scale: Sequence[float] | None = None) -> Float32:
    """`(x - offset) * scale` as float32; each is one number, or one for each feature (the last axis)."""
    features = x.shape[-1] if x.ndim else 1
    shift = _each(offset, "offset", features, 0.0)
    factor = _each(scale, "scale", features, 1.0)
    return np.asarray((x.astype(np.float64) - shift) * factor, np.float32).reshape(x.shape)


@scaler.infer
def infer(x: Fact, /, *, offset: Sequence[float] | None, scale: Sequence[float] | None) -> Inferred:
    features = x.shape[-1] if x.shape else None
    if isinstance(features, int):
        _each(offset, "offset", features, 0.0)
        _each(scale, "scale", features, 1.0)
    return TensorType(DType.FLOAT32, x.shape)


@scaler.lower
def lower(x: prim.Tensor, /, *, offset: Sequence[float] | None, scale: Sequence[float] | None) -> prim.Tensor:
    features = x.shape[-1] if x.rank else 1
    if not isinstance(features, int):
        raise prim.Refused("a statically unknown number of features")
    wide = prim.cast(x, DType.FLOAT64)
    if offset:
        wide = wide - prim.constant(_each(offset, "offset", features, 0.0))
    if scale:
        wide = wide * prim.constant(_each(scale, "scale", features, 1.0))
    return prim.reshape(prim.cast(wide, DType.FLOAT32), x.shape)


def _each(values: Sequence[float] | None, name: str, features: int, default: float) -> Array:
    if values and len(values) not in (1, features):
        raise ShapeError(f"{name} has {len(values)} numbers, expected 1 or one for each of {features} features")
    return np.array(values or [default], np.float64)
