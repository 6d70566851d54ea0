"""Kernels larger than what they move over lose the part that meets nothing but padding."""

from __future__ import annotations

import numpy as np
import pytest

from ingot.ir.interface import inputs_to_initializers
from ingot.ir.model import Model
from ingot.ir.tensor import Tensor
from ingot.passes.crop_kernels import crop_kernels
from passes.written import applied, parsed


def convolution(image: str, kernel: tuple[int, ...], options: str) -> Model:
    sizes = ", ".join(map(str, kernel))
    model = parsed(f"g (float[{image}] x, float[{sizes}] w) => (y) {{ y = Conv <{options}> (x, w) }}")
    weights = np.random.default_rng(0).standard_normal(kernel).astype(np.float32)
    inputs_to_initializers(model, {"w": weights})
    return model


@pytest.mark.parametrize(
    ("image", "kernel", "options", "left", "pads"),
    [
        ("2, 3, 1, 1", (4, 3, 3, 3), "pads = [1, 1, 1, 1]", (1, 1), (0, 0, 0, 0)),
        ("2, 3, 1, 6", (4, 3, 3, 3), "pads = [1, 1, 1, 1]", (1, 3), (0, 1, 0, 1)),
        ("2, 3, 2, 2", (4, 3, 7, 7), "pads = [3, 3, 3, 3]", (3, 3), (1, 1, 1, 1)),
        ("2, 3, 2, 2", (4, 3, 7, 5), "pads = [3, 2, 3, 2], strides = [2, 2]", (2, 2), (0, 0, 1, 1)),
        ("2, 3, 1", (4, 3, 3), "pads = [2, 2], dilations = [2]", (1,), (0, 0)),
        ("2, 4, 1, 1", (4, 2, 3, 3), "pads = [1, 1, 1, 1], group = 2, kernel_shape = [3, 3]", (1, 1), (0, 0, 0, 0)),
        ("2, 3, 1, 1", (4, 3, 4, 1), "pads = [3, 0, 3, 0]", (4, 1), (3, 0, 3, 0)),
    ],
)
def test_a_kernel_is_cropped_to_what_meets_the_image(
    image: str, kernel: tuple[int, ...], options: str, left: tuple[int, ...], pads: tuple[int, ...]
) -> None:
    model = convolution(image, kernel, options)
    count, _ = applied(crop_kernels, model)
    assert count == (left != kernel[2:])
    (node,) = model.graph.nodes
    weights = node.inputs[1]
    assert weights is not None
    assert isinstance(weights.constant, Tensor)
    assert weights.constant.numpy().shape[2:] == left
    assert node.get("pads") == pads


@pytest.mark.parametrize(
    ("image", "kernel", "options"),
    [
        ("2, 3, 2, 2", (4, 3, 3, 3), "pads = [1, 1, 1, 1]"),
        ("2, 3, h, 1", (4, 3, 3, 3), "pads = [1, 1, 1, 1]"),
        ("2, 3, 1, 1", (4, 3, 3, 3), 'auto_pad = "SAME_UPPER"'),
        ("2, 3, 3", (4, 3, 3), "pads = [0, 0]"),
        ("0, 3, 3, 1", (4, 3, 3, 1), "pads = [0, 0, 0, 0]"),
    ],
)
def test_a_kernel_that_meets_an_image_everywhere_or_maybe_stays(
    image: str, kernel: tuple[int, ...], options: str
) -> None:
    assert applied(crop_kernels, convolution(image, kernel, options))[0] == 0


def test_a_kernel_that_is_not_finite_stays() -> None:
    model = convolution("2, 3, 1, 1", (4, 3, 3, 3), "pads = [1, 1, 1, 1]")
    weights = model.graph.nodes[0].inputs[1]
    assert weights is not None
    assert isinstance(weights.constant, Tensor)
    infinite = weights.constant.numpy().copy()
    infinite[0, 0, 0, 0] = np.inf  # meets nothing but zeros: the result is NaN
    weights.constant = Tensor(infinite)
    assert applied(crop_kernels, model)[0] == 0
