"""Fourier transforms; complex numbers are pairs of real ones along a last axis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ingot.builder import Var, op
from ingot.convert.torch.dtypes import real_of
from ingot.convert.torch.operands import cast, positive, rank
from ingot.convert.torch.pair import Pair
from ingot.convert.torch.rule import Site, refuse, rule
from ingot.convert.torch.sizes import Extent
from ingot.dtypes import DType


@rule("aten._fft_r2c.default")
def fft_r2c(site: Site, x: Var, axes: Sequence[int], norm: int, onesided: bool) -> Pair:
    """The spectrum of real numbers: along the last axis named first, which may leave out the mirrored half."""
    dtype = real_of(site.dtype)
    axes = [positive(axis, rank(x)) for axis in axes]
    made = op.DFT(op.Unsqueeze(cast(x, dtype), [-1]), None, np.array(axes[-1], np.int64), onesided=int(onesided))
    for axis in axes[:-1]:
        made = op.DFT(made, None, np.array(axis, np.int64))
    return Pair(_normed(made, x, axes, norm, dtype))


@rule("aten._fft_c2c.default")
def fft_c2c(site: Site, x: Pair, axes: Sequence[int], norm: int, forward: bool) -> Pair:
    dtype = real_of(site.dtype)
    axes = [positive(axis, rank(x.var) - 1) for axis in axes]
    made = x.var
    for axis in axes:
        made = op.DFT(made, None, np.array(axis, np.int64), inverse=int(not forward))
    made = _normed(made, x.var, axes, norm, dtype) if forward else _unnormed(made, x.var, axes, norm, dtype)
    return Pair(made)


@rule("aten._fft_c2r.default")
def fft_c2r(site: Site, x: Pair, axes: Sequence[int], norm: int, size: Extent) -> Var:
    """The real numbers whose half spectrum is given: mirrored to the whole, and back."""
    axes = [positive(axis, rank(x.var) - 1) for axis in axes]
    made = x.var
    for axis in axes[:-1]:
        made = op.DFT(made, None, np.array(axis, np.int64), inverse=1)
    last = axes[-1]
    if not isinstance(size, int):
        raise refuse("a half spectrum of a length that is not known")
    half = size // 2 + 1
    have = site.given(0).shape[last]
    if not isinstance(have, int):
        raise refuse("a half spectrum of a length that is not known")
    if have < half:
        pads = np.zeros(2 * rank(made), np.int64)
        pads[rank(made) + last] = half - have
        made = op.Pad(made, pads)
    made = op.Slice(made, [0], [half], [last])
    mirrored = op.Slice(made, [(size - 1) // 2], [0], [last], [-1])
    mirrored = op.Mul(mirrored, np.array([1, -1], site.dtype.numpy))
    whole = op.Concat(made, mirrored, axis=last)
    back = op.DFT(whole, None, np.array(last, np.int64), inverse=1)
    real = op.Gather(back, np.array(0), axis=-1)
    return _unnormed(real, real, axes, norm, site.dtype)


@rule("aten.view_as_real.default", "aten.view_as_real_copy.default")
def view_as_real(site: Site, x: Pair) -> Var:
    return x.var


@rule("aten.view_as_complex.default", "aten.view_as_complex_copy.default")
def view_as_complex(site: Site, x: Var) -> Pair:
    return Pair(x)


@rule("aten.complex.default")
def complex_(site: Site, real: Var, imaginary: Var) -> Pair:
    both = [op.Unsqueeze(op.Expand(part, op.Shape(op.Add(real, imaginary))), [-1]) for part in (real, imaginary)]
    return Pair(op.Concat(*both, axis=-1))


@rule("aten.real.default")
def real(site: Site, x: Any) -> Var:
    return op.Gather(x.var, np.array(0), axis=-1) if isinstance(x, Pair) else x


@rule("aten.imag.default")
def imag(site: Site, x: Pair) -> Var:
    return op.Gather(x.var, np.array(1), axis=-1)


def _count(x: Var, axes: Sequence[int], dtype: DType) -> Any:
    sizes = op.Gather(op.Shape(x), np.array(axes, np.int64))
    return cast(op.ReduceProd(sizes, keepdims=0), dtype)


def _normed(made: Var, x: Var, axes: Sequence[int], norm: int, dtype: DType) -> Var:
    """Forward transforms are sums; torch may want them divided by the count (2) or its root (1)."""
    if norm == 0:
        return made
    count = _count(x, axes, dtype)
    return op.Div(made, count if norm == 2 else op.Sqrt(count))


def _unnormed(made: Var, x: Var, axes: Sequence[int], norm: int, dtype: DType) -> Var:
    """Inverse transforms are divided by the count already; torch may want the sum (0) or the root (1)."""
    if norm == 2:
        return made
    count = _count(x, axes, dtype)
    return op.Mul(made, count if norm == 0 else op.Sqrt(count))
