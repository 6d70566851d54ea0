from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from onnx import TensorProto

from ingot.dtypes import DType
from ingot.errors import CheckError, ShapeError
from ingot.ops.quantization.rounding import single_rounding
from ops.reduction.one_node import evaluate, inferred

NAN, INF = float("nan"), float("inf")


def quantised(x: Any, scale: Any, zero_point: Any = None, **attributes: Any) -> Any:
    x = x if isinstance(x, np.ndarray) else np.array(x, np.float32)
    scale = scale if isinstance(scale, np.ndarray) else np.array(scale, np.float32)
    return evaluate("QuantizeLinear", x, scale, zero_point, **attributes)


@pytest.mark.parametrize(
    ("dtype", "lowest", "highest"),
    [
        ("uint8", 0, 255),
        ("int8", -128, 127),
        ("uint16", 0, 65535),
        ("int16", -32768, 32767),
        ("uint4", 0, 15),
        ("int4", -8, 7),
        ("uint2", 0, 3),
        ("int2", -2, 1),
    ],
)
def test_integers_are_held_inside_their_range(dtype: str, lowest: int, highest: int) -> None:
    kind = DType.of(dtype)
    x = [-INF, -1e30, -1, 0, 1, 1e30, INF, NAN]
    result = quantised(x, 1, output_dtype=int(kind))
    assert result.dtype == kind.numpy
    assert result.astype(np.int64).tolist() == [lowest, lowest, max(lowest, -1), 0, 1, highest, highest, 0]
    moved = quantised(x, 1, np.array(1, kind.numpy))
    assert moved.astype(np.int64).tolist() == [lowest, lowest, 0, 1, min(2, highest), highest, highest, 1]


def test_ties_go_to_even_before_the_zero_point_is_added() -> None:
    x = [-1.5, -0.5, 0.5, 1.5, 2.5]
    assert quantised(x, 1, np.int8(1)).tolist() == [-1, 1, 1, 3, 3]


@pytest.mark.parametrize(
    ("dtype", "largest", "saturated", "overflowed"),
    [
        (ml_dtypes.float8_e4m3fn, 448, [448, -448], [NAN, NAN]),
        (ml_dtypes.float8_e4m3fnuz, 240, [240, -240], [NAN, NAN]),
        (ml_dtypes.float8_e5m2, 57344, [57344, -57344], [INF, -INF]),
        (ml_dtypes.float8_e5m2fnuz, 57344, [57344, -57344], [NAN, NAN]),
    ],
)
def test_float8_saturates_if_asked_for(dtype: Any, largest: int, saturated: Any, overflowed: Any) -> None:
    kind = int(DType.of(dtype))
    for x in ([1e6, -1e6], [INF, -INF]):
        np.testing.assert_array_equal(quantised(x, 1, output_dtype=kind).astype(np.float32), saturated)
        without = quantised(x, 1, output_dtype=kind, saturate=0)
        np.testing.assert_array_equal(without.astype(np.float32), overflowed)
    assert np.isnan(quantised([NAN], 1, output_dtype=kind).astype(np.float32)).all()
    assert quantised([largest], 1, output_dtype=kind).astype(np.float32) == largest


@pytest.mark.parametrize(
    ("dtype", "largest"),
    [(ml_dtypes.float4_e2m1fn, 6), (ml_dtypes.float6_e2m3fn, 7.5), (ml_dtypes.float6_e3m2fn, 28)],
)
@pytest.mark.parametrize("saturate", [0, 1])
def test_the_narrowest_floats_always_saturate(dtype: Any, largest: float, saturate: int) -> None:
    x = [1e6, -INF, 1.0, -2.0, 1.25]
    result = quantised(x, 1, output_dtype=int(DType.of(dtype)), saturate=saturate)
    expected = np.clip(x, -largest, largest).astype(np.float32).astype(dtype)
    assert result.tobytes() == expected.tobytes()


def test_each_index_of_an_axis_has_its_scale() -> None:
    x = np.array([[2, 4], [6, 8]], np.float32)
    scale, zero_point = np.array([1, 2], np.float32), np.array([0, 10], np.uint8)
    assert quantised(x, scale, zero_point, axis=0).tolist() == [[2, 4], [13, 14]]
    assert quantised(x, scale, zero_point, axis=-1).tolist() == [[2, 12], [6, 14]]


def test_each_block_has_its_scale_and_the_last_may_be_short() -> None:
    x = np.full((2, 5), 12, np.float32)
    scale = np.array([[1, 2, 3], [4, 6, 12]], np.float32)
    result = quantised(x, scale, axis=1, block_size=2)
    assert result.tolist() == [[12, 12, 6, 6, 4], [3, 3, 2, 2, 1]]
    points = np.array([[0, 1, 2], [3, 4, 5]], np.uint8)
    moved = quantised(x, scale, points, axis=-1, block_size=2)
    assert moved.tolist() == [[12, 12, 7, 7, 6], [6, 6, 6, 6, 6]]


def test_a_vector_of_one_is_a_scalar() -> None:
    assert quantised(np.array([2, 4], np.float32), np.array([2], np.float32), np.array([1], np.uint8)).tolist() == [
        2,
        3,
    ]


@pytest.mark.parametrize(
    ("x", "scale", "attributes"),
    [
        ((2, 3), (2,), {"axis": 1}),
        ((2, 3), (3,), {"axis": 2}),
        ((2, 3), (2, 3), {}),
        ((2, 4), (2, 3), {"block_size": 2}),
        ((2, 4), (1, 2), {"block_size": 2}),
        ((2, 4), (2,), {"block_size": 2}),
        ((2, 4), (2, 2), {"block_size": -2}),
    ],
)
def test_scales_that_do_not_fit_are_refused(x: Any, scale: Any, attributes: dict[str, int]) -> None:
    with pytest.raises(ShapeError):
        quantised(np.zeros(x, np.float32), np.ones(scale, np.float32), **attributes)


def test_types_that_contradict_each_other_are_refused() -> None:
    with pytest.raises(CheckError, match="output_dtype is uint8"):
        quantised([1], 1, np.int8(0), output_dtype=TensorProto.UINT8)
    with pytest.raises(CheckError, match="not a type to quantise to"):
        quantised([1], 1, output_dtype=TensorProto.INT64)
    with pytest.raises(CheckError, match="no element type"):
        quantised([1], 1, output_dtype=99)
    with pytest.raises(CheckError, match="precision is 3"):
        quantised([1], 1, precision=TensorProto.INT8)


def test_the_scale_or_the_attribute_decides_the_precision_of_the_division() -> None:
    x = np.array([2049], np.float32)  # float16 has 2048 and 2050
    half = np.array(1, np.float16)
    assert quantised(x, half, np.uint16(0)) == 2048
    assert quantised(x, half, np.uint16(0), precision=TensorProto.FLOAT) == 2049
    assert quantised(x, np.array(1, np.float32), np.uint16(0), precision=TensorProto.BFLOAT16) == 2048


def test_integers_are_quantised_too() -> None:
    x = np.array([2**24 + 1, 7], np.int32)
    assert quantised(x, np.array(2**24, np.float32)).tolist() == [1, 0]
    assert quantised(x, np.array(2, np.int32)).tolist() == [255, 4]


def test_powers_of_two_are_scales() -> None:
    scale = np.array([0.5, 4], ml_dtypes.float8_e8m0fnu)
    x = np.array([[1, 8]], ml_dtypes.bfloat16)
    assert quantised(x, scale, axis=1).tolist() == [[2, 2]]


def test_nothing_is_quantised_to_nothing() -> None:
    assert quantised(np.zeros((0, 3), np.float32), np.ones(3, np.float32)).shape == (0, 3)
    assert quantised(np.zeros((2, 0), np.float32), np.ones((2, 0), np.float32), block_size=2).shape == (2, 0)
    assert quantised(np.float32(3), 1) == 3


@pytest.mark.parametrize(("opset", "attributes"), [(10, {}), (13, {"axis": 0}), (19, {"axis": 0}), (21, {"axis": 0})])
def test_old_models_are_quantised(opset: int, attributes: dict[str, int]) -> None:
    x = np.array([[2, 4], [6, 8]], np.float32)
    if attributes:
        scale, point = np.array([1, 2], np.float32), np.array([0, 10], np.uint8)
        expected = [[2, 4], [13, 14]]
    else:
        scale, point, expected = np.array(2, np.float32), np.array(1, np.uint8), [[2, 3], [4, 5]]
    assert evaluate("QuantizeLinear", x, scale, point, opset=opset, **attributes).tolist() == expected
    back = evaluate("DequantizeLinear", np.array(expected, np.uint8), scale, point, opset=opset, **attributes)
    np.testing.assert_array_equal(back, x)


def test_types_are_inferred() -> None:
    x: Any = ("float32", ["n", 4])
    assert inferred("QuantizeLinear", [x, ("float32", [])]) == "uint8[n, 4]"
    assert inferred("QuantizeLinear", [x, ("float32", []), ("int4", [])]) == "int4[n, 4]"
    assert inferred("QuantizeLinear", [x, ("float32", [])], output_dtype=TensorProto.INT2) == "int2[n, 4]"
    with pytest.raises(ShapeError, match="scale has 3 elements"):
        inferred("QuantizeLinear", [x, ("float32", [3])])
    with pytest.raises(ShapeError, match="zero point"):
        inferred("QuantizeLinear", [x, ("float32", [4]), ("int8", [])])


def test_a_double_is_rounded_once() -> None:
    x = np.array([1 + 2**-4 + 2**-40, 1 + 2**-4, -1 - 2**-4 - 2**-40, 1 + 3 * 2**-4 - 2**-40, 1e-320])
    rounded = single_rounding(x).astype(ml_dtypes.float8_e4m3fn).astype(np.float64)
    assert rounded.tolist() == [1.125, 1.0, -1.125, 1.125, 0.0]
