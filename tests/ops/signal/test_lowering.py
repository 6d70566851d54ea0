"""Transforms in primitives: frames of a signal whose length has a name, halves of spectra, windows."""

from __future__ import annotations

import numpy as np
import pytest

from ingot.dtypes import Array
from ingot.errors import InputError
from ingot.session import Session
from lower.agreement import agree, lowered, refusal

# The reference takes fast transforms, whose sums have another order.
RTOL, ATOL = 1e-4, 1e-5


def floats(*shape: int) -> Array:
    return np.random.default_rng(6).standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("samples", [16, 37])
@pytest.mark.parametrize("onesided", [0, 1])
def test_frames_of_a_signal_of_any_length_agree(samples: int, onesided: int) -> None:
    graph = f"""g (float[B, T, 1] x, float[16] w) => (y) <int64 s = {{5}}>
    {{ y = STFT <onesided = {onesided}> (x, s, w) }}"""
    agree(graph, RTOL, ATOL, x=floats(2, samples, 1), w=floats(16))


def test_a_signal_shorter_than_a_frame_is_an_error_of_the_run() -> None:
    graph = "g (float[B, T, 1] x, float[16] w) => (y) <int64 s = {5}> { y = STFT (x, s, w) }"
    session = Session(lowered(graph)[0], providers=("cpu", "reference"))
    with pytest.raises(InputError, match="a frame has 16 samples, the signal 15"):
        session.run(None, {"x": floats(2, 15, 1), "w": floats(16)})


def test_frames_of_a_complex_signal_agree() -> None:
    graph = """g (double[B, T, 2] x) => (y) <int64 s = {2}, int64 n = {6}> { y = STFT <onesided = 0> (x, s, , n) }"""
    agree(graph, 1e-9, 1e-9, x=np.random.default_rng(1).standard_normal((2, 11, 2)))


@pytest.mark.parametrize(("attributes", "parts"), [("onesided = 1", 1), ("inverse = 0", 1), ("inverse = 0", 2)])
@pytest.mark.parametrize("length", ["", "6", "9"])
@pytest.mark.parametrize("axis", [1, 2])
def test_transforms_along_any_axis_agree(attributes: str, parts: int, length: str, axis: int) -> None:
    held = f"int64 n = {{{length}}}, " if length else ""
    graph = f"""g (float[B, 8, 8, {parts}] x) => (y) <{held}int64 a = {{{axis}}}>
    {{ y = DFT <{attributes}> (x, {"n" if length else ""}, a) }}"""
    agree(graph, RTOL, ATOL, x=floats(2, 8, 8, parts))


@pytest.mark.parametrize("length", [6, 7, 10, 12])
def test_half_a_spectrum_becomes_a_real_signal(length: int) -> None:
    graph = f"""g (float[B, 5, 2] x) => (y) <int64 n = {{{length}}}>
    {{ y = DFT <inverse = 1, onesided = 1> (x, n) }}"""
    agree(graph, RTOL, ATOL, x=floats(2, 5, 2))


def test_a_large_transform_is_left_to_a_fast_one() -> None:
    assert "4096 samples" in refusal("g (float[B, 4096, 1] x) => (y) { y = DFT (x) }")


@pytest.mark.parametrize("operator", ["HannWindow", "HammingWindow", "BlackmanWindow"])
@pytest.mark.parametrize("periodic", [0, 1])
@pytest.mark.parametrize("size", [0, 1, 2, 9])
def test_windows_of_any_size_agree(operator: str, periodic: int, size: int) -> None:
    graph = f"""g (float[N] x) => (y) {{ s = Shape (x)
    n = Squeeze (s)
    y = {operator} <periodic = {periodic}> (n) }}"""
    agree(graph, RTOL, ATOL, x=floats(size))


def test_a_known_window_may_be_of_integers() -> None:
    agree("g () => (y) <int64 n = {7}> { y = HannWindow <output_datatype = 6> (n) }")
