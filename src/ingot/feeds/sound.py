"""A sound file as the input of a model: one channel, at the rate and of the length that it takes."""

from __future__ import annotations

import struct
from collections.abc import Callable
from math import gcd
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ingot.dataclass import dataclass
from ingot.errors import InputError
from ingot.ir import TensorType, Value

SOUNDS = (".wav",)

_INTEGERS, _FLOATS, _EXTENSIBLE = 1, 3, 0xFFFE
_WINDOW = 16
"""Zero crossings of the filter on either side."""
_BLOCK = 1 << 20
"""Weights of the filter that are computed at once."""
_MOST_SAMPLES = 1 << 27
_HIGHEST_RATE = 1_000_000

Samples = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Sound:
    """Samples from -1 to 1 of one channel, so many a second."""

    samples: Samples
    rate: int


def read_sound(value: Value, path: Path, rate: int | None = None) -> Any:
    """The sound in a .wav file, its channels as one, resampled to `rate`, or as it is.

    The last axis of the input is time; those before it are of one. A length that the input declares is reached by
    cutting or by silence. Integers are as wide as those of the input. InputError if it takes no sound.
    """
    type_ = value.type
    is_array = isinstance(type_, TensorType) and (type_.dtype.is_float or type_.dtype.is_integer)
    if not isinstance(type_, TensorType) or not is_array or type_.shape is None or not 1 <= len(type_.shape) <= 3:
        raise InputError(f"input '{value.name}' is {type_ or 'of unknown type'}, which no sound is")
    if any(isinstance(size, int) and size != 1 for size in type_.shape[:-1]):
        raise InputError(f"input '{value.name}' is {type_}: a sound has one axis, and those before it are of 1")
    length = type_.shape[-1]
    if isinstance(length, int) and length > _MOST_SAMPLES:
        raise InputError(f"input '{value.name}' is {type_}: a sound has at most {_MOST_SAMPLES:,} samples")
    samples = resampled(wave(path.read_bytes(), str(path)), rate).samples
    if isinstance(length, int) and length >= 0:
        samples = np.pad(samples[:length], (0, max(0, length - len(samples))))
    if type_.dtype.is_integer:
        least, most = type_.dtype.limits
        highest = float(most) if int(float(most)) == most else float(np.nextafter(float(most), 0))
        scaled = np.clip(np.rint(np.nan_to_num(samples).astype(np.float64) * most), least, highest)
        return scaled.astype(type_.dtype.numpy).reshape(_shape(type_, len(samples)))
    return samples.astype(type_.dtype.numpy).reshape(_shape(type_, len(samples)))


def wave(content: bytes, name: str = "the file") -> Sound:
    """The sound in the content of a .wav file: integers of 8 to 32 bits, or floats; channels are averaged.

    InputError if it is none of these.
    """
    if content[:4] != b"RIFF" or content[8:12] != b"WAVE":
        raise InputError(f"'{name}' is no .wav file")
    chunks = _chunks(content)
    header, body = chunks.get(b"fmt "), chunks.get(b"data")
    if header is None or len(header) < 16 or body is None:
        raise InputError(f"'{name}' is cut off, or no .wav file")
    kind, channels, rate, _, _, bits = struct.unpack_from("<HHIIHH", header)
    if kind == _EXTENSIBLE and len(header) >= 26:
        (kind,) = struct.unpack_from("<H", header, 24)
    if not channels or (kind, bits) not in _READERS:
        raise InputError(f"'{name}' has {bits}-bit samples of kind {kind}", hint="integers and floats are read")
    if not 0 < rate <= _HIGHEST_RATE:
        raise InputError(f"'{name}' has {rate:,} samples a second; from 1 to {_HIGHEST_RATE:,} are read")
    width = bits // 8 * channels
    samples = _READERS[kind, bits](body[: len(body) // width * width])
    if not len(samples) or len(samples) > _MOST_SAMPLES:
        raise InputError(f"'{name}' has {len(samples):,} samples; from 1 to {_MOST_SAMPLES:,} are read")
    return Sound(samples.reshape(-1, channels).mean(axis=1).astype(np.float32), rate)


def resampled(sound: Sound, rate: int | None) -> Sound:
    """The sound with so many samples a second, by a windowed sinc filter; None leaves it as it is."""
    if rate is None or rate == sound.rate:
        return sound
    if not 0 < rate <= _HIGHEST_RATE:
        raise InputError(f"a sound has from 1 to {_HIGHEST_RATE:,} samples a second, not {rate}")
    common = gcd(rate, sound.rate)
    up, down = rate // common, sound.rate // common
    count = -(-len(sound.samples) * up // down)
    if count > _MOST_SAMPLES:
        raise InputError(f"the sound has {count:,} samples at {rate:,} a second; {_MOST_SAMPLES:,} are made at most")
    cutoff = min(1.0, rate / sound.rate)
    reach = int(np.ceil(_WINDOW / cutoff))
    padded = np.pad(sound.samples.astype(np.float64), reach)
    offsets = np.arange(-reach, reach + 1)
    result = np.empty(count, np.float32)
    rows = max(1, _BLOCK // len(offsets))
    for start in range(0, count, rows):
        places = np.arange(start, min(count, start + rows)) * down
        whole, part = places // up, (places % up) / up
        away = offsets[None, :] - part[:, None]
        taps = cutoff * np.sinc(away * cutoff) * _window(away / (reach + 1))
        taps /= taps.sum(axis=1, keepdims=True)
        nearby = padded[np.minimum(whole[:, None] + offsets + reach, len(padded) - 1)]
        result[start : start + len(places)] = (taps * nearby).sum(axis=1)
    return Sound(result, rate)


def _window(distance: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Hann's window from -1 to 1."""
    window: npt.NDArray[np.float64] = np.where(np.abs(distance) < 1, 0.5 + 0.5 * np.cos(np.pi * distance), 0.0)
    return window


def _shape(type_: TensorType, length: int) -> tuple[int, ...]:
    assert type_.shape is not None
    return (*[1] * (len(type_.shape) - 1), length)


def _chunks(content: bytes) -> dict[bytes, bytes]:
    """The parts of a RIFF file, the first of each name; the last may be cut off."""
    chunks: dict[bytes, bytes] = {}
    place = 12
    while place + 8 <= len(content):
        name, size = content[place : place + 4], int.from_bytes(content[place + 4 : place + 8], "little")
        chunks.setdefault(name, content[place + 8 : place + 8 + size])
        place += 8 + size + size % 2
    return chunks


def _wide(body: bytes) -> Samples:
    """Integers of 24 bits."""
    rows = np.frombuffer(body, np.uint8).reshape(-1, 3)
    padded = np.zeros((len(rows), 4), np.uint8)
    padded[:, 1:] = rows
    return (padded.view("<i4").reshape(-1) / 2.0**31).astype(np.float32)


_READERS: dict[tuple[int, int], Callable[[bytes], Samples]] = {
    (_INTEGERS, 8): lambda body: ((np.frombuffer(body, np.uint8).astype(np.float32) - 128) / 128).astype(np.float32),
    (_INTEGERS, 16): lambda body: (np.frombuffer(body, "<i2") / 2.0**15).astype(np.float32),
    (_INTEGERS, 24): _wide,
    (_INTEGERS, 32): lambda body: (np.frombuffer(body, "<i4") / 2.0**31).astype(np.float32),
    (_FLOATS, 32): lambda body: np.frombuffer(body, "<f4"),
    (_FLOATS, 64): lambda body: np.frombuffer(body, "<f8").astype(np.float32),
}
