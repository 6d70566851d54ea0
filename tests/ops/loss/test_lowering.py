"""Losses in primitives: weights, ignored samples, every reduction, sizes with names."""

from __future__ import annotations

import numpy as np
import pytest

from ingot.errors import InputError
from ingot.session import Session
from lower.agreement import agree, lowered, refusal

NLL, SCE = "NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"


def graph(operator: str, reduction: str, attributes: str = "", weight: str = "", dtype: str = "float") -> str:
    result = f"({dtype}{'[N, D]' if reduction == 'none' else ''} y)"
    inputs = f"{dtype}[N, C, D] x, int64[N, D] t, {dtype}[C] w"
    body = f'y = {operator} <reduction = "{reduction}"{attributes}> (x, t{weight})'
    return f"g ({inputs}) => {result} {{ {body} }}"


@pytest.mark.parametrize("operator", [NLL, SCE])
@pytest.mark.parametrize("reduction", ["none", "sum", "mean"])
@pytest.mark.parametrize("weight", ["", ", w"])
@pytest.mark.parametrize("ignored", ["", ", ignore_index = 2", ", ignore_index = -100"])
def test_losses_agree(operator: str, reduction: str, weight: str, ignored: str) -> None:
    rng = np.random.default_rng(0)
    for samples, classes, places in ((3, 5, 4), (1, 3, 1)):
        x = rng.standard_normal((samples, classes, places)).astype(np.float32)
        t = rng.integers(0, classes, (samples, places))
        if ignored.endswith("-100"):
            t[0, 0] = -100
        w = rng.random(classes).astype(np.float32)
        agree(graph(operator, reduction, ignored, weight), 1e-5, 1e-6, x=x, t=t, w=w)


@pytest.mark.parametrize("operator", [NLL, SCE])
def test_means_of_nothing_agree(operator: str) -> None:
    x, w = np.zeros((2, 3, 0), np.float32), np.ones(3, np.float32)
    agree(graph(operator, "mean"), x=x, t=np.zeros((2, 0), np.int64), w=w)
    ignored = ", ignore_index = 1"
    agree(graph(operator, "mean", ignored), x=np.ones((1, 3, 2), np.float32), t=np.ones((1, 2), np.int64), w=w)


def test_infinite_scores_and_narrow_ones_agree() -> None:
    scores = [[1, np.inf, 2], [-np.inf, -np.inf, -np.inf], [-np.inf, 0, 1], [np.nan, 1, 2], [100, 0, -100]]
    labels = np.array([0, 1, 2, 0, 2], np.int32)
    for dtype, kind in (("float", np.float32), ("float16", np.float16)):
        inputs = f"{dtype}[N, C] x, int32[N] t"
        body = f'y, l = {SCE} <reduction = "none"> (x, t)'
        model = f"g ({inputs}) => ({dtype}[N] y, {dtype}[N, C] l) {{ {body} }}"
        agree(model, 1e-3 if dtype == "float16" else 1e-6, 1e-6, x=np.array(scores, kind), t=labels)


def test_samples_not_known_to_be_as_many_as_targets_are_refused() -> None:
    assert "not known to agree" in refusal(f"g (float[N, C] x, int64[M] t) => (float y) {{ y = {NLL} (x, t) }}")


@pytest.mark.parametrize("operator", [NLL, SCE])
@pytest.mark.parametrize("label", [3, -1])
def test_a_class_that_does_not_exist_is_an_error_of_the_compiled_run(operator: str, label: int) -> None:
    model = lowered(graph(operator, "mean", ", ignore_index = 7"))[0]
    session = Session(model, providers=("cpu", "reference"), threads=1, fallback=False)
    x, w = np.zeros((1, 3, 2), np.float32), np.ones(3, np.float32)
    session.run(None, {"x": x, "t": np.array([[0, 7]]), "w": w})
    with pytest.raises(InputError, match=f"class {label} is not among 0 to 2"):
        session.run(None, {"x": x, "t": np.array([[0, label]]), "w": w})
