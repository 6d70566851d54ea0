"""Linear models and support vector machines against their formulas."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ingot.errors import CheckError, ShapeError
from ops.ml.one_node import evaluate, inferred

RNG = np.random.default_rng(3)
X = RNG.normal(size=(5, 4)).astype(np.float32)


def listed(*shape: int) -> list[float]:
    return [float(v) for v in RNG.normal(size=shape).astype(np.float32).reshape(-1)]


def softmax(x: Any) -> Any:
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.int64])
def test_a_linear_regressor_is_a_product_and_always_float32(dtype: Any) -> None:
    x = (X * 10).astype(dtype)
    weights, offsets = listed(3, 4), listed(3)
    y = evaluate("LinearRegressor", x, coefficients=weights, intercepts=offsets, targets=3)
    assert y.dtype == np.float32
    np.testing.assert_allclose(y, x @ np.reshape(weights, (3, 4)).T + offsets, rtol=1e-5, atol=1e-4)


def test_one_axis_is_one_row() -> None:
    weights = listed(2, 4)
    y = evaluate("LinearRegressor", X[0], coefficients=weights, targets=2)
    np.testing.assert_allclose(y, [np.reshape(weights, (2, 4)) @ X[0]], rtol=1e-5)


def test_the_sizes_of_a_linear_model_must_fit() -> None:
    with pytest.raises(ShapeError, match="5 coefficients for 2 targets of 4"):
        evaluate("LinearRegressor", X, coefficients=listed(5), targets=2)
    with pytest.raises(CheckError, match="post_transform is 'SOFT'"):
        evaluate("LinearRegressor", X, coefficients=listed(4), post_transform="SOFT")
    with pytest.raises(CheckError, match="2 labels for 3 rows"):
        evaluate("LinearClassifier", X, outputs=2, coefficients=listed(3, 4), classlabels_ints=[1, 2])


def test_a_linear_classifier_names_the_largest_score() -> None:
    weights, offsets = listed(3, 4), listed(3)
    raw = X @ np.reshape(weights, (3, 4)).T + offsets
    labels, scores = evaluate(
        "LinearClassifier",
        X,
        outputs=2,
        coefficients=weights,
        intercepts=offsets,
        classlabels_strings=["a", "b", "c"],
        post_transform="SOFTMAX",
    )
    assert labels.tolist() == [["a", "b", "c"][i] for i in raw.argmax(axis=1)]
    np.testing.assert_allclose(scores, softmax(raw), rtol=1e-5)


def test_one_row_of_coefficients_tells_two_classes_apart() -> None:
    weights = listed(4)
    raw = X.astype(np.float64) @ np.array(weights)
    labels, scores = evaluate("LinearClassifier", X, outputs=2, coefficients=weights, classlabels_ints=[5, 6])
    assert labels.tolist() == np.where(raw > 0, 6, 5).tolist()
    np.testing.assert_allclose(scores, np.stack([1 - raw, raw], axis=1), rtol=1e-5, atol=1e-6)
    labels, scores = evaluate("LinearClassifier", X, outputs=2, coefficients=weights)
    assert labels.tolist() == (raw > 0).astype(int).tolist()
    assert scores.shape == (5, 1)


def test_a_softmax_that_leaves_zeros_out_and_the_inverse_of_the_normal_distribution() -> None:
    identity = [1.0, 0.0, 0.0, 1.0]
    x = np.array([[0, 2], [0, 0]], np.float32)
    y = evaluate("LinearRegressor", x, coefficients=identity, targets=2, post_transform="SOFTMAX_ZERO")
    np.testing.assert_allclose(y, np.array([[0, 1], [0.5, 0.5]]), rtol=1e-6)
    x = np.array([[0.5, 0.975], [0, 1]], np.float32)
    y = evaluate("LinearRegressor", x, coefficients=identity, targets=2, post_transform="PROBIT")
    np.testing.assert_allclose(y, np.array([[0, 1.96], [-np.inf, np.inf]]), atol=3e-3)


@pytest.mark.parametrize("kernel", ["LINEAR", "POLY", "RBF", "SIGMOID"])
def test_a_support_vector_machine_weighs_kernels(kernel: str) -> None:
    vectors, weights = listed(6, 4), listed(6)
    y = evaluate(
        "SVMRegressor",
        X,
        coefficients=weights,
        support_vectors=vectors,
        n_supports=6,
        rho=[0.25],
        kernel_type=kernel,
        kernel_params=[0.5, 0.1, 2.0],
    )
    v = np.reshape(vectors, (6, 4))
    dot = X @ v.T
    kernels = {
        "LINEAR": dot,
        "POLY": (0.5 * dot + 0.1) ** 2,
        "RBF": np.exp(-0.5 * np.square(X[:, None] - v).sum(axis=2)),
        "SIGMOID": np.tanh(0.5 * dot + 0.1),
    }
    np.testing.assert_allclose(y[:, 0], kernels[kernel] @ weights + 0.25, rtol=1e-4, atol=1e-5)


def test_a_machine_of_one_class_says_one_or_minus_one() -> None:
    y = evaluate("SVMRegressor", X, coefficients=listed(4), rho=[0.0], one_class=1)
    assert set(y.reshape(-1).tolist()) <= {1.0, -1.0}


def test_the_class_that_wins_most_pairs_is_named() -> None:
    """One support vector a class, weighted so that the class whose vector is nearest wins its pairs."""
    attributes: dict[str, Any] = {
        "classlabels_ints": [10, 20, 30],
        "vectors_per_class": [1, 1, 1],
        "support_vectors": [0.0, 5.0, 10.0],
        "coefficients": [1.0, -1.0, -1.0, 1.0, 1.0, -1.0],
        "rho": [0.0, 0.0, 0.0],
        "kernel_type": "RBF",
        "kernel_params": [0.1, 0.0, 0.0],
    }
    x = np.array([[0.5], [4.5], [9.5]], np.float32)
    labels, scores = evaluate("SVMClassifier", x, outputs=2, **attributes)
    assert labels.tolist() == [10, 20, 30]
    assert scores.shape == (3, 3)
    labels, scores = evaluate("SVMClassifier", x, outputs=2, **attributes, prob_a=[-2.0] * 3, prob_b=[0.0] * 3)
    assert scores.argmax(axis=1).tolist() == [0, 1, 2]
    np.testing.assert_allclose(scores.sum(axis=1), 1, rtol=1e-5)


def test_a_classifier_without_support_vectors_is_linear() -> None:
    weights = listed(3, 4)
    labels, scores = evaluate(
        "SVMClassifier", X, outputs=2, coefficients=weights, rho=[0.5], classlabels_ints=[1, 2, 3]
    )
    raw = X @ np.reshape(weights, (3, 4)).T + 0.5
    np.testing.assert_allclose(scores, raw, rtol=1e-5, atol=1e-6)
    assert labels.tolist() == (raw.argmax(axis=1) + 1).tolist()


def test_the_lists_of_a_machine_must_fit() -> None:
    with pytest.raises(CheckError, match="kernel_type is 'CUBIC'"):
        evaluate("SVMRegressor", X, coefficients=listed(4), kernel_type="CUBIC")
    with pytest.raises(CheckError, match="3 coefficients for 6 support vectors"):
        evaluate("SVMRegressor", X, coefficients=listed(3), support_vectors=listed(24), n_supports=6)
    with pytest.raises(ShapeError, match="the input has 4 features, the model 3"):
        evaluate("SVMRegressor", X, coefficients=listed(3))
    with pytest.raises(CheckError, match="rho has 0 numbers"):
        evaluate("SVMClassifier", X, outputs=2, coefficients=listed(4), classlabels_ints=[1])


def test_no_rows_give_no_rows() -> None:
    empty = X[:0]
    assert evaluate("LinearRegressor", empty, coefficients=listed(4)).shape == (0, 1)
    labels, scores = evaluate(
        "LinearClassifier", empty, outputs=2, coefficients=listed(3, 4), classlabels_strings=["a", "b", "c"]
    )
    assert labels.shape == (0,)
    assert scores.shape == (0, 3)


def test_rows_keep_their_name_in_inference() -> None:
    given: Any = {"x": (1, ["rows", 4])}
    assert inferred("LinearRegressor", given, coefficients=listed(2, 4), targets=2) == "float32[rows, 2]"
    found = inferred("LinearClassifier", given, outputs=2, coefficients=listed(4), classlabels_strings=["a", "b"])
    assert found == ["string[rows]", "float32[rows, 2]"]
    assert inferred("SVMRegressor", given, coefficients=listed(4)) == "float32[rows, 1]"
