"""Convolutions beyond the standard's cases: axes, groups, empty tensors, sizes that do not fit, symbolic sizes."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from ingot.errors import CheckError, ShapeError
from ingot.runtime.limits import LimitError
from ops.reduction.one_node import evaluate, inferred

RNG = np.random.default_rng(2)


def floats(*shape: int) -> Any:
    return RNG.standard_normal(shape).astype(np.float32)


def slow(x: Any, w: Any, strides: Any, dilations: Any, group: int = 1) -> Any:
    """A convolution without padding, one element at a time."""
    rank = x.ndim - 2
    counts = [(x.shape[2 + i] - (w.shape[2 + i] - 1) * dilations[i] - 1) // strides[i] + 1 for i in range(rank)]
    y = np.zeros((x.shape[0], w.shape[0], *counts))
    each, seen = w.shape[0] // group, w.shape[1]
    for m, place in product(range(w.shape[0]), product(*map(range, counts))):
        first = m // each * seen
        window: Any = tuple(
            slice(p * s, p * s + (k - 1) * d + 1, d)
            for p, s, k, d in zip(place, strides, w.shape[2:], dilations, strict=True)
        )
        here: Any = (slice(None), m, *place)
        y[here] = (x[(slice(None), slice(first, first + seen), *window)] * w[m]).sum(axis=tuple(range(1, x.ndim)))
    return y


@pytest.mark.parametrize("rank", [1, 2, 3, 4])
def test_a_convolution_over_any_number_of_axes(rank: int) -> None:
    x, w = floats(2, 4, *(5, 6, 4, 3)[:rank]), floats(6, 2, *(2, 3, 1, 2)[:rank])
    strides, dilations = (2, 1, 1, 1)[:rank], (1, 2, 1, 1)[:rank]
    found = evaluate("Conv", x, w, strides=strides, dilations=dilations, group=2)
    np.testing.assert_allclose(found, slow(x, w, strides, dilations, 2), rtol=1e-4, atol=1e-5)


def test_blocks_of_windows_make_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    x, w = floats(3, 2, 7, 5), floats(4, 2, 3, 3)
    whole = evaluate("Conv", x, w)
    monkeypatch.setattr("ingot.ops.nn.contraction.BLOCK_BYTES", 1000)
    np.testing.assert_allclose(evaluate("Conv", x, w), whole, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("group", [1, 2])
def test_a_transposed_convolution_is_the_adjoint_of_a_convolution(group: int) -> None:
    x, w = floats(2, 4, 7, 8), floats(6, 4 // group, 3, 2)
    attributes: dict[str, Any] = {"strides": [2, 3], "dilations": [1, 2], "pads": [1, 0, 1, 1], "group": group}
    y = evaluate("Conv", x, w, **attributes)
    weights = floats(*y.shape)
    back = evaluate("ConvTranspose", weights, w, **attributes)
    shared = back[:, :, : x.shape[2], : x.shape[3]]
    cut = x[:, :, : back.shape[2], : back.shape[3]]
    np.testing.assert_allclose((y * weights).sum(), (cut * shared).sum(), rtol=1e-3)


def test_nothing_in_a_batch_gives_nothing() -> None:
    assert evaluate("Conv", floats(0, 2, 5), floats(3, 2, 2)).shape == (0, 3, 4)
    assert evaluate("ConvTranspose", floats(0, 2, 5), floats(2, 3, 2)).shape == (0, 3, 6)


def test_no_channels_leave_the_bias() -> None:
    y = evaluate("Conv", floats(1, 0, 4), floats(2, 0, 3), np.array([1, 2], np.float32))
    np.testing.assert_array_equal(y, [[[1, 1], [2, 2]]])


def test_an_axis_of_size_zero_has_no_windows() -> None:
    assert evaluate("Conv", floats(1, 2, 0), floats(3, 2, 1)).shape == (1, 3, 0)


def test_padding_of_integers_counts_as_the_zero_point() -> None:
    x, w = np.full((1, 1, 3), 7, np.uint8), np.full((1, 1, 3), 5, np.int8)
    y = evaluate("ConvInteger", x, w, np.uint8(7), np.int8(2), pads=[1, 1])
    assert y.dtype == np.int32
    assert not y.any()


def test_each_filter_may_have_a_zero_point_of_its_own() -> None:
    x, w = np.full((1, 1, 2), 10, np.uint8), np.full((2, 1, 1), 5, np.uint8)
    y = evaluate("ConvInteger", x, w, None, np.array([1, 5], np.uint8))
    assert y.tolist() == [[[40, 40], [0, 0]]]


def test_a_quantized_convolution_saturates() -> None:
    x, w, one = np.full((1, 1, 2), 255, np.uint8), np.full((1, 1, 1), 127, np.int8), np.float32(1)
    y = evaluate("QLinearConv", x, one, np.uint8(0), w, one, np.int8(0), one, np.uint8(3))
    assert y.tolist() == [[[255, 255]]]


@pytest.mark.parametrize(
    ("attributes", "words"),
    [
        ({"strides": [0]}, "strides"),
        ({"pads": [1]}, "pads has 1 entries"),
        ({"pads": [-1, 0]}, "pads"),
        ({"dilations": [1, 1]}, "dilations has 2 entries for 1"),
        ({"kernel_shape": [5]}, "kernel_shape"),
        ({"auto_pad": "SAME"}, "auto_pad"),
        ({"auto_pad": "VALID", "pads": [1, 1]}, "only one"),
        ({"group": 3}, "channels"),
        ({"group": 0}, "group is 0"),
        ({"dilations": [9]}, "does not fit"),
    ],
)
def test_attributes_that_contradict_are_refused(attributes: dict[str, Any], words: str) -> None:
    with pytest.raises(CheckError, match=words):
        evaluate("Conv", floats(1, 2, 8), floats(2, 2, 3), **attributes)


def test_filters_for_other_channels_are_refused() -> None:
    with pytest.raises(ShapeError, match="x has 3 channels, the filters take 2"):
        evaluate("Conv", floats(1, 3, 8), floats(2, 2, 3))
    with pytest.raises(CheckError, match="bias"):
        evaluate("Conv", floats(1, 2, 8), floats(2, 2, 3), floats(3))


def test_padding_out_of_all_proportion_is_refused() -> None:
    with pytest.raises(LimitError, match="bytes"):
        evaluate("Conv", floats(1, 1, 8), floats(1, 1, 3), pads=[10**12, 0])


def test_blocks_that_do_not_fit_an_image_are_refused() -> None:
    with pytest.raises(ShapeError, match="expected a multiple of 4 rows and 9 columns"):
        evaluate("Col2Im", floats(1, 4, 8), np.array([4, 4]), np.array([2, 2]))


def test_an_offset_of_another_shape_is_refused() -> None:
    with pytest.raises(ShapeError, match="offset"):
        evaluate("DeformConv", floats(1, 2, 5, 5), floats(3, 2, 2, 2), floats(1, 7, 4, 4))


def test_a_deformed_convolution_that_moves_nothing_is_a_convolution_over_three_axes() -> None:
    x, w = floats(2, 4, 4, 5, 3), floats(2, 2, 2, 3, 1)
    offset = np.zeros((2, 2 * 6 * 3, 4, 3, 3), np.float32)
    attributes: dict[str, Any] = {"group": 2, "pads": [1, 0, 0, 0, 0, 0]}
    found = evaluate("DeformConv", x, w, offset, **attributes, offset_group=2)
    np.testing.assert_allclose(found, evaluate("Conv", x, w, **attributes), rtol=1e-4, atol=1e-5)


def test_a_sample_far_outside_or_nowhere_reads_zero() -> None:
    offset = np.full((1, 2, 3, 3), 1e30, np.float32)
    offset[0, 0, 0, 0] = np.nan
    assert not evaluate("DeformConv", floats(1, 1, 3, 3), floats(1, 1, 1, 1), offset).any()


def test_windows_are_counted_over_symbolic_sizes() -> None:
    x: Any = ("float32", ["n", 3, "h", "w"])
    w: Any = ("float32", [8, 3, 3, 3])
    assert inferred("Conv", [x, w], pads=[1, 1, 1, 1]) == "float32[n, 8, h, w]"
    assert inferred("Conv", [x, w], strides=[2, 2]) == "float32[n, 8, (h + 1)//2 - 1, (w + 1)//2 - 1]"
    assert inferred("Conv", [x, w], strides=[2, 2], auto_pad="SAME_UPPER") == "float32[n, 8, (h + 1)//2, (w + 1)//2]"
    assert inferred("Conv", [("float32", None), w]) == "float32[?, 8, ?, ?]"
    assert inferred("Conv", [x, ("float32", None)]) == "float32[n, ?, ?, ?]"
    assert inferred("ConvTranspose", [x, ("float32", [3, 4, 2, 2])], strides=[2, 2]) == "float32[n, 4, 2*h, 2*w]"


def test_a_folded_image_is_as_large_as_it_is_said_to_be() -> None:
    constants = {1: np.array([6, 7]), 2: np.array([2, 3])}
    assert inferred("Col2Im", [("float32", ["n", 12, "l"])], constants) == "float32[n, 2, 6, 7]"


def test_a_causal_convolution_goes_on_where_it_stopped() -> None:
    x, w, b = floats(2, 3, 7), floats(3, 1, 4), floats(3)
    whole, last = evaluate("CausalConvWithState", x, w, b, outputs=2, activation="silu")
    first, state = evaluate("CausalConvWithState", x[:, :, :2], w, b, outputs=2, activation="silu")
    second, end = evaluate("CausalConvWithState", x[:, :, 2:], w, b, state, outputs=2, activation="silu")
    np.testing.assert_allclose(np.concatenate((first, second), 2), whole, rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(last, end)
