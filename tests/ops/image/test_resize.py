"""Resize and Upsample: sizes, rounding, types, what is refused, and what older versions meant."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from onnx import helper
from onnx.reference import ReferenceEvaluator

from ingot.errors import CheckError, InputError, ShapeError, UnsupportedError
from ingot.ops.image.resize import resize
from ingot.ops.image.upsample import upsample
from ops.control.written import f32, i64, run, types

ROW = np.arange(1, 9, dtype=np.float32)


def resized(x: Any, scales: Any = None, sizes: Any = None, roi: Any = None, **attributes: Any) -> Any:
    return resize.evaluate(x, roi, scales, sizes, **attributes)


@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
@pytest.mark.parametrize("coordinates", ["half_pixel", "half_pixel_symmetric", "align_corners", "asymmetric"])
@pytest.mark.parametrize("antialias", [0, 1])
def test_random_images_agree_with_the_reference_of_the_standard(mode: str, coordinates: str, antialias: int) -> None:
    generator = np.random.default_rng(5)
    attributes: dict[str, Any] = {"mode": mode, "coordinate_transformation_mode": coordinates}
    if mode != "nearest":
        attributes |= {"antialias": antialias, "exclude_outside": int(mode == "cubic")}
    node = helper.make_node("Resize", ["x", "", "", "sizes"], ["y"], **attributes)
    declared = [helper.make_tensor_value_info("x", 1, [None] * 4), helper.make_tensor_value_info("sizes", 7, [4])]
    graph = helper.make_graph([node], "g", declared, [helper.make_tensor_value_info("y", 1, None)])
    theirs = ReferenceEvaluator(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)]))
    for _ in range(6):
        x = generator.normal(size=(1, 2, *generator.integers(1, 8, 2))).astype(np.float32)
        sizes = np.array([1, 2, *generator.integers(1, 12, 2)])
        expected = theirs.run(None, {"x": x, "sizes": sizes})[0]
        np.testing.assert_allclose(resized(x, sizes=sizes, **attributes), expected, rtol=1e-4, atol=1e-5)


def test_scales_have_the_precision_of_float32() -> None:
    assert resized(np.arange(10), f32(0.7)).shape == (7,)
    shrunk = resized(np.arange(9), f32(1 / 3), coordinate_transformation_mode="asymmetric", nearest_mode="floor")
    assert shrunk.tolist() == [0, 3, 6]


@pytest.mark.parametrize(
    ("rounding", "expected"),
    [
        ("round_prefer_floor", [1, 1, 2, 2, 3, 3]),
        ("round_prefer_ceil", [1, 2, 2, 3, 3, 3]),
        ("floor", [1, 1, 2, 2, 3, 3]),
        ("ceil", [1, 2, 2, 3, 3, 3]),
    ],
)
def test_halves_are_rounded_as_asked(rounding: str, expected: list[int]) -> None:
    attributes = {"coordinate_transformation_mode": "asymmetric", "nearest_mode": rounding}
    assert resized(np.arange(1, 4), f32(2), **attributes).tolist() == expected


@pytest.mark.parametrize(
    "dtype",
    [np.uint8, np.int8, np.uint64, np.int64, np.float16, ml_dtypes.bfloat16, np.float64, np.bool_, np.complex64],
)
@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
def test_every_type_keeps_its_type(dtype: Any, mode: str) -> None:
    result = resized(np.array([0, 1, 1, 0]).astype(dtype), f32(2), mode=mode)
    assert (result.dtype, result.shape) == (dtype, (8,))


def test_strings_are_resized_by_the_nearest_only() -> None:
    x = np.array(["a", "b"], object)
    assert resized(x, f32(2)).tolist() == ["a", "a", "b", "b"]
    with pytest.raises(InputError, match="strings cannot be interpolated"):
        resized(x, f32(2), mode="linear")


def test_integers_are_rounded_and_end_where_their_type_does() -> None:
    x = np.array([0, 255, 255, 0], np.uint8)
    assert resized(x, f32(2), mode="cubic").max() == 255
    top = np.iinfo(np.int64).max
    assert resized(np.array([top, top, 0, 0]), f32(2), mode="cubic").max() == top
    assert resized(np.array([0, 1]), f32(2), mode="linear").tolist() == [0, 0, 1, 1]


@pytest.mark.parametrize(("policy", "shape"), [("stretch", (7, 8)), ("not_larger", (4, 8)), ("not_smaller", (7, 14))])
def test_the_aspect_ratio_is_kept_as_asked(policy: str, shape: tuple[int, int]) -> None:
    x = ROW.reshape(2, 4)
    assert resized(x, sizes=i64(7, 8), keep_aspect_ratio_policy=policy).shape == shape


def test_a_crop_reads_a_region_and_fills_what_is_outside() -> None:
    crop = {"coordinate_transformation_mode": "tf_crop_and_resize", "extrapolation_value": -1.0, "mode": "linear"}
    assert resized(ROW, sizes=i64(3), roi=f32(0, 1), **crop).tolist() == [1, 4.5, 8]
    assert resized(ROW, sizes=i64(3), roi=f32(-1, 1), **crop).tolist() == [-1, 1, 8]
    assert resized(ROW, sizes=i64(1), roi=f32(0, 1), **crop).tolist() == [4.5]
    assert resized(ROW, f32(1), roi=f32(0, 0.5), **crop).shape == (4,)
    crop |= {"mode": "nearest", "extrapolation_value": 300.0}
    assert resized(ROW.astype(np.uint8), sizes=i64(2), roi=f32(0, 2), **crop).tolist() == [1, 255]


def test_axes_of_nothing() -> None:
    assert resized(np.empty((0, 3), np.float32), f32(2, 2), mode="linear").shape == (0, 6)
    assert resized(ROW, sizes=i64(0)).shape == (0,)
    assert resized(ROW, f32(0.1)).shape == (0,)
    assert resized(np.asarray(3.0), np.empty(0, np.float32)).tolist() == 3
    with pytest.raises(InputError, match="bytes"):
        resized(np.empty((0, 1), np.float32), sizes=i64(0, 2**62))
    with pytest.raises(InputError, match="no pixels"):
        resized(np.empty(0, np.float32), sizes=i64(3))


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({}, InputError, "one of scales and sizes"),
        ({"scales": f32(2), "sizes": i64(2)}, InputError, "one of scales and sizes"),
        ({"scales": f32(2, 2)}, ShapeError, "scales has shape"),
        ({"scales": f32(0)}, InputError, "above 0"),
        ({"scales": f32(np.nan)}, InputError, "above 0"),
        ({"scales": f32(1e30)}, InputError, "bytes"),
        ({"sizes": i64(-1)}, InputError, "-1"),
        ({"sizes": i64(2**40)}, InputError, "bytes"),
        ({"scales": f32(2), "axes": [1]}, ShapeError, "axes is 1"),
        ({"scales": f32(2, 2), "axes": [0, -1]}, ShapeError, "twice"),
        ({"scales": f32(2), "mode": "bicubic"}, CheckError, "mode is 'bicubic'"),
        ({"scales": f32(2), "nearest_mode": "up"}, CheckError, "nearest_mode"),
        ({"scales": f32(2), "antialias": 1}, CheckError, "antialias"),
        ({"scales": f32(2), "coordinate_transformation_mode": "tf_half_pixel_for_nn"}, CheckError, "tf_half"),
    ],
)
def test_bad_input_is_refused(given: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        resized(ROW, **given)


@pytest.mark.parametrize(
    ("constants", "inputs", "attributes", "expected"),
    [
        ("s = Constant<value_floats=[1.0, 2.0, 0.5]>()", "x, , s", "", "float32[B, 6, W//2]"),
        ("s = Constant<value_floats=[1.0, 1.5, 0.3]>()", "x, , s", "", "float32[B, 4, ?]"),
        ("s = Constant<value_ints=[1, 7, 9]>()", "x, , , s", "", "float32[1, 7, 9]"),
        ("s = Constant<value_ints=[7]>()", "x, , , s", "<axes=[-2]>", "float32[B, 7, W]"),
        ("s = Shape<start=0>(x)", "x, , , s", "", "float32[B, 3, W]"),
        ("", "x, , t", "", "float32[?, ?, ?]"),
        ("", "x, , t", "<axes=[2]>", "float32[B, 3, ?]"),
    ],
)
def test_sizes_are_known_beforehand(constants: str, inputs: str, attributes: str, expected: str) -> None:
    graph = f"g (float[B, 3, W] x, float[K] t) => (y) {{ {constants} \n y = Resize{attributes}({inputs}) }}"
    assert types(graph) == [expected]


OLD = """g (float[1, 1, {h}, {w}] x) => (y) {{
  {constants}
  y = {call}
}}"""
SCALES = "s = Constant<value = float[4] {{1.0, 1.0, {a}, {b}}}>()"


def old(opset: int, x: Any, call: str, a: float = 1.0, b: float = 1.0, more: str = "") -> Any:
    constants = SCALES.format(a=a, b=b) + more
    graph = OLD.format(h=x.shape[2], w=x.shape[3], call=call, constants=constants)
    return run(graph, opset=opset, x=x)[0][0, 0].tolist()


IMAGE = np.arange(1, 9, dtype=np.float32).reshape(1, 1, 2, 4)


def test_upsample_repeats_pixels_in_every_old_version() -> None:
    x = IMAGE[..., :2]
    expected = [[1, 1, 1, 2, 2, 2], [1, 1, 1, 2, 2, 2], [5, 5, 5, 6, 6, 6], [5, 5, 5, 6, 6, 6]]
    assert old(9, x, "Upsample(x, s)", 2.0, 3.0) == expected
    assert old(7, x, "Upsample<scales=[1.0, 1.0, 2.0, 3.0]>(x)") == expected
    assert old(1, x, "Upsample<height_scale=2.0, width_scale=3.0>(x)") == expected
    assert old(1, x, 'Upsample<height_scale=1.0, width_scale=2.0, mode="bilinear">(x)')[0] == [1, 1.5, 2, 2]


def test_upsample_is_understood_after_the_standard_gave_it_up() -> None:
    assert old(11, IMAGE, "Upsample(x, s)", 1.0, 2.0)[0] == [1, 1, 2, 2, 3, 3, 4, 4]
    with pytest.raises(CheckError, match="left the standard"):
        upsample.evaluate(IMAGE, f32(1, 1, 1, 2))


def test_resize_10_takes_the_pixel_before_to_grow_and_the_one_after_to_shrink() -> None:
    assert old(10, IMAGE, "Resize(x, s)", 0.6, 0.6) == [[1, 3]]
    assert old(10, IMAGE, "Resize(x, s)", 2.0, 1.0)[1] == [1, 2, 3, 4]
    assert old(10, IMAGE, "Resize(x, s)", 2.0, 0.6) == [[1, 3], [1, 3], [5, 7], [5, 7]]
    linear = old(10, IMAGE, 'Resize<mode="linear">(x, s)', 0.6, 0.6)
    np.testing.assert_allclose(linear, [[1, 2.6666665]], rtol=1e-6)


def test_resize_10_with_scales_from_outside_does_the_same() -> None:
    graph = "g (float[1, 1, 2, 4] x, float[4] s) => (y) { y = Resize(x, s) }"
    assert run(graph, opset=10, x=IMAGE, s=f32(1, 1, 2, 0.6))[0][0, 0].tolist() == [[1, 3], [1, 3], [5, 7], [5, 7]]


def test_resize_11_leaves_out_what_is_empty() -> None:
    more = "\n r = Constant<value = float[0] {}>() \n e = Constant<value = float[0] {}>()"
    more += "\n z = Constant<value_ints=[1, 1, 2, 2]>()"
    assert old(11, IMAGE, "Resize(x, r, e, z)", more=more) == [[1, 3], [5, 7]]
    assert old(11, IMAGE, "Resize(x, r, s)", 1.0, 0.5, more=more) == [[1, 3], [5, 7]]


def test_resize_11_has_coordinates_that_went_away() -> None:
    more = "\n r = Constant<value = float[0] {}>()"
    gone = 'coordinate_transformation_mode="tf_half_pixel_for_nn"'
    assert old(11, IMAGE, f'Resize<{gone}, nearest_mode="floor">(x, r, s)', 1.0, 0.5, more=more) == [[2, 4], [6, 8]]
    with pytest.raises(UnsupportedError, match="tf_half_pixel_for_nn"):
        old(11, IMAGE, f'Resize<{gone}, nearest_mode="ceil">(x, r, s)', 1.0, 0.5, more=more)
    assert old(11, IMAGE, f"Resize<{gone}>(x, r, s)", 1.0, 0.5, more=more) == [[2, 4], [6, 8]]


def test_what_is_known_agrees_with_what_comes_out() -> None:
    graph = "g (float[B, 3, W] x) => (y) { s = Constant<value_floats=[1.0, 0.7, 1.5]>() \n y = Resize(x, , s) }"
    assert run(graph, x=np.zeros((2, 3, 5), np.float32))[0].shape == (2, 2, 7)
