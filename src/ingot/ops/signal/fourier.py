"""DFT: the discrete Fourier transform along one axis, its inverse, and both for real signals."""

from __future__ import annotations

import math
from typing import Annotated, Any, TypeAlias

import numpy as np

from ingot import prim
from ingot.dims import Dim
from ingot.dtypes import Array, DType
from ingot.errors import ShapeError, UnsupportedError
from ingot.ir.types import Shape, TensorType
from ingot.ir.value import Value
from ingot.ops.define import operator, superseded
from ingot.ops.facts import Fact, Inferred
from ingot.ops.linalg.limit import refuse_oversized
from ingot.ops.older import constant_of, dtype_of, rank_of, shape_of
from ingot.ops.shapes import axis_of, require_flags
from ingot.ops.signal.fast_fourier import steps_of, transformed_in_steps
from ingot.ops.signal.matrices import (
    Size,
    computed,
    computing_type,
    joined,
    parts,
    size_along,
    size_in,
    transformed,
    waves,
)
from ingot.ops.signal.scalars import complex_of, half, integer, parts_of, size_of
from ingot.ops.signal.waves import MOST_ELEMENTS, computed_waves
from ingot.ops.signal.waves import waves as wave_matrix
from ingot.ops.tensor.computed import around_axis, assume_reshape, counted_axis
from ingot.ops.tensor.moved import holding
from ingot.ops.typesets import FLOATS, INDICES, INT64, types
from ingot.prim.tensor import SizeReader

T1: TypeAlias = Annotated[Array, types("T1", FLOATS)]
T2: TypeAlias = Annotated[Array, types("T2", INDICES)]
Axis: TypeAlias = Annotated[Array, types("", INT64)]


@operator("DFT", since=20)
def dft(x: T1, dft_length: T2 | None = None, axis: Axis | None = None, /, *, inverse: int = 0, onesided: int = 0) -> T1:
    """The spectrum of a signal along `axis`, or the signal of a spectrum; of 16-bit floats in float32.

    The last axis holds real parts, or real and imaginary parts. The signal is cut or filled up with zeros to
    `dft_length`. `onesided` keeps the half of the spectrum of a real signal that is no mirror image, and takes that
    half back to the real signal.
    """
    at = _signal_axis(-2 if axis is None else integer(axis, "axis", least=-x.ndim), x.ndim)
    _check_parts(x.shape[-1], inverse, onesided)
    length = _default_length(x.shape[at], inverse, onesided)
    if dft_length is not None:
        length = integer(dft_length, "dft_length", least=1)
    assert isinstance(length, int)
    if length > x.shape[at] or length < 1 or not x.size:
        shape = _shape(x.shape, at, length, inverse, onesided)
        refuse_oversized((*shape[:at], max(length, 1), *shape[at + 1 : -1]), 16)
        if length < 1 or x.shape[at] == 0:
            return np.zeros([size for size in shape if isinstance(size, int)], x.dtype)
    signal = complex_of(x)
    if onesided and inverse:
        return np.asarray(np.fft.irfft(signal, length, at)[..., np.newaxis], x.dtype)
    if onesided:
        spectrum = np.fft.rfft(signal, length, at)
    else:
        spectrum = (np.fft.ifft if inverse else np.fft.fft)(signal, length, at)
    return parts_of(spectrum).astype(x.dtype, copy=False)


@dft.infer
def infer(
    x: Fact, dft_length: Fact | None = None, axis: Fact | None = None, /, *, inverse: int, onesided: int
) -> Inferred:
    require_flags(inverse=inverse, onesided=onesided)
    chosen = dft_length is not None and dft_length.present
    length = size_of(dft_length, "dft_length", least=1) if dft_length is not None else None
    if x.dtype is None or x.shape is None:
        return None if x.dtype is None else TensorType(x.dtype)
    if len(x.shape) < 2:
        raise ShapeError(f"x has {len(x.shape)} axes, expected at least 2")
    _check_parts(x.shape[-1], inverse, onesided)
    known = [-2] if axis is None or not axis.present else axis.integers
    if not known and not chosen and not onesided:  # every axis keeps its size, whichever is transformed
        return TensorType(x.dtype, (*x.shape[:-1], 2))
    if not known:
        return TensorType(x.dtype, (*(None for _ in x.shape[:-1]), 1 if inverse and onesided else 2))
    at = _signal_axis(known[0], len(x.shape))
    size = x.shape[at]
    if not chosen and size is not None:
        length = _default_length(size, inverse, onesided)
    return TensorType(x.dtype, _shape(x.shape, at, length, inverse, onesided))


@dft.lower
def lower(
    x: prim.Tensor,
    dft_length: prim.Tensor | None = None,
    axis: prim.Tensor | None = None,
    /,
    *,
    inverse: int,
    onesided: int,
    facts: tuple[Fact, ...],
    read: SizeReader,
) -> prim.Tensor:
    known = [-2] if axis is None else facts[2].integers
    if not known:
        assert axis is not None
        if dft_length is not None:
            raise prim.Refused("a statically unknown axis")
        return _along_computed(x, axis, inverse, onesided, read)
    at = _signal_axis(known[0], x.rank)
    size, parts = x.shape[at], x.shape[-1]
    length = facts[1].integers if dft_length is not None else None
    if not isinstance(size, int) or not isinstance(parts, int) or (dft_length is not None and not length):
        raise prim.Refused("a statically unknown length")
    many = length[0] if length else _default_length(size, inverse, onesided)
    if not isinstance(many, int) or many < 1 or size < 1 or x.rank > len(_AXES):
        raise prim.Refused(f"a transform of {many} samples")
    real = bool(inverse and onesided)
    samples = min(size, many // 2 + 1 if real else many)
    bins = many // 2 + 1 if onesided and not inverse else many
    x = prim.slice_(x, [0] * x.rank, [samples if a == at else each for a, each in enumerate(x.shape)])
    factors = steps_of(many, prim.count(x.shape[:-1]))
    if factors is not None:
        return _in_steps(x, at, factors, bins, inverse=bool(inverse), real=real)
    if inverse and not onesided:  # of which the standard records a result with the rounding errors of a fast transform
        raise prim.Refused("the inverse of a whole spectrum in one product")
    matrix = wave_matrix(samples, parts, bins, many, x.dtype, inverse=bool(inverse), real=real)
    names = _AXES[: x.rank - 1]
    return prim.contract(x, matrix, f"{names}p,{names[at]}pkr->{names.replace(names[at], 'k')}r")


def _in_steps(
    x: prim.Tensor, at: int, factors: tuple[int, ...], bins: int, *, inverse: bool, real: bool
) -> prim.Tensor:
    """The transform along an axis by the factors of its length."""
    before, samples, behind, parts = x.shape[:at], x.shape[at], x.shape[at + 1 : -1], x.shape[-1]
    assert isinstance(samples, int)
    if inverse:
        length = math.prod(factors)
        k = np.arange(samples)
        mirrored = np.where((k == 0) | (2 * k == length) | (not real), 1, 2) / length
        x = x * prim.constant(mirrored.astype(x.dtype.numpy).reshape(-1, *(1 for _ in (*behind, parts))))
    apart = prim.reshape(x, (*before, samples, prim.count(behind), parts))
    result = transformed_in_steps(apart, factors, bins, inverse=inverse, real=real)
    return prim.reshape(result, (*before, bins, *behind, result.shape[-1]))


def _along_computed(x: prim.Tensor, axis: prim.Tensor, inverse: int, onesided: int, read: SizeReader) -> prim.Tensor:
    """The transform along an axis that a run computes, if it is short enough whichever that is."""
    shape, parts = x.shape[:-1], x.shape[-1]
    most = max((size for size in shape if isinstance(size, int)), default=0)
    if not isinstance(parts, int) or len(shape) < 1 or any(not isinstance(size, int) or size < 1 for size in shape):
        raise prim.Refused("a statically unknown length")
    if most * most * parts > MOST_ELEMENTS or (inverse and not onesided):
        raise prim.Refused(f"a transform of {most} samples")
    apart = around_axis(x, axis, read, last=1)
    size = apart.shape[1]
    many = _default_length(size, inverse, onesided)
    real = bool(inverse and onesided)
    bins = size // 2 + 1 if onesided and not inverse else many
    matrix = computed_waves(size, parts, bins, many, x.dtype, inverse=bool(inverse), real=real)
    result = prim.contract(apart, matrix, "bsap,spkr->bkar")
    if not onesided:
        return assume_reshape(result, (*shape, result.shape[-1]))
    sizes = holding(shape)
    changed = (sizes - 1) * 2 if inverse else sizes / 2 + 1
    is_here = prim.apply("equal", prim.iota((len(shape),), 0), counted_axis(axis, x.rank))
    return assume_reshape(result, (*read(prim.where(is_here, changed, sizes)), result.shape[-1]))


_AXES = "abcdefgh"


def _signal_axis(axis: int, rank: int) -> int:
    at = axis_of(axis, rank)
    if at == rank - 1:
        raise ShapeError(f"axis is {axis}: the last of {rank} axes holds the parts of complex numbers")
    return at


def _check_parts(parts: Dim | None, inverse: int, onesided: int) -> None:
    """ShapeError if the last axis cannot hold what is transformed."""
    if not isinstance(parts, int):
        return
    expected = (1, 2) if not onesided else (2,) if inverse else (1,)
    if parts not in expected:
        kind = "a onesided inverse takes complex" if inverse else "onesided takes real"
        shown = " or ".join(map(str, expected))
        raise ShapeError(
            f"the last axis has size {parts}, expected {shown}", hint=f"{kind} numbers" if onesided else None
        )


def _default_length(size: Dim, inverse: int, onesided: int) -> Dim:
    return 2 * (size - 1) if inverse and onesided else size


def _shape(shape: Shape, axis: int, length: Dim | None, inverse: int, onesided: int) -> Shape:
    """The shape of the result."""
    if isinstance(length, int):
        length = max(length, 0)
    along = half(length) if onesided and not inverse else length
    return (*shape[:axis], along, *shape[axis + 1 : -1], 1 if onesided and inverse else 2)


@dft.downgrade
def downgrade(
    op: Any, x: Value, dft_length: Value | None = None, axis: Value | None = None, /, *, inverse: int, onesided: int
) -> Any:
    known = np.asarray(-2) if axis is None else constant_of(axis)
    if known is None:
        raise UnsupportedError("the axis is computed while the model runs, before version 20 it is an attribute")
    return op.DFT(x, dft_length, axis=int(known.reshape(-1)[0]), inverse=inverse, onesided=onesided)


@operator("DFT", since=17)
def dft_17(x: T1, dft_length: T2 | None = None, /, *, axis: int = 1, inverse: int = 0, onesided: int = 0) -> T1:
    """The same, where the axis is an attribute."""
    raise superseded()


@dft_17.upgrade
def upgrade(op: Any, x: Value, dft_length: Value | None = None, /, *, axis: int, inverse: int, onesided: int) -> Any:
    return op.DFT(x, dft_length, np.asarray(axis, np.int64), inverse=inverse, onesided=onesided)


@dft_17.downgrade
def downgrade_17(
    op: Any, x: Value, dft_length: Value | None = None, /, *, axis: int, inverse: int, onesided: int
) -> Any:
    """A product with a matrix of waves; what is cut off or filled up with zeros adds nothing to it."""
    count = shape_of(x)[-1]
    if not isinstance(count, int) and not onesided:
        raise UnsupportedError(f"it is not known whether '{x.name}' is real or complex")
    at, inside = _signal_axis(axis, rank_of(x)), computing_type(x)
    size = size_along(op, x, at)
    real_result = bool(onesided and inverse)
    if dft_length is not None:
        length = size_in(op, dft_length)
    else:
        length = computed(op, "Mul", computed(op, "Sub", size, 1), 2) if real_result else size
    half_way = computed(op, "Add", computed(op, "Div", length, 2), 1)
    samples = computed(op, "Min", size, half_way if real_result else length)
    bins = half_way if onesided and not inverse else length
    signal = parts(op, x, inside)[: 1 if onesided and not inverse else 2]
    signal = [_first(op, part, at, rank_of(x) - 1, size, samples) for part in signal]
    cosines, sines = waves(op, samples, bins, length, inside)
    if real_result:
        signal = [op.Mul(part, _mirrored(op, samples, length, inside)) for part in signal]
    spectrum = transformed(op, signal, cosines, sines, inside, inverse=bool(inverse))[: 1 if real_result else 2]
    if inverse:
        count = length.known
        divisor = op.Cast(length.value, to=int(inside)) if count is None else np.asarray(count, inside.numpy)
        spectrum = [op.Div(part, divisor) for part in spectrum]
    spectrum = [_moved_back(op, part, at, rank_of(x) - 1) for part in spectrum]
    return joined(op, spectrum, rank_of(x) - 1, inside, dtype_of(x))


def _first(op: Any, x: Any, axis: int, rank: int, size: Size, samples: Size) -> Any:
    """The first samples of an axis, which becomes the last."""
    if size.known is None or size.known != samples.known:
        x = op.Slice(x, [0], op.Reshape(samples.value, [1]), [axis])
    order = [*range(axis), *range(axis + 1, rank), axis]
    return x if axis == rank - 1 else op.Transpose(x, perm=order)


def _moved_back(op: Any, x: Any, axis: int, rank: int) -> Any:
    """The last axis in the place of another."""
    order = [*range(axis), rank - 1, *range(axis, rank - 1)]
    return x if axis == rank - 1 else op.Transpose(x, perm=order)


def _mirrored(op: Any, samples: Size, length: Size, dtype: DType) -> Any:
    """2 for each frequency that has a mirror image, 1 for the first and for one half way."""
    if samples.known is not None and length.known is not None:
        k = np.arange(max(samples.known, 0))
        return np.where((k == 0) | (2 * k == length.known), 1, 2).astype(dtype.numpy)
    k = op.Range(np.asarray(0), samples.value, np.asarray(1))
    alone = op.Or(op.Equal(k, np.asarray(0)), op.Equal(op.Mul(k, np.asarray(2)), length.value))
    return op.Where(alone, np.ones((), dtype.numpy), np.full((), 2, dtype.numpy))
