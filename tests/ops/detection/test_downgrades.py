"""Regions of images, said in older versions."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from ops.nn.older import older, refusal

IMAGE = np.random.default_rng(0).standard_normal((1, 2, 8, 8)).astype(np.float32)
REGIONS = np.array([[1, 1, 5, 6], [0, 2, 7, 7]], np.float32)
INDICES = np.zeros(2, np.int64)
SIZE: dict[str, Any] = {"output_height": 2, "output_width": 3, "spatial_scale": 0.5}


@pytest.mark.parametrize("mode", ["avg", "max"])
def test_regions_that_are_not_shifted(mode: str) -> None:
    how = {"coordinate_transformation_mode": "output_half_pixel", "mode": mode, **SIZE}
    assert older("RoiAlign", IMAGE, REGIONS, INDICES, opset=16, to=10, **how) == ["RoiAlign"]


def test_regions_that_are_shifted_are_refused() -> None:
    assert "smaller than a pixel" in refusal("RoiAlign", IMAGE, REGIONS, INDICES, opset=16, to=15, **SIZE)


def test_regions_of_bfloat16_go_through_float32() -> None:
    image, regions = IMAGE.astype(ml_dtypes.bfloat16), REGIONS.astype(ml_dtypes.bfloat16)
    said = older("RoiAlign", image, regions, INDICES, opset=22, to=16, **SIZE)
    assert said == ["Cast", "Cast", "RoiAlign", "Cast"]


def test_what_came_with_version_10_is_refused_before() -> None:
    boxes, scores = np.zeros((1, 2, 4), np.float32), np.zeros((1, 1, 2), np.float32)
    assert "NonMaxSuppression has no equivalent" in refusal("NonMaxSuppression", boxes, scores, opset=11, to=9)
