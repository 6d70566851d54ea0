from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from ingot.errors import CheckError, InputError, ShapeError
from ops.reduction.one_node import evaluate, inferred

LOSSES = ["NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"]


def nll(x: Any, target: Any, weight: Any = None, **attributes: Any) -> Any:
    x = x if isinstance(x, np.ndarray) else np.array(x, np.float32)
    weight = None if weight is None else np.array(weight, x.dtype)
    return evaluate("NegativeLogLikelihoodLoss", x, np.array(target, np.int64), weight, **attributes)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float32, np.float64])
def test_every_float_has_a_loss(dtype: Any) -> None:
    x = np.array([[-1, -2], [-3, -4]], dtype)
    loss = nll(x, [1, 0])
    assert loss.dtype == dtype
    assert loss.shape == ()
    assert loss == 2.5
    assert nll(x, [1, 0], reduction="sum") == 5
    np.testing.assert_array_equal(nll(x, [1, 0], reduction="none"), np.array([2, 3], dtype))


def test_the_mean_is_by_the_weights() -> None:
    x = [[-1, -2], [-3, -4]]
    assert nll(x, [1, 0], [1, 3]) == (2 * 3 + 3 * 1) / 4


@pytest.mark.parametrize("ignored", [-1, 1, 7])
def test_ignored_samples_have_neither_loss_nor_weight(ignored: int) -> None:
    x = [[-1, -np.inf], [-3, -4]]
    assert nll(x, [ignored, 0], ignore_index=ignored) == 3
    assert nll(x, [ignored, 0], [2, 2], ignore_index=ignored) == 3
    assert nll(x, [ignored, 0], ignore_index=ignored, reduction="none").tolist() == [0, 3]
    assert np.isnan(nll(x, [ignored, ignored], ignore_index=ignored))


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("label", [-1, 2])
def test_a_class_that_does_not_exist_is_refused(name: str, label: int) -> None:
    with pytest.raises(InputError, match=f"class {label} is not among 0 to 1"):
        evaluate(name, np.zeros((1, 2), np.float32), np.array([label]))


@pytest.mark.parametrize("name", LOSSES)
def test_what_does_not_belong_together_is_refused(name: str) -> None:
    x = np.zeros((2, 3, 4), np.float32)
    for shape in ((2,), (2, 3), (3, 4)):
        with pytest.raises(ShapeError):
            evaluate(name, x, np.zeros(shape, np.int64))
    with pytest.raises(ShapeError):
        evaluate(name, np.zeros(3, np.float32), np.zeros((), np.int64))
    with pytest.raises(ShapeError):
        evaluate(name, x, np.zeros((2, 4), np.int64), np.zeros(4, np.float32))
    with pytest.raises(CheckError, match="reduction is 'max'"):
        evaluate(name, x, np.zeros((2, 4), np.int64), reduction="max")


@pytest.mark.parametrize("name", LOSSES)
def test_no_samples_have_no_mean(name: str) -> None:
    x, target = np.zeros((0, 3), np.float32), np.zeros(0, np.int32)
    assert np.isnan(evaluate(name, x, target))
    assert evaluate(name, x, target, reduction="sum") == 0
    assert evaluate(name, x, target, reduction="none").shape == (0,)


def test_the_softmax_neither_overflows_nor_loses_what_is_unlikely() -> None:
    x = np.array([[1000, 0]], np.float32)
    loss, log_prob = evaluate("SoftmaxCrossEntropyLoss", x, np.array([1]), outputs=2)
    assert loss == 1000
    np.testing.assert_array_equal(log_prob, [[0, -1000]])


def test_the_cross_entropy_of_images() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(2, 3, 4, 5))
    labels = rng.integers(0, 3, (2, 4, 5)).astype(np.int32)
    expected = np.log(np.exp(x).sum(1)) - np.take_along_axis(x, labels[:, None].astype(np.int64), 1)[:, 0]
    result = evaluate("SoftmaxCrossEntropyLoss", x, labels, reduction="none")
    np.testing.assert_allclose(result, expected)
    np.testing.assert_allclose(evaluate("SoftmaxCrossEntropyLoss", x, labels), expected.mean())


def test_shapes_are_inferred() -> None:
    types: Any = [("float32", ["n", 3, "h"]), ("int64", ["n", "h"])]
    for name in LOSSES:
        assert inferred(name, types) == "float32[]"
        assert inferred(name, types, reduction="none") == "float32[n, h]"
        assert inferred(name, [types[0], ("int64", None)], reduction="none") == "float32[n, h]"
    found = inferred("SoftmaxCrossEntropyLoss", types, outputs=2)
    assert found == ["float32[]", "float32[n, 3, h]"]
    with pytest.raises(ShapeError, match="classes and weights differ: 3 and 4"):
        inferred("SoftmaxCrossEntropyLoss", [*types, ("float32", [4])])
