"""Images resampled in primitives and as machine code: sizes with names, places outside, every type of pixels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ingot.dtypes import Array
from lower.agreement import agree
from lower.machine import runs

COORDINATES = ["half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric"]
ROUNDINGS = ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"]
MODES = ["nearest", "linear", "cubic"]
NAMES = {"float32": "float", "float64": "double"}


def image(*shape: int, dtype: Any = np.float32) -> Array:
    return np.random.default_rng(0).integers(0, 255, shape).astype(dtype)


@pytest.mark.parametrize("rounding", ROUNDINGS)
@pytest.mark.parametrize("coordinates", COORDINATES)
def test_nearest_pixels_of_heights_with_a_name_agree(coordinates: str, rounding: str) -> None:
    for scale in (2, 0.5, 1.5, 3):
        how = f'coordinate_transformation_mode = "{coordinates}", nearest_mode = "{rounding}"'
        graph = f"<float[4] s = {{1, 1, {scale}, 2}}> {{ y = Resize <{how}> (x, , s) }}"
        graph = f"g (float[N, 1, H, 5] x) => (float[N, 1, A, 10] y) {graph}"
        for height in (1, 4, 7):
            agree(graph, x=image(1, 1, height, 5))
    runs(graph, {"x": image(2, 1, 4, 5)}, {"x": image(0, 1, 4, 5)}, {"x": image(1, 1, 0, 5)})


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("coordinates", COORDINATES)
def test_an_image_takes_the_size_of_another(coordinates: str, mode: str) -> None:
    how = f'mode = "{mode}", coordinate_transformation_mode = "{coordinates}"'
    graph = f"{{ s = Shape <start = 2> (z) y = Resize <axes = [2, 3], {how}> (x, , , s) }}"
    graph = f"g (float[N, 1, H, W] x, float[N, C, P, Q] z) => (float[N, 1, P, Q] y) {graph}"
    sizes = [((4, 5), (7, 3)), ((4, 5), (1, 1)), ((1, 5), (8, 10))]
    for one, other in sizes:
        agree(graph, 1e-5, 1e-4, x=image(1, 1, *one), z=image(1, 1, *other))
    cases = [{"x": image(1, 1, *one), "z": image(1, 1, *other)} for one, other in [*sizes, ((0, 5), (7, 3))]]
    runs(graph, *cases, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "uint8", "int64", "bool"])
@pytest.mark.parametrize("mode", MODES)
def test_pixels_of_every_type_are_rounded_and_stop_where_it_ends(mode: str, dtype: str) -> None:
    named = NAMES.get(dtype, dtype)
    graph = f'<int64[2] s = {{7, 8}}> {{ y = Resize <axes = [2, 3], mode = "{mode}"> (x, , , s) }}'
    x = image(2, 1, 4, 5).astype(dtype) if dtype != "bool" else image(2, 1, 4, 5) > 100
    tolerance = 1e-3 if dtype == "float16" else 1e-5
    runs(f"g ({named}[N, 1, 4, 5] x) => ({named}[N, 1, 7, 8] y) {graph}", {"x": x}, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("mode", MODES)
def test_a_crop_that_reaches_outside_agrees(mode: str) -> None:
    how = f'mode = "{mode}", coordinate_transformation_mode = "tf_crop_and_resize", extrapolation_value = 7.5'
    held = "<int64[2] s = {7, 8}, float[4] r = {0.2, -0.3, 0.7, 1.4}>"
    graph = f"{{ y = Resize <axes = [2, 3], {how}> (x, r, , s) }}"
    agree(f"g (float[N, 1, 4, 5] x) => (float[N, 1, 7, 8] y) {held} {graph}", 1e-5, 1e-4, x=image(2, 1, 4, 5))


@pytest.mark.parametrize("how", ['mode = "linear"', 'mode = "cubic"', 'mode = "cubic", exclude_outside = 1'])
def test_antialiasing_of_known_sizes_agrees(how: str) -> None:
    graph = f"<int64[2] s = {{5, 6}}> {{ y = Resize <axes = [2, 3], antialias = 1, {how}> (x, , , s) }}"
    graph = f"g (float[N, 2, 16, 20] x) => (float[N, 2, 5, 6] y) {graph}"
    agree(graph, 1e-5, x=image(2, 2, 16, 20))
    runs(graph, {"x": image(2, 2, 16, 20)}, {"x": image(0, 2, 16, 20)}, rtol=1e-5)


def test_resizes_that_only_a_run_can_plan_agree() -> None:
    graph = "g (float[N, 2, H, 4] x) => (float[N, 2, A, 8] y) <float[4] s = {1, 1, 0.5, 2}>"
    agree(f'{graph} {{ y = Resize <mode = "linear", antialias = 1> (x, , s) }}', 1e-5, 1e-5, x=image(1, 2, 6, 4))
    graph = "g (float[1, 2] x, float[2] s) => (float[1, A] y) { y = Resize (x, , s) }"
    agree(graph, x=np.array([[1, 2]], np.float32), s=np.array([1, 2], np.float32))


@pytest.mark.parametrize("align", [0, 1])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("mode", MODES)
def test_images_read_at_places_in_and_out_of_them_agree(mode: str, padding: str, align: int) -> None:
    grid = np.random.default_rng(0).uniform(-1.5, 1.5, (2, 3, 4, 2)).astype(np.float32)
    grid[0, 0] = np.array([[np.nan, 0.1], [np.inf, 0.1], [-1, 1], [1e30, -1e30]])
    how = f'mode = "{mode}", padding_mode = "{padding}", align_corners = {align}'
    graph = f"{{ y = GridSample <{how}> (x, grid) }}"
    graph = f"g (float[N, C, H, W] x, float[N, P, Q, 2] grid) => (float[N, C, P, Q] y) {graph}"
    agree(graph, 1e-5, 1e-4, x=image(2, 3, 4, 7), grid=grid)
    if mode != "cubic":  # many small kernels, each of a kind that the others have too
        shapes = ((2, 3, 4, 7), (2, 3, 1, 1), (2, 3, 0, 4))
        runs(graph, *({"x": image(*shape), "grid": grid} for shape in shapes), rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("align", [0, 1])
def test_places_of_affine_maps_agree(align: int) -> None:
    graph = f"{{ s = Shape (x) y = AffineGrid <align_corners = {align}> (t, s) }}"
    graph = f"g (float[N, 2, 3] t, float[N, C, H, W] x) => (float[N, H, W, 2] y) {graph}"
    for height in (0, 1, 3):
        agree(graph, 1e-6, 1e-7, t=image(2, 2, 3) / 100, x=image(2, 1, height, 4))
    runs(graph, {"t": image(2, 2, 3) / 100, "x": image(2, 1, 3, 1)}, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("batch", [0, 2])
def test_the_middle_is_cut_out_and_put_amid_zeros(batch: int) -> None:
    graph = "<int64[2] s = {3, 11}> { y = CenterCropPad <axes = [1, -1]> (x, s) }"
    agree(f"g (float16[N, 7, 6] x) => (float16[N, 3, 11] y) {graph}", x=image(batch, 7, 6, dtype=np.float16))
