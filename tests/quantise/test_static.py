"""Static quantisation: what is written, that peers run it alike, and that it holds its accuracy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ingot
from ingot.errors import InputError
from quantise.digits import MODEL, accuracy, digits
from quantise.models import attention, normal, parsed, residual
from quantise.peers import check_with_peers

SETTINGS: tuple[dict[str, Any], ...] = (
    {},
    {"granularity": "tensor"},
    {"activations": "int8", "symmetric_activations": True},
    {"weights": "uint8", "symmetric_weights": False},
    {"reduced": True, "engine": "onnxruntime"},
)


def ops(model: ingot.Model) -> list[str]:
    return [node.op_type for node in model.graph]


@pytest.mark.parametrize("calibration", ["minmax", "average", "entropy", "percentile", "mse"])
def test_digits_lose_at_most_half_a_percent(calibration: str) -> None:
    before = accuracy(ingot.load(MODEL))
    result = ingot.quantize(MODEL, digits()[0][:256], calibration=calibration)
    assert accuracy(result.model) >= before - 0.005
    assert result.report.bytes_after * 3 < result.report.bytes_before
    assert result.report.snr is not None
    assert result.report.snr > 40


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@pytest.mark.parametrize("make", [residual, attention])
def test_peers_run_it_alike(make: Any, settings: dict[str, Any]) -> None:
    model = make()
    shape = (6, 4, 8, 8) if make is residual else (6, 5, 16)
    x = normal(*shape, seed=7)
    result = ingot.quantize(model, x, **settings)
    check_with_peers(result.model, {"x": x}, relative=5e-2)
    assert result.report.snr is not None
    assert result.report.snr > (15 if settings.get("engine") else 25)


def test_a_product_reads_codes_and_computes_floats() -> None:
    model = parsed(
        "g (float[n, 3] x) => (float[n, 2] y) { a = Gemm (x, w, b) y = Relu (a) }", w=normal(3, 2), b=normal(2)
    )
    result = ingot.quantize(model, normal(9, 3))
    assert ops(result.model) == ["DequantizeLinear"] * 2 + ["QuantizeLinear", "DequantizeLinear", "Gemm", "Relu"]
    kinds = {
        name: str(value.constant.dtype) for name, value in result.model.graph.initializers.items() if value.constant
    }
    assert kinds["w_quantized"] == "int8"
    assert kinds["b_quantized"] == "int32"
    assert kinds["x_zero_point"] == "uint8"
    assert result.model.graph.initializers["w_scale"].constant.shape == (2,)  # type: ignore[union-attr]


def test_what_only_moves_elements_has_the_scale_of_what_it_reads() -> None:
    result = ingot.quantize(MODEL, digits()[0][:32])
    pools = [node for node in result.model.graph if node.applies("MaxPool")]
    assert pools
    for pool in pools:
        source = pool.inputs[0]
        assert source is not None
        assert source.producer is not None
        [after] = pool.output.users
        assert source.producer.applies("DequantizeLinear")
        assert after.applies("QuantizeLinear")
        assert source.producer.inputs[1:] == after.inputs[1:]


def test_a_weight_of_two_products_is_stored_once() -> None:
    model = parsed("g (float[n, 4] x) => (float[n, 4] y) { a = MatMul (x, w) y = MatMul (a, w) }", w=normal(4, 4))
    result = ingot.quantize(model, normal(9, 4))
    assert sum(name.startswith("w_") for name in result.model.graph.initializers) == 3


def test_a_large_bias_keeps_its_value() -> None:
    model = parsed(
        "g (float[n, 2] x) => (float[n, 2] y) { y = Gemm (x, w, b) }",
        w=normal(2, 2, scale=1e-9),
        b=np.asarray([1e3, 1], np.float32),
    )
    x = normal(5, 2, scale=1e-3)
    result = ingot.quantize(model, x)
    np.testing.assert_allclose(ingot.Session(result.model)(x), ingot.Session(model)(x), rtol=1e-6)


def test_a_value_that_is_always_zero_has_a_scale() -> None:
    model = parsed("g (float[n, 2] x) => (float[n, 2] y) { y = MatMul (x, w) }", w=np.zeros((2, 2), np.float32))
    result = ingot.quantize(model, np.zeros((4, 2), np.float32))
    assert ingot.Session(result.model)(np.zeros((1, 2), np.float32)).tolist() == [[0, 0]]


def test_excluded_products_compute_in_float_with_float_operands() -> None:
    x = normal(6, 5, 16)
    result = ingot.quantize(attention(), x, exclude=["w*", "q", "k", "v", "mixed", "o", "d"][1:])
    assert {layer.name for layer in result.report.quantised} == {"u"}
    assert {layer.reason for layer in result.report.in_float} >= {"excluded by 'd'"}
    [product] = [node for node in result.model.graph if node.output.name == "d"]
    assert product.inputs[0] is not None
    assert product.inputs[0].name == "a"


def test_operators_can_be_chosen() -> None:
    result = ingot.quantize(residual(), normal(6, 4, 8, 8), operators="Gemm")
    assert [layer.operator for layer in result.report.quantised] == ["Gemm"]


def test_products_of_two_activations_are_quantised_when_asked_for() -> None:
    x = normal(6, 5, 16)
    result = ingot.quantize(attention(), x, activation_products=True)
    assert not result.report.in_float
    check_with_peers(result.model, {"x": x}, relative=5e-2)


def test_a_quantised_model_is_not_quantised_again() -> None:
    result = ingot.quantize(MODEL, digits()[0][:32])
    with pytest.raises(InputError, match=r"the model is quantised already: node '.*' is DequantizeLinear"):
        ingot.quantize(result.model, digits()[0][:32])


def test_a_model_without_products_is_refused() -> None:
    model = parsed("g (float[n] x) => (float[n] y) { y = Relu (x) }")
    with pytest.raises(InputError, match="the model has no products to quantise"):
        ingot.quantize(model, np.ones((3,), np.float32))


def test_an_unknown_option_names_the_nearest() -> None:
    with pytest.raises(InputError, match="there is no option 'calibrate'"):
        ingot.quantize(MODEL, digits()[0], calibrate="minmax")
    with pytest.raises(InputError, match="there is no calibration 'max'"):
        ingot.quantize(MODEL, digits()[0], calibration="max")


def test_the_model_of_the_caller_stays_as_it_is() -> None:
    model = residual()
    text = ingot.to_text(model)
    ingot.quantize(model, normal(6, 4, 8, 8))
    assert ingot.to_text(model) == text


def test_names_choose_and_misspelled_ones_are_refused() -> None:
    report = ingot.quantize(MODEL, digits()[0][:32], include=["conv*"], exclude="conv_1").report
    assert [layer.name for layer in report.quantised] == ["conv"]
    assert {layer.reason for layer in report.in_float} == {"excluded by 'conv_1'", "not included"}
    with pytest.raises(InputError, match="'gem' is no product") as refused:
        ingot.quantize(MODEL, digits()[0][:32], exclude="gem")
    assert refused.value.hint == "did you mean 'gemm'?"
