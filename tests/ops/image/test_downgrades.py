"""Images resized, sampled and cropped in older versions, by their operators or by gathers."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from ops.nn.older import older, refusal

IMAGE = np.random.default_rng(0).standard_normal((1, 2, 6, 5)).astype(np.float32)
OPEN = {0: ["n", 2, "h", "w"]}
TWICE = np.array([1, 1, 2, 2], np.float32)


def sizes(*numbers: int) -> Any:
    return np.array(numbers, np.int64)


def floats(*numbers: float) -> Any:
    return np.array(numbers, np.float32)


NEAREST: dict[str, Any] = {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}


@pytest.mark.parametrize(
    ("to", "said"),
    [(18, "Resize"), (17, "Resize"), (12, "Resize"), (10, "Resize"), (9, "Upsample"), (8, "Upsample"), (6, "Upsample")],
)
def test_an_image_of_unknown_size_twice_as_large_stays_one_node(to: int, said: str) -> None:
    assert older("Resize", IMAGE, None, TWICE, opset=19, to=to, dims=OPEN, constants=(2,), **NEAREST) == [said]
    half_pixels: dict[str, Any] = {"nearest_mode": "round_prefer_floor"}
    assert older("Resize", IMAGE, None, TWICE, opset=19, to=to, dims=OPEN, constants=(2,), **half_pixels) == [said]


def test_a_whole_scale_that_reads_other_pixels_is_refused_where_sizes_are_unknown() -> None:
    said: dict[str, Any] = {"constants": (2,), "dims": OPEN, "nearest_mode": "ceil"}
    message = refusal("Resize", IMAGE, None, TWICE, opset=19, to=10, **said)
    assert "mode 'nearest' with coordinate_transformation_mode 'half_pixel' and nearest_mode 'ceil'" in message
    assert message.endswith("came with version 11, and the sizes are not known before the model runs")
    said["dims"] = {}
    assert older("Resize", IMAGE, None, TWICE, opset=19, to=10, **said) == ["Gather", "Gather"]


@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
@pytest.mark.parametrize(
    "coordinates", ["half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric"]
)
@pytest.mark.parametrize("to", [18, 10])
@pytest.mark.parametrize(
    "target",
    [{2: floats(1, 1, 0.6, 1.7)}, {3: sizes(1, 2, 3, 9)}, {3: sizes(1, 2, 1, 5)}, {2: TWICE}, {2: floats(1, 1, 1, 1)}],
    ids=str,
)
def test_sizes_that_are_known_can_always_be_said(mode: str, coordinates: str, to: int, target: dict[int, Any]) -> None:
    inputs = [IMAGE, None, target.get(2), target.get(3)]
    attributes = {"mode": mode, "coordinate_transformation_mode": coordinates}
    older("Resize", *inputs, opset=19, to=to, constants=tuple(target), **attributes)


@pytest.mark.parametrize("dims", [None, OPEN])
@pytest.mark.parametrize("known", [True, False])
def test_axes_are_put_among_the_others(dims: Any, known: bool) -> None:
    constants = (3,) if known else ()
    said = older(
        "Resize", IMAGE, None, None, sizes(9, 3), opset=18, to=17, dims=dims, constants=constants, axes=[-1, 2]
    )
    assert said[-1] == "Resize"
    assert (len(said) == 1) == (known and dims is None)
    constants = (2,) if known else ()
    older("Resize", IMAGE, None, floats(1.5, 0.5), opset=18, to=12, dims=dims, constants=constants, axes=[3, 2])
    crop = {"coordinate_transformation_mode": "tf_crop_and_resize", "axes": [3, 2], "mode": "linear"}
    corners = floats(0.2, 0.1, 0.8, 1.2)
    older("Resize", IMAGE, corners, None, sizes(4, 3), opset=18, to=12, dims=dims, extrapolation_value=7.0, **crop)


def test_a_crop_of_known_corners_is_gathered_and_filled_up() -> None:
    corners = floats(0, 0, -0.2, 0.1, 1, 1, 0.8, 1.4)
    said: dict[str, Any] = {"coordinate_transformation_mode": "tf_crop_and_resize", "extrapolation_value": 7.0}
    for mode in ("nearest", "linear"):
        target = sizes(1, 2, 4, 3)
        older("Resize", IMAGE, corners, None, target, opset=18, to=10, constants=(1, 3), mode=mode, **said)


@pytest.mark.parametrize("policy", ["not_larger", "not_smaller"])
@pytest.mark.parametrize("target", [sizes(12, 20), sizes(7, 8), sizes(12, 10)], ids=str)
def test_an_aspect_ratio_is_kept_where_sizes_are_known(policy: str, target: Any) -> None:
    said: dict[str, Any] = {"axes": [2, 3], "keep_aspect_ratio_policy": policy, "mode": "linear"}
    older("Resize", IMAGE, None, None, target, opset=18, to=17, constants=(3,), **said)
    message = refusal("Resize", IMAGE, None, None, target, opset=18, to=17, constants=(3,), dims=OPEN, **said)
    assert f"keep_aspect_ratio_policy '{policy}' came with version 18, and the sizes are not known" in message


def test_antialias_changes_nothing_where_sizes_grow_and_is_gathered_where_they_shrink() -> None:
    said: dict[str, Any] = {"mode": "cubic", "antialias": 1}
    assert older("Resize", IMAGE, None, TWICE, opset=18, to=17, dims=OPEN, constants=(2,), **said) == ["Resize"]
    smaller = floats(1, 1, 0.5, 0.4)
    assert "Resize" not in older("Resize", IMAGE, None, smaller, opset=18, to=17, constants=(2,), **said)
    assert "antialias came with version 18" in refusal("Resize", IMAGE, None, smaller, opset=18, to=17, **said)


def test_infinities_stay_where_they_are_where_pixels_are_gathered() -> None:
    image = IMAGE.copy()
    image[0, 0, 2, 2] = np.inf
    image[0, 1, 5, 4] = np.nan
    older("Resize", image, None, None, sizes(1, 2, 4, 9), opset=19, to=10, constants=(3,), mode="linear")


@pytest.mark.parametrize("dtype", [np.uint8, np.int32, np.float16, np.float64, ml_dtypes.bfloat16])
def test_other_types_are_rounded_as_they_were(dtype: Any) -> None:
    image = (IMAGE * 90).astype(np.int64).astype(dtype)
    said: dict[str, Any] = {"mode": "cubic", "antialias": 1, "constants": (2,)}
    older(
        "Resize",
        image,
        None,
        floats(1, 1, 0.5, 1.5),
        opset=18,
        to=13,
        rtol=1e-2 if image.itemsize == 2 else 1e-6,
        **said,
    )
    if dtype is ml_dtypes.bfloat16:
        assert "bfloat16 came with version 13" in refusal("Resize", image, None, TWICE, opset=13, to=12)
    else:
        older("Resize", image, None, TWICE, opset=18, to=12, constants=(2,))


def test_what_cannot_be_interpolated_is_refused() -> None:
    image = IMAGE.astype(np.int64)
    said: dict[str, Any] = {"mode": "linear", "antialias": 1, "constants": (2,)}
    assert "int64 cannot be interpolated" in refusal(
        "Resize", image, None, floats(1, 1, 0.5, 1), opset=18, to=17, **said
    )


def test_upsample_takes_scales_as_it_did() -> None:
    image = (IMAGE * 90).astype(np.uint8)
    for to, said in ((8, ["Upsample"]), (6, ["Cast", "Upsample", "Cast"])):
        assert older("Upsample", image, TWICE, opset=9, to=to, constants=(1,)) == said
    assert "the scales are computed while the model runs" in refusal("Upsample", image, TWICE, opset=9, to=8)
    turned = floats(2, 1, 1, 1)
    assert "only the last two of four axes" in refusal("Upsample", image, turned, opset=9, to=6, constants=(1,))
    assert "uint8 came with version 7" in refusal(
        "Upsample", image, TWICE, opset=9, to=6, constants=(1,), mode="linear"
    )


def test_what_shrinks_is_no_upsampling() -> None:
    smaller = floats(1, 1, 0.5, 3)
    assert older("Resize", IMAGE, smaller, opset=10, to=9, constants=(1,)) == ["Gather", "Gather"]
    assert "Upsample makes nothing smaller" in refusal("Resize", IMAGE, smaller, opset=10, to=9)


PLACES = np.random.default_rng(1).uniform(-1.6, 1.6, (1, 4, 3, 2)).astype(np.float32)
PLACES[0, 0, 0] = [np.nan, np.inf]
PLACES[0, 0, 1] = [-1, 1]


@pytest.mark.parametrize("padding_mode", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
@pytest.mark.parametrize("align_corners", [0, 1])
def test_images_are_sampled_by_gathering(padding_mode: str, mode: str, align_corners: int) -> None:
    said: dict[str, Any] = {"mode": mode, "padding_mode": padding_mode, "align_corners": align_corners}
    dims = {**OPEN, 1: ["n", "a", "b", 2]}
    assert older("GridSample", IMAGE, PLACES, opset=22, to=16, dims=dims, **said) == ["GridSample"]
    older("GridSample", IMAGE, PLACES, opset=22, to=15, dims=dims, **said)
    older("GridSample", IMAGE[:, :, :1], PLACES, opset=20, to=13, **said)
    volume, depths = IMAGE[:, :, np.newaxis, :4], np.concatenate([PLACES, PLACES[..., :1]], 3)[:, np.newaxis]
    older("GridSample", volume, depths, opset=20, to=19, dims={0: ["n", "c", "d", "h", "w"]}, **said)
    older("GridSample", IMAGE[:, :, 0], PLACES[:, 0, :, :1], opset=20, to=19, **said)


@pytest.mark.parametrize("dtype", [np.uint8, np.int32, np.float64, ml_dtypes.bfloat16])
def test_samples_of_other_types(dtype: Any) -> None:
    image = (IMAGE * 90).astype(np.int64).astype(dtype)
    narrow = dtype is ml_dtypes.bfloat16
    grid = PLACES.astype(dtype) if narrow else PLACES
    for mode in ("nearest", "linear", "cubic"):
        older("GridSample", image, grid, opset=22, to=21 if narrow else 15, mode=mode, rtol=1e-2 if narrow else 1e-6)


def test_no_images_are_sampled() -> None:
    dims = {0: ["n", 2, "h", "w"], 1: ["n", "a", "b", 2]}
    older("GridSample", IMAGE[:0], PLACES[:0], opset=22, to=15, dims=dims)


@pytest.mark.parametrize("align_corners", [0, 1])
@pytest.mark.parametrize(
    "size", [sizes(1, 2, 3, 4), sizes(1, 2, 1, 4), sizes(1, 2, 0, 4), sizes(1, 2, 2, 3, 1)], ids=str
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
def test_affine_grids_are_sums_of_columns(align_corners: int, size: Any, dtype: Any) -> None:
    spatial = len(size) - 2
    theta = np.random.default_rng(2).standard_normal((1, spatial, spatial + 1)).astype(dtype)
    rtol = 1e-2 if dtype is np.float16 else 1e-5
    for constants, dims in (((1,), None), ((), {0: ["n", spatial, spatial + 1]})):
        said: dict[str, Any] = {"constants": constants, "dims": dims, "rtol": rtol, "align_corners": align_corners}
        older("AffineGrid", theta, size, opset=20, to=19, **said)
        older("AffineGrid", theta, size, opset=20, to=12, **said)


@pytest.mark.parametrize("constants", [(), (1,)])
@pytest.mark.parametrize("dims", [None, OPEN])
@pytest.mark.parametrize(("target", "axes"), [((3, 9), (2, -1)), ((1, 5, 6, 2), None), ((7, 5), (-2, 3))])
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_middles_are_sliced_and_padded(constants: Any, dims: Any, target: Any, axes: Any, dtype: Any) -> None:
    said = {} if axes is None else {"axes": list(axes)}
    found = older(
        "CenterCropPad", IMAGE, np.array(target, dtype), opset=18, to=17, constants=constants, dims=dims, **said
    )
    assert ("Shape" in found) == (not constants or dims is not None)
