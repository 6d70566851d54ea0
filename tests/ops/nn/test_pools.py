"""Pools beyond the standard's cases: the last window, places of maxima, NaN, empty tensors, symbolic sizes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ingot.errors import CheckError, InputError, ShapeError
from ops.reduction.one_node import evaluate, inferred

RNG = np.random.default_rng(3)


def floats(*shape: int) -> Any:
    return RNG.standard_normal(shape).astype(np.float32)


def row(*values: float) -> Any:
    return np.array([[values]], np.float32)


def test_a_window_that_would_start_in_the_padding_is_dropped() -> None:
    assert evaluate("MaxPool", row(1, 2, 3), kernel_shape=[2], strides=[3], ceil_mode=1).shape == (1, 1, 1)
    assert (
        inferred("MaxPool", [("float32", [1, 1, 3])], kernel_shape=[2], strides=[3], ceil_mode=1) == "float32[1, 1, 1]"
    )


def test_what_a_last_window_reaches_beyond_the_padding_does_not_count() -> None:
    attributes: dict[str, Any] = {"kernel_shape": [3], "strides": [2], "pads": [0, 1], "ceil_mode": 1}
    found = evaluate("AveragePool", row(1, 2, 3, 4, 5), **attributes, count_include_pad=1)
    np.testing.assert_allclose(found[0, 0], [2, 4, 5 / 2])
    found = evaluate("AveragePool", row(1, 2, 3, 4, 5), **attributes)
    np.testing.assert_allclose(found[0, 0], [2, 4, 5])


def test_the_place_of_a_maximum_is_that_of_the_first_and_never_in_the_padding() -> None:
    x = row(-np.inf, -np.inf, 2, 2)
    y, places = evaluate("MaxPool", x, outputs=2, kernel_shape=[2], pads=[1, 1])
    assert y[0, 0].tolist() == [-np.inf, -np.inf, 2, 2, 2]
    assert places[0, 0].tolist() == [0, 0, 2, 2, 3]


def test_a_window_with_nan_has_no_greatest_element_but_nan() -> None:
    y, places = evaluate("MaxPool", row(1, np.nan, 3, 4), outputs=2, kernel_shape=[2])
    np.testing.assert_array_equal(y[0, 0], [np.nan, np.nan, 4])
    assert places[0, 0].tolist() == [1, 1, 3]


def test_places_may_run_along_the_first_axis_fastest() -> None:
    x = floats(2, 2, 3, 4)
    for order, layout in ((0, "C"), (1, "F")):
        y, places = evaluate("MaxPool", x, outputs=2, kernel_shape=[2, 2], storage_order=order)
        flat = np.concatenate([x[n, c].flatten(layout) for n in range(2) for c in range(2)])
        np.testing.assert_array_equal(flat[places], y)


def test_unpooling_puts_maxima_back() -> None:
    x = floats(2, 3, 4, 6)
    y, places = evaluate("MaxPool", x, outputs=2, kernel_shape=[2, 2], strides=[2, 2])
    back = evaluate("MaxUnpool", y, places, kernel_shape=[2, 2], strides=[2, 2])
    np.testing.assert_array_equal(back, np.where(np.isin(np.arange(x.size), places).reshape(x.shape), x, 0))


def test_indices_outside_of_what_is_unpooled_are_refused() -> None:
    with pytest.raises(InputError, match="indices from 0 to 9 in a tensor of 4"):
        evaluate("MaxUnpool", row(1, 2), np.array([[[0, 9]]]), kernel_shape=[2], strides=[2])
    with pytest.raises(InputError, match="output_shape"):
        evaluate("MaxUnpool", row(1, 2), np.array([[[0, 3]]]), np.array([1, 1, 2]), kernel_shape=[2], strides=[2])


@pytest.mark.parametrize("op", ["MaxPool", "AveragePool", "LpPool"])
def test_pooling_nothing_gives_nothing(op: str) -> None:
    assert evaluate(op, floats(0, 3, 5), kernel_shape=[2]).shape == (0, 3, 4)
    assert evaluate(op, floats(2, 0, 5), kernel_shape=[2]).shape == (2, 0, 4)
    assert evaluate(op, floats(2, 3, 0), kernel_shape=[2]).shape == (2, 3, 0)


@pytest.mark.parametrize("op", ["MaxPool", "AveragePool", "LpPool"])
def test_pooling_over_four_axes(op: str) -> None:
    found = evaluate(op, floats(1, 2, 3, 3, 3, 3), kernel_shape=[2, 2, 2, 2])
    assert found.shape == (1, 2, 2, 2, 2, 2)


def test_the_greatest_of_nothing_is_refused() -> None:
    with pytest.raises(InputError, match="is the greatest"):
        evaluate("GlobalMaxPool", floats(2, 3, 0))
    assert evaluate("GlobalMaxPool", floats(0, 3, 0)).shape == (0, 3, 1)
    assert np.isnan(evaluate("GlobalAveragePool", floats(2, 3, 0))).all()


@pytest.mark.parametrize("op", ["MaxPool", "AveragePool", "LpPool"])
def test_kernels_that_do_not_fit_are_refused(op: str) -> None:
    with pytest.raises(ShapeError, match="reaches over 9 does not fit an axis of 5"):
        evaluate(op, floats(1, 1, 5), kernel_shape=[9])
    with pytest.raises(CheckError, match="kernel_shape has 2 entries for 1"):
        evaluate(op, floats(1, 1, 5), kernel_shape=[2, 2])
    with pytest.raises(CheckError, match="an entry of 0"):
        evaluate(op, floats(1, 1, 5), kernel_shape=[0])
    with pytest.raises(ShapeError, match="x has 2 axes"):
        evaluate(op, floats(1, 5), kernel_shape=[2])


def test_orders_of_norms_below_one_are_refused() -> None:
    with pytest.raises(CheckError, match="p is 0"):
        evaluate("LpPool", floats(1, 1, 5), kernel_shape=[2], p=0)
    with pytest.raises(CheckError, match="p is 0"):
        evaluate("GlobalLpPool", floats(1, 1, 5), p=0)


def test_regions_outside_of_an_image_are_zero() -> None:
    x = floats(1, 2, 4, 4) - 10
    inside, outside = np.array([[0, 0, 0, 3, 3]], np.float32), np.array([[0, 9, 9, 12, 12]], np.float32)
    np.testing.assert_array_equal(evaluate("MaxRoiPool", x, inside, pooled_shape=[1, 1])[0, :, 0, 0], x[0].max((1, 2)))
    assert not evaluate("MaxRoiPool", x, outside, pooled_shape=[2, 2]).any()
    with pytest.raises(InputError, match="images 3 to 3, and there are 1"):
        evaluate("MaxRoiPool", x, np.array([[3, 0, 0, 1, 1]], np.float32), pooled_shape=[1, 1])


def test_pools_of_symbolic_sizes() -> None:
    x: Any = ("float32", ["n", "c", "h"])
    assert inferred("MaxPool", [x], kernel_shape=[2], strides=[2], outputs=2) == [
        "float32[n, c, h//2]",
        "int64[n, c, h//2]",
    ]
    assert inferred("AveragePool", [x], kernel_shape=[3], strides=[2], pads=[1, 1]) == "float32[n, c, (h + 1)//2]"
    assert inferred("GlobalAveragePool", [x]) == "float32[n, c, 1]"
    assert inferred("LpPool", [("float32", None)], kernel_shape=[3]) == "float32[...]"
    assert inferred("MaxUnpool", [x, ("int64", ["n", "c", "h"])], kernel_shape=[2], strides=[2]) == "float32[n, c, 2*h]"
    rois: Any = ("float32", ["r", 5])
    assert inferred("MaxRoiPool", [("float32", None), rois], pooled_shape=[2, 3]) == "float32[r, ?, 2, 3]"


@pytest.mark.parametrize("name", ["AveragePool", "MaxPool"])
def test_a_window_longer_than_the_axis_is_one_window_if_it_is_rounded_up_to(name: str) -> None:
    attributes: dict[str, Any] = {"kernel_shape": [3], "strides": [2], "ceil_mode": 1}
    expected = 2 if name == "MaxPool" else 1.5
    assert evaluate(name, row(1, 2), **attributes).tolist() == [[[expected]]]
    assert inferred(name, [("float32", [1, 1, 2])], **attributes) == "float32[1, 1, 1]"
    with pytest.raises(ShapeError, match="reaches over 3 does not fit an axis of 1"):
        evaluate(name, row(1), **attributes)
