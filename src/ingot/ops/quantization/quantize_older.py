"""QuantizeLinear in older versions: fewer types to quantise to and to divide in, no blocks, and no axes at all."""

from __future__ import annotations

from typing import Any

import numpy as np

from ingot.dtypes import DType
from ingot.errors import UnsupportedError
from ingot.ir.tensor import Tensor
from ingot.ir.value import Value
from ingot.ops.older import constant_of, dtype_of, shape_of
from ingot.ops.quantization.elementwise import SINCE, cast, is_single, quantized, quotient, single, widened
from ingot.ops.quantization.quantize import (
    division_type,
    quantize_linear,
    quantize_linear_10,
    quantize_linear_13,
    quantize_linear_21,
    result_type,
)


@quantize_linear.downgrade
def downgrade(
    op: Any,
    x: Value,
    scale: Value,
    zero_point: Value | None = None,
    /,
    *,
    precision: int,
    output_dtype: int,
    version: int,
    **attributes: int,
) -> Any:
    """Scales of powers of two are widened; before version 23 scale and input are brought to the type to divide in."""
    to = _available(output_dtype, zero_point, version)
    inside = DType.of(division_type(precision, dtype_of(scale)))
    if SINCE.get(dtype_of(scale), 0) > version:
        scale = widened(scale, DType.FLOAT32, SINCE[dtype_of(scale)])
    if version >= quantize_linear.since[0]:
        named = {"precision": precision or None, "output_dtype": output_dtype or None, **attributes}
        return op.QuantizeLinear(x, scale, zero_point, **named)
    if inside is not DType.FLOAT64:
        x_inside, scale_inside = (cast(op, value, dtype_of(value), inside) for value in (x, scale))
        return op.QuantizeLinear(x_inside, scale_inside, zero_point, output_dtype=output_dtype or None, **attributes)
    if not precision and dtype_of(x) is DType.INT32:
        return op.QuantizeLinear(x, scale, zero_point, output_dtype=output_dtype or None, **attributes)
    return _in_float64(op, x, scale, zero_point, to, version, **attributes)


def _available(output_dtype: int, zero_point: Value | None, version: int) -> DType:
    """The type of the result; UnsupportedError if a version does not have it at all."""
    to = result_type(output_dtype, None if zero_point is None else dtype_of(zero_point))
    if SINCE.get(to, 0) > version and to not in (DType.INT16, DType.UINT16):
        raise UnsupportedError(f"it quantises to {to}, which came with version {SINCE[to]}")
    return to


def _in_float64(
    op: Any,
    x: Value,
    scale: Value,
    zero_point: Value | None,
    to: DType,
    version: int,
    *,
    axis: int,
    block_size: int = 0,
    saturate: int = 1,
) -> Any:
    if not to.is_integer:
        raise UnsupportedError(f"it divides in float64 and quantises to {to}")
    inside = DType.FLOAT64
    return quantized(op, x, scale, zero_point, to, inside=inside, axis=axis, block_size=block_size, version=version)


@quantize_linear_21.downgrade
def downgrade_21(
    op: Any,
    x: Value,
    scale: Value,
    zero_point: Value | None = None,
    /,
    *,
    axis: int,
    block_size: int,
    output_dtype: int,
    saturate: int,
    version: int,
) -> Any:
    to = _available(output_dtype, zero_point, version)
    inside = DType.of(division_type(0, dtype_of(scale)))
    blocked = bool(block_size) and not is_single(scale)
    if to.is_integer and (blocked or SINCE.get(to, 0) > version or (version < 19 and inside is not DType.FLOAT32)):
        return quantized(op, x, scale, zero_point, to, inside=inside, axis=axis, block_size=block_size, version=version)
    if blocked:
        if zero_point is not None and not _is_zero(zero_point):
            raise UnsupportedError(f"it quantises to {to} in blocks with zero points")
        x = quotient(op, x, scale, inside=inside, axis=axis, block_size=block_size)
        return op.QuantizeLinear(x, np.ones((), inside.numpy), np.zeros((), to.numpy), saturate=saturate)
    points: Any = zero_point
    if points is None and to is not DType.UINT8:
        points = _zeros(op, scale, to)
    return op.QuantizeLinear(x, scale, points, axis=axis, saturate=saturate if version >= 19 else None)


def _is_zero(values: Value) -> bool:
    known = constant_of(values)
    return known is not None and not known.astype(np.float32).any()


def _zeros(op: Any, like: Value, dtype: DType) -> Any:
    """Zero points of a type, as many as there are scales."""
    sizes = [size for size in shape_of(like) if isinstance(size, int)]
    if len(sizes) == len(shape_of(like)):
        return np.zeros(sizes, dtype.numpy)
    return op.ConstantOfShape(op.Shape(like), value=Tensor(np.zeros(1, dtype.numpy)))


@quantize_linear_13.downgrade
def downgrade_13(
    op: Any, x: Value, scale: Value, zero_point: Value | None = None, /, *, axis: int, version: int
) -> Any:
    if is_single(scale):
        return op.QuantizeLinear(x, single(op, scale), single(op, zero_point))
    return _to_bytes(op, x, scale, zero_point, axis, version)


@quantize_linear_10.downgrade
def downgrade_10(op: Any, x: Value, scale: Value, zero_point: Value | None = None, /, *, version: int) -> Any:
    return _to_bytes(op, x, scale, zero_point, 0, version)


def _to_bytes(op: Any, x: Value, scale: Value, zero_point: Value | None, axis: int, version: int) -> Any:
    to = DType.UINT8 if zero_point is None else dtype_of(zero_point)
    inside = DType.FLOAT32
    return quantized(op, x, scale, zero_point, to, inside=inside, axis=axis, block_size=0, version=version)
