"""Regions in primitives: samples outside of images, regions smaller than pixels, and regions that are none."""

from __future__ import annotations

import numpy as np
import pytest

from ingot.dtypes import Array
from ingot.errors import InputError
from ingot.session import Session
from lower.agreement import agree, lowered, refusal

ROIS = np.array([[0, 0, 5, 4], [-3, -2, 2, 9], [1.2, 1.3, 1.4, 1.5], [6, 6, 20, 30]], np.float32)
GRAPH = """g (float[B, C, H, W] x, float[N, 4] r, int64[N] b) => (y)
{ y = RoiAlign <output_height = 3, output_width = 2, sampling_ratio = 2, spatial_scale = 0.7> (x, r, b) }"""


def images() -> Array:
    return np.random.default_rng(0).standard_normal((2, 3, 6, 7)).astype(np.float32)


@pytest.mark.parametrize("mode", ["avg", "max"])
@pytest.mark.parametrize("coordinates", ["half_pixel", "output_half_pixel"])
def test_regions_agree(mode: str, coordinates: str) -> None:
    graph = GRAPH.replace("<", f'<mode = "{mode}", coordinate_transformation_mode = "{coordinates}", ')
    agree(graph, 1e-5, 1e-6, x=images(), r=ROIS, b=np.array([0, 1, 1, 0]))


@pytest.mark.parametrize(("index", "corner"), [(2, 1.0), (-1, 1.0), (0, np.nan), (0, np.inf)])
def test_a_region_of_no_image_or_without_an_end_is_an_error_of_the_run(index: int, corner: float) -> None:
    session = Session(lowered(GRAPH)[0], providers=("cpu", "reference"), fallback=False)
    region = np.array([[0, 0, corner, 2]], np.float32)
    with pytest.raises(InputError):
        session.run(None, {"x": images(), "r": region, "b": np.array([index])})


def test_as_many_samples_as_pixels_are_left_to_the_reference() -> None:
    assert "spans pixels" in refusal(GRAPH.replace("sampling_ratio = 2, ", ""))
