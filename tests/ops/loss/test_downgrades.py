"""Losses in the operators before them."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from ops.nn.older import older, refusal

RNG = np.random.default_rng(0)
SCORES = RNG.standard_normal((4, 5, 2)).astype(np.float32)
CLASSES = RNG.integers(0, 5, (4, 2))
WEIGHTS = np.abs(RNG.standard_normal(5)).astype(np.float32)


@pytest.mark.parametrize("op_type", ["NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"])
@pytest.mark.parametrize("reduction", ["none", "sum", "mean"])
@pytest.mark.parametrize("ignored", [None, 2, -1, 2**40])
@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_every_way_to_sum_a_loss(op_type: str, reduction: str, ignored: int | None, weights: Any) -> None:
    classes = CLASSES.astype(np.int32)
    if ignored == -1:
        classes[0] = -1
    how: dict[str, Any] = (
        {"reduction": reduction} if ignored is None else {"reduction": reduction, "ignore_index": ignored}
    )
    older(op_type, SCORES, classes, weights, opset=12, to=11, dims={0: ["n", 5, "d"], 1: ["n", "d"]}, **how)


def test_a_loss_of_log_probabilities_is_an_element_of_each() -> None:
    said = older("NegativeLogLikelihoodLoss", SCORES, CLASSES, opset=12, to=11)
    assert said == ["Unsqueeze", "GatherElements", "Squeeze", "Neg", "ReduceMean"]


def test_the_logarithms_are_given_too() -> None:
    said = older("SoftmaxCrossEntropyLoss", SCORES, CLASSES, opset=12, to=11, outputs=2)
    assert said[:3] == ["Transpose", "LogSoftmax", "Transpose"]


def test_half_floats_are_summed_as_floats() -> None:
    scores = SCORES.astype(np.float16)
    older("SoftmaxCrossEntropyLoss", scores, CLASSES, WEIGHTS.astype(np.float16), opset=13, to=11, rtol=2e-3)


def test_an_infinity_that_is_ignored_does_not_count() -> None:
    scores = SCORES.copy()
    scores[0, 0] = -np.inf
    classes = CLASSES.copy()
    classes[0] = 0
    older("NegativeLogLikelihoodLoss", scores, classes, WEIGHTS, opset=12, to=11, ignore_index=0)


def test_bfloat16() -> None:
    scores = SCORES.astype(ml_dtypes.bfloat16)
    said = older("NegativeLogLikelihoodLoss", scores, CLASSES, opset=22, to=21, rtol=1e-2)
    assert said == ["Cast", "NegativeLogLikelihoodLoss", "Cast"]
    assert "bfloat16 came with version 13" in refusal("SoftmaxCrossEntropyLoss", scores, CLASSES, opset=13, to=12)
