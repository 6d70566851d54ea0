"""Images of three channels that are given a fourth."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ingot import Model, Session
from ingot.builder import Float32, build, op
from ingot.ir.verify import verify
from ingot.passes.fill_channels import fill_channels
from ingot.queries.lenient_inference import gather

RNG = np.random.default_rng(5)


def convolution(channels: int, taps: int, group: int = 1) -> Model:
    weights = RNG.standard_normal((6, channels // group, taps, taps)).astype(np.float32)

    def body(x: Any) -> Any:
        return op.Conv(x, weights, group=group)

    return build(body, Float32[2, channels, 9, 9], opset=21)


def test_an_image_of_three_channels_gets_a_fourth_of_zeros() -> None:
    model = convolution(3, 5)
    x = RNG.standard_normal((2, 3, 9, 9)).astype(np.float32)
    before = Session(model, providers=("reference",)).run(None, {model.graph.inputs[0].name: x})
    facts = gather(model)
    assert fill_channels(model, facts) == 1
    verify(model)
    conv = next(node for node in model.graph if node.applies("Conv"))
    assert conv.inputs[0] is not None
    assert facts[conv.inputs[0]].shape == (2, 4, 9, 9)
    after = Session(model, providers=("reference",)).run(None, {model.graph.inputs[0].name: x})
    np.testing.assert_allclose(after[0], before[0], 1e-5, 1e-5)
    assert fill_channels(model, gather(model)) == 0


@pytest.mark.parametrize(("channels", "taps", "group"), [(3, 1, 1), (3, 3, 3), (1, 3, 1), (4, 3, 1)])
def test_other_images_stay_as_they_are(channels: int, taps: int, group: int) -> None:
    model = convolution(channels, taps, group)
    assert fill_channels(model, gather(model)) == 0
