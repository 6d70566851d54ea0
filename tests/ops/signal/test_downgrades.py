"""Transforms and windows in older versions: matrices of waves, and constants."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ops.nn.older import older, refusal

SIGNAL = np.random.default_rng(5).standard_normal((2, 12, 7, 2)).astype(np.float32)
ALIKE = 2e-5  # sums of products in float32, where the operators take fast transforms


@pytest.mark.parametrize("axis", [1, -2, None])
@pytest.mark.parametrize("to", [19, 16, 12])
@pytest.mark.parametrize("length", [None, 5, 20])
@pytest.mark.parametrize(
    ("inverse", "onesided", "parts"), [(0, 0, 1), (0, 0, 2), (1, 0, 2), (1, 0, 1), (0, 1, 1), (1, 1, 2)]
)
def test_a_transform_is_a_product_with_waves(
    axis: int | None, to: int, length: int | None, inverse: int, onesided: int, parts: int
) -> None:
    x = SIGNAL[..., :parts]
    inputs = [x, None if length is None else np.int64(length), None if axis is None else np.int64(axis)]
    for dims, constants in ((None, (1, 2)), ({0: ["n", "a", "b", parts]}, (2,))):
        held = tuple(index for index in constants if inputs[index] is not None)
        said: dict[str, Any] = {"dims": dims, "constants": held, "rtol": ALIKE}
        older("DFT", *inputs, opset=20, to=to, inverse=inverse, onesided=onesided, **said)


def test_an_axis_that_is_no_constant_is_refused() -> None:
    message = refusal("DFT", SIGNAL, None, np.int64(1), opset=20, to=19)
    assert "the axis is computed while the model runs, before version 20 it is an attribute" in message


def test_it_has_to_be_known_whether_a_signal_is_complex() -> None:
    message = refusal("DFT", SIGNAL, opset=17, to=16, dims={0: ["n", "a", "b", "parts"]})
    assert "it is not known whether 'x0' is real or complex" in message


@pytest.mark.parametrize("dtype", [np.float16, np.float64])
def test_transforms_of_other_types(dtype: Any) -> None:
    rtol = 2e-2 if dtype is np.float16 else 1e-12
    older("DFT", SIGNAL.astype(dtype), opset=17, to=16, axis=2, rtol=rtol)
    older("STFT", SIGNAL[:, :, 0].astype(dtype), np.int64(3), opset=17, to=16, rtol=rtol, onesided=0)


def test_empty_signals_have_empty_or_zero_spectra() -> None:
    older("DFT", SIGNAL[:, :0], opset=17, to=16, dims={0: ["n", "a", 7, 2]})
    older("DFT", SIGNAL[:0], opset=17, to=16, dims={0: ["n", "a", 7, 2]})
    older("DFT", SIGNAL[:, :0], np.int64(4), opset=17, to=16, dims={0: ["n", "a", 7, 2]})


@pytest.mark.parametrize("dims", [None, {0: ["n", "samples", 1], 2: ["frame"]}])
@pytest.mark.parametrize("constants", [(), (1, 3)])
@pytest.mark.parametrize("window", [None, np.hanning(8).astype(np.float32)])
@pytest.mark.parametrize(("length", "step"), [(None, 2), (8, 3), (8, 100)])
def test_frames_are_gathered_and_transformed(dims: Any, constants: Any, window: Any, length: Any, step: int) -> None:
    x = np.random.default_rng(6).standard_normal((2, 31, 1)).astype(np.float32)
    inputs = [x, np.int32(step), window, None if length is None else np.array([length], np.int32)]
    held = tuple(index for index in constants if inputs[index] is not None)
    for onesided in (0, 1):
        said: dict[str, Any] = {"dims": dims, "constants": held, "rtol": ALIKE, "onesided": onesided}
        older("STFT", *inputs, opset=17, to=16, **said)
        older("STFT", *inputs, opset=17, to=12, **said)


def test_complex_frames() -> None:
    x = SIGNAL[:, :, 0]
    older("STFT", x, np.int64(2), None, np.int64(4), opset=17, to=16, onesided=0, rtol=ALIKE)


@pytest.mark.parametrize("op_type", ["HannWindow", "HammingWindow", "BlackmanWindow"])
@pytest.mark.parametrize("periodic", [0, 1])
@pytest.mark.parametrize("size", [0, 1, 2, 10])
@pytest.mark.parametrize("dtype", [1, 10, 11, 7, 2])
def test_a_window_is_a_constant_or_its_formula(op_type: str, periodic: int, size: int, dtype: int) -> None:
    for to in (16, 12):
        said: dict[str, Any] = {"periodic": periodic, "output_datatype": dtype, "rtol": 1e-6}
        assert older(op_type, np.int64(size), opset=17, to=to, constants=(0,), **said) == ["Constant"]
        assert "Cos" in older(op_type, np.array([size], np.int32) if size else np.int64(size), opset=17, to=to, **said)


def test_a_matrix_of_mel_weights_is_a_constant() -> None:
    inputs = [np.int64(4), np.int64(16), np.int64(8192), np.float32(0), np.float32(4096)]
    assert older("MelWeightMatrix", *inputs, opset=17, to=16, constants=range(5)) == ["Constant"]
    message = refusal("MelWeightMatrix", *inputs, opset=17, to=16, constants=(1, 2, 3, 4))
    assert "the matrix came with version 17, and can only be a constant: 'x0' would have to be" in message
