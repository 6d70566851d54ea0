"""Operators that few models have, against onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ingot.errors import InputError, ShapeError
from ops.contrib.peer import agrees
from ops.ml.one_node import evaluate, inferred

RNG = np.random.default_rng(15)


def floats(*shape: int) -> Any:
    return RNG.standard_normal(shape).astype(np.float32)


def run(op_type: str, *inputs: Any, **attributes: Any) -> Any:
    return evaluate(op_type, *inputs, domain="com.microsoft", version=1, **attributes)


@pytest.mark.parametrize("mode", ["bilinear", "nearest"])
@pytest.mark.parametrize("size", [(3, 4), (1, 5), (2, 1)])
def test_regions_are_cropped(mode: str, size: tuple[int, int]) -> None:
    regions = np.array([[0, 0, 1, 1], [0.1, 0.9, 0.8, 0.2], [-0.2, 0.3, 0.4, 1.3], [0.5, 0.5, 0.5, 0.5]], np.float32)
    args = [floats(2, 3, 6, 7), regions, np.array([1, 0, 1, 0], np.int32), np.array(size, np.int32)]
    agrees("CropAndResize", *args, constant=(3,), mode=mode, extrapolation_value=2.5, rtol=1e-4, atol=1e-5)


def test_a_region_of_no_image_is_refused() -> None:
    args = [floats(2, 3, 6, 7), floats(1, 4), np.array([2], np.int32), np.array([2, 2], np.int32)]
    with pytest.raises(InputError, match="there are 2 images"):
        run("CropAndResize", *args)


@pytest.mark.parametrize(("axis", "size", "step"), [(-1, 3, 1), (0, 2, 2), (1, 4, 3)])
def test_slices_of_a_window(axis: int, size: int, step: int) -> None:
    agrees("UnfoldTensor", floats(5, 8, 6), dim=axis, size=size, step=step)
    agrees("UnfoldTensor", RNG.integers(0, 99, (5, 8, 6)), dim=axis, size=size, step=step)


def test_a_slice_longer_than_its_axis_is_refused() -> None:
    with pytest.raises(ShapeError, match="size is 4, axis 0 has 3 elements"):
        run("UnfoldTensor", floats(3), size=4)
    assert (
        inferred("UnfoldTensor", {"x": (1, [2, 9])}, domain="com.microsoft", version=1, size=4, step=2)
        == "float32[2, 3, 4]"
    )


@pytest.mark.parametrize("case", range(12))
def test_tokens_that_part(case: int) -> None:
    rng = np.random.default_rng(case)
    source, now = rng.integers(0, 3, 7), rng.integers(0, 3, 4)
    start = int(rng.integers(0, 8))
    predicted = np.append(source[start:], 9)
    predicted[rng.integers(0, len(predicted))] = 5
    sizes: dict[str, Any] = {"min_ngram_size": 1 + case % 2, "max_ngram_size": 3}
    first = np.array([start], np.int64)
    agrees("BifurcationDetector", source, now, first, predicted, outputs=2, compiled=False, **sizes)
    agrees("BifurcationDetector", source, now, first, outputs=2, compiled=False, **sizes)


@pytest.mark.parametrize("shape", [(4, 6), (1, 7, 3), (1, 1)])
def test_the_cheapest_path(shape: tuple[int, ...]) -> None:
    agrees("DynamicTimeWarping", np.abs(floats(*shape)), compiled=False)
    agrees("DynamicTimeWarping", RNG.integers(0, 2, shape).astype(np.float32), compiled=False)


def test_words_are_embedded_by_their_characters() -> None:
    sequence = RNG.integers(0, 9, (6, 8)).astype(np.int32)
    sequence[:, 0] = 5
    sequence[1, 1:] = (4, *[0] * 6)
    weights = [floats(5, 1, 3, 4), floats(5), floats(9, 4)]
    agrees("WordConvEmbedding", sequence, *weights, rtol=1e-5, atol=1e-5)
    # what onnxruntime has in its memory is the result for a word without characters
    assert not run("WordConvEmbedding", np.zeros((1, 8), np.int32), *weights).any()


@pytest.mark.parametrize("shape", [(2, 3, 9), (2, 3, 5, 6), (1, 2, 4, 5, 6)])
def test_pools_that_stop_at_a_mask(shape: tuple[int, ...]) -> None:
    rank = len(shape) - 2
    x, mask = floats(*shape), (RNG.random((1, 1, *shape[2:])) > 0.3).astype(np.int32)
    options: dict[str, Any] = {"kernel_shape": [3] * rank, "strides": [2] * rank, "pads": [1] * (2 * rank)}
    [expected] = agrees("MaxpoolWithMask", x, mask, compiled=False, **options)
    # of a mask of more channels onnxruntime takes the first at the wrong place: its offset is a remainder of channels
    whole = np.broadcast_to(mask, shape).copy()
    np.testing.assert_array_equal(run("MaxpoolWithMask", x, whole, **options), expected)


@pytest.mark.parametrize("bias", [False, True])
def test_transposed_convolutions_take_their_pads_as_an_input(bias: bool) -> None:
    more = [floats(4)] if bias else []
    args = [floats(2, 3, 5, 6), floats(3, 4, 3, 3), np.array([1, 0, 1, 2], np.int64), *more]
    agrees("ConvTransposeWithDynamicPads", *args, constant=(2,), strides=[2, 2], rtol=1e-4, atol=1e-5)
    agrees("ConvTransposeWithDynamicPads", *args, compiled=False, strides=[2, 2], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("auto_pad", ["SAME_UPPER", "SAME_LOWER", "VALID"])
@pytest.mark.parametrize("constant", [(), (2,)])
def test_pads_beside_automatic_ones_count_unless_the_size_is_to_be_the_same(
    auto_pad: str, constant: tuple[int, ...]
) -> None:
    args = [floats(1, 2, 4, 5), floats(2, 3, 3, 3), np.array([1, 0, 1, 1])]
    options: dict[str, Any] = {"auto_pad": auto_pad, "strides": [2, 2], "rtol": 1e-4, "atol": 1e-5}
    is_compiled = bool(constant) or auto_pad != "VALID"
    agrees("ConvTransposeWithDynamicPads", *args, constant=constant, compiled=is_compiled, **options)
