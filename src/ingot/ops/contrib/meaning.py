"""What bytes stand for, in primitives, and the bytes that stand for a number."""

from __future__ import annotations

from ingot import prim
from ingot.dtypes import DType
from ingot.ops.linalg.byte_products import single
from ingot.ops.quantization.rounding import codes_in_primitives


def meant(x: prim.Tensor, scale: prim.Tensor, zero_point: prim.Tensor | None = None) -> prim.Tensor:
    """What bytes stand for, in float32, as onnxruntime computes with them."""
    wide = prim.cast(x, DType.FLOAT32)
    if zero_point is not None:
        wide = wide - prim.cast(single(zero_point), DType.FLOAT32)
    return wide * prim.cast(single(scale), DType.FLOAT32)


def written(x: prim.Tensor, scale: prim.Tensor, zero_point: prim.Tensor | None, dtype: DType) -> prim.Tensor:
    """Floats as bytes, rounded half to even and saturated."""
    point = None if zero_point is None else single(zero_point)
    return codes_in_primitives(x / prim.cast(single(scale), x.dtype), point, dtype)
