"""Dynamic quantisation: products of integers whose activations are quantised by the range of each run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ingot
from quantise.digits import MODEL, accuracy, digits
from quantise.models import attention, normal, parsed, residual
from quantise.peers import check_with_peers


@pytest.mark.parametrize(
    "settings", [{}, {"granularity": "tensor"}, {"weights": "uint8", "symmetric_weights": False}], ids=str
)
@pytest.mark.parametrize("make", [residual, attention])
def test_peers_run_it_alike(make: Any, settings: dict[str, Any]) -> None:
    x = normal(*((6, 4, 8, 8) if make is residual else (6, 5, 16)), seed=7)
    operators = ("Gemm", "MatMul") if make is residual else ("MatMul",)
    result = ingot.quantize(make(), [x], mode="dynamic", operators=operators, **settings)
    check_with_peers(result.model, {"x": x})
    assert result.report.snr is not None
    assert result.report.snr > 25


def test_digits_hold_their_accuracy_without_data() -> None:
    before = accuracy(ingot.load(MODEL))
    result = ingot.quantize(MODEL, mode="dynamic")
    assert accuracy(result.model) >= before - 0.005
    assert {node.op_type for node in result.model.graph} >= {"ConvInteger", "MatMulInteger", "DynamicQuantizeLinear"}
    assert result.report.errors == ()
    assert result.model.graph.outputs.names == ["probabilities"]


def test_one_activation_is_quantised_once() -> None:
    result = ingot.quantize(attention(), mode="dynamic")
    made = [node for node in result.model.graph if node.applies("DynamicQuantizeLinear")]
    assert [node.inputs[0].name for node in made if node.inputs[0] is not None] == ["h", "mixed", "r", "a"]
    assert {layer.name for layer in result.report.in_float} == {"scores", "mixed"}


def test_what_the_standard_has_no_integers_for_stays_in_float() -> None:
    result = ingot.quantize(residual(), mode="dynamic")
    assert {layer.reason for layer in result.report.in_float} == {"there is no transposed convolution of integers"}


def test_products_of_one_weight_are_scaled_each_by_its_own_factor() -> None:
    model = parsed(
        "g (float[n, 3] x) => (y, z) { y = Gemm (x, w) z = Gemm <alpha: float = 3.0> (x, w) }", w=normal(3, 2)
    )
    y, z = ingot.Session(ingot.quantize(model, mode="dynamic").model)(normal(4, 3))
    np.testing.assert_allclose(z, 3 * y, rtol=1e-5)


@pytest.mark.parametrize("attributes", ["transB: int = 1", "alpha: float = 3.0"])
def test_a_product_of_two_activations_that_integers_cannot_say_stays_in_float(attributes: str) -> None:
    text = f"g (float[4, 4] x, float[4, 4] z) => (y, t) {{ y = Gemm <{attributes}> (x, z) t = MatMul (x, z) }}"
    model, feeds = parsed(text), {"x": normal(4, 4, seed=1), "z": normal(4, 4, seed=2)}
    result = ingot.quantize(model, mode="dynamic", activation_products=True)
    assert [layer.name for layer in result.report.in_float] == ["y"]
    exact = ingot.Session(model).run(["y"], feeds)[0]
    np.testing.assert_allclose(ingot.Session(result.model).run(["y"], feeds)[0], exact, rtol=1e-5, atol=1e-5)


def test_a_computed_bias_is_added_to_the_channels_of_a_convolution() -> None:
    model = parsed("g (float[n, 3, 5, 4] x, float[4] b) => (y) { y = Conv (x, w, b) }", w=normal(4, 3, 1, 1))
    feeds = {"x": normal(2, 3, 5, 4), "b": np.arange(4, dtype=np.float32) * 10}
    result = ingot.quantize(model, [feeds], mode="dynamic")
    check_with_peers(result.model, feeds)
    assert result.report.snr is not None
    assert result.report.snr > 35


def test_a_product_that_is_returned_keeps_its_name() -> None:
    model = parsed(
        "g (float[n, 3] x) => (float[n, 2] y, float[n, 2] z) { y = MatMul (x, w) z = Relu (y) }", w=normal(3, 2)
    )
    result = ingot.quantize(model, mode="dynamic")
    assert result.model.graph.outputs.names == ["y", "z"]
    x = normal(4, 3)
    check_with_peers(result.model, {"x": x})
    np.testing.assert_allclose(ingot.Session(result.model)(x)[0], ingot.Session(model)(x)[0], atol=0.05)


def test_data_measures_the_error() -> None:
    result = ingot.quantize(MODEL, digits()[0][:64], mode="dynamic")
    assert result.report.samples == 2
    assert result.report.snr is not None
    assert result.report.snr > 30
