"""The benchmark of found models: models without noise, models in float64, inputs that models take."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.found_models.inputs import Input, attempts
from benchmarks.found_models.silence import silenced

import ingot

HEAD = '<ir_version: 10, opset_import: ["" : 21]>'


def test_noise_becomes_constant() -> None:
    model = ingot.parse_model(
        f"""{HEAD} g (float[n] x) => (y, z) {{
        a = RandomNormalLike <mean = 1.0, scale = 2.0> (x) y = Add (a, x)
        b = RandomUniform <low = 2.0, high = 4.0, shape = [3]> () z = Neg (b)
    }}"""
    )
    assert silenced(model)
    assert not silenced(model)
    y, z = ingot.Session(model).run(None, {"x": np.zeros(2, np.float32)})
    assert y.tolist() == pytest.approx([2.2, 2.2])
    assert z.tolist() == pytest.approx([-3.2, -3.2, -3.2])


def test_a_model_in_float64_is_nearer_to_what_it_computes() -> None:
    pytest.importorskip("onnx")
    from benchmarks.found_models.judge import widened

    model = ingot.parse_model(
        f"""{HEAD} g (float[n] x) => (float[n] y) <float third = {{0.3}}> {{
        a = Mul (x, third) b = Cast <to = 10> (a) y = Cast <to = 1> (b)
    }}"""
    )
    wide = ingot.from_onnx(widened(ingot.to_onnx(model)))
    [y] = ingot.Session(wide, providers=("reference",)).run(None, {"x": np.array([1 / 3])})
    assert y.dtype == np.float64
    assert y[0] == np.float64(np.float32(0.3)) * (1 / 3)


def test_states_of_recurrent_networks_have_one_batch() -> None:
    inputs = [
        Input("input", np.dtype(np.float32), (None, None)),
        Input("state", np.dtype(np.float32), (2, None, 128)),
        Input("past", np.dtype(np.float32), (2, "batch", 8)),
    ]
    feeds = next(attempts(inputs))
    assert [x.shape for x in feeds.values()] == [(1, 32), (2, 1, 128), (2, 1, 8)]


def test_weights_are_nudged_where_inputs_cannot_be() -> None:
    pytest.importorskip("onnx")
    from benchmarks.found_models.judge import nudged_weights

    model = ingot.parse_model(
        f"""{HEAD} g (float[n] x) => (y) <float[2] w = {{1.0, -2.0}}, int64[2] k = {{1, 2}}> {{
        a = Mul (x, w) b = Cast <to = 1> (k) y = Add (a, b)
    }}"""
    )
    moved = ingot.from_onnx(nudged_weights(ingot.to_onnx(model), 1e-6))
    [y] = ingot.Session(moved, providers=("reference",)).run(None, {"x": np.ones(2, np.float32)})
    assert y.tolist() != [2.0, 0.0]
    assert y.tolist() == pytest.approx([2.0, 0.0], abs=1e-5)


def test_models_that_do_not_end_are_not_counted_as_left_out() -> None:
    pytest.importorskip("onnx")
    from benchmarks.found_models.page import page

    reasons = {
        "pypi/a/m.onnx": "takes more than 120 s",
        "pypi/b/m.onnx": "no inputs: x",
        "pypi/c/m.onnx": "exit status 1",
    }
    text = page({name: {"not run": reason} for name, reason in reasons.items()})
    assert "1 more are not run" in text
    assert "## What did not end\n\n- pypi/a/m.onnx: takes more than 120 s\n- pypi/c/m.onnx: exit status 1\n" in text
