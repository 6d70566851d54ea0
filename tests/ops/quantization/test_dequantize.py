from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from onnx import TensorProto

from ingot.dtypes import DType
from ingot.errors import CheckError, InputError, ShapeError
from ops.reduction.one_node import evaluate, inferred


@pytest.mark.parametrize(
    "dtype",
    [
        *("int8", "uint8", "int16", "uint16", "int32", "int4", "uint4", "int2", "uint2"),
        *("float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz", "float4e2m1", "float6e2m3", "float6e3m2"),
    ],
)
@pytest.mark.parametrize("to", [np.float32, np.float16, ml_dtypes.bfloat16])
def test_every_code_stands_for_a_number(dtype: str, to: Any) -> None:
    x = np.array([0, 1], np.float32).astype(DType.of(dtype).numpy)
    result = evaluate("DequantizeLinear", x, np.array(0.5, to), np.array(1, np.float32).astype(x.dtype))
    assert result.dtype == to
    np.testing.assert_array_equal(result.astype(np.float32), [-0.5, 0])


def test_differences_do_not_wrap_around() -> None:
    x = np.array([-128, 127], np.int8)
    np.testing.assert_array_equal(evaluate("DequantizeLinear", x, np.float32(1), np.int8(127)), [-255, 0])
    wide = np.array([-(2**31)], np.int32)
    assert evaluate("DequantizeLinear", wide, np.float32(1), np.int32(2**31 - 1)) == -(2.0**32)


def test_the_product_is_rounded_once_to_the_result() -> None:
    x = np.array([65535], np.uint16)
    assert evaluate("DequantizeLinear", x, np.array(0.5, np.float16)) == np.float16(32768)
    scale = np.array(2, ml_dtypes.bfloat16)
    assert evaluate("DequantizeLinear", np.array([257], np.int16), scale) == ml_dtypes.bfloat16(514)


def test_blocks_and_axes() -> None:
    x = np.ones((2, 5), ml_dtypes.int4)
    scale = np.array([[1, 2, 3], [4, 5, 6]], np.float32)
    result = evaluate("DequantizeLinear", x, scale, block_size=2)
    np.testing.assert_array_equal(result, [[1, 1, 2, 2, 3], [4, 4, 5, 5, 6]])
    result = evaluate("DequantizeLinear", x, np.array([2, 3], np.float32), axis=0)
    np.testing.assert_array_equal(result, [[2] * 5, [3] * 5])


def test_powers_of_two_need_a_type_for_the_result() -> None:
    x, scale = np.array([3], ml_dtypes.float4_e2m1fn), np.array(2.0**-3, ml_dtypes.float8_e8m0fnu)
    assert evaluate("DequantizeLinear", x, scale, output_dtype=TensorProto.FLOAT16) == 0.375
    with pytest.raises(CheckError, match="float8e8m0"):
        evaluate("DequantizeLinear", x, scale)
    with pytest.raises(CheckError, match="output_dtype is 11"):
        evaluate("DequantizeLinear", x, scale, output_dtype=TensorProto.DOUBLE)


def test_zero_points_of_another_type_or_shape_are_refused() -> None:
    x = np.zeros((2, 3), np.int8)
    with pytest.raises((CheckError, InputError), match="uint8"):
        evaluate("DequantizeLinear", x, np.float32(1), np.uint8(0))
    with pytest.raises(ShapeError, match="zero point"):
        evaluate("DequantizeLinear", x, np.ones(3, np.float32), np.zeros(2, np.int8))


def test_types_are_inferred() -> None:
    x: Any = ("int4", ["n", 8])
    assert inferred("DequantizeLinear", [x, ("float16", [])]) == "float16[n, 8]"
    assert inferred("DequantizeLinear", [x, ("float32", ["n", 4])], block_size=2, output_dtype=16) == "bfloat16[n, 8]"
    with pytest.raises(ShapeError, match="expected 4"):
        inferred("DequantizeLinear", [x, ("float32", ["n", 3])], block_size=2)


def test_a_dynamic_scale_takes_the_range_in() -> None:
    x = np.array([-1, 0, 3], np.float32)
    y, scale, zero_point = evaluate("DynamicQuantizeLinear", x, outputs=3)
    assert scale == np.float32(4) / np.float32(255)
    assert (y.tolist(), zero_point.tolist()) == ([0, 64, 255], 64)
    assert scale.shape == zero_point.shape == ()


@pytest.mark.parametrize("x", [[], [0.0, 0.0]])
def test_a_dynamic_scale_of_nothing_is_not_zero(x: list[float]) -> None:
    y, scale, zero_point = evaluate("DynamicQuantizeLinear", np.array(x, np.float32), outputs=3)
    assert y.tolist() == [0] * len(x)
    assert scale > 0
    assert zero_point == 0


def test_a_dynamic_scale_survives_infinities() -> None:
    for value in (np.inf, -np.inf, np.nan):
        y, _, zero_point = evaluate("DynamicQuantizeLinear", np.array([1, value], np.float32), outputs=3)
        assert y.dtype == zero_point.dtype == np.uint8
