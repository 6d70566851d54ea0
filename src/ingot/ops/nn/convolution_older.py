"""Convolutions in older versions: of bytes as of floats that hold their sums exactly, and of small floats."""

from __future__ import annotations

from math import prod
from typing import Any

from ingot.dtypes import DType
from ingot.ir.value import Value
from ingot.ops.linalg.integers_older import centred, to_bytes
from ingot.ops.nn.convolution import conv
from ingot.ops.nn.integer_convolution import conv_integer, qlinear_conv
from ingot.ops.nn.through import again, by_float32
from ingot.ops.older import rank_of, shape_of

_LARGEST = 255 * 255
"""The largest product of two bytes, each less its zero point."""

by_float32(conv)


@conv_integer.downgrade
def downgrade_integer(
    op: Any,
    x: Value,
    w: Value,
    x_zero_point: Value | None = None,
    w_zero_point: Value | None = None,
    /,
    *,
    version: int,
    **attributes: Any,
) -> Any:
    """A sum of 32 bits wraps around, and a float beyond them has no integer of 32 bits: it goes through 64."""
    largest = _terms(w) * _LARGEST
    inside = DType.FLOAT32 if largest <= 2**24 else DType.FLOAT64
    values = centred(op, x, x_zero_point, inside), centred(op, w, _by_filter(op, w_zero_point, w), inside)
    (y,) = again(op, conv, values, attributes, version=version)
    return op.Cast(y if largest < 2**31 else op.Cast(y, to=int(DType.INT64)), to=int(DType.INT32))


@qlinear_conv.downgrade
def downgrade_qlinear(
    op: Any,
    x: Value,
    x_scale: Value,
    x_zero_point: Value,
    w: Value,
    w_scale: Value,
    w_zero_point: Value,
    y_scale: Value,
    y_zero_point: Value,
    b: Value | None = None,
    /,
    *,
    version: int,
    **attributes: Any,
) -> Any:
    inside = DType.FLOAT64
    values = centred(op, x, x_zero_point, inside), centred(op, w, _by_filter(op, w_zero_point, w), inside)
    bias = () if b is None else (op.Cast(b, to=int(inside)),)
    (sums,) = again(op, conv, (*values, *bias), attributes, version=version)
    scales = [op.Cast(scale, to=int(inside)) for scale in (x_scale, w_scale, y_scale)]
    if rank_of(w_scale) == 1:
        scales[1] = op.Reshape(scales[1], [-1, *[1] * (rank_of(w) - 2)])
    factor = op.Div(op.Mul(scales[0], scales[1]), scales[2])
    return to_bytes(op, op.Mul(sums, factor), y_zero_point)


def _terms(w: Value) -> int:
    """How many products are summed, or more than any sum of them can hold if that is not known."""
    sizes = shape_of(w)[1:]
    known = [size for size in sizes if isinstance(size, int)]
    return prod(known) if len(known) == len(sizes) else 2**31


def _by_filter(op: Any, zero_point: Value | None, w: Value) -> Any:
    """One zero point, or one for each filter, so that it broadcasts to the filters."""
    if zero_point is None or rank_of(zero_point) != 1:
        return zero_point
    return op.Reshape(zero_point, [-1, *[1] * (rank_of(w) - 1)])
