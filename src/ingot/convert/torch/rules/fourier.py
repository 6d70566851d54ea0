"""Fourier transforms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ingot.builder import Var, op
from ingot.convert.operands import cast, positive, rank
from ingot.convert.torch.pair import Pair, joined, split
from ingot.convert.torch.rule import Site
from ingot.convert.torch.rules.complex import complex_rule
from ingot.convert.torch.sizes import Extent, as_row
from ingot.dtypes import DType


@complex_rule("aten._fft_r2c.default")
def fft_r2c(site: Site, x: Var, axes: Sequence[int], norm: int, onesided: bool) -> Pair:
    """The spectrum of real numbers: along the last axis named first, which may leave out the mirrored half."""
    dtype = site.dtype
    axes = [positive(axis, rank(x)) for axis in axes]
    transformed = op.DFT(op.Unsqueeze(cast(x, dtype), [-1]), None, np.array(axes[-1], np.int64), onesided=int(onesided))
    for axis in axes[:-1]:
        transformed = op.DFT(transformed, None, np.array(axis, np.int64))
    return split(_normed(transformed, x, axes, norm, dtype))


@complex_rule("aten._fft_c2c.default")
def fft_c2c(site: Site, x: Pair, axes: Sequence[int], norm: int, forward: bool) -> Pair:
    axes = [positive(axis, rank(x.real)) for axis in axes]
    transformed = joined(x)
    for axis in axes:
        transformed = op.DFT(transformed, None, np.array(axis, np.int64), inverse=int(not forward))
    scaled = _normed if forward else _unnormed
    return split(scaled(transformed, x.real, axes, norm, site.dtype))


@complex_rule("aten._fft_c2r.default")
def fft_c2r(site: Site, x: Pair, axes: Sequence[int], norm: int, size: Extent) -> Var:
    """The real numbers whose half spectrum is given: mirrored to the whole, and back."""
    axes = [positive(axis, rank(x.real)) for axis in axes]
    transformed = joined(x)
    for axis in axes[:-1]:
        transformed = op.DFT(transformed, None, np.array(axis, np.int64), inverse=1)
    last = axes[-1]
    length = as_row(size)
    half = op.Add(op.Div(length, np.array([2])), np.array([1]))
    have = op.Shape(transformed, start=last, end=last + 1)
    missing = op.Max(op.Sub(half, have), np.array([0]))
    transformed = op.Pad(transformed, op.Concat(np.array([0]), missing, axis=0), None, np.array([last], np.int64))
    transformed = op.Slice(transformed, [0], half, [last])
    mirrored = op.Slice(transformed, op.Div(op.Sub(length, np.array([1])), np.array([2])), [0], [last], [-1])
    mirrored = op.Mul(mirrored, np.array([1, -1], site.dtype.numpy))
    whole = op.Concat(transformed, mirrored, axis=last)
    back = op.DFT(whole, None, np.array(last, np.int64), inverse=1)
    real = op.Gather(back, np.array(0), axis=-1)
    return _unnormed(real, real, axes, norm, site.dtype)


def _count(x: Var, axes: Sequence[int], dtype: DType) -> Any:
    sizes = op.Gather(op.Shape(x), np.array(axes, np.int64))
    return cast(op.ReduceProd(sizes, keepdims=0), dtype)


def _normed(transformed: Var, x: Var, axes: Sequence[int], norm: int, dtype: DType) -> Var:
    """Forward transforms are sums; torch may want them divided by the count (2) or its root (1)."""
    if norm == 0:
        return transformed
    count = _count(x, axes, dtype)
    return op.Div(transformed, count if norm == 2 else op.Sqrt(count))


def _unnormed(transformed: Var, x: Var, axes: Sequence[int], norm: int, dtype: DType) -> Var:
    """Inverse transforms are divided by the count already; torch may want the sum (0) or the root (1)."""
    if norm == 2:
        return transformed
    count = _count(x, axes, dtype)
    return op.Mul(transformed, count if norm == 0 else op.Sqrt(count))
