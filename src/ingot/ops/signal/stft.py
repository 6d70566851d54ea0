"""STFT: the spectra of overlapping stretches of a signal."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import numpy as np

from ingot.dims import Dim
from ingot.dtypes import Array
from ingot.errors import InputError, ShapeError
from ingot.ir.types import Shape, TensorType
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.linalg.limit import refuse_oversized
from ingot.ops.shapes import require_rank, unify
from ingot.ops.signal.scalars import complex_of, half, integer, size_of
from ingot.ops.typesets import FLOATS, INDICES, types

T1: TypeAlias = Annotated[Array, types("T1", FLOATS)]
T2: TypeAlias = Annotated[Array, types("T2", INDICES)]


@operator("STFT", since=17)
def stft(
    signal: T1, frame_step: T2, window: T1 | None = None, frame_length: T2 | None = None, /, *, onesided: int = 1
) -> T1:
    """The Fourier transforms of the frames of `frame_length` samples that start every `frame_step`, each times the
    window; of 16-bit floats in float32. `onesided` keeps the half of a real signal's spectrum that is no mirror image.
    """
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
    if not any(part is not None and part.given for part in (window, frame_length)):
        length = samples
    if frame_length is not None and frame_length.given:
        length = size_of(frame_length, "frame_length", least=1)
    if window is not None and window.shape is not None:
        length = unify(length, window.shape[0], "samples in a frame and in the window")
    if isinstance(length, int) and isinstance(samples, int) and length > samples:
        raise ShapeError(f"a frame has {length} samples, the signal {samples}")
    bins = half(length) if onesided else length
    return None if signal.dtype is None else TensorType(signal.dtype, (batch, _frames(samples, length, step), bins, 2))


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
