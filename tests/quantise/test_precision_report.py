"""What a precision costs: each layer against float32, the worst first, the outputs, and what stays in float32."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ingot import InputError, Model, precision_report
from ingot.builder import Float32, build, op
from ingot.dtypes import Array
from ingot.passes.precisions import PRECISIONS, Precision

RNG = np.random.default_rng(11)


def weights(*shape: int) -> Array:
    return RNG.standard_normal(shape).astype(np.float32)


def cancelling() -> Array:
    """Weights whose rows nearly cancel for equal inputs, so that rounding them costs most of what is left."""
    half = weights(16, 8)
    return np.concatenate([half, np.float32(1e-3) * weights(16, 8) - half])


def two_layers() -> Model:
    w, c = weights(20, 16), cancelling()

    def body(x: object) -> object:
        y = op.MatMul(x, w, name="plain")
        return op.MatMul(op.Concat(y, y, axis=1), c, name="cancelling")

    return build(body, Float32[5, 20], opset=21)


@pytest.mark.parametrize("precision", PRECISIONS)
def test_the_worst_layer_is_first_and_outputs_are_compared(precision: Precision) -> None:
    samples = [{"x": weights(5, 20)} for _ in range(3)]
    report = precision_report(two_layers(), samples, precision, threads=1)
    assert [layer.name for layer in report.layers] == ["cancelling", "plain"]
    worst, plain = report.layers
    assert worst.relative > 10 * plain.relative
    assert worst.relative == pytest.approx(10 ** (-worst.snr / 20))
    assert plain.snr_so_far == pytest.approx(plain.snr, abs=0.5)  # nothing before it is rounded
    assert worst.snr_so_far == pytest.approx(report.snr, abs=0.5)  # it is the output
    assert report.samples == 3
    assert report.seconds > 0
    assert math.isfinite(report.speedup)
    assert report.in_float == ()


def test_layers_that_stay_in_float32_have_their_reason_and_no_error() -> None:
    depthwise, pointwise = weights(8, 1, 3, 3), weights(6, 8, 1, 1)
    model = build(
        lambda x: op.Conv(op.Conv(x, depthwise, group=8, name="depthwise"), pointwise, name="pointwise"),
        Float32[1, 8, 9, 9],
        opset=21,
    )
    report = precision_report(model, [weights(1, 8, 9, 9)], "bf16", threads=1)
    assert [layer.name for layer in report.layers] == ["pointwise"]
    ((name, reason),) = [(layer.name, layer.reason) for layer in report.in_float]
    assert name == "depthwise"
    assert "depthwise" in (reason or "")


def test_a_model_without_products_is_refused() -> None:
    model = build(lambda x: op.Relu(x), Float32[5], opset=21)
    with pytest.raises(InputError, match="no product of float32 by constant weights"):
        precision_report(model, [np.zeros(5, np.float32)])


def test_data_that_does_not_fit_names_the_sample() -> None:
    with pytest.raises(InputError, match="sample 1"):
        precision_report(two_layers(), [{"x": weights(5, 20)}, {"x": weights(5, 21)}])
