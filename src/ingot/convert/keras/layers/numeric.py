"""Preprocessing of numbers: scaled, put into bins, encoded as categories."""

from __future__ import annotations

from typing import Any

import numpy as np

from ingot.builder import Var, op
from ingot.convert.keras.conversion import Conversion, as_array, cast, name_of
from ingot.convert.keras.encoding import encoded
from ingot.convert.keras.rule import refusal, rule
from ingot.dtypes import DType
from ingot.errors import UnsupportedError


@rule("Normalization")
def normalised(c: Conversion, layer: Any, x: Var) -> Var:
    if layer.mean is None:
        raise UnsupportedError("it was not adapted to anything")
    value = cast(x, layer.compute_dtype)
    assert value.dtype is not None
    mean = c.constant(as_array(layer.mean).astype(value.dtype.numpy), "mean")
    root = np.maximum(np.sqrt(as_array(layer.variance)), 1e-7)
    spread = c.constant(root.astype(value.dtype.numpy), "deviation")
    return mean + value * spread if layer.invert else (value - mean) / spread


@rule("Rescaling")
def rescaled(c: Conversion, layer: Any, x: Var) -> Var:
    value = cast(x, layer.compute_dtype)
    scale, offset = (c.operand(np.asarray(each), layer.compute_dtype) for each in (layer.scale, layer.offset))
    return value * scale + offset


@rule("Discretization")
def binned(c: Conversion, layer: Any, x: Var) -> Var:
    """How many boundaries lie at or below, by the last axis of a comparison with them all."""
    if layer.bin_boundaries is None:
        raise UnsupportedError("it was not adapted to anything")
    value = cast(x, "float32") if name_of(x.dtype) != "float64" else x
    bounds = np.asarray(layer.bin_boundaries, name_of(value.dtype))
    above = op.Unsqueeze(value, [-1]) >= c.constant(bounds, "boundaries")
    places = op.ReduceSum(op.Cast(above, to=int(DType.INT64)), [-1], keepdims=0)
    return encoded(c, places, layer.output_mode, len(bounds) + 1, layer.output_dtype)


@rule("CategoryEncoding")
def categories(c: Conversion, layer: Any, x: Var, count_weights: Any = None) -> Var:
    return encoded(c, cast(x, "int64"), layer.output_mode, layer.num_tokens, layer.dtype, count_weights)


@refusal("Discretization", "CategoryEncoding")
def sparse(layer: Any) -> str | None:
    return "its output is a sparse tensor" if layer.sparse else None
