"""Grids, crops and decoded images."""

from __future__ import annotations

import importlib
import io
import itertools
import sys
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from onnx import helper
from onnx.reference import ReferenceEvaluator

from ingot.errors import CheckError, InputError, ShapeError, UnsupportedError
from ingot.ops.image.affine_grid import affine_grid
from ingot.ops.image.center_crop_pad import center_crop_pad
from ingot.ops.image.decode import image_decoder
from ingot.ops.image.grid_sample import grid_sample
from ops.control.written import f32, i64, run, types


@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("align", [0, 1])
def test_random_grids_agree_with_the_reference_of_the_standard(mode: str, padding: str, align: int) -> None:
    node = helper.make_node("GridSample", ["x", "g"], ["y"], mode=mode, padding_mode=padding, align_corners=align)
    declared = [helper.make_tensor_value_info("x", 1, [None] * 4), helper.make_tensor_value_info("g", 1, [None] * 4)]
    graph = helper.make_graph([node], "g", declared, [helper.make_tensor_value_info("y", 1, None)])
    theirs = ReferenceEvaluator(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)]))
    generator = np.random.default_rng(5)
    x = generator.normal(size=(2, 2, 3, 4)).astype(np.float32)
    grid = (generator.normal(size=(2, 4, 5, 2)) * 1.5).astype(np.float32)
    expected = theirs.run(None, {"x": x, "g": grid})[0]
    found = grid_sample.evaluate(x, grid, mode=mode, padding_mode=padding, align_corners=align)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


LINE = np.array([[[1, 2, 4]]], np.float32)


def at(*places: float, **attributes: Any) -> list[Any]:
    found: list[Any] = grid_sample.evaluate(LINE, f32(*places).reshape(1, -1, 1), **attributes)[0, 0].tolist()
    return found


def test_a_line_is_sampled_too() -> None:
    assert at(-1, 0, 1, align_corners=1) == [1, 2, 4]
    assert at(-1, 0, 1) == [0.5, 2, 2]
    assert at(-1, 1, padding_mode="border") == [1, 4]


def test_places_that_are_no_numbers_or_far_away_are_outside() -> None:
    assert at(np.nan, np.inf, -np.inf, 1e30) == [0, 0, 0, 0]
    assert at(np.inf, -np.inf, 1e30, padding_mode="border") == [4, 1, 4]
    assert all(value in (1, 2, 4) for value in at(np.nan, 1e30, mode="nearest", padding_mode="reflection"))


def test_one_pixel_reflects_itself() -> None:
    x = np.full((1, 1, 1), 5, np.float32)
    grid = f32(-7, 0, 3).reshape(1, 3, 1)
    for align, mode in itertools.product((0, 1), ("nearest", "linear", "cubic")):
        found = grid_sample.evaluate(x, grid, padding_mode="reflection", align_corners=align, mode=mode)
        np.testing.assert_allclose(found, 5)


@pytest.mark.parametrize("dtype", [np.uint8, np.int32, np.float16, ml_dtypes.bfloat16, np.complex64, np.bool_])
def test_samples_keep_the_type_of_the_image(dtype: Any) -> None:
    found = grid_sample.evaluate(LINE.astype(dtype), f32(0.5).reshape(1, 1, 1))
    assert found.dtype == dtype


def test_integers_are_cut_off_and_strings_are_read_as_they_are() -> None:
    assert grid_sample.evaluate(LINE.astype(np.int8), f32(0.6).reshape(1, 1, 1)).tolist() == [[[3]]]
    words = np.array([[["a", "b"]]], object)
    assert grid_sample.evaluate(words, f32(-0.5, 9).reshape(1, 2, 1), mode="nearest").tolist() == [[["a", ""]]]
    with pytest.raises(InputError, match="strings"):
        grid_sample.evaluate(words, f32(0).reshape(1, 1, 1))


def test_grids_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ShapeError, match="does not fit"):
        grid_sample.evaluate(LINE, np.zeros((1, 2, 2), np.float32))
    with pytest.raises(InputError, match="no pixels"):
        grid_sample.evaluate(LINE[..., :0], np.zeros((1, 2, 1), np.float32))
    assert grid_sample.evaluate(LINE[..., :0], np.zeros((1, 0, 1), np.float32)).shape == (1, 1, 0)
    with pytest.raises(CheckError, match="bilinear"):
        at(0, mode="bilinear")


@pytest.mark.parametrize(("mode", "expected"), [("bilinear", 2.5), ("bicubic", 2.5), ("nearest", 2.0)])
def test_a_grid_sample_of_opset_16_has_other_words(mode: str, expected: float) -> None:
    x = np.arange(1, 5, dtype=np.float32).reshape(1, 1, 1, 4)
    graph = f'g (float[N, 1, H, W] x, float[N, P, Q, 2] grid) => (y) {{ y = GridSample<mode="{mode}">(x, grid) }}'
    (found,) = run(graph, opset=16, x=x, grid=np.array([[[[-0.0, 0]]]], np.float32))
    if mode != "nearest":
        np.testing.assert_allclose(found, expected, rtol=1e-6)
    assert types(graph, opset=16) == ["float32[N, 1, P, Q]"]


def test_the_identity_maps_every_pixel_to_its_place() -> None:
    theta = np.array([[[1, 0, 0], [0, 1, 0]]], np.float64)
    grid = affine_grid.evaluate(theta, i64(1, 7, 2, 3), align_corners=1)
    assert grid.dtype == np.float64
    assert grid[0, :, :, 0].tolist() == [[-1, 0, 1]] * 2
    assert grid[0, :, :, 1].tolist() == [[-1] * 3, [1] * 3]
    half = affine_grid.evaluate(theta.astype(np.float16), i64(1, 7, 2, 1))
    assert (half.dtype, half[0, :, 0, 1].tolist()) == (np.float16, [-0.5, 0.5])
    assert affine_grid.evaluate(theta, i64(1, 1, 1, 1), align_corners=1).tolist() == [[[[0, 0]]]]
    assert affine_grid.evaluate(theta, i64(1, 1, 0, 4)).shape == (1, 0, 4, 2)


@pytest.mark.parametrize(
    "size", [(2, 1, 2, 2), (1, 1, 2), (1, 1, 2, 2, 2), (1, 1, -1, 2), (1, 1, 2**40, 2**40), (1, 1, 0, 2**62)]
)
def test_sizes_that_do_not_fit_a_matrix_are_refused(size: tuple[int, ...]) -> None:
    with pytest.raises((ShapeError, InputError)):
        affine_grid.evaluate(np.zeros((1, 2, 3), np.float32), i64(*size))


@pytest.mark.parametrize(("size", "expected"), [(5, [0, 1, 2, 3, 0]), (6, [0, 1, 2, 3, 0, 0]), (2, [1, 2]), (0, [])])
def test_the_middle_is_kept(size: int, expected: list[int]) -> None:
    assert center_crop_pad.evaluate(np.arange(1, 4), i64(size)).tolist() == expected


def test_a_crop_may_name_axes_and_hold_anything() -> None:
    x = np.array([["a", "b", "c"]], object)
    assert center_crop_pad.evaluate(x, i64(1, 2), axes=[-1, 0]).tolist() == [["b"], [""]]
    halves = center_crop_pad.evaluate(np.ones(1, ml_dtypes.bfloat16), np.array([3], np.int32))
    assert (halves.dtype, halves.tolist()) == (ml_dtypes.bfloat16, [0, 1, 0])
    with pytest.raises(InputError, match="bytes"):
        center_crop_pad.evaluate(x, i64(2**30, 2**30))
    with pytest.raises(InputError, match="-1"):
        center_crop_pad.evaluate(x, i64(-1, 2))
    with pytest.raises(ShapeError, match="for 2 axes"):
        center_crop_pad.evaluate(x, i64(1))


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("s = Constant<value_ints=[5, 6]>() \n y = CenterCropPad<axes=[1, 2]>(x, s)", "float32[N, 5, 6]"),
        ("s = Shape<start=0, end=1>(x) \n y = CenterCropPad<axes=[2]>(x, s)", "float32[N, C, N]"),
        ("s = Constant<value_ints=[2, 3, 4, 5]>() \n y = AffineGrid(x, s)", "float32[2, 4, 5, 2]"),
        ("y = GridSample(x, x)", "float32[N, C, C]"),
        ("b = Cast<to=2>(v) \n y = ImageDecoder(b)", "uint8[?, ?, 3]"),
    ],
)
def test_shapes_are_known_beforehand(body: str, expected: str) -> None:
    sizes = {"Affine": "[N, 2, 3]", "GridSample": "[N, C, 1]"}
    shape = next((shape for name, shape in sizes.items() if name in body), "[N, C, D]")
    assert types(f"g (float{shape} x, float[K] v) => (y) {{ {body} }}") == [expected]


def test_without_pillow_the_error_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "PIL.Image", None)
    with pytest.raises(UnsupportedError, match="Pillow") as caught:
        image_decoder.evaluate(np.zeros(4, np.uint8))
    assert caught.value.hint == "pip install pillow"
    with pytest.raises(CheckError, match="HSV"):
        image_decoder.evaluate(np.zeros(4, np.uint8), pixel_format="HSV")


def test_images_are_decoded_whatever_their_channels() -> None:
    pytest.importorskip("PIL")
    pillow: Any = importlib.import_module("PIL.Image")
    pixels = np.arange(24, dtype=np.uint8).reshape(2, 3, 4)
    stream = io.BytesIO()
    pillow.fromarray(pixels, "RGBA").save(stream, "PNG")
    encoded = np.frombuffer(stream.getvalue(), np.uint8)
    np.testing.assert_array_equal(image_decoder.evaluate(encoded), pixels[..., :3])
    np.testing.assert_array_equal(image_decoder.evaluate(encoded, pixel_format="BGR"), pixels[..., 2::-1])
    assert image_decoder.evaluate(encoded, pixel_format="Grayscale").shape == (2, 3, 1)
    assert image_decoder.evaluate(encoded[:45]).shape == (0, 0, 3)
    assert image_decoder.evaluate(encoded[:0]).shape == (0, 0, 3)
