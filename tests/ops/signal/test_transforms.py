from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from ingot.errors import InputError, ShapeError
from ingot.runtime.limits import LimitError
from ops.reduction.one_node import evaluate, inferred

RNG = np.random.default_rng(0)


def pairs(z: Any) -> Any:
    return np.stack([z.real, z.imag], -1)


@pytest.mark.parametrize("axis", [0, 1, -2, -3])
@pytest.mark.parametrize("length", [None, 3, 9])
def test_transforms_along_an_axis(axis: int, length: int | None) -> None:
    x = RNG.normal(size=(4, 5, 2))
    z = x[..., 0] + 1j * x[..., 1]
    at = axis % 3
    size = None if length is None else np.int64(length)
    forward = evaluate("DFT", x, size, np.int64(axis))
    np.testing.assert_allclose(forward, pairs(np.fft.fft(z, length, at)), atol=1e-12)
    backward = evaluate("DFT", x, size, np.int64(axis), inverse=1)
    np.testing.assert_allclose(backward, pairs(np.fft.ifft(z, length, at)), atol=1e-12)


@pytest.mark.parametrize("length", [4, 5])
def test_half_a_spectrum_is_taken_back_to_the_signal(length: int) -> None:
    x = RNG.normal(size=(2, length, 1))
    half = evaluate("DFT", x, onesided=1)
    assert half.shape == (2, length // 2 + 1, 2)
    back = evaluate("DFT", half, np.int64(length), onesided=1, inverse=1)
    np.testing.assert_allclose(back, x, atol=1e-12)
    if length % 2 == 0:
        assert evaluate("DFT", half, onesided=1, inverse=1).shape == x.shape


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float32])
def test_small_floats_are_transformed(dtype: Any) -> None:
    x = np.array([1, 2, 3, 4], dtype).reshape(1, 4, 1)
    result = evaluate("DFT", x)
    assert result.dtype == dtype
    expected = [[10, 0], [-2, 2], [-2, 0], [-2, -2]]
    np.testing.assert_allclose(result[0].astype(np.float32), expected, atol=1e-5)


def test_an_empty_signal_has_an_empty_spectrum() -> None:
    assert evaluate("DFT", np.zeros((2, 0, 1), np.float32)).shape == (2, 0, 2)
    np.testing.assert_array_equal(evaluate("DFT", np.zeros((1, 0, 1), np.float32), np.int64(3)), np.zeros((1, 3, 2)))
    assert evaluate("DFT", np.zeros((0, 4, 1), np.float32)).shape == (0, 4, 2)


@pytest.mark.parametrize(
    ("shape", "length", "axis", "attributes"),
    [
        ((4, 3), None, None, {}),
        ((4, 1), None, 1, {}),
        ((4, 1), None, -1, {}),
        ((4, 1), None, 5, {}),
        ((4, 2), None, None, {"onesided": 1}),
        ((4, 1), None, None, {"onesided": 1, "inverse": 1}),
        ((1,), None, None, {}),
    ],
)
def test_what_cannot_be_transformed_is_refused(shape: Any, length: Any, axis: Any, attributes: Any) -> None:
    x = np.zeros(shape, np.float32)
    with pytest.raises((ShapeError, InputError)):
        evaluate("DFT", x, length, None if axis is None else np.int64(axis), **attributes)


@pytest.mark.parametrize(("length", "message"), [(0, "at least 1"), (-3, "at least 1"), (2**50, "bytes")])
def test_lengths_that_make_no_sense_are_refused(length: int, message: str) -> None:
    with pytest.raises((InputError, LimitError), match=message):
        evaluate("DFT", np.zeros((4, 1), np.float32), np.int64(length))


@pytest.mark.parametrize("opset", [17, 19])
def test_the_axis_of_old_models_was_an_attribute(opset: int) -> None:
    x = RNG.normal(size=(3, 4, 5, 1))
    np.testing.assert_allclose(
        evaluate("DFT", x, axis=2, onesided=1, opset=opset), pairs(np.fft.rfft(x[..., 0], axis=2)), atol=1e-12
    )
    np.testing.assert_allclose(evaluate("DFT", x, opset=opset), pairs(np.fft.fft(x[..., 0], axis=1)), atol=1e-12)


def test_transforms_keep_symbolic_sizes() -> None:
    x: Any = ("float32", ["b", "n", 1])
    assert inferred("DFT", [x]) == "float32[b, n, 2]"
    assert inferred("DFT", [x], onesided=1) == "float32[b, n//2 + 1, 2]"
    assert inferred("DFT", [x], {1: np.int64(8)}, onesided=1) == "float32[b, 5, 2]"
    assert inferred("DFT", [x], {1: np.int64(8), 2: np.int64(0)}) == "float32[8, n, 2]"
    assert inferred("DFT", [("float32", ["b", "n", 2])], inverse=1, onesided=1) == "float32[b, 2*n - 2, 1]"
    assert inferred("DFT", [x, ("int64", [])]) == "float32[b, ?, 2]"
    assert inferred("DFT", [x, None], {2: np.int64(-3)}) == "float32[b, n, 2]"


def test_frames_are_transformed() -> None:
    x = RNG.normal(size=(2, 20, 1))
    window = RNG.normal(size=6)
    result = evaluate("STFT", x, np.int64(4), window)
    frames = np.stack([x[:, i : i + 6, 0] * window for i in range(0, 15, 4)], 1)
    np.testing.assert_allclose(result, pairs(np.fft.rfft(frames)), atol=1e-12)
    whole = evaluate("STFT", x, np.int64(4), None, np.int64(6), onesided=0)
    assert whole.shape == (2, 4, 6, 2)
    assert evaluate("STFT", x, np.int32(1)).shape == (2, 1, 11, 2)


def test_complex_frames_are_transformed() -> None:
    x = RNG.normal(size=(1, 8, 2))
    result = evaluate("STFT", x, np.int64(2), None, np.int64(4), onesided=0)
    z = x[..., 0] + 1j * x[..., 1]
    np.testing.assert_allclose(result[:, 1], pairs(np.fft.fft(z[:, 2:6])), atol=1e-12)


def test_frames_that_do_not_fit_are_refused() -> None:
    x = np.zeros((1, 8, 1), np.float32)
    with pytest.raises((InputError, ShapeError), match="9 samples, the signal 8"):
        evaluate("STFT", x, np.int64(1), None, np.int64(9))
    with pytest.raises(InputError, match="frame_step is 0"):
        evaluate("STFT", x, np.int64(0))
    with pytest.raises(ShapeError, match="window"):
        evaluate("STFT", x, np.int64(1), np.ones(3, np.float32), np.int64(4))
    with pytest.raises(ShapeError, match="onesided"):
        evaluate("STFT", np.zeros((1, 8, 2), np.float32), np.int64(1))
    with pytest.raises(ShapeError, match="expected 3"):
        evaluate("STFT", np.zeros((8, 1), np.float32), np.int64(1))


def test_the_number_of_frames_is_symbolic() -> None:
    x: Any = ("float32", ["b", "n", 1])
    found = inferred("STFT", [x, ("int64", []), ("float32", [400])], {1: np.int64(160)})
    assert found == "float32[b, (n + 80)//160 - 2, 201, 2]"
