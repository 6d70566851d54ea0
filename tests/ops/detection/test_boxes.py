"""Boxes kept and regions pooled."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from ingot.errors import CheckError, InputError, ShapeError
from ingot.ops.detection.non_max_suppression import non_max_suppression
from ingot.ops.detection.roi_align import roi_align
from ops.control.written import f32, i64, run, types

BOXES = f32([0, 0, 2, 2], [0, 0, 2, 1], [5, 5, 6, 6])
SCORES = f32([0.5, 0.9, 0.7])


def kept(boxes: Any = BOXES, scores: Any = SCORES, most: int | None = 9, overlap: float = 0.4, **more: Any) -> Any:
    count = None if most is None else i64(most)
    floor = more.pop("floor", None)
    return non_max_suppression.evaluate(boxes[None], scores[None], count, f32(overlap), floor, **more).tolist()


def test_the_best_of_overlapping_boxes_is_kept() -> None:
    assert kept() == [[0, 0, 1], [0, 0, 2]]
    assert kept(overlap=0.6) == [[0, 0, 1], [0, 0, 2], [0, 0, 0]]
    assert kept(most=1) == [[0, 0, 1]]


def test_an_overlap_of_exactly_the_threshold_is_none() -> None:
    assert len(kept(overlap=0.5)) == 3


@pytest.mark.parametrize("most", [None, 0, -5])
def test_without_a_count_nothing_is_kept(most: int | None) -> None:
    assert kept(most=most) == []
    found = non_max_suppression.evaluate(BOXES[None], SCORES[None])
    assert (found.shape, found.dtype) == ((0, 3), np.int64)


def test_scores_not_above_the_floor_and_nan_go() -> None:
    scores = f32([0.5, np.nan, 0.7])
    assert kept(scores=scores, floor=f32(0.5)) == [[0, 0, 2]]
    assert kept(scores=SCORES, floor=f32(0.6)) == [[0, 0, 1], [0, 0, 2]]


def test_equal_scores_keep_their_order_and_corners_may_be_any() -> None:
    assert kept(scores=f32([0.5, 0.5, 0.5])) == [[0, 0, 0], [0, 0, 2]]
    flipped = BOXES[:, [2, 3, 0, 1]]
    assert kept(boxes=flipped) == kept()
    centred = np.concatenate([(BOXES[:, :2] + BOXES[:, 2:]) / 2, BOXES[:, 2:] - BOXES[:, :2]], axis=1)
    assert kept(boxes=centred, center_point_box=1) == kept()


def test_boxes_without_area_overlap_nothing() -> None:
    assert len(kept(boxes=np.zeros((3, 4), np.float32), overlap=0.0)) == 3
    assert non_max_suppression.evaluate(np.zeros((2, 0, 4), np.float32), np.zeros((2, 3, 0), np.float32)).shape == (
        0,
        3,
    )


def test_boxes_and_scores_must_fit() -> None:
    with pytest.raises(ShapeError, match="do not fit"):
        kept(scores=SCORES[:, :2])
    with pytest.raises(CheckError, match="center_point_box is 2"):
        kept(center_point_box=2)
    with pytest.raises(InputError, match="one number"):
        kept(floor=f32(0, 1))
    with pytest.raises(ShapeError, match="numbers of boxes and scores differ: 3 and 4"):
        types("g (float[N, 3, 4] b, float[N, C, 4] s) => (y) { y = NonMaxSuppression(b, s) }")
    assert types("g (float[N, S, 4] b, float[N, C, S] s) => (y) { y = NonMaxSuppression(b, s) }") == ["int64[?, 3]"]


PLANE = np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4)


def pooled(*regions: Any, x: Any = PLANE, **attributes: Any) -> Any:
    rois = np.asarray(regions, x.dtype).reshape(-1, 4)
    return roi_align.evaluate(x, rois, np.zeros(len(rois), np.int64), **attributes)


def test_the_mean_of_a_plane_is_its_middle() -> None:
    assert pooled([0.5, 0.5, 3.5, 3.5]).tolist() == [[[[7.5]]]]
    grid = pooled([0.5, 0.5, 2.5, 2.5], output_height=2, output_width=2, sampling_ratio=1)
    assert grid.tolist() == [[[[2.5, 3.5], [6.5, 7.5]]]]


def test_regions_outside_are_zero_and_regions_of_nothing_too() -> None:
    assert pooled([50, 50, 60, 60]).tolist() == [[[[0]]]]
    assert pooled([2, 2, 1, 1]).tolist() == [[[[0]]]]
    assert pooled().shape == (0, 1, 1, 1)
    assert pooled([0, 0, 1, 1], x=PLANE[:, :0]).shape == (1, 0, 1, 1)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float64])
def test_every_float_type_is_pooled_in_its_type(dtype: Any) -> None:
    found = pooled([0.5, 0.5, 3.5, 3.5], x=PLANE.astype(dtype), mode="max")
    assert (found.dtype, found.shape) == (dtype, (1, 1, 1, 1))


def test_an_infinity_stays_where_it_is() -> None:
    x = PLANE.copy()
    x[0, 0, 0, 0] = np.inf
    assert pooled([2.5, 2.5, 3.5, 3.5], x=x).tolist() == [[[[12.5]]]]


def test_bad_regions_are_refused() -> None:
    with pytest.raises(InputError, match="not finite"):
        pooled([0, 0, np.nan, 1])
    with pytest.raises(InputError, match="bytes"):
        pooled([0, 0, 1e12, 1e12])
    with pytest.raises(InputError, match="batch of 1"):
        roi_align.evaluate(PLANE, np.zeros((1, 4), np.float32), i64(1))
    with pytest.raises(ShapeError, match="regions"):
        roi_align.evaluate(PLANE, np.zeros((2, 4), np.float32), i64(0))
    with pytest.raises(CheckError, match="0 by 1"):
        pooled([0, 0, 1, 1], output_height=0)
    with pytest.raises(CheckError, match="mode is 'sum'"):
        pooled([0, 0, 1, 1], mode="sum")


def test_a_roi_align_of_opset_10_is_not_shifted() -> None:
    graph = "g (float[N, C, 4, 4] x, float[R, 4] r, int64[R] b) => (y) { y = RoiAlign<output_height=2>(x, r, b) }"
    assert types(graph, opset=10) == ["float32[R, C, 2, 1]"]
    rois = f32([0, 0, 3, 3])
    (found,) = run(graph, opset=10, x=PLANE, r=rois, b=i64(0))
    expected = pooled(rois[0], coordinate_transformation_mode="output_half_pixel", output_height=2)
    np.testing.assert_allclose(found, expected)
