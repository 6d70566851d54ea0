"""Signals and images: spectra, frames, resizing, colours."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np

from ingot.builder import Var, op
from ingot.convert.keras.conversion import Conversion, as_array, cast, name_of
from ingot.convert.keras.images import back, first
from ingot.convert.keras.operations.elementwise import operand_of
from ingot.convert.keras.resizing import resized
from ingot.convert.keras.rule import rule
from ingot.convert.operands import rank, shape
from ingot.errors import UnsupportedError


@rule("ops.STFT")
def spectrum(c: Conversion, operation: Any, x: Any) -> tuple[Var, Var]:
    """Frames times waves: a convolution with what Keras makes of single impulses."""
    value = operand_of(c, x)
    length = operation.fft_length
    impulses = np.eye(length, dtype=np.float32)
    parts = keras.ops.stft(
        impulses, operation.sequence_length, operation.sequence_stride, length, operation.window, center=False
    )
    waves = [as_array(part)[:, 0, :].T[:, None, :] for part in parts]
    if operation.center:
        pads = np.zeros((2, rank(value)), np.int64)
        pads[:, -1] = length // 2
        value = op.Pad(value, pads.reshape(-1), mode="reflect")
    single = rank(value) == 1
    rows = op.Reshape(value, _rows(value))
    results = []
    for name, wave in zip(("real", "imaginary"), waves, strict=True):
        kernel = c.constant(wave.astype(name_of(value.dtype)), name)
        frames = op.Transpose(op.Conv(rows, kernel, strides=[operation.sequence_stride]), perm=[0, 2, 1])
        if single:
            frames = op.Squeeze(frames, [0])
        elif rank(value) > 2:
            frames = op.Reshape(frames, op.Concat(op.Shape(value, start=0, end=-1), op.Shape(frames, start=1), axis=0))
        results.append(frames)
    return results[0], results[1]


def _rows(value: Var) -> Var:
    """The shape of signals as images of one channel."""
    return op.Concat([-1, 1], op.Shape(value, start=rank(value) - 1), axis=0)


@rule("ops.ExtractSequences")
def frames(c: Conversion, operation: Any, x: Any) -> Var:
    value = c.operand(x)
    size = shape(value)[-1]
    if not isinstance(size, int):
        raise UnsupportedError("how many frames there are is not known")
    starts = np.arange(0, size - operation.sequence_length + 1, operation.sequence_stride)
    return op.Gather(value, starts[:, None] + np.arange(operation.sequence_length), axis=-1)


@rule("ops.Resize")
def resize(c: Conversion, operation: Any, images: Any) -> Var:
    value = c.operand(images)
    if operation.crop_to_aspect_ratio or operation.pad_to_aspect_ratio:
        raise UnsupportedError("images resized with their aspect ratio kept")
    data_format = operation.data_format or keras.config.image_data_format()
    image = first(value if rank(value) == 4 else op.Unsqueeze(value, [0]), data_format)
    enlarged = back(
        resized(c, image, list(operation.size), operation.interpolation, antialias=operation.antialias), data_format
    )
    enlarged = enlarged if rank(value) == 4 else op.Squeeze(enlarged, [0])
    return cast(enlarged, str(c.results[0].dtype))


@rule("ops.RGBToGrayscale")
def grey(c: Conversion, operation: Any, images: Any) -> Var:
    value = c.operand(images)
    axis = -1 if (operation.data_format or keras.config.image_data_format()) == "channels_last" else -3
    weights = np.array([0.2989, 0.5870, 0.1140], name_of(value.dtype)).reshape([3] + [1] * (-axis - 1))
    return op.ReduceSum(value * c.constant(weights, "weights"), [axis], keepdims=1)
