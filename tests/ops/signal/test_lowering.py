"""Transforms in primitives: frames of a signal whose length has a name, halves of spectra, windows."""

from __future__ import annotations

import numpy as np
import pytest

from ingot.dtypes import Array
from ingot.errors import InputError
from ingot.ops.signal.fast_fourier import factors_of
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


def test_a_large_transform_without_small_factors_is_left_to_the_reference() -> None:
    assert "4099 samples" in refusal("g (float[B, 4099, 1] x) => (y) { y = DFT (x) }")


def test_many_long_transforms_are_left_to_the_reference() -> None:
    assert "4096 samples" in refusal("g (float[64, 4096, 1] x) => (y) { y = DFT (x) }")


@pytest.mark.parametrize(
    ("attributes", "parts"),
    [("onesided = 1", 1), ("inverse = 0", 1), ("inverse = 0", 2), ("inverse = 1", 1), ("inverse = 1", 2)],
)
@pytest.mark.parametrize("size", [128, 243, 400, 1000, 2048, 4096])
def test_transforms_of_lengths_with_small_factors_agree(attributes: str, parts: int, size: int) -> None:
    assert len(factors_of(size)) == 2 + (size > 1024)
    graph = f"g (float[B, {size}, {parts}] x) => (y) {{ y = DFT <{attributes}> (x) }}"
    agree(graph, RTOL, size * 1e-7, x=floats(2, size, parts))


@pytest.mark.parametrize("kind", ["float16", "double"])
def test_transforms_in_steps_of_every_type_agree(kind: str) -> None:
    dtype, rtol, atol = (np.float16, 1e-2, 0.05) if kind == "float16" else (np.float64, 1e-12, 1e-12)
    agree(f"g ({kind}[B, 256, 2] x) => (y) {{ y = DFT (x) }}", rtol, atol, x=floats(2, 256, 2).astype(dtype))


@pytest.mark.parametrize(
    ("length", "attributes", "parts"),
    [(200, "onesided = 1", 1), (480, "inverse = 0", 2), (200, "inverse = 1", 2), (480, "inverse = 1", 1)],
)
@pytest.mark.parametrize("axis", [1, 2])
def test_transforms_in_steps_of_a_longer_or_shorter_signal_agree(
    length: int, attributes: str, parts: int, axis: int
) -> None:
    graph = f"""g (float[B, 300, 300, {parts}] x) => (y) <int64 n = {{{length}}}, int64 a = {{{axis}}}>
    {{ y = DFT <{attributes}> (x, n, a) }}"""
    agree(graph, RTOL, 1e-4, x=floats(1, 300, 300, parts))


@pytest.mark.parametrize("length", [250, 256, 400, 512])
def test_half_a_long_spectrum_becomes_a_real_signal(length: int) -> None:
    graph = f"""g (float[B, 201, 2] x) => (y) <int64 n = {{{length}}}>
    {{ y = DFT <inverse = 1, onesided = 1> (x, n) }}"""
    agree(graph, RTOL, ATOL, x=floats(2, 201, 2))


@pytest.mark.parametrize(("onesided", "parts"), [(0, 1), (0, 2), (1, 1)])
@pytest.mark.parametrize("faded", [False, True])
def test_frames_that_are_transformed_in_steps_agree(onesided: int, parts: int, faded: bool) -> None:
    graph = f"""g (float[B, T, {parts}] x, float[256] w) => (y) <int64 s = {{64}}, int64 n = {{256}}>
    {{ y = STFT <onesided = {onesided}> (x, s, {"w" if faded else ""}, n) }}"""
    agree(graph, RTOL, 1e-4, x=floats(2, 1000, parts), w=floats(256))


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
