"""Weights set to zero: how many, which, and what a budget leaves dense."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ingot
from ingot.errors import InputError
from quantise.digits import MODEL, accuracy, digits
from quantise.models import attention, normal, parsed, residual
from quantise.test_budget import fragile


def weights(model: ingot.Model) -> dict[str, Any]:
    """The constant weights of products by what these compute."""
    return {
        node.output.name: node.inputs[1].constant.numpy()
        for node in model.graph
        if node.applies("Conv", "Gemm", "MatMul", "ConvTranspose")
        and node.inputs[1] is not None
        and isinstance(node.inputs[1].constant, ingot.Tensor)
    }


def test_the_smallest_weights_of_each_layer_are_zero() -> None:
    before = weights(residual())
    result = ingot.prune(residual(), sparsity=0.5, channels=False)
    after = weights(result.model)
    for name in ("t", "c4", "y"):
        zero = after[name] == 0
        assert zero.sum() == zero.size // 2
        assert np.abs(before[name][zero]).max() <= np.abs(before[name][~zero]).min()
        np.testing.assert_array_equal(after[name][~zero], before[name][~zero])
    assert abs(result.report.sparsity - 0.5) < 0.02
    assert len(result.report.pruned) == 5


def test_a_part_of_weights_is_as_many_as_it_reads() -> None:
    model = parsed("g (float[n, 10] x) => (y) { y = MatMul (x, w) }", w=normal(10, 10))
    for percent in range(100):
        (layer,) = ingot.prune(model, sparsity=percent / 100, channels=False).report.layers
        assert layer.zeros == percent


def test_only_the_weight_of_a_recurrent_network_that_does_not_fit_stays_dense() -> None:
    model = parsed(
        "g (float[n, 2, 6] x) => (y) { y = GRU <hidden_size: int = 4> (x, w, r) }",
        w=normal(1, 12, 6), r=normal(1, 12, 4),
    )  # fmt: skip
    layers = {layer.name: layer for layer in ingot.prune(model, pattern="2:4").report.layers}
    assert layers["y R"].reason is None
    assert layers["y R"].zeros == layers["y R"].weights // 2
    assert layers["y W"].reason == "it sums 6 channels, which 4 does not divide"


def test_the_smallest_weights_of_the_model_are_zero() -> None:
    model = parsed(
        "g (float[n, 8] x) => (y) { a = MatMul (x, w1) t = Tanh (a) y = MatMul (t, w2) }",
        w1=normal(8, 8, scale=0.01), w2=normal(8, 8),
    )  # fmt: skip
    result = ingot.prune(model, sparsity=0.5, scope="model", channels=False)
    shares = {layer.name: layer.zeros / layer.weights for layer in result.report.layers}
    assert shares["a"] > 0.9
    assert shares["y"] < 0.1
    assert result.report.sparsity == 0.5


@pytest.mark.parametrize(("pattern", "count", "of"), [("2:4", 2, 4), ("4:8", 4, 8), ("1:4", 1, 4)])
def test_a_pattern_leaves_the_largest_of_each_row(pattern: str, count: int, of: int) -> None:
    before, result = weights(attention()), ingot.prune(attention(), pattern=pattern)
    for name, array in weights(result.model).items():
        rows = array.T.reshape(-1, of)  # along what is summed
        assert (np.count_nonzero(rows, axis=1) == count).all()
        dense = before[name].T.reshape(-1, of)
        largest = -np.sort(-np.abs(dense), axis=1)[:, :count]
        np.testing.assert_array_equal(-np.sort(-np.abs(rows), axis=1)[:, :count], largest)
    assert result.report.sparsity == 1 - count / of


def test_a_convolution_has_its_rows_along_its_channels() -> None:
    model = parsed(
        "g (float[n, 3, 8, 8] x) => (y) { a = Conv (x, w1) r = Relu (a) y = Conv (r, w2) }",
        w1=normal(8, 3, 3, 3), w2=normal(4, 8, 3, 3),
    )  # fmt: skip
    result = ingot.prune(model, pattern="2:4")
    [dense] = result.report.dense
    assert (dense.name, dense.reason) == ("a", "it sums 3 channels, which 4 does not divide")
    rows = np.moveaxis(weights(result.model)["y"], 1, -1).reshape(-1, 4)
    assert (np.count_nonzero(rows, axis=1) == 2).all()


def test_channels_that_pruning_left_unused_go_too() -> None:
    w1 = normal(8, 6)
    w1[:, 2] *= 1e-3
    model = parsed(
        "g (float[n, 8] x) => (y) { a = MatMul (x, w1) r = Relu (a) y = MatMul (r, w2) }", w1=w1, w2=normal(6, 8)
    )
    result = ingot.prune(model, [normal(4, 8)], sparsity=0.2)
    assert [(each.name, each.before, each.after) for each in result.report.channels] == [("a", 6, 5)]
    assert weights(result.model)["y"].shape == (5, 8)


def test_a_budget_leaves_the_costliest_product_dense() -> None:
    x = normal(64, 16, seed=3)
    plain = ingot.prune(fragile(), x, sparsity=0.6)
    assert plain.report.snr is not None
    wanted = plain.report.snr + 3
    report = ingot.prune(fragile(), x, sparsity=0.6, snr=wanted).report
    assert report.snr is not None
    assert report.snr >= wanted
    assert report.pruned
    costs = [layer.snr for layer in report.layers if layer.snr is not None]
    assert len(costs) == 3
    dense = report.dense[0]
    assert dense.snr == min(costs)
    assert dense.reason == f"the budget: {dense.snr:.1f} dB with it pruned alone"


def test_digits_hold_an_accuracy() -> None:
    images = digits()[0][:128]
    result = ingot.prune(MODEL, images, sparsity=0.6, accuracy=0.98, evaluate=accuracy)
    assert accuracy(result.model) >= 0.98 * accuracy(ingot.load(MODEL))
    assert result.report.pruned


def test_a_weight_of_two_products_is_pruned_once() -> None:
    model = parsed("g (float[n, 8] x) => (y) { a = MatMul (x, w) r = Relu (a) y = MatMul (r, w) }", w=normal(8, 8))
    result = ingot.prune(model, sparsity=0.5, scope="model")
    assert list(result.model.graph.initializers) == ["w"]
    named = ingot.prune(model, sparsity=0.5, exclude="a")
    assert len(named.model.graph.initializers) == 2
    assert {layer.name: layer.zeros for layer in named.report.layers} == {"a": 0, "y": 32}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"sparsity": 1.5}, "the sparsity is 1.5"),
        ({"pattern": "4:2"}, "'4:2' is no pattern"),
        ({"pattern": "2:4", "sparsity": 0.5}, "a pattern has its own sparsity"),
        ({"pattern": "5:7"}, "no product can be pruned to 5:7"),
        ({"sparsity": 0.5, "scope": "all"}, "there is no scope 'all'"),
        ({"sparsity": 0.5, "exclude": "nobody"}, "'nobody' is no product"),
        ({"snr": 20}, "a budget is for weights"),
        ({"sparsity": 0.5, "snr": 20}, "a budget needs data"),
        ({"channels": False}, "there is nothing to prune"),
        ({"parsity": 0.5}, "there is no option 'parsity'"),
        ({"operators": ["Relu"], "sparsity": 0.5}, "there is no operator 'Relu' to prune"),
    ],
)
def test_what_cannot_be_pruned_is_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        ingot.prune(attention(), **settings)


def test_a_model_without_products_and_one_that_is_quantised_say_so() -> None:
    with pytest.raises(InputError, match="the model has no products to prune"):
        ingot.prune(parsed("g (float[n] x) => (y) { y = Relu (x) }"), sparsity=0.5)
    with pytest.raises(InputError, match="quantised already") as refused:
        ingot.prune(ingot.quantize(attention(), mode="dynamic").model, sparsity=0.5)
    assert refused.value.hint == "prune the float model that it was made from"
