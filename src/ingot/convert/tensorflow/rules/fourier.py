"""Fourier transforms; complex numbers are pairs of real ones along a last axis."""

from __future__ import annotations

from typing import Any

import numpy as np

from ingot.builder import Var, op
from ingot.convert.elementary import atan2
from ingot.convert.operands import rank, shape
from ingot.convert.tensorflow.dtypes import dtype_of, real_of
from ingot.convert.tensorflow.operands import known
from ingot.convert.tensorflow.pair import Pair
from ingot.convert.tensorflow.rule import Site, rule


@rule("FFT", "FFT2D", "FFT3D", pairs=True)
def fft(site: Site, x: Pair) -> Pair:
    return Pair(_transformed(x.var, _count(site), 0))


@rule("IFFT", "IFFT2D", "IFFT3D", pairs=True)
def ifft(site: Site, x: Pair) -> Pair:
    return Pair(_transformed(x.var, _count(site), 1))


@rule("RFFT", "RFFT2D")
def rfft(site: Site, x: Var, lengths: Var) -> Pair:
    """The half of the spectrum that the other half mirrors; the input is cut or filled with zeros first."""
    wanted = [int(size) for size in known(lengths, "the length")]
    axes = list(range(rank(x) - len(wanted), rank(x)))
    fitted = x
    for axis, size in zip(axes, wanted, strict=True):
        fitted = _fitted(fitted, axis, size)
    transformed = op.DFT(op.Unsqueeze(fitted, [-1]), None, np.array(axes[-1], np.int64), onesided=1)
    for axis in axes[:-1]:
        transformed = op.DFT(transformed, None, np.array(axis, np.int64))
    return Pair(transformed)


@rule("IRFFT", "IRFFT2D", pairs=True)
def irfft(site: Site, x: Pair, lengths: Var) -> Var:
    """The real numbers whose half spectrum is given: mirrored to the whole, and back."""
    wanted = [int(size) for size in known(lengths, "the length")]
    axes = list(range(rank(x.var) - 1 - len(wanted), rank(x.var) - 1))
    transformed = x.var
    for axis, size in zip(axes[:-1], wanted[:-1], strict=True):
        transformed = op.DFT(_fitted(transformed, axis, size), None, np.array(axis, np.int64), inverse=1)
    last, size = axes[-1], wanted[-1]
    transformed = _fitted(transformed, last, size // 2 + 1)
    mirrored = op.Slice(transformed, [(size - 1) // 2], [0], [last], [-1])
    conjugate = np.array([1, -1], site.dtype.numpy)
    spectrum = op.Concat(transformed, op.Mul(mirrored, conjugate), axis=last)
    back = op.DFT(spectrum, None, np.array(last, np.int64), inverse=1)
    return op.Gather(back, np.array(0), axis=-1)


@rule("Complex")
def complex_(site: Site, real: Var, imaginary: Var) -> Pair:
    whole = op.Shape(op.Add(real, imaginary))
    return Pair(op.Concat(*(op.Unsqueeze(op.Expand(part, whole), [-1]) for part in (real, imaginary)), axis=-1))


@rule("Real", pairs=True)
def real(site: Site, x: Any) -> Var:
    return op.Gather(x.var, np.array(0), axis=-1) if isinstance(x, Pair) else x


@rule("Imag", pairs=True)
def imag(site: Site, x: Any) -> Var:
    return op.Gather(x.var, np.array(1), axis=-1) if isinstance(x, Pair) else op.Sub(x, x)


@rule("Conj", pairs=True)
def conj(site: Site, x: Any) -> Any:
    if not isinstance(x, Pair):
        return x
    return Pair(op.Mul(x.var, np.array([1, -1], real_of(dtype_of(site.op.outputs[0].dtype)).numpy)))


@rule("ComplexAbs", pairs=True)
def complex_abs(site: Site, x: Pair) -> Var:
    return op.ReduceL2(x.var, [-1], keepdims=0)


@rule("Angle", pairs=True)
def angle(site: Site, x: Pair) -> Var:
    real, imaginary = (op.Gather(x.var, np.array(at), axis=-1) for at in (0, 1))
    return atan2(imaginary, real, site.dtype)


def _count(site: Site) -> int:
    """Over how many axes an operator transforms."""
    return int(site.op.type[-2]) if site.op.type.endswith("D") else 1


def _transformed(x: Var, count: int, inverse: int) -> Var:
    axes = range(rank(x) - 1 - count, rank(x) - 1)
    for axis in axes:
        x = op.DFT(x, None, np.array(axis, np.int64), inverse=inverse)
    return x


def _fitted(x: Var, axis: int, size: int) -> Var:
    """An axis cut, or filled with zeros, to a length."""
    have = shape(x)[axis]
    if have == size:
        return x
    pads = np.zeros(2 * rank(x), np.int64)
    pads[rank(x) + axis] = size
    if isinstance(have, int):
        if have > size:
            return op.Slice(x, [0], [size], [axis])
        pads[rank(x) + axis] = size - have
        return op.Pad(x, pads)
    return op.Slice(op.Pad(x, pads), [0], [size], [axis])
