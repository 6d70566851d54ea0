"""Resize by scales, to sizes and of regions that a run computes, in machine code: as the reference resizes."""

from __future__ import annotations

import numpy as np
import pytest

from lower.machine import runs

IMAGE = np.random.default_rng(0).random((1, 2, 5, 4), np.float32)
SCALES = [(1, 1, 2, 3), (1, 1, 0.6, 0.5), (1, 1, 1.7, 0.3), (1, 2, 1, 1)]
WRONG = [(1, 1, 0, 1), (1, 1, -2, 1), (1, 1, np.nan, 1), (1, 1, np.inf, 1)]
MODES = ["nearest", "linear", "cubic"]
COORDINATES = ["half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric"]


def graph(attributes: str) -> str:
    """A resize by scales, the first two of which are known in the second result."""
    return (
        "g (float[n, c, h, w] x, float[4] scales, float[2] two) => (y, z) <float[2] ones = {1, 1}> {"
        f" y = Resize <{attributes}> (x, , scales) all = Concat <axis = 0> (ones, two)"
        f" z = Resize <{attributes}> (x, , all) }}"
    )


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("coordinates", COORDINATES)
def test_scales(mode: str, coordinates: str) -> None:
    cases = [
        {"x": IMAGE, "scales": np.array(s, np.float32), "two": np.array(s[2:], np.float32)} for s in (*SCALES, *WRONG)
    ]
    runs(graph(f'mode = "{mode}", coordinate_transformation_mode = "{coordinates}"'), *cases, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("mode", ["linear", "cubic"])
@pytest.mark.parametrize("how", ["antialias = 1", "exclude_outside = 1", "antialias = 1, exclude_outside = 1"])
def test_scales_of_a_kernel_with_its_own_weights(mode: str, how: str) -> None:
    cases = [{"x": IMAGE, "scales": np.array(s, np.float32), "two": np.array(s[2:], np.float32)} for s in SCALES]
    runs(graph(f'mode = "{mode}", {how}'), *cases, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("policy", ["stretch", "not_larger", "not_smaller"])
def test_sizes(policy: str) -> None:
    sizes = [(7, 3), (5, 4), (2, 9), (10, 8), (1, 1), (-1, 2)]
    runs(
        "g (float[n, c, h, w] x, int64[2] sizes) => (y) {"
        f' y = Resize <axes = [2, 3], keep_aspect_ratio_policy = "{policy}", mode = "linear"> (x, , , sizes) }}',
        *({"x": IMAGE, "sizes": np.array(size)} for size in sizes),
        rtol=1e-4,
        atol=1e-5,
    )


def test_an_empty_image_has_no_pixels_to_resize() -> None:
    runs(
        "g (float[n, h] x, int64[2] sizes) => (y) { y = Resize (x, , , sizes) }",
        *({"x": np.zeros((1, 0), np.float32), "sizes": np.array(size)} for size in [(1, 2), (3, 0)]),
        {"x": np.ones((1, 2), np.float32), "sizes": np.array([1, 0])},
    )


@pytest.mark.parametrize("mode", MODES)
def test_regions(mode: str) -> None:
    regions = [(0, 0, 1, 1), (0.2, 0.3, 0.7, 0.9), (-0.5, 0, 1.5, 1), (0.6, 0.8, 0.2, 0.3)]
    runs(
        "g (float[n, c, h, w] x, float[4] roi, int64[2] sizes) => (y) {"
        ' y = Resize <axes = [2, 3], coordinate_transformation_mode = "tf_crop_and_resize", '
        f'extrapolation_value = 9.0, mode = "{mode}"> (x, roi, , sizes) }}',
        *(
            {"x": IMAGE, "roi": np.array(r, np.float32), "sizes": np.array(s)}
            for r in regions
            for s in [(3, 4), (1, 7)]
        ),
        rtol=1e-4,
        atol=1e-5,
    )
