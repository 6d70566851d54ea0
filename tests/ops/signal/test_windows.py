from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from onnx import TensorProto

from ingot.errors import CheckError, InputError, ShapeError
from ingot.runtime.limits import LimitError
from ops.reduction.one_node import evaluate, inferred

WINDOWS: Any = {"HannWindow": np.hanning, "BlackmanWindow": np.blackman}


@pytest.mark.parametrize("name", WINDOWS)
@pytest.mark.parametrize("size", [0, 1, 2, 7, 8])
def test_windows_are_those_of_numpy(name: str, size: int) -> None:
    symmetric = evaluate(name, np.int64(size), periodic=0, output_datatype=TensorProto.DOUBLE)
    np.testing.assert_allclose(symmetric, WINDOWS[name](size), atol=1e-12)
    periodic = evaluate(name, np.int32(size), output_datatype=TensorProto.DOUBLE)
    np.testing.assert_allclose(periodic, WINDOWS[name](size + 1)[:size], atol=1e-12)


def test_the_hamming_window_ends_above_zero() -> None:
    result = evaluate("HammingWindow", np.int64(5), periodic=0)
    assert result.dtype == np.float32
    np.testing.assert_allclose(result[[0, 2, 4]], [4 / 46, 1, 4 / 46], rtol=1e-6)


def test_windows_of_other_types() -> None:
    result = evaluate("HannWindow", np.int64(5), periodic=0, output_datatype=TensorProto.INT8)
    assert result.tolist() == [0, 0, 1, 0, 0]
    assert evaluate("HannWindow", np.int64(5), output_datatype=TensorProto.BFLOAT16).dtype == ml_dtypes.bfloat16
    for wrong in (0, 99, TensorProto.BOOL, TensorProto.STRING):
        with pytest.raises(CheckError, match="output_datatype"):
            evaluate("HannWindow", np.int64(5), output_datatype=wrong)


def test_sizes_that_make_no_sense_are_refused() -> None:
    with pytest.raises(InputError, match="size is -1"):
        evaluate("HannWindow", np.int64(-1))
    with pytest.raises(LimitError, match="bytes"):
        evaluate("HannWindow", np.int64(2**50))
    with pytest.raises(ShapeError):
        evaluate("HannWindow", np.array([1, 2]))


def test_the_size_of_a_window_is_inferred() -> None:
    assert inferred("HannWindow", [], {0: np.int64(400)}) == "float32[400]"
    assert inferred("HannWindow", [("int64", [])], output_datatype=11) == "float64[?]"


def mel(bins: int, length: int, rate: int, lower: float, upper: float, **attributes: int) -> Any:
    edges = (np.array(lower, np.float32), np.array(upper, np.float32))
    return evaluate("MelWeightMatrix", np.int64(bins), np.int64(length), np.int64(rate), *edges, **attributes)


def test_mel_bands_are_triangles_of_height_one() -> None:
    weights = mel(20, 512, 16000, 80, 7600)
    assert weights.shape == (257, 20)
    np.testing.assert_array_equal(weights.max(0), np.ones(20))
    assert (weights >= 0).all()
    peaks = weights.argmax(0)
    assert (np.diff(peaks) > 0).all()
    for band, peak in enumerate(peaks):
        column = weights[:, band]
        assert (np.diff(column[: peak + 1]) >= 0).all()
        assert (np.diff(column[peak:]) <= 0).all()


def test_mel_bands_narrower_than_a_frequency_are_one() -> None:
    weights = mel(8, 16, 8192, 0, 8192 / 2)
    assert weights.max() == 1
    assert mel(0, 16, 8192, 0, 4096).shape == (9, 0)
    assert mel(4, 16, 8192, 0, 4096, output_datatype=TensorProto.INT32).dtype == np.int32


@pytest.mark.parametrize(
    "arguments",
    [(8, 16, 8000, 0, 16000), (8, 16, 8000, 3000, 200), (8, 16, 8000, -10, 200), (8, 0, 8000, 0, 4000),
     (8, 16, 0, 0, 4000), (-1, 16, 8000, 0, 4000), (8, 16, 8000, 0, np.nan), (2**40, 2**40, 8000, 0, 4000)],
)  # fmt: skip
def test_bands_outside_the_spectrum_are_refused(arguments: Any) -> None:
    with pytest.raises((InputError, LimitError)):
        mel(*arguments)


def test_the_shape_of_a_mel_matrix_is_inferred() -> None:
    edges: Any = [("float32", []), ("float32", [])]
    types: Any = [("int64", [])] * 3 + edges
    assert inferred("MelWeightMatrix", types, {0: np.int64(80), 1: np.int64(400)}) == "float32[201, 80]"
    assert inferred("MelWeightMatrix", types) == "float32[?, ?]"
