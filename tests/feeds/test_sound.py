from __future__ import annotations

import io
import struct
import wave
from pathlib import Path

import numpy as np
import pytest

from ingot import Value
from ingot.dtypes import Array, DType
from ingot.errors import InputError
from ingot.feeds.files import read_feed
from ingot.feeds.sound import Sound, resampled
from ingot.feeds.sound import wave as read_wave
from ingot.ir import TensorType


def pcm(samples: Array, rate: int = 16000, width: int = 2, channels: int = 1) -> bytes:
    """A .wav file as the standard library writes it."""
    content = io.BytesIO()
    with wave.open(content, "wb") as file:
        file.setnchannels(channels)
        file.setsampwidth(width)
        file.setframerate(rate)
        file.writeframes(samples.tobytes())
    return content.getvalue()


def tone(frequency: float, rate: int, seconds: float = 0.5) -> Array:
    return np.sin(2 * np.pi * frequency * np.arange(int(rate * seconds)) / rate).astype(np.float32)


def sound_input(*shape: int | None, dtype: str = "float32") -> Value:
    return Value("audio", TensorType(DType.of(dtype), shape))


def test_integers_of_all_widths_are_read_as_numbers_from_minus_one_to_one() -> None:
    assert read_wave(pcm(np.array([0, 16384, -32768], "<i2"))).samples.tolist() == [0, 0.5, -1]
    assert read_wave(pcm(np.array([128, 192, 0], np.uint8), width=1)).samples.tolist() == [0, 0.5, -1]
    assert read_wave(pcm(np.array([0, 1 << 30, -(1 << 31)], "<i4"), width=4)).samples.tolist() == [0, 0.5, -1]
    wide = np.array([0, 0, 0x40, 0, 0, 0x80], np.uint8)
    assert read_wave(pcm(wide, width=3)).samples.tolist() == [0.5, -1]


def test_floats_are_read() -> None:
    body = np.array([0.25, -0.5], "<f4").tobytes()
    header = struct.pack("<HHIIHH", 3, 1, 8000, 32000, 4, 32)
    content = b"RIFF\0\0\0\0WAVEfmt " + struct.pack("<I", 16) + header + b"data" + struct.pack("<I", 8) + body
    assert read_wave(content).samples.tolist() == [0.25, -0.5]


def test_channels_become_one() -> None:
    stereo = np.array([[16384, 0], [-16384, 16384]], "<i2")
    assert read_wave(pcm(stereo, channels=2)).samples.tolist() == [0.25, 0]


@pytest.mark.parametrize(("before", "after"), [(44100, 16000), (8000, 16000), (48000, 8000), (22050, 44100)])
def test_a_tone_stays_the_same_when_it_is_resampled(before: int, after: int) -> None:
    result = resampled(Sound(tone(440, before), before), after)
    expected = tone(440, after)
    assert len(result.samples) == len(expected)
    middle = slice(after // 20, -after // 20)
    assert np.abs(result.samples[middle] - expected[middle]).max() < 2e-3


def test_what_the_new_rate_cannot_hold_is_filtered_out() -> None:
    result = resampled(Sound(tone(7000, 16000), 16000), 8000)
    assert np.abs(result.samples[400:-400]).max() < 0.01


def test_a_sound_takes_the_shape_and_type_of_the_input(tmp_path: Path) -> None:
    path = tmp_path / "tone.wav"
    path.write_bytes(pcm((tone(440, 16000) * 32767).astype("<i2")))
    assert read_feed(sound_input(1, None), path).shape == (1, 8000)
    assert read_feed(sound_input(512), path).shape == (512,)
    padded = read_feed(sound_input(1, 1, 9000), path)
    assert padded.shape == (1, 1, 9000)
    assert not padded[0, 0, 8000:].any()
    assert read_feed(sound_input(None, dtype="int16"), path).dtype == np.int16
    assert read_feed(sound_input(1, None), path, rate=8000).shape == (1, 4000)


@pytest.mark.parametrize("content", [b"", b"RIFF", b"RIFF\0\0\0\0WAVE", b"RIFF\0\0\0\0WAVEfmt \x04\0\0\0aaaa"])
def test_what_is_no_sound_is_refused(content: bytes) -> None:
    with pytest.raises(InputError):
        read_wave(content)


def test_an_input_that_takes_no_sound_refuses_it(tmp_path: Path) -> None:
    path = tmp_path / "tone.wav"
    path.write_bytes(pcm(np.zeros(4, "<i2")))
    with pytest.raises(InputError, match="a sound has one axis"):
        read_feed(sound_input(1, 80, None), path)
