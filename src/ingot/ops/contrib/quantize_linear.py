"""QuantizeLinear and DequantizeLinear, by tensor or, where an axis is given, by index of it."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import numpy as np

from ingot import prim
from ingot.dtypes import Array, DType
from ingot.errors import ShapeError
from ingot.ir.types import Shape, TensorType
from ingot.ops.contrib.domain import HALF, MICROSOFT
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.quantization.blocks import Blocks
from ingot.ops.quantization.granularity import check_granularity, check_pair, spread
from ingot.ops.quantization.rounding import codes_in_primitives, to_codes
from ingot.ops.typesets import FLOAT32, INT4S, INT8, INT32, UINT8, tensors, types

CODES = INT8 | UINT8 | tensors(DType.INT16, DType.UINT16) | INT4S
Real: TypeAlias = Annotated[Array, types("T1", FLOAT32 | HALF)]
Codes: TypeAlias = Annotated[Array, types("T2", CODES)]
CodesIn: TypeAlias = Annotated[Array, types("T1", CODES | INT32)]
RealOut: TypeAlias = Annotated[Array, types("T2", FLOAT32 | HALF)]


@operator("QuantizeLinear", since=1, domain=MICROSOFT)
def quantize_linear(x: Real, scale: Real, zero_point: Codes | None = None, /, *, axis: int | None = None) -> Codes:
    """`x / scale`, rounded half to even, plus the zero point, saturated; in the type of that, or uint8."""
    steps = x.astype(np.float32) / _spread(scale, x.shape, axis, "scale").astype(np.float32)
    if zero_point is None:
        return to_codes(np.asarray(steps), None, DType.UINT8)
    check_pair(scale.shape, zero_point.shape)
    point = _spread(zero_point, x.shape, axis, "the zero point")
    return to_codes(np.asarray(steps), point, DType.of(zero_point.dtype))


@quantize_linear.infer
def infer_quantize(x: Fact, scale: Fact, zero_point: Fact | None = None, /, *, axis: int | None) -> Inferred:
    _check(x.shape, scale.shape, axis)
    dtype = DType.UINT8 if zero_point is None or not zero_point.present else zero_point.dtype
    return None if dtype is None else TensorType(dtype, x.shape)


@quantize_linear.lower
def lower_quantize(
    x: prim.Tensor,
    scale: prim.Tensor,
    zero_point: prim.Tensor | None = None,
    /,
    *,
    axis: int | None,
    inferred: tuple[Fact, ...],
) -> prim.Tensor:
    at = 1 if axis is None else axis
    zero_point = None if zero_point is None else _paired(zero_point, scale)
    points = None if zero_point is None else Blocks(x.shape, zero_point.shape, at, 0).beside(zero_point)
    assert inferred[0].dtype is not None
    return codes_in_primitives(x / Blocks(x.shape, scale.shape, at, 0).beside(scale), points, inferred[0].dtype)


@operator("DequantizeLinear", since=1, domain=MICROSOFT)
def dequantize_linear(
    x: CodesIn, scale: RealOut, zero_point: CodesIn | None = None, /, *, axis: int | None = None
) -> RealOut:
    """`(x - zero_point) * scale`, in the type of the scale."""
    steps = x.astype(np.float64)
    if zero_point is not None:
        check_pair(scale.shape, zero_point.shape)
        steps = steps - _spread(zero_point, x.shape, axis, "the zero point").astype(np.float64)
    return np.asarray(steps * _spread(scale, x.shape, axis, "scale").astype(np.float64), scale.dtype)


@dequantize_linear.infer
def infer_dequantize(x: Fact, scale: Fact, zero_point: Fact | None = None, /, *, axis: int | None) -> Inferred:
    _check(x.shape, scale.shape, axis)
    return None if scale.dtype is None else TensorType(scale.dtype, x.shape)


@dequantize_linear.lower
def lower_dequantize(
    x: prim.Tensor, scale: prim.Tensor, zero_point: prim.Tensor | None = None, /, *, axis: int | None
) -> prim.Tensor:
    at = 1 if axis is None else axis
    steps = prim.cast(x, DType.FLOAT64)
    if zero_point is not None:
        zero_point = _paired(zero_point, scale)
        steps = steps - prim.cast(Blocks(x.shape, zero_point.shape, at, 0).beside(zero_point), DType.FLOAT64)
    return prim.cast(steps * prim.cast(Blocks(x.shape, scale.shape, at, 0).beside(scale), DType.FLOAT64), scale.dtype)


def _paired(zero_point: prim.Tensor, scale: prim.Tensor) -> prim.Tensor:
    """Zero points that are as many as the scales."""
    is_one = scale.shape in ((), (1,)) and zero_point.shape in ((), (1,))
    return zero_point if is_one else prim.assume_shape(zero_point, scale.shape)


def _spread(values: Array, shape: tuple[int, ...], axis: int | None, name: str) -> Array:
    _check(shape, values.shape, axis)
    return spread(values, shape, 1 if axis is None else axis, 0, name)


def _check(shape: Shape | None, scale_shape: Shape | None, axis: int | None) -> None:
    if (
        axis is None
        and scale_shape is not None
        and len(scale_shape) == 1
        and isinstance(scale_shape[0], int)
        and scale_shape[0] != 1
    ):
        raise ShapeError(f"there are {scale_shape[0]} scales and no axis they are for")
    check_granularity(shape, scale_shape, 1 if axis is None else axis, 0, "scale")
