"""DequantizeLinear: the real numbers that codes of a narrow type stand for."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

import numpy as np

from ingot import prim
from ingot.dtypes import Array, DType
from ingot.errors import CheckError, InputError
from ingot.ir.types import TensorType
from ingot.ir.value import Value
from ingot.ops.define import Since, operator, superseded
from ingot.ops.facts import Fact, Inferred
from ingot.ops.linalg.coded_weights import dequantised
from ingot.ops.older import dtype_of
from ingot.ops.quantization.blocks import Blocks
from ingot.ops.quantization.elementwise import (
    FLOAT8S,
    SINCE,
    cast,
    dequantized,
    differences,
    is_single,
    single,
    widened,
)
from ingot.ops.quantization.granularity import check_granularity, check_pair, spread
from ingot.ops.quantization.types import BYTES, CODES, CODES_19, CODES_21, REAL, SCALE_24
from ingot.ops.tensor.moved import in_own_type
from ingot.ops.tensor.narrow import numbers_of
from ingot.ops.typesets import FLOAT32, INT32, types
from ingot.prim.functions import CODES as NARROW
from ingot.prim.functions import INTEGERS
from ingot.prim.tensor import Constant

T1: TypeAlias = Annotated[Array, types("T1", {version: codes | INT32 for version, codes in CODES.items()})]
T2: TypeAlias = Annotated[Array, types("T2", {23: REAL, 24: SCALE_24})]
T3: TypeAlias = Annotated[Array, types("T3", REAL)]


@operator("DequantizeLinear", since=(23, 24, 25, 28))
def dequantize_linear(
    x: T1, scale: T2, zero_point: T1 | None = None, /, *, axis: int = 1, block_size: int = 0, output_dtype: int = 0
) -> T3:
    """`(x - zero_point) * scale`, in float32, rounded once to `output_dtype` or the type of the scale."""
    dtype = _result_type(output_dtype, DType.of(scale.dtype))
    if zero_point is not None and zero_point.dtype != x.dtype:
        raise InputError(f"x is {DType.of(x.dtype)}, the zero point is {DType.of(zero_point.dtype)}")
    if zero_point is not None:
        check_pair(scale.shape, zero_point.shape)
    factors = spread(scale, x.shape, axis, block_size, "scale")
    exact = np.int64 if DType.of(x.dtype).is_integer else np.float32
    steps = x.astype(exact)
    if zero_point is not None:
        steps = steps - spread(zero_point, x.shape, axis, block_size, "zero point").astype(exact)
    return np.asarray(steps.astype(np.float32) * factors.astype(np.float32)).astype(dtype.numpy)


@dequantize_linear.infer
def infer(
    x: Fact,
    scale: Fact,
    zero_point: Fact | None = None,
    /,
    *,
    axis: int,
    block_size: int,
    output_dtype: int,
) -> Inferred:
    check_granularity(x.shape, scale.shape, axis, block_size, "scale")
    if zero_point is not None:
        check_pair(scale.shape, zero_point.shape)
        if zero_point.dtype is not None and x.dtype is not None and zero_point.dtype is not x.dtype:
            raise CheckError(f"x is {x.dtype}, the zero point is {zero_point.dtype}")
    if scale.dtype is None and not output_dtype:
        return None
    return TensorType(_result_type(output_dtype, scale.dtype or DType.FLOAT32), x.shape)


@dequantize_linear.lower
def lower(
    x: prim.Tensor,
    scale: prim.Tensor,
    zero_point: prim.Tensor | None = None,
    /,
    *,
    axis: int,
    block_size: int,
    output_dtype: int,
    facts: tuple[Fact, ...],
    inferred: tuple[Fact, ...],
) -> prim.Tensor:
    """Differences of narrow codes are exact in float32, those of int32 are taken in int64.

    A constant matrix stays in codes for products that read it.
    """
    if facts[0].dtype not in INTEGERS | NARROW:
        raise prim.Refused(f"codes of {facts[0].dtype}")
    scale = numbers_of(scale) if scale.dtype in NARROW else scale
    if zero_point is not None and zero_point.dtype is not x.dtype:
        raise prim.Refused(f"a zero point of {zero_point.dtype} for {x.dtype}")
    codes, points_of_codes = x, zero_point
    if zero_point is not None:
        zero_point = None if _is_zero(zero_point) else numbers_of(zero_point) if x.dtype in NARROW else zero_point
    x = numbers_of(x) if x.dtype in NARROW else x
    blocks = Blocks(x.shape, scale.shape, axis, block_size)
    steps = blocks.split(x)
    if zero_point is not None:
        wide = DType.INT64 if x.dtype is DType.INT32 else DType.FLOAT32
        points = Blocks(x.shape, zero_point.shape, axis, block_size).beside(zero_point)
        steps = prim.cast(steps, wide) - prim.cast(points, wide)
    real = prim.cast(steps, DType.FLOAT32) * prim.cast(blocks.beside(scale), DType.FLOAT32)
    y = in_own_type(blocks.join(real), inferred[0])
    return dequantised(y, codes, scale, points_of_codes, axis, block_size)


def _is_zero(zero_point: prim.Tensor) -> bool:
    return isinstance(zero_point, Constant) and not zero_point.array.any()


def _result_type(output_dtype: int, scale: DType) -> DType:
    """CheckError if the attribute, or by default the type of the scale, is no type to dequantise to."""
    if output_dtype and output_dtype not in (DType.FLOAT32, DType.FLOAT16, DType.BFLOAT16):
        raise CheckError(f"output_dtype is {output_dtype}, expected 1 (float32), 10 (float16) or 16 (bfloat16)")
    if not output_dtype and scale is DType.FLOAT8E8M0:
        raise CheckError("the scale is float8e8m0, and no result can be", hint="set output_dtype")
    return DType(output_dtype) if output_dtype else scale


_WIDER = {
    **dict.fromkeys((DType.FLOAT4E2M1, DType.FLOAT6E2M3, DType.FLOAT6E3M2), DType.FLOAT8E4M3FN),
    DType.INT2: DType.INT4,
    DType.UINT2: DType.UINT4,
    DType.INT4: DType.INT8,
    DType.UINT4: DType.UINT8,
    **dict.fromkeys(FLOAT8S, DType.FLOAT32),
}
"""Types that older versions have, and that have every number of newer ones."""


@dequantize_linear.downgrade
def downgrade(
    op: Any,
    x: Value,
    scale: Value,
    zero_point: Value | None = None,
    /,
    *,
    axis: int,
    block_size: int,
    output_dtype: int,
    version: int,
) -> Any:
    x, zero_point = _widened(x, zero_point, version)
    to = DType(output_dtype or dtype_of(scale))
    if SINCE.get(dtype_of(scale), 0) > version:
        scale = widened(scale, DType.FLOAT32, SINCE[dtype_of(scale)])
    if version >= dequantize_linear.since[0]:
        attributes = {"axis": axis, "block_size": block_size, "output_dtype": output_dtype or None}
        return op.DequantizeLinear(x, scale, zero_point, **attributes)
    inside = to if dtype_of(scale) is to else DType.FLOAT32
    factors = cast(op, scale, dtype_of(scale), inside)
    return cast(op, op.DequantizeLinear(x, factors, zero_point, axis=axis, block_size=block_size), inside, to)


def _widened(x: Value, zero_point: Value | None, version: int) -> tuple[Value, Value | None]:
    """Codes and zero points in a type that a version has; UnsupportedError if they are no constants."""
    while SINCE.get(dtype_of(x), 0) > version and dtype_of(x) in _WIDER:
        wider, came = _WIDER[dtype_of(x)], SINCE[dtype_of(x)]
        x, zero_point = widened(x, wider, came), None if zero_point is None else widened(zero_point, wider, came)
    return x, zero_point


T1_21: TypeAlias = Annotated[Array, types("T1", {13: BYTES | INT32, 19: CODES_19 | INT32, 21: CODES_21 | INT32})]
T2_21: TypeAlias = Annotated[Array, types("T2", {13: FLOAT32, 19: REAL})]
T1_10: TypeAlias = Annotated[Array, types("T1", BYTES | INT32)]
Scale_10: TypeAlias = Annotated[Array, types("T2", FLOAT32)]


@operator("DequantizeLinear", since=(13, 19, 21))
def dequantize_linear_21(
    x: T1_21,
    scale: T2_21,
    zero_point: T1_21 | None = None,
    /,
    *,
    axis: int = 1,
    block_size: Annotated[int, Since(21)] = 0,
) -> T2_21:
    """The same, to the type of the scale."""
    raise superseded()


@operator("DequantizeLinear", since=10)
def dequantize_linear_10(x: T1_10, scale: Scale_10, zero_point: T1_10 | None = None, /) -> Scale_10:
    """The same with one scale for all of `x`."""
    raise superseded()


@dequantize_linear_21.upgrade
@dequantize_linear_10.upgrade
def upgrade(op: Any, x: Value, scale: Value, zero_point: Value | None = None, /, **attributes: int) -> Any:
    return op.DequantizeLinear(x, scale, zero_point, **attributes)


@dequantize_linear_21.downgrade
def downgrade_21(
    op: Any, x: Value, scale: Value, zero_point: Value | None = None, /, *, axis: int, block_size: int, version: int
) -> Any:
    """Blocks, 16-bit integers and, before version 13, axes are taken apart; scales of new types are widened."""
    x, zero_point = _widened(x, zero_point, version)
    if version < 13 and is_single(scale):
        return op.DequantizeLinear(x, single(op, scale), single(op, zero_point))
    to = dtype_of(scale)
    if version < 13 or (block_size and not is_single(scale)) or dtype_of(x) is DType.FLOAT32:
        return dequantized(op, x, scale, zero_point, to, axis=axis, block_size=block_size)
    steps: Any = x
    if SINCE.get(dtype_of(x), 0) > version:  # 16-bit integers: they become 32-bit ones, which have no zero point
        if zero_point is None:
            steps = op.Cast(x, to=int(DType.INT32))
        else:
            steps, zero_point = differences(op, x, zero_point, axis=axis, block_size=0), None
    inside = to if version >= 19 else DType.FLOAT32
    real = op.DequantizeLinear(steps, cast(op, scale, to, inside), zero_point, axis=axis)
    return cast(op, real, inside, to)


@dequantize_linear_10.downgrade
def downgrade_10(op: Any, x: Value, scale: Value, zero_point: Value | None = None, /) -> Any:
    return dequantized(op, x, scale, zero_point, DType.FLOAT32, axis=0, block_size=0)
