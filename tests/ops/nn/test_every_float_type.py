"""Each layer in each floating-point type: the type of the result, and its error against float64."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from ops.reduction.one_node import evaluate

RNG = np.random.default_rng(1)


def floats(*shape: int) -> Any:
    return RNG.standard_normal(shape)


CASES: dict[str, tuple[list[Any], dict[str, Any]]] = {
    "Conv": ([floats(2, 4, 5, 5), floats(4, 2, 3, 3), floats(4)], {"group": 2, "pads": [1, 1, 1, 1]}),
    "ConvTranspose": ([floats(2, 4, 3, 3), floats(4, 2, 3, 3), floats(4)], {"group": 2, "strides": [2, 2]}),
    "DeformConv": ([floats(1, 2, 5, 5), floats(3, 2, 2, 2), floats(1, 8, 4, 4)], {}),
    "AveragePool": ([floats(2, 3, 7)], {"kernel_shape": [3], "strides": [2]}),
    "MaxPool": ([floats(2, 3, 7)], {"kernel_shape": [3], "strides": [2]}),
    "LpPool": ([floats(2, 3, 7)], {"kernel_shape": [3], "p": 3}),
    "GlobalAveragePool": ([floats(2, 3, 7)], {}),
    "GlobalMaxPool": ([floats(2, 3, 7)], {}),
    "GlobalLpPool": ([floats(2, 3, 7)], {"p": 3}),
    "BatchNormalization": ([floats(2, 3, 4), floats(3), floats(3), floats(3), floats(3) ** 2 + 1], {}),
    "InstanceNormalization": ([floats(2, 3, 9), floats(3), floats(3)], {}),
    "GroupNormalization": ([floats(2, 4, 9), floats(4), floats(4)], {"num_groups": 2}),
    "LayerNormalization": ([floats(2, 3, 8), floats(8), floats(8)], {}),
    "RMSNormalization": ([floats(2, 3, 8), floats(8)], {}),
    "LpNormalization": ([floats(2, 3, 8)], {}),
    "MeanVarianceNormalization": ([floats(2, 3, 4, 4)], {}),
    "LRN": ([floats(2, 5, 3)], {"size": 3}),
    "Softmax": ([floats(2, 9)], {}),
    "LogSoftmax": ([floats(2, 9)], {}),
    "MaxRoiPool": ([floats(1, 2, 6, 6), np.array([[0.0, 1, 1, 4, 4]])], {"pooled_shape": [2, 2]}),
    "Attention": ([floats(1, 2, 3, 4), floats(1, 2, 5, 4), floats(1, 2, 5, 4)], {"is_causal": 1}),
    "RNN": ([floats(3, 2, 4), floats(1, 5, 4), floats(1, 5, 5)], {}),
    "GRU": ([floats(3, 2, 4), floats(1, 15, 4), floats(1, 15, 5)], {}),
    "LSTM": ([floats(3, 2, 4), floats(1, 20, 4), floats(1, 20, 5)], {}),
    "Col2Im": ([floats(1, 8, 9), np.array([4, 4]), np.array([2, 2])], {}),
}


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float32], ids=lambda d: np.dtype(d).name)
@pytest.mark.parametrize("op", CASES)
def test_a_layer_in_a_small_type_is_the_layer_in_float64_rounded(op: str, dtype: Any) -> None:
    inputs, attributes = CASES[op]
    given = [x.astype(dtype) if x.dtype == np.float64 else x for x in inputs]
    exact = evaluate(op, *(x.astype(np.float64) if x.dtype == dtype else x for x in given), **attributes)
    found = evaluate(op, *given, **attributes)
    assert found.dtype == dtype
    epsilon = 2.0 ** -{2: 7 if dtype == ml_dtypes.bfloat16 else 10, 4: 23}[np.dtype(dtype).itemsize]
    np.testing.assert_allclose(found.astype(np.float64), exact, rtol=3 * epsilon, atol=20 * epsilon)


def test_dropout_takes_float8() -> None:
    x = np.ones((3, 4), ml_dtypes.float8_e4m3fn)
    y, mask = evaluate("Dropout", x, np.float32(0.5), np.bool_(True), outputs=2, seed=3)
    assert y.dtype == x.dtype
    np.testing.assert_array_equal(y.astype(np.float32), mask * np.float32(2))


@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
def test_max_pool_takes_bytes(dtype: Any) -> None:
    x = np.array([[[-5 % 256, 3, 7, 1]]]).astype(dtype)
    found = evaluate("MaxPool", x, kernel_shape=[2], pads=[1, 1])
    assert found.dtype == dtype
    padded = [x[0, 0, 0], *np.maximum(x[0, 0, :-1], x[0, 0, 1:]), x[0, 0, -1]]
    assert found[0, 0].tolist() == [int(v) for v in padded]


@pytest.mark.parametrize("dtype", [np.int8, np.uint64, np.complex64, np.bool_])
def test_col2im_takes_what_is_no_float(dtype: Any) -> None:
    x = np.ones((1, 4, 4)).astype(dtype)
    found = evaluate("Col2Im", x, np.array([3, 3]), np.array([2, 2]))
    assert found.dtype == dtype
    np.testing.assert_array_equal(found[0, 0], np.outer([1, 2, 1], [1, 2, 1]).astype(dtype))
