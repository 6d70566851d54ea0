"""Methods that lose less than rounding to nearest: each one's error falls on a model that it is for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ingot
from ingot.errors import InputError
from ingot.quantise.equalise import equalise
from ingot.quantise.options import options_from
from ingot.quantise.prepare import prepare
from ingot.quantise.products import select
from ingot.quantise.samples import Samples
from ingot.quantise.transform import transformed
from quantise.models import attention, normal, parsed
from quantise.peers import check_with_peers


def decibels(model: ingot.Model, x: Any, **settings: Any) -> float:
    result = ingot.quantize(model, x, **settings)
    check_with_peers(result.model, {"x": x}, relative=0.1)
    assert result.report.snr is not None
    return result.report.snr


def uneven() -> ingot.Model:
    """Two pairs of convolutions between which channels differ a hundredfold in size."""
    factors = np.logspace(-1, 1, 8, dtype=np.float32)
    return parsed(
        """g (float[n, 3, 6, 6] x) => (y) {
          a = Conv (x, w1, b1) r = Relu (a) d = Conv <group: int = 8> (r, w2, b2) s = Relu (d) y = Conv (s, w3)
        }""",
        w1=normal(8, 3, 3, 3) * factors[:, None, None, None], b1=normal(8) * factors,
        w2=normal(8, 1, 2, 2) / factors[::-1, None, None, None], b2=normal(8),
        w3=normal(4, 8, 1, 1) * (factors[::-1] / factors)[None, :, None, None],
    )  # fmt: skip


def with_outliers() -> tuple[ingot.Model, Any]:
    """A layer whose normalisation makes two channels fifty times as large as the others."""
    model = attention()
    scale = model.graph.initializers["g"].constant
    assert isinstance(scale, ingot.Tensor)
    factors = scale.numpy().copy()
    factors[[3, 7]] *= 50
    model.graph.initializers["g"].constant = ingot.Tensor(factors, name="g")
    for name in ("wq", "wk", "wv"):
        tensor = model.graph.initializers[name].constant
        assert isinstance(tensor, ingot.Tensor)
        array = tensor.numpy().copy()
        array[[3, 7]] /= 50
        model.graph.initializers[name].constant = ingot.Tensor(array, name=name)
    return model, normal(16, 5, 16, seed=7)


def correlated() -> tuple[ingot.Model, Any]:
    """A product whose inputs are correlated, and not centred."""
    mixing = normal(8, 64, seed=5)
    x = normal(512, 8, seed=6) @ mixing + 0.1 * normal(512, 64, seed=7) + 1
    model = parsed("g (float[n, 64] x) => (float[n, 32] y) { y = Gemm (x, w, b) }", w=normal(64, 32), b=normal(32))
    return model, x.astype(np.float32)


def test_equalised_channels_lose_less_with_one_scale() -> None:
    x = normal(8, 3, 6, 6, seed=3)
    plain = decibels(uneven(), x, granularity="tensor")
    assert decibels(uneven(), x, granularity="tensor", methods="equalise") > plain + 6


def chain() -> ingot.Model:
    """Four convolutions, whose weights are read by two pairs each."""
    text = (
        "a = Conv (x, w1, b1) r = Relu (a) b = Conv (r, w2, b2) s = LeakyRelu (b) c = Conv (s, w3, b1) y = Conv (c, w4)"
    )
    return parsed(
        f"g (float[n, 3, 6, 6] x) => (y) {{ {text} }}",
        w1=normal(8, 3, 1, 1), b1=normal(8), w2=normal(8, 8, 3, 3), b2=normal(8, seed=1), w3=normal(8, 8, 1, 1),
        w4=normal(4, 8, 1, 1),
    )  # fmt: skip


@pytest.mark.parametrize("make", [chain, uneven])
def test_equalising_leaves_the_float_model_as_it_is(make: Any) -> None:
    x = normal(2, 3, 6, 6, seed=3)
    before = ingot.Session(make())(x)
    after = ingot.Session(equalise(prepare(make())).model)(x)
    np.testing.assert_allclose(after, before, rtol=1e-4, atol=1e-4 * np.abs(before).max())


@pytest.mark.parametrize("method", ["smooth", "awq"])
def test_scaling_channels_leaves_the_float_model_as_it_is(method: str) -> None:
    model, x = with_outliers()
    options = options_from({"mode": "weights", "weights": "int4", "block_size": 16, "methods": method})
    prepared = prepare(model)
    with Samples([x], list(prepared.model.graph.inputs)) as samples:
        products = select(prepared, options).products
        changed = transformed(prepared, products, samples, options, lambda _done, _total: None)
    before = ingot.Session(model)(x)
    np.testing.assert_allclose(ingot.Session(changed.model)(x), before, rtol=1e-3, atol=1e-4 * np.abs(before).max())
    assert ingot.to_text(changed.model) != ingot.to_text(prepare(model).model)


@pytest.mark.parametrize(
    "body",
    [
        "a = Gemm (x, w1) y = Gemm (z, w2, a)",
        "a = Gemm (x, w1) y = Gemm <transA: int = 1> (a, w2)",
        "a = Gemm (x, w1, c) y = Gemm (a, w2)",
    ],
    ids=["added", "transposed", "a bias for each row"],
)
def test_equalising_leaves_a_reader_that_does_not_sum_the_channels_alone(body: str) -> None:
    factors = np.logspace(-1, 1, 6, dtype=np.float32)
    model = parsed(
        f"g (float[6, 6] x, float[6, 6] z) => (y, s) {{ {body} s = Add (z, c) }}",
        w1=normal(6, 6) * factors,
        w2=normal(6, 6, seed=2),
        c=normal(6, 6, seed=3),
    )
    feeds = {"x": normal(6, 6, seed=4), "z": normal(6, 6, seed=5)}
    changed = equalise(prepare(model)).model
    exact = ingot.Session(model).run(None, feeds)[0]
    np.testing.assert_allclose(ingot.Session(changed).run(None, feeds)[0], exact, rtol=1e-4, atol=1e-4)


def test_scaling_leaves_an_activation_that_is_added_too() -> None:
    model = parsed(
        "g (float[n, 6] x) => (y) { h = LayerNormalization (x, s) y = Gemm (h, w, h) }",
        s=np.logspace(-1, 1, 6, dtype=np.float32),
        w=normal(6, 6),
    )
    options, x = options_from({"methods": ("smooth",)}), normal(9, 6, seed=4)
    prepared = prepare(model)
    with Samples(x, list(prepared.model.graph.inputs)) as samples:
        changed = transformed(prepared, select(prepared, options).products, samples, options, lambda *_: None)
    np.testing.assert_allclose(ingot.Session(changed.model)(x), ingot.Session(model)(x), rtol=1e-4, atol=1e-4)


def test_biases_are_corrected_where_a_value_has_its_channels_elsewhere_for_another_reader() -> None:
    model = parsed(
        """g (float[n, 4, 5, 4] x) => (y, z) {
          y = Conv (x, w, b) z = MatMul (x, m)
        }""",
        w=normal(6, 4, 1, 1), b=normal(6), m=normal(4, 3),
    )  # fmt: skip
    x = normal(8, 4, 5, 4, seed=3) + np.arange(4, dtype=np.float32)[:, None, None]
    both = ingot.quantize(model, x, mode="weights", granularity="tensor", methods="bias")
    alone = ingot.quantize(model, x, mode="weights", granularity="tensor", methods="bias", operators=("Conv",))
    results = [ingot.Session(result.model).run(["y"], {"x": x})[0] for result in (both, alone)]
    np.testing.assert_array_equal(*results)


def test_bias_correction_passes_over_a_product_with_a_vector() -> None:
    model = parsed(
        "g (float[4] x, float[n, 4] z) => (y, t) { y = MatMul (m, x) t = Gemm (z, w, b) }",
        m=normal(3, 4), w=normal(4, 2), b=normal(2),
    )  # fmt: skip
    data = [{"x": normal(4, seed=1), "z": normal(5, 4, seed=2)}]
    result = ingot.quantize(model, data, mode="weights", granularity="channel", methods="bias")
    assert result.report.snr is not None
    assert result.report.snr > 30


@pytest.mark.parametrize("method", ["smooth", "awq", "gptq", "bias"])
def test_a_value_that_is_not_finite_inside_is_named_with_its_sample(method: str) -> None:
    model = parsed("g (float[n, 4] x) => (y) { l = Log (x) y = Gemm (l, w, b) }", w=normal(4, 2), b=normal(2))
    data = [np.ones((2, 4), np.float32), -np.ones((2, 4), np.float32)]
    with pytest.raises(InputError, match="sample 1: value 'l' is NaN inside of the model"):
        ingot.quantize(model, data, mode="weights", methods=method)


def test_smoothed_activations_lose_less() -> None:
    model, x = with_outliers()
    plain = decibels(model, x)
    assert decibels(model, x, methods=["smooth"]) > plain + 3


def test_smoothing_goes_into_the_normalisation_before() -> None:
    model, x = with_outliers()
    result = ingot.quantize(model, x, methods="smooth")
    [node] = [node for node in result.model.graph if node.applies("LayerNormalization")]
    [rounded] = [user for user in node.output.users if user.applies("QuantizeLinear")]
    assert node.output.users == (rounded,)


@pytest.mark.parametrize("mode", ["weights", "static", "dynamic"])
def test_rows_that_make_up_for_others_lose_less(mode: str) -> None:
    model, x = correlated()
    settings: dict[str, Any] = {"weights": "int4", "block_size": 16} if mode == "weights" else {"reduced": True}
    plain = decibels(model, x, mode=mode, **settings)
    assert decibels(model, x, mode=mode, methods="gptq", **settings) > plain + (3 if mode == "weights" else 0)


@pytest.mark.parametrize("mode", ["weights", "static", "dynamic"])
def test_a_corrected_bias_loses_less(mode: str) -> None:
    model, x = correlated()
    x = x + 3
    settings: dict[str, Any] = (
        {"weights": "int4", "granularity": "channel"} if mode == "weights" else {"granularity": "tensor"}
    )
    plain = decibels(model, x, mode=mode, **settings)
    assert decibels(model, x, mode=mode, methods="bias", **settings) > plain + (3 if mode == "weights" else 0)


def test_a_convolution_without_a_bias_gets_one() -> None:
    model = parsed("g (float[n, 4, 6, 6] x) => (y) { y = Conv <group: int = 2> (x, w) }", w=normal(6, 2, 3, 3))
    x = normal(8, 4, 6, 6) + 5
    plain = decibels(model, x, mode="weights", weights="int4")
    assert decibels(model, x, mode="weights", weights="int4", methods="bias") > plain + 3


def test_important_channels_of_weights_lose_less() -> None:
    model, x = correlated()
    x[:, :4] *= 30
    settings: dict[str, Any] = {"mode": "weights", "weights": "int4", "block_size": 32}
    plain = decibels(model, x, **settings)
    assert decibels(model, x, methods="awq", **settings) > plain + 3


def test_a_weight_of_two_products_is_rounded_for_each_by_its_own_inputs() -> None:
    model = parsed(
        "g (float[n, 64] x) => (float[n, 64] y) { a = MatMul (x, w) b = Relu (a) c = MatMul (b, w) y = Add (a, c) }",
        w=normal(64, 64),
    )
    x = correlated()[1]
    plain = decibels(model, x, mode="weights", weights="int4")
    assert decibels(model, x, mode="weights", weights="int4", methods="gptq") > plain


def test_methods_go_together() -> None:
    model, x = with_outliers()
    plain = decibels(model, x, granularity="tensor")
    assert decibels(model, x, granularity="tensor", methods=["smooth", "equalise", "gptq", "bias"]) > plain + 3


def test_a_method_says_that_it_needs_data() -> None:
    with pytest.raises(InputError, match="the method 'gptq' needs data"):
        ingot.quantize(attention(), mode="weights", methods=["gptq"])
