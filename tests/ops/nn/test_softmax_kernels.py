"""Kernels of softmaxes and of the standard's attention: how many there are, and numbers that are none."""

from __future__ import annotations

import numpy as np
import pytest

import ingot
from ingot.dtypes import Array
from ingot.loops.ir import Attention, kernels_in

HEAD = '<ir_version: 11, opset_import: ["" : 24]> g '


@pytest.mark.parametrize("length", [1, 15, 16, 63, 64, 65, 140, 1000])
@pytest.mark.parametrize("operator", ["ReduceMax", "ReduceMin"])
def test_the_extreme_of_a_row_with_a_nan_is_nan_wherever_that_stands(operator: str, length: int) -> None:
    text = f"(float[rows, {length}] x) => (y) <int64[1] axis = {{1}}> {{ y = {operator} <keepdims = 0> (x, axis) }}"
    session = ingot.Session(ingot.parse_model(HEAD + text), fallback=False)
    x = np.random.default_rng(0).standard_normal((length + 1, length)).astype(np.float32)
    x[np.arange(length), np.arange(length)] = np.nan
    (y,) = session.run(None, {"x": x})
    np.testing.assert_array_equal(y, x.max(1) if operator == "ReduceMax" else x.min(1))


@pytest.mark.parametrize("length", [1, 17, 140, 70001])
@pytest.mark.parametrize("operator", ["Softmax", "LogSoftmax"])
def test_shares_of_scores_far_apart_agree_with_the_reference(operator: str, length: int) -> None:
    model = ingot.parse_model(HEAD + f"(float[4, {length}] x) => (y) {{ y = {operator} (x) }}")
    x = np.random.default_rng(1).standard_normal((4, length)).astype(np.float32) * 60
    x[1] = -np.inf
    x[2, : length // 2] = -np.inf
    with np.errstate(invalid="ignore"):
        (expected,) = ingot.Session(model, providers=("reference",)).run(None, {"x": x})
    (y,) = ingot.Session(model, fallback=False).run(None, {"x": x})
    np.testing.assert_allclose(y, expected, 2e-6, 1e-37)


@pytest.mark.parametrize("mask", ["", ", bool[7, 9] mask"])
def test_attention_of_four_axes_is_one_kernel(mask: str) -> None:
    inputs = f"float[2, 3, 7, 8] q, float[2, 3, 9, 8] k, float[2, 3, 9, 5] v{mask}"
    model = ingot.parse_model(HEAD + f"({inputs}) => (y) {{ y = Attention (q, k, v{', mask' if mask else ''}) }}")
    draw = np.random.default_rng(2)
    feeds: dict[str, Array] = {
        name: draw.standard_normal(shape).astype(np.float32)
        for name, shape in (("q", (2, 3, 7, 8)), ("k", (2, 3, 9, 8)), ("v", (2, 3, 9, 5)))
    }
    if mask:
        feeds["mask"] = draw.random((7, 9)) < 0.5
        feeds["mask"][3] = False
    session = ingot.Session(model, providers=("cpu", "reference"), fallback=False)
    (expected,) = ingot.Session(model, providers=("reference",)).run(None, feeds)
    np.testing.assert_allclose(session.run(None, feeds)[0], expected, 1e-5, 1e-6)
    assert session.compiled is not None
    (kernel,) = kernels_in(session.compiled.scheduled.steps)
    assert isinstance(kernel.nests[0], Attention)
