"""Fused products, activations and normalisations against their formulas."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from ingot.errors import CheckError, InputError, ShapeError
from ops.ml.one_node import evaluate, inferred

RNG = np.random.default_rng(4)


def floats(*shape: int, dtype: Any = np.float32) -> Any:
    return RNG.normal(size=shape).astype(dtype)


def run(op_type: str, *inputs: Any, **attributes: Any) -> Any:
    return evaluate(op_type, *inputs, domain="com.microsoft", version=1, **attributes)


def test_a_convolution_adds_and_activates() -> None:
    x, w, b = floats(1, 2, 4, 4), floats(3, 2, 1, 1), floats(3)
    z = floats(1, 3, 4, 4)
    plain = np.einsum("nchw,oc->nohw", x, w[:, :, 0, 0]) + b[:, None, None]
    np.testing.assert_allclose(run("FusedConv", x, w, b), plain, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(
        run("FusedConv", x, w, b, z, activation="Relu"), np.maximum(plain + z, 0), rtol=1e-5, atol=1e-5
    )
    clipped = run("FusedConv", x, w, b, activation="Clip", activation_params=[-0.5, 0.25])
    np.testing.assert_allclose(clipped, np.clip(plain, -0.5, 0.25), rtol=1e-5, atol=1e-5)
    with pytest.raises(CheckError, match="activation is 'Rely'"):
        run("FusedConv", x, w, activation="Rely")
    with pytest.raises(ShapeError, match="z has shape"):
        run("FusedConv", x, w, b, z[:, :1])


def test_a_product_is_activated() -> None:
    a, b, c = floats(2, 3), floats(4, 3), floats(4)
    plain = 0.5 * a @ b.T + 2 * c
    y = run("FusedGemm", a, b, c, transB=1, alpha=0.5, beta=2.0, activation="LeakyRelu", activation_alpha=0.1)
    np.testing.assert_allclose(y, np.where(plain < 0, 0.1 * plain, plain), rtol=1e-5, atol=1e-6)


def test_a_transposed_batch_has_its_first_axis_moved_to_the_rows() -> None:
    a, b = floats(3, 2, 5, 4), floats(2, 5, 4, 6)
    y = run("FusedMatMul", a, b, transBatchA=1, alpha=2.0)
    np.testing.assert_allclose(y, 2 * np.moveaxis(a, 0, 2) @ b, rtol=1e-4, atol=1e-5)
    a, b = floats(2, 4, 3), floats(2, 5, 4)
    y = run("FusedMatMul", a, b, transA=1, transB=1)
    np.testing.assert_allclose(y, np.swapaxes(a, 1, 2) @ np.swapaxes(b, 1, 2), rtol=1e-4, atol=1e-5)
    given: Any = {"a": (1, ["n", 4, 3]), "b": (1, ["n", 5, 4])}
    found = inferred("FusedMatMul", given, domain="com.microsoft", version=1, transA=1, transB=1)
    assert found == "float32[n, 3, 5]"


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float32, np.float64])
def test_gates_round_once_in_every_type(dtype: Any) -> None:
    x, bias = floats(3, 4, dtype=dtype), floats(4, dtype=dtype)
    wide, shifted = x.astype(np.float64), x.astype(np.float64) + bias.astype(np.float64)
    tolerance = {2: 1e-2, 4: 1e-5, 8: 1e-9}[np.dtype(dtype).itemsize]

    def fast(v: Any) -> Any:
        return 0.5 * v * (1 + np.tanh(np.sqrt(2 / np.pi) * (v + 0.044715 * v**3)))

    for y, expected in (
        (run("FastGelu", x), fast(wide)),
        (run("FastGelu", x, bias), fast(shifted)),
        (run("QuickGelu", x, alpha=1.5), wide / (1 + np.exp(-1.5 * wide))),
    ):
        assert y.dtype == dtype
        np.testing.assert_allclose(y.astype(np.float64), expected, rtol=tolerance, atol=tolerance)
    assert run("Gelu", x).dtype == run("BiasGelu", x, bias).dtype == dtype
    np.testing.assert_allclose(run("BiasGelu", x, bias).astype(np.float64), fast(shifted), atol=2e-2)


def test_a_bias_is_a_vector_for_the_last_axis() -> None:
    with pytest.raises(ShapeError, match="the bias has 3 elements, expected 4"):
        run("BiasGelu", floats(2, 4), floats(3))


def normal(x: Any, epsilon: float) -> Any:
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred / np.sqrt(np.square(centred).mean(axis=-1, keepdims=True) + epsilon)


@pytest.mark.parametrize("skip", [(2, 3, 4), (1, 3, 4), (3, 4)])
def test_what_skipped_a_layer_is_added_before_normalising(skip: tuple[int, ...]) -> None:
    x, s, gamma, beta, bias = floats(2, 3, 4), floats(*skip), floats(4), floats(4), floats(4)
    y, mean, inverse, total = run("SkipLayerNormalization", x, s, gamma, beta, bias, outputs=4, epsilon=1e-5)
    np.testing.assert_allclose(total, x + s + bias, rtol=1e-5)
    np.testing.assert_allclose(y, normal(x + s + bias, 1e-5) * gamma + beta, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(mean, (x + s + bias).mean(axis=-1, keepdims=True), rtol=1e-4, atol=1e-6)
    assert inverse.shape == (2, 3, 1)


def test_a_simplified_norm_takes_no_mean_off() -> None:
    x, s, gamma = floats(2, 3, 4), floats(2, 3, 4), floats(4)
    y = run("SkipSimplifiedLayerNormalization", x, s, gamma, epsilon=1e-5)
    total = x + s
    root = np.sqrt(np.square(total).mean(axis=-1, keepdims=True) + 1e-5)
    np.testing.assert_allclose(y, total / root * gamma, rtol=1e-4, atol=1e-5)
    y, inverse = evaluate("SimplifiedLayerNormalization", total, gamma, domain="", outputs=2)
    np.testing.assert_allclose(y, total / root * gamma, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(inverse, 1 / root, rtol=1e-4)


def test_a_skip_of_another_shape_is_refused() -> None:
    with pytest.raises(ShapeError, match="do not broadcast"):
        run("SkipLayerNormalization", floats(2, 3, 4), floats(2, 2, 4), floats(4))
    with pytest.raises(ShapeError, match="gamma has 3 elements"):
        run("SkipLayerNormalization", floats(2, 3, 4), floats(2, 3, 4), floats(3))


def test_embeddings_are_added_and_words_counted() -> None:
    ids = np.array([[1, 2], [0, 3]], np.int32)
    word, position, segment = floats(5, 4), floats(3, 4), floats(2, 4)
    gamma, beta = floats(4), floats(4)
    mask = np.array([[1, 1], [1, 0]], np.int32)
    y, count, total = run(
        "EmbedLayerNormalization", ids, ids % 2, word, position, segment, gamma, beta, mask, outputs=3, epsilon=1e-5
    )
    expected = word[ids] + position[:2] + segment[ids % 2]
    np.testing.assert_allclose(total, expected, rtol=1e-5)
    np.testing.assert_allclose(y, normal(expected, 1e-5) * gamma + beta, rtol=1e-4, atol=1e-5)
    assert count.tolist() == [2, 1]
    y = run("EmbedLayerNormalization", ids, None, word, position, None, gamma, beta)
    assert y.shape == (2, 2, 4)
    with pytest.raises(InputError, match="input_ids go from 0 to 9, the embedding has 5 rows"):
        run("EmbedLayerNormalization", ids * 3, None, word, position, None, gamma, beta)
