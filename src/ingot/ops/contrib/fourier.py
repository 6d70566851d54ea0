"""Rfft, Irfft, ComplexMul and ComplexMulConj: spectra of real signals, whose parts are on a last axis of two."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import numpy as np

from ingot import prim
from ingot.dims import Dim
from ingot.dtypes import Array
from ingot.errors import CheckError, ShapeError
from ingot.ir.types import TensorType
from ingot.ops.contrib.domain import MICROSOFT, SMALL_FLOATS
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.nn.precision import refuse_huge, wide
from ingot.ops.shapes import broadcast
from ingot.ops.typesets import FLOATS_3, types

T: TypeAlias = Annotated[Array, types("T", FLOATS_3)]
TPair: TypeAlias = Annotated[Array, types("T", SMALL_FLOATS | FLOATS_3)]


@operator("Rfft", since=1, domain=MICROSOFT)
def rfft(x: T, /, *, normalized: int = 0, onesided: int = 1, signal_ndim: int = 1) -> T:
    """The Fourier transform of the last `signal_ndim` axes: half of the last, real and imaginary parts behind it."""
    _check(normalized, onesided, signal_ndim, x.ndim)
    refuse_huge((*x.shape, 2), np.dtype(np.float64))
    spectrum = np.fft.rfftn(x.astype(np.float64), axes=tuple(range(-signal_ndim, 0)))
    return np.stack([spectrum.real, spectrum.imag], axis=-1).astype(x.dtype)


@rfft.infer
def infer_rfft(x: Fact, /, *, normalized: int, onesided: int, signal_ndim: int) -> Inferred:
    if x.dtype is None or x.shape is None:
        return None if x.dtype is None else TensorType(x.dtype)
    _check(normalized, onesided, signal_ndim, len(x.shape))
    size = x.shape[-1]
    return TensorType(x.dtype, (*x.shape[:-1], None if size is None else size // 2 + 1, 2))


@operator("Irfft", since=1, domain=MICROSOFT)
def irfft(x: T, /, *, signal_ndim: int, normalized: int = 0, onesided: int = 1) -> T:
    """The signals whose Rfft is `x`, of an even length."""
    _check(normalized, onesided, signal_ndim, x.ndim - 1)
    if x.shape[-1] != 2 or not x.shape[-2]:
        raise ShapeError(f"x has shape {list(x.shape)}, expected parts of two on its last axis")
    size = 2 * (x.shape[-2] - 1)
    if not size:
        raise ShapeError("a spectrum of one number is that of no signal of an even length")
    refuse_huge((*x.shape[:-2], size), np.dtype(np.float64))
    parts = x.astype(np.float64)
    sizes = (*x.shape[-1 - signal_ndim : -2], size)
    return np.fft.irfftn(parts[..., 0] + 1j * parts[..., 1], s=sizes, axes=tuple(range(-signal_ndim, 0))).astype(
        x.dtype
    )


@irfft.infer
def infer_irfft(x: Fact, /, *, normalized: int, onesided: int, signal_ndim: int) -> Inferred:
    if x.dtype is None or x.shape is None:
        return None if x.dtype is None else TensorType(x.dtype)
    _check(normalized, onesided, signal_ndim, len(x.shape) - 1)
    size = x.shape[-2]
    length: Dim | None = None if size is None else 2 * (size - 1)
    return TensorType(x.dtype, (*x.shape[:-2], length))


@operator("ComplexMul", since=1, domain=MICROSOFT)
def complex_mul(a: TPair, b: TPair, /) -> TPair:
    """The products of complex numbers, real and imaginary parts on the last axis, with broadcasting."""
    return _product(a, b, 1)


@operator("ComplexMulConj", since=1, domain=MICROSOFT)
def complex_mul_conj(a: TPair, b: TPair, /) -> TPair:
    """The products of complex numbers with the conjugates of others."""
    return _product(a, b, -1)


@complex_mul.infer
@complex_mul_conj.infer
def infer_product(a: Fact, b: Fact, /) -> Inferred:
    dtype = a.dtype or b.dtype
    return None if dtype is None else TensorType(dtype, broadcast(a.shape, b.shape))


@complex_mul.lower
def lower_mul(a: prim.Tensor, b: prim.Tensor, /) -> prim.Tensor:
    return _product_in_primitives(a, b, 1)


@complex_mul_conj.lower
def lower_conj(a: prim.Tensor, b: prim.Tensor, /) -> prim.Tensor:
    return _product_in_primitives(a, b, -1)


def _product(a: Array, b: Array, sign: int) -> Array:
    if a.shape[-1:] != (2,) or b.shape[-1:] != (2,):
        raise ShapeError(f"a has shape {list(a.shape)} and b {list(b.shape)}, expected parts of two on the last axis")
    broadcast(a.shape, b.shape)
    left, right = (x.astype(wide(x.dtype)) for x in (a, b))
    p, q, r, s = left[..., 0], left[..., 1], right[..., 0], right[..., 1] * sign
    return np.stack([p * r - q * s, p * s + q * r], axis=-1).astype(a.dtype)


def _product_in_primitives(a: prim.Tensor, b: prim.Tensor, sign: int) -> prim.Tensor:
    if a.rank < 1 or b.rank < 1 or a.shape[-1] != 2 or b.shape[-1] != 2:
        raise prim.Refused("parts of other than two")
    (p, q), (r, s) = ((_part(x, 0), _part(x, 1)) for x in (a, b))
    s = s * float(sign)
    real, imaginary = p * r - q * s, p * s + q * r
    return prim.concat([real, imaginary], real.rank - 1)


def _part(x: prim.Tensor, part: int) -> prim.Tensor:
    return prim.slice_(x, [*[0] * (x.rank - 1), part], [*x.shape[:-1], 1])


def _check(normalized: int, onesided: int, signal_ndim: int, rank: int) -> None:
    if normalized or onesided != 1:
        raise CheckError(f"normalized is {normalized} and onesided {onesided}, expected 0 and 1")
    if not 1 <= signal_ndim <= 3 or signal_ndim > rank:
        raise CheckError(f"signal_ndim is {signal_ndim}, expected 1 to 3, and no more than the axes there are")
