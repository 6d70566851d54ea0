"""Products of matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]


def gemm(
    a: Array,
    b: Array,
    c: Array | None = None,
    *,
    alpha: float = 1.0,
    beta: float = 1.0,
    transA: int = 0,  # noqa: N803
    transB: int = 0,  # noqa: N803
) -> Array:
    """`alpha * a @ b + beta * c`, with `a` and `b` transposed if that is asked for; 16 bits are computed in 32."""
    wide = a.dtype if a.dtype.kind in "iu" or a.itemsize > 2 else np.dtype(np.float32)
    y: Array = (a.T if transA else a).astype(wide) @ (b.T if transB else b).astype(wide)
    if alpha != 1:
        y = y * wide.type(alpha)
    if c is not None:
        y = y + (c.astype(wide) if beta == 1 else c.astype(wide) * wide.type(beta))
    return y.astype(a.dtype)


def matmul(a: Array, b: Array) -> Array:
    """The product of matrices, floats of 16 bits summed in 32."""
    wide = a.dtype if a.dtype.kind in "iu" else np.float32
    product: Array = np.matmul(a.astype(wide), b.astype(wide))
    return product.astype(a.dtype)


def matmul_integer(a: Array, b: Array, a_zero_point: Array | None = None, b_zero_point: Array | None = None) -> Array:
    """The product of two matrices of bytes, each less its zero point: one a row of `a`, one a column of `b`."""
    rows, columns = a.astype(np.int32), b.astype(np.int32)
    if a_zero_point is not None:
        points = a_zero_point.astype(np.int32)
        rows = rows - (points[..., None] if points.ndim == 1 and points.size > 1 else points)
    if b_zero_point is not None:
        columns = columns - b_zero_point.astype(np.int32)
    product: Array = np.matmul(rows, columns)
    return product


def qlinear_matmul(
    a: Array,
    a_scale: Array,
    a_zero_point: Array,
    b: Array,
    b_scale: Array,
    b_zero_point: Array,
    y_scale: Array,
    y_zero_point: Array,
) -> Array:
    """The product of the matrices that quantised ones stand for, quantised again."""
    rows = a.astype(np.int64) - _by_row(a_zero_point).astype(np.int64)
    columns = b.astype(np.int64) - b_zero_point.astype(np.int64)
    scale = _by_row(a_scale).astype(np.float64) * b_scale.astype(np.float64) / y_scale.astype(np.float64)
    steps = np.rint(np.matmul(rows, columns) * scale) + y_zero_point.astype(np.float64)
    limits = np.iinfo(y_zero_point.dtype)
    cut: Array = np.clip(steps, limits.min, limits.max)
    return cut.astype(y_zero_point.dtype)


def _by_row(values: Array) -> Array:
    """One value for all rows, or one for each."""
    return values[..., None] if values.ndim == 1 and values.size > 1 else values
