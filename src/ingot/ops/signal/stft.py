"""STFT: the spectra of overlapping stretches of a signal."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

import numpy as np

from ingot import prim
from ingot.dims import Dim, maximum
from ingot.dtypes import Array
from ingot.errors import InputError, ShapeError, UnsupportedError
from ingot.ir.types import Shape, TensorType
from ingot.ir.value import Value
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.linalg.limit import refuse_oversized
from ingot.ops.older import dtype_of, shape_of
from ingot.ops.shapes import require_rank, unify
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
from ingot.ops.signal.scalars import complex_of, half, integer, size_of
from ingot.ops.signal.waves import MOST_ELEMENTS, computed_waves
from ingot.ops.signal.waves import waves as wave_matrix
from ingot.ops.typesets import FLOATS, INDICES, types

T1: TypeAlias = Annotated[Array, types("T1", FLOATS)]
T2: TypeAlias = Annotated[Array, types("T2", INDICES)]


@operator("STFT", since=17)
def stft(
    signal: T1, frame_step: T2, window: T1 | None = None, frame_length: T2 | None = None, /, *, onesided: int = 1
) -> T1:
    """The Fourier transforms of the frames of `frame_length` samples that start every `frame_step`, each times the
    window; of 16-bit floats in float32. `onesided` keeps the half of a real signal's spectrum that is no mirror image.
    A real signal may lack its last axis.
    """
    signal = signal[..., None] if signal.ndim == 2 else signal
    _check_signal(signal.shape, onesided)
    step = integer(frame_step, "frame_step", least=1)
    length = signal.shape[1]
    if frame_length is not None:
        length = integer(frame_length, "frame_length", least=1)
    elif window is not None:
        length = window.size
    if window is not None and window.shape != (length,):
        raise ShapeError(f"the window has shape {list(window.shape)}, a frame has {length} samples")
    if not 0 < length <= signal.shape[1]:
        raise InputError(f"a frame has {length} samples, the signal {signal.shape[1]}")
    frames = np.lib.stride_tricks.sliding_window_view(complex_of(signal), length, axis=1)[:, ::step]
    refuse_oversized(frames.shape, 16)
    faded = frames if window is None else frames * window.astype(frames.real.dtype)
    spectra = np.fft.rfft(faded) if onesided else np.fft.fft(faded)
    return np.stack([spectra.real, spectra.imag], axis=-1).astype(signal.dtype)


@stft.infer
def infer(
    signal: Fact, frame_step: Fact, window: Fact | None = None, frame_length: Fact | None = None, /, *, onesided: int
) -> Inferred:
    if signal.shape is not None:
        _check_signal(signal.shape, onesided)
    if window is not None:
        require_rank(window, 1, "window")
    step = size_of(frame_step, "frame_step", least=1)
    batch, samples = (None, None) if signal.shape is None else signal.shape[:2]
    length: Dim | None = None
    if not any(part is not None and part.present for part in (window, frame_length)):
        length = samples
    if frame_length is not None and frame_length.present:
        length = size_of(frame_length, "frame_length", least=1)
    if window is not None and window.shape is not None:
        length = unify(length, window.shape[0], "samples in a frame and in the window")
    if isinstance(length, int) and isinstance(samples, int) and length > samples:
        raise ShapeError(f"a frame has {length} samples, the signal {samples}")
    bins = half(length) if onesided else length
    return None if signal.dtype is None else TensorType(signal.dtype, (batch, _frames(samples, length, step), bins, 2))


stft.sized_by("frame_step", "frame_length")


@stft.lower
def lower(
    signal: prim.Tensor,
    frame_step: prim.Tensor,
    window: prim.Tensor | None = None,
    frame_length: prim.Tensor | None = None,
    /,
    *,
    onesided: int,
    facts: tuple[Fact, ...],
) -> prim.Tensor:
    """Frames are windows over the signal; what fades them is part of the matrix they are multiplied with, or applied
    before a transform in steps.
    """
    (step,), length = facts[1].elements or (None,), signal.shape[1]
    if frame_length is not None:
        (wanted,) = facts[3].elements or (None,)
        length = -1 if wanted is None else wanted
    if window is not None and (frame_length is None or not isinstance(length, int)):
        own = window.shape[0]
        window = window if frame_length is None else prim.assume_shape(window, (length,))
        length = own
    parts = signal.shape[2]
    if step is None or (isinstance(length, int) and length < 1) or not isinstance(parts, int):
        raise prim.Refused("frames of a statically unknown length or step")
    long_enough = prim.assume_shape(signal, (signal.shape[0], maximum(signal.shape[1], length), parts))
    frames = _frames_of(long_enough, length, step)
    bins = length // 2 + 1 if onesided else length
    if isinstance(length, int) and isinstance(bins, int):
        factors = steps_of(length, prim.count(frames.shape))
        if factors is not None:
            return _in_steps(frames, window, factors, bins)
        matrix = wave_matrix(length, parts, bins, length, signal.dtype)
    else:
        most = signal.shape[1]
        if not isinstance(most, int) or most * most * parts > MOST_ELEMENTS:
            raise prim.Refused(f"frames of up to {most} samples")
        matrix = computed_waves(length, parts, bins, length, signal.dtype)
    if window is not None:
        matrix = matrix * prim.reshape(prim.assume_shape(window, (length,)), (length, 1, 1, 1))
    return prim.contract(frames, matrix, "bfpn,npkr->bfkr")


def _in_steps(frames: prim.Tensor, window: prim.Tensor | None, factors: tuple[int, ...], bins: int) -> prim.Tensor:
    """The transforms of frames, (batch, frames, parts, samples), faded by a window, by the factors of their length."""
    if window is not None:
        frames = frames * prim.assume_shape(window, (frames.shape[-1],))
    apart = prim.unsqueeze(prim.permute(frames, (0, 1, 3, 2)), [3])
    return prim.squeeze(transformed_in_steps(apart, factors, bins), [3])


def _frames_of(signal: prim.Tensor, length: Dim, step: Dim) -> prim.Tensor:
    """The frames of a signal, (batch, frames, parts, samples): windows, if the step and length are known."""
    if isinstance(length, int) and isinstance(step, int):
        return prim.window(signal, [1], [length], [step], [1])
    batch, samples, parts = signal.shape
    shape = (batch, (samples - length) // step + 1, parts, length)
    at = prim.iota((shape[1], 1, length), 0) * prim.size(step) + prim.iota((shape[1], 1, length), 2)
    return prim.gather(signal, [0, at, 2], shape)


def _check_signal(shape: Shape, onesided: int) -> None:
    if len(shape) != 3:
        raise ShapeError(f"the signal has {len(shape)} axes, expected 3: batch, samples, parts")
    parts = shape[2]
    if isinstance(parts, int) and parts not in (1, 2):
        raise ShapeError(f"the last axis has size {parts}, expected 1 or 2")
    if parts == 2 and onesided:
        raise ShapeError("a complex signal has no onesided spectrum", hint="set onesided to 0")


def _frames(samples: Dim | None, length: Dim | None, step: Dim | None) -> Dim | None:
    if samples is None or length is None or step is None:
        return None
    try:
        return (samples - length) // step + 1
    except (ValueError, ZeroDivisionError):  # too large an expression to follow
        return None


@stft.downgrade
def downgrade(
    op: Any,
    signal: Value,
    frame_step: Value,
    window: Value | None = None,
    frame_length: Value | None = None,
    /,
    *,
    onesided: int,
) -> Any:
    """The frames are gathered, and multiplied with a matrix of waves."""
    if not isinstance(shape_of(signal)[2], int) and not onesided:
        raise UnsupportedError(f"it is not known whether '{signal.name}' is real or complex")
    inside = computing_type(signal)
    samples = size_along(op, signal, 1)
    length = samples
    if frame_length is not None:
        length = size_in(op, frame_length)
    elif window is not None:
        length = size_along(op, window, 0)
    step = size_in(op, frame_step)
    index = _indices(op, samples, length, step)
    frames = [op.Gather(part, index, axis=1) for part in parts(op, signal, inside)[: 1 if onesided else 2]]
    if window is not None:
        fading = window if inside is dtype_of(window) else op.Cast(window, to=int(inside))
        frames = [op.Mul(part, fading) for part in frames]
    bins = computed(op, "Add", computed(op, "Div", length, 2), 1) if onesided else length
    cosines, sines = waves(op, length, bins, length, inside)
    return joined(op, transformed(op, frames, cosines, sines, inside), 3, inside, dtype_of(signal))


def _indices(op: Any, samples: Size, length: Size, step: Size) -> Any:
    """For each frame, its samples."""
    frames = computed(op, "Add", computed(op, "Div", computed(op, "Sub", samples, length), step), 1)
    if frames.known is not None and length.known is not None and step.known is not None:
        return np.arange(frames.known)[:, np.newaxis] * step.known + np.arange(length.known)
    zero, one = np.asarray(0), np.asarray(1)
    starts = op.Mul(op.Range(zero, frames.value, one), step.value)
    return op.Add(op.Unsqueeze(starts, [1]), op.Unsqueeze(op.Range(zero, length.value, one), [0]))
