"""float16 and bfloat16: safe operators compute in them, the others say why they do not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ingot
from quantise.digits import MODEL, accuracy, digits
from quantise.models import attention, normal, parsed, residual
from quantise.peers import check_with_peers


@pytest.mark.parametrize("make", [residual, attention])
@pytest.mark.parametrize("mode", ["float16", "bfloat16"])
def test_models_stay_close_and_have_the_inputs_and_outputs_of_before(make: Any, mode: str) -> None:
    x = normal(*((6, 4, 8, 8) if make is residual else (6, 5, 16)), seed=7)
    result = ingot.quantize(make(), [x], mode=mode)
    assert ingot.check(result.model) == []
    assert result.report.snr is not None
    assert result.report.snr > (45 if mode == "float16" else 25)
    assert result.report.bytes_after < 0.6 * result.report.bytes_before
    assert [str(value.type) for value in result.model.inputs] == [str(value.type) for value in make().inputs]
    assert result.model.graph.outputs.names == ["y"]
    if mode == "float16":
        check_with_peers(result.model, {"x": x}, relative=1e-2)


def test_digits_hold_their_accuracy() -> None:
    result = ingot.quantize(MODEL, digits()[0][:64], mode="float16")
    assert accuracy(result.model) >= accuracy(ingot.load(MODEL)) - 0.001
    assert result.report.in_float == ()


def test_unsafe_operators_stay_in_float32_and_say_why() -> None:
    model = parsed(
        """g (float[n, 4] x) => (float[n, 4] y) {
          e = Exp (x) m = Mul (e, big) s = Div (m, m) t = Add (x, s) u = Relu (t) y = MatMul (u, w)
        }""",
        big=np.asarray(1e6, np.float32), w=normal(4, 4),
    )  # fmt: skip
    x = normal(3, 4)
    report = ingot.quantize(model, [x], mode="float16").report
    reasons = {layer.name: layer.reason for layer in report.in_float}
    assert reasons["e"] == "exponentials overflow"
    assert reasons["m"] == "its constant 'big' reaches 1e+06, past float16"
    assert reasons["s"] is not None
    assert reasons["s"].startswith("'m' reaches ")
    assert "t" not in reasons
    assert report.snr is not None
    assert report.snr > 45


def test_results_that_overflow_on_the_data_stay_in_float32() -> None:
    model = parsed(
        "g (float[n, 4] x) => (float[n, 4] y) { a = Mul (x, k) y = Div (a, k) }", k=np.asarray(3e4, np.float32)
    )
    report = ingot.quantize(model, [normal(50, 4)], mode="float16").report
    assert [layer.name for layer in report.in_float] == ["a", "y"]
    assert all(layer.reason and layer.reason.startswith("'a' reaches ") for layer in report.in_float)
    assert report.snr is not None
    assert report.snr > 45


def test_a_value_that_a_branch_reads_stays_a_float_there() -> None:
    model = parsed(
        """g (float[n, 4] x, bool c) => (float[n, 4] y) {
          a = Relu (x)
          y = If (c) <
            then_branch: graph = t () => (float[n, 4] b) { b = Exp (a) },
            else_branch: graph = e () => (float[n, 4] d) { d = Neg (a) }
          >
        }"""
    )
    result = ingot.quantize(model, mode="float16")
    x = normal(3, 4)
    for condition in (True, False):
        feeds = {"x": x, "c": np.asarray(condition)}
        [wanted], [actual] = (ingot.Session(each).run(None, feeds) for each in (model, result.model))
        np.testing.assert_allclose(actual, wanted, rtol=1e-2)
