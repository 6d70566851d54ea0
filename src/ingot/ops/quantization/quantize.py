"""QuantizeLinear: real numbers as codes of a narrow type, each a number of steps of a scale from a zero point."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

import numpy as np

from ingot import prim
from ingot.dtypes import Array, DType
from ingot.errors import CheckError
from ingot.ir.types import TensorType
from ingot.ir.value import Value
from ingot.ops.define import Since, operator, superseded
from ingot.ops.facts import Fact, Inferred
from ingot.ops.quantization.blocks import Blocks
from ingot.ops.quantization.granularity import check_granularity, check_pair, spread
from ingot.ops.quantization.rounding import codes_in_primitives, quotient, to_codes
from ingot.ops.quantization.types import BYTES, CODES, CODES_19, CODES_21, CODES_28, REAL_OR_INT32, SCALE_24
from ingot.ops.tensor.narrow import numbers_of
from ingot.ops.typesets import FLOAT32, INT32, types
from ingot.prim.functions import ELEMENTS
from ingot.prim.tensor import Constant

T1: TypeAlias = Annotated[Array, types("T1", REAL_OR_INT32)]
T2: TypeAlias = Annotated[Array, types("T2", {23: REAL_OR_INT32, 24: SCALE_24 | INT32})]
T3: TypeAlias = Annotated[Array, types("T3", CODES)]


@operator("QuantizeLinear", since=(23, 24, 25, 28))
def quantize_linear(
    x: T1,
    scale: T2,
    zero_point: T3 | None = None,
    /,
    *,
    axis: int = 1,
    block_size: int = 0,
    output_dtype: int = 0,
    precision: int = 0,
    saturate: int = 1,
) -> T3:
    """`x / scale`, rounded to nearest with ties to even, plus the zero point, held inside the range of the result.

    The division is in the type of the scale, or in `precision`; by int32 and float8e8m0 scales, in float64 and float32.
    Its type is that of the zero point, or `output_dtype`, or uint8.
    """
    dtype = result_type(output_dtype, None if zero_point is None else DType.of(zero_point.dtype))
    if zero_point is not None:
        check_pair(scale.shape, zero_point.shape)
    inside = division_type(precision, DType.of(scale.dtype))
    divisors = spread(scale, x.shape, axis, block_size, "scale")
    points = None if zero_point is None else spread(zero_point, x.shape, axis, block_size, "zero point")
    steps = _divided(x, divisors, inside)
    return to_codes(steps, points, dtype, bool(saturate))


@quantize_linear.infer
def infer(
    x: Fact,
    scale: Fact,
    zero_point: Fact | None = None,
    /,
    *,
    axis: int,
    block_size: int,
    output_dtype: int,
    precision: int,
    saturate: int,
) -> Inferred:
    if scale.dtype is not None or precision:
        division_type(precision, scale.dtype or DType.FLOAT32)
    check_granularity(x.shape, scale.shape, axis, block_size, "scale")
    if zero_point is None or not zero_point.present:
        return TensorType(result_type(output_dtype, None), x.shape)
    check_pair(scale.shape, zero_point.shape)
    if zero_point.dtype is None and not output_dtype:
        return None
    return TensorType(result_type(output_dtype, zero_point.dtype), x.shape)


@quantize_linear.lower
def lower(
    x: prim.Tensor,
    scale: prim.Tensor,
    zero_point: prim.Tensor | None = None,
    /,
    *,
    axis: int,
    block_size: int,
    output_dtype: int,
    precision: int,
    saturate: int,
    facts: tuple[Fact, ...],
    inferred: tuple[Fact, ...],
) -> prim.Tensor:
    if scale.dtype is DType.FLOAT8E8M0:
        scale = numbers_of(scale)
    if scale.dtype not in ELEMENTS or facts[1].dtype is None or inferred[0].dtype is None:
        raise prim.Refused(f"a scale of {facts[1].dtype}")
    inside = DType.of(division_type(precision, facts[1].dtype))
    blocks = Blocks(x.shape, scale.shape, axis, block_size)
    steps = _rounded(blocks.split(x), inside)
    if not (isinstance(scale, Constant) and bool((scale.array == 1).all())):
        steps = _rounded(quotient(steps, _rounded(blocks.beside(scale), inside)), inside)
    points = None
    if zero_point is not None:
        points = Blocks(x.shape, zero_point.shape, axis, block_size).beside(zero_point)
    return blocks.join(codes_in_primitives(steps, points, inferred[0].dtype, bool(saturate)))


def _rounded(x: prim.Tensor, inside: DType) -> prim.Tensor:
    """Rounded to a type, in float32 or float64."""
    wide = DType.FLOAT64 if inside is DType.FLOAT64 else DType.FLOAT32
    return prim.cast(prim.cast(x, inside), wide)


def result_type(output_dtype: int, zero_point_type: DType | None) -> DType:
    """CheckError if the attribute is no type to quantise to, or another than that of the zero point."""
    dtype = zero_point_type or DType.UINT8
    if output_dtype:
        if output_dtype not in DType.__members__.values():
            raise CheckError(f"output_dtype is {output_dtype}, which is no element type")
        dtype = DType(output_dtype)
        if zero_point_type is not None and dtype is not zero_point_type:
            raise CheckError(f"output_dtype is {dtype}, the zero point is {zero_point_type}")
    if f"tensor({dtype.onnx_name})" not in CODES_28:
        raise CheckError(f"{dtype} is not a type to quantise to")
    return dtype


def division_type(precision: int, scale: DType) -> np.dtype[Any]:
    """The type to divide in; CheckError if the attribute is none."""
    if precision:
        if precision not in (DType.FLOAT16, DType.BFLOAT16, DType.FLOAT32, DType.FLOAT64):
            raise CheckError(f"precision is {precision}, expected 1 (float32), 10 (float16), 11 or 16 (bfloat16)")
        return DType(precision).numpy
    if scale is DType.INT32:
        return np.dtype(np.float64)
    return np.dtype(np.float32) if scale is DType.FLOAT8E8M0 else scale.numpy


def _divided(x: Array, divisors: Array, inside: np.dtype[Any]) -> Array:
    """The quotient, rounded to the type `inside`, in float32 or float64."""
    wide = np.float64 if inside == np.float64 else np.float32
    quotient = x.astype(inside).astype(wide) / divisors.astype(inside).astype(wide)
    return np.asarray(quotient).astype(inside).astype(wide)


T1_19: TypeAlias = Annotated[Array, types("T1", REAL_OR_INT32)]
T2_19: TypeAlias = Annotated[Array, types("T2", {19: CODES_19, 21: CODES_21})]
T1_13: TypeAlias = Annotated[Array, types("T1", FLOAT32 | INT32)]
Scale_13: TypeAlias = Annotated[Array, types("", FLOAT32)]
T2_13: TypeAlias = Annotated[Array, types("T2", BYTES)]


@operator("QuantizeLinear", since=(19, 21))
def quantize_linear_21(
    x: T1_19,
    scale: T1_19,
    zero_point: T2_19 | None = None,
    /,
    *,
    axis: int = 1,
    block_size: Annotated[int, Since(21)] = 0,
    output_dtype: Annotated[int, Since(21)] = 0,
    saturate: int = 1,
) -> T2_19:
    """The same, where scale and input are of one type."""
    raise superseded()


@operator("QuantizeLinear", since=13)
def quantize_linear_13(x: T1_13, scale: Scale_13, zero_point: T2_13 | None = None, /, *, axis: int = 1) -> T2_13:
    """The same, to bytes."""
    raise superseded()


@operator("QuantizeLinear", since=10)
def quantize_linear_10(x: T1_13, scale: Scale_13, zero_point: T2_13 | None = None, /) -> T2_13:
    """The same, with one scale for all of `x`."""
    raise superseded()


@quantize_linear_21.upgrade
@quantize_linear_13.upgrade
@quantize_linear_10.upgrade
def upgrade(op: Any, x: Value, scale: Value, zero_point: Value | None = None, /, **attributes: int) -> Any:
    return op.QuantizeLinear(x, scale, zero_point, **attributes)
