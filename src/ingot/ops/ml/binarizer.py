"""Binarizer: one where an element is above a threshold, zero elsewhere."""

from __future__ import annotations

import numpy as np

from ingot import prim
from ingot.dtypes import DType
from ingot.ops import shapes
from ingot.ops.define import operator
from ingot.ops.ml.element_types import Numbers


@operator("Binarizer", since=1, domain="ai.onnx.ml")
def binarizer(x: Numbers, /, *, threshold: float = 0.0) -> Numbers:
    """One where `x > threshold`, else zero, in the type of `x`; NaN is not above anything."""
    return np.asarray(x > threshold, x.dtype)


binarizer.infer(shapes.same)


@binarizer.lower
def lower(x: prim.Tensor, /, *, threshold: float) -> prim.Tensor:
    real = x if x.dtype in (DType.FLOAT32, DType.FLOAT64) else prim.cast(x, DType.FLOAT64)
    return prim.cast(prim.apply("less", threshold, real), x.dtype)
