"""Fourier transforms as products with matrices of cosines and sines, for versions without the operators."""

from __future__ import annotations

from typing import Any

import numpy as np

from ingot.dataclass import dataclass
from ingot.dtypes import Array, DType
from ingot.ir.value import Value
from ingot.ops.older import constant_of, dtype_of, rank_of, shape_of

_MOST_ELEMENTS = 2**20
"""A larger matrix is computed while the model runs, and not written into it."""

_INT64, _FLOAT64 = int(DType.INT64), int(DType.FLOAT64)
_ZERO, _ONE = np.asarray(0), np.asarray(1)


@dataclass(frozen=True, slots=True)
class Size:
    """A number that is known, or a scalar that is computed while the model runs."""

    known: int | None
    value: Any

    @staticmethod
    def of(known: int) -> Size:
        return Size(known, np.asarray(known, np.int64))


def size_along(op: Any, x: Value, axis: int) -> Size:
    """How long an axis is."""
    size = shape_of(x)[axis]
    return Size.of(size) if isinstance(size, int) else Size(None, op.Gather(op.Shape(x), np.asarray(axis)))


def size_in(op: Any, scalar: Value) -> Size:
    """The number that a scalar holds, whatever its integer type and whether it has an axis."""
    known = constant_of(scalar)
    if known is not None:
        return Size.of(int(known.reshape(-1)[0]))
    value: Any = scalar if dtype_of(scalar) is DType.INT64 else op.Cast(scalar, to=_INT64)
    return Size(None, value if rank_of(scalar) == 0 else op.Reshape(value, np.zeros(0, np.int64)))


def computed(op: Any, name: str, left: Size, right: Size | int) -> Size:
    """Two sizes combined by an operator: Add, Sub, Mul, Div, Min or Max."""
    other = Size.of(right) if isinstance(right, int) else right
    if left.known is None or other.known is None:
        return Size(None, op[name](left.value, other.value))
    a, b = left.known, other.known
    results = {"Add": a + b, "Sub": a - b, "Mul": a * b, "Min": min(a, b), "Max": max(a, b)}
    return Size.of(a // b if name == "Div" else results[name])


def waves(op: Any, samples: Size, bins: Size, period: Size, dtype: DType) -> tuple[Any, Any]:
    """The cosines and sines of `2πnk / period` for `n` below `samples` and `k` below `bins`."""
    if samples.known is not None and bins.known is not None and period.known is not None:
        n, k = max(samples.known, 0), max(bins.known, 0)
        if n * k <= _MOST_ELEMENTS:
            turns: Array = np.outer(np.arange(n), np.arange(k)) % max(period.known, 1)
            angles = turns * (2 * np.pi / max(period.known, 1))
            return np.cos(angles).astype(dtype.numpy), np.sin(angles).astype(dtype.numpy)
    rows = op.Unsqueeze(op.Range(_ZERO, samples.value, _ONE), [1])
    columns = op.Unsqueeze(op.Range(_ZERO, bins.value, _ONE), [0])
    whole = op.Max(period.value, _ONE)
    turns = op.Cast(op.Mod(op.Mul(rows, columns), whole), to=_FLOAT64)
    angles = op.Mul(turns, op.Div(np.float64(2 * np.pi), op.Cast(whole, to=_FLOAT64)))
    parts = op.Cos(angles), op.Sin(angles)
    return parts if dtype is DType.FLOAT64 else (op.Cast(parts[0], to=int(dtype)), op.Cast(parts[1], to=int(dtype)))


def parts(op: Any, x: Value, inside: DType) -> list[Any]:
    """The real parts in the last axis, and the imaginary ones if it has any, in a type to compute in."""
    wide = x if inside is dtype_of(x) else op.Cast(x, to=int(inside))
    last = rank_of(x) - 1
    count = shape_of(x)[last]
    return [op.Gather(wide, np.asarray(k), axis=last) for k in range(count if isinstance(count, int) else 2)]


def joined(op: Any, items: list[Any], rank: int, inside: DType, dtype: DType) -> Any:
    """Real parts, and imaginary ones if there are any, side by side in a last axis."""
    apart = [op.Unsqueeze(item, [rank]) for item in items]
    result = apart[0] if len(apart) == 1 else op.Concat(*apart, axis=rank)
    return result if inside is dtype else op.Cast(result, to=int(dtype))


def transformed(
    op: Any, signal: list[Any], cosines: Any, sines: Any, dtype: DType, *, inverse: bool = False
) -> list[Any]:
    """The real and the imaginary part of a spectrum along the last axis; an inverse one is not divided by anything."""
    real = op.MatMul(signal[0], cosines)
    turned = op.MatMul(signal[0], sines)
    if len(signal) == 1:
        return [real, turned if inverse else op.Sub(np.zeros((), dtype.numpy), turned)]  # no zero is negative
    across, level = op.MatMul(signal[1], sines), op.MatMul(signal[1], cosines)
    if inverse:
        return [op.Sub(real, across), op.Add(level, turned)]
    return [op.Add(real, across), op.Sub(level, turned)]


def computing_type(x: Value) -> DType:
    """float64 for float64, else float32."""
    return DType.FLOAT64 if dtype_of(x) is DType.FLOAT64 else DType.FLOAT32
