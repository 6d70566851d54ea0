"""Masking: time steps that hold nothing but the mask value do not count."""

from __future__ import annotations

from typing import Any

import numpy as np

from ingot.builder import Var, op
from ingot.convert.keras.conversion import Conversion
from ingot.convert.keras.rule import rule
from ingot.dtypes import DType


@rule("Masking")
def masking(c: Conversion, layer: Any, x: Var) -> Var:
    """Steps that hold nothing but one number are zeros, and do not count."""
    held = op.Not(op.Equal(x, c.number(layer.mask_value, x)))
    counted = op.ReduceMax(op.Cast(held, to=int(DType.INT32)), [-1], keepdims=1) > np.array(0, np.int32)
    masked = op.Where(counted, x, c.number(0, x))
    c.set_mask(masked, op.Squeeze(counted, [-1]))
    return masked
