"""Normalisations beyond the standard's cases: types of parts, empty axes, what does not fit, Dropout, Softmax."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from ingot.errors import CheckError, InputError, ShapeError
from ops.reduction.one_node import evaluate, inferred

RNG = np.random.default_rng(4)


def floats(*shape: int) -> Any:
    return RNG.standard_normal(shape).astype(np.float32)


def test_the_parts_of_a_batch_normalization_may_differ_in_type() -> None:
    x, scale, mean = floats(2, 3, 4).astype(np.float16), np.ones(3, np.float32), np.zeros(3, np.float64)
    y, running, _ = evaluate(
        "BatchNormalization", x, scale, 0 * scale, mean, mean + 1, outputs=3, training_mode=1, momentum=0.0
    )
    assert y.dtype == np.float16
    assert running.dtype == np.float64
    np.testing.assert_allclose(running, x.astype(np.float64).mean((0, 2)), rtol=1e-6)


def test_a_batch_of_numbers_is_one_channel() -> None:
    one = np.ones(1, np.float32)
    np.testing.assert_allclose(evaluate("BatchNormalization", floats(5), one, one, 0 * one, one).shape, (5,))


def test_a_batch_normalization_of_other_channels_is_refused() -> None:
    with pytest.raises(ShapeError, match="scale has size 4 along axis 0, expected 3"):
        evaluate("BatchNormalization", floats(2, 3, 4), floats(4), floats(4), floats(4), floats(4))


@pytest.mark.parametrize("stash_type", [1, 16])
def test_mean_and_deviation_of_a_layer_are_of_the_stash_type(stash_type: int) -> None:
    x = floats(2, 3, 4).astype(np.float16)
    y, mean, deviation = evaluate(
        "LayerNormalization", x, np.ones(4, np.float16), outputs=3, axis=2, stash_type=stash_type
    )
    assert y.dtype == np.float16
    assert mean.dtype == deviation.dtype == (np.float32 if stash_type == 1 else ml_dtypes.bfloat16)
    assert mean.shape == deviation.shape == (2, 3, 1)


def test_an_rms_normalization_is_of_the_type_of_its_scale() -> None:
    assert evaluate("RMSNormalization", floats(2, 4).astype(np.float16), floats(4)).dtype == np.float32
    assert inferred("RMSNormalization", [("float16", ["n", 4]), ("float64", [4])]) == "float64[n, 4]"


def test_layers_of_nothing() -> None:
    y, mean, _ = evaluate("LayerNormalization", floats(2, 0), floats(1), outputs=3)
    assert y.shape == (2, 0)
    assert np.isnan(mean).all()
    assert evaluate("LayerNormalization", floats(0, 3), floats(3)).shape == (0, 3)
    assert evaluate("RMSNormalization", floats(0, 3), floats(3)).shape == (0, 3)
    assert evaluate("GroupNormalization", floats(0, 4, 3), floats(4), floats(4), num_groups=2).shape == (0, 4, 3)
    assert evaluate("InstanceNormalization", floats(2, 3, 0), floats(3), floats(3)).shape == (2, 3, 0)
    assert evaluate("LRN", floats(1, 0, 3), size=3).shape == (1, 0, 3)
    assert evaluate("Softmax", floats(2, 0)).shape == (2, 0)
    assert evaluate("LogSoftmax", floats(0, 2)).shape == (0, 2)


@pytest.mark.parametrize("op", ["LayerNormalization", "RMSNormalization"])
def test_what_does_not_fit_a_layer_is_refused(op: str) -> None:
    with pytest.raises(ShapeError, match=r"scale, of shape \[3\], does not broadcast"):
        evaluate(op, floats(2, 4), floats(3))
    with pytest.raises(ShapeError, match="axis is 2"):
        evaluate(op, floats(2, 4), floats(4), axis=2)
    with pytest.raises(CheckError, match="stash_type is 7"):
        evaluate(op, floats(2, 4), floats(4), stash_type=7)


def test_groups_must_divide_channels() -> None:
    with pytest.raises(ShapeError, match="num_groups is 3, which does not divide 4"):
        evaluate("GroupNormalization", floats(1, 4, 2), floats(4), floats(4), num_groups=3)
    with pytest.raises(CheckError, match="num_groups is 0"):
        evaluate("GroupNormalization", floats(1, 4, 2), floats(4), floats(4), num_groups=0)


def test_a_row_of_zeros_stays_zero() -> None:
    for p in (1, 2):
        assert not evaluate("LpNormalization", np.zeros((2, 3), np.float32), p=p).any()
    with pytest.raises(CheckError, match="p is 3"):
        evaluate("LpNormalization", floats(2, 3), p=3)


def test_a_norm_that_overflows_float16_is_found_all_the_same() -> None:
    found = evaluate("LpNormalization", np.full((1, 4), 30000, np.float16))
    np.testing.assert_allclose(found, 0.5, rtol=1e-3)


def test_an_even_number_of_neighbours_has_one_more_behind() -> None:
    x = np.array([[[1.0], [2.0], [4.0]]], np.float32)
    found = evaluate("LRN", x, size=2, alpha=2.0, beta=1.0, bias=0.0)
    np.testing.assert_allclose(found[0, :, 0], [1 / 5, 2 / 20, 4 / 16])


def test_more_neighbours_than_channels_are_all_of_them() -> None:
    x = floats(1, 3, 2)
    found = evaluate("LRN", x, size=10**9, alpha=1e9, beta=1.0, bias=0.0)
    np.testing.assert_allclose(found, x / np.square(x).sum(1, keepdims=True), rtol=1e-4)


def test_the_default_axes_of_a_mean_variance_normalization_take_four() -> None:
    with pytest.raises(ShapeError, match="axes is 3"):
        evaluate("MeanVarianceNormalization", floats(2, 3, 4))
    with pytest.raises(ShapeError, match="twice"):
        evaluate("MeanVarianceNormalization", floats(2, 3), axes=[0, -2])


def test_dropout_scales_what_it_keeps_and_repeats_itself_by_seed() -> None:
    x = np.ones((50, 50), np.float64)
    first, mask = evaluate("Dropout", x, np.float32(0.5), np.bool_(True), outputs=2, seed=-7)
    again = evaluate("Dropout", x, np.float32(0.5), np.bool_(True), seed=-7)
    np.testing.assert_array_equal(first, again)
    np.testing.assert_array_equal(first, mask * 2)
    assert 0.4 < mask.mean() < 0.6


def test_dropout_of_everything_is_refused() -> None:
    with pytest.raises(InputError, match=r"ratio is 1\.0"):
        evaluate("Dropout", floats(3), np.float32(1), np.bool_(True))
    np.testing.assert_array_equal(evaluate("Dropout", np.ones(3, np.float32), np.float32(1)), 1)


def test_softmax_of_infinities() -> None:
    rows = np.array([[-np.inf, 0.0], [np.inf, 0.0], [-np.inf, -np.inf]], np.float32)
    found = evaluate("Softmax", rows)
    np.testing.assert_array_equal(found, [[0, 1], [np.nan, np.nan], [np.nan, np.nan]])
    assert evaluate("LogSoftmax", rows)[0].tolist() == [-np.inf, 0]
    with pytest.raises(ShapeError, match="axis is -1, outside a tensor of 0 axes"):
        evaluate("Softmax", np.float32(1))


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_a_softmax_of_16_bits_is_rounded_after_every_step(dtype: Any) -> None:
    x = (floats(5, 33) * 8).astype(dtype)
    axes = np.array([1])
    shifted = evaluate("Sub", x, evaluate("ReduceMax", x, axes))
    exponentials = evaluate("Exp", shifted)
    expected = evaluate("Div", exponentials, evaluate("ReduceSum", exponentials, axes))
    assert evaluate("Softmax", x).tobytes() == expected.tobytes()


def test_a_sum_beyond_float16_is_no_softmax_of_zeros() -> None:
    found = evaluate("Softmax", np.zeros(70_000, np.float16))
    assert found[0] == np.float16(1 / 70_000)
