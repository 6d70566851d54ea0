"""What bytes stand for, in primitives, and the bytes that stand for a number."""

from __future__ import annotations

from ingot import prim
from ingot.dtypes import DType
from ingot.ops.linalg.byte_products import single
from ingot.ops.quantization.rounding import codes_in_primitives


def meant(x: prim.Tensor, scale: prim.Tensor, zero_point: prim.Tensor | None = None) -> prim.Tensor:
    """What bytes stand for, in float64."""
    wide = prim.cast(x, DType.FLOAT64)
    if zero_point is not None:
        wide = wide - prim.cast(single(zero_point), DType.FLOAT64)
    return wide * prim.cast(single(scale), DType.FLOAT64)


def written(x: prim.Tensor, scale: prim.Tensor, zero_point: prim.Tensor | None, dtype: DType) -> prim.Tensor:
    """Numbers of float64 as bytes, rounded half to even and saturated."""
    point = None if zero_point is None else single(zero_point)
    return codes_in_primitives(x / prim.cast(single(scale), DType.FLOAT64), point, dtype)
