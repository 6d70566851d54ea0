"""DequantizeLinear: the real numbers that codes of a narrow type stand for."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

import numpy as np

from ingot.dtypes import Array, DType
from ingot.errors import CheckError, InputError
from ingot.ir.types import TensorType
from ingot.ir.value import Value
from ingot.ops.define import Since, operator, superseded
from ingot.ops.facts import Fact, Inferred
from ingot.ops.quantization.granularity import check_granularity, check_pair, spread
from ingot.ops.quantization.types import BYTES, CODES, CODES_19, CODES_21, REAL, SCALE_24
from ingot.ops.typesets import FLOAT32, INT32, types

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


def _result_type(output_dtype: int, scale: DType) -> DType:
    """CheckError if what the attribute says, or the scale where it says nothing, is no type to dequantise to."""
    if output_dtype and output_dtype not in (DType.FLOAT32, DType.FLOAT16, DType.BFLOAT16):
        raise CheckError(f"output_dtype is {output_dtype}, expected 1 (float32), 10 (float16) or 16 (bfloat16)")
    if not output_dtype and scale is DType.FLOAT8E8M0:
        raise CheckError("the scale is float8e8m0, and no result can be", hint="set output_dtype")
    return DType(output_dtype) if output_dtype else scale


T1_21: TypeAlias = Annotated[Array, types("T1", {10: BYTES | INT32, 19: CODES_19 | INT32, 21: CODES_21 | INT32})]
T2_21: TypeAlias = Annotated[Array, types("T2", {10: FLOAT32, 19: REAL})]


@operator("DequantizeLinear", since=(10, 13, 19, 21))
def dequantize_linear_21(
    x: T1_21,
    scale: T2_21,
    zero_point: T1_21 | None = None,
    /,
    *,
    axis: Annotated[int, Since(13)] = 1,
    block_size: Annotated[int, Since(21)] = 0,
) -> T2_21:
    """The same, to the type of the scale."""
    raise superseded()


@dequantize_linear_21.upgrade
def upgrade(op: Any, x: Value, scale: Value, zero_point: Value | None = None, /, **attributes: int) -> Any:
    return op.DequantizeLinear(x, scale, zero_point, **attributes)
