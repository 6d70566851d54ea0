"""Quantisation said in older versions: in wider types, in other types to divide in, and in plain arithmetic."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from ingot.dtypes import DType
from ops.nn.older import older, refusal

EXTREMES = np.array([-np.inf, -1e30, -129.5, -2.5, -1.5, -0.5, -0.0, 0.5, 1.5, 2.5, 127.5, 1e30, np.inf, np.nan])
X = np.stack([EXTREMES, EXTREMES[::-1], EXTREMES * 0.3]).astype(np.float32)
HALVES = np.where(np.abs(X) > 1e4, np.float32(np.inf), X).astype(np.float16)
SCALES = np.array([0.1, 1, 3], np.float32)


def codes(dtype: str, *shape: int) -> Any:
    values = np.random.default_rng(3).integers(0, 2, shape)
    return values.astype(np.float32).astype(DType.of(dtype).numpy)


@pytest.mark.parametrize(
    ("dtype", "to", "said"),
    [
        *((narrow, 27, ["DequantizeLinear"]) for narrow in ("float6e2m3", "float6e3m2")),
        *((narrow, 24, ["DequantizeLinear"]) for narrow in ("int2", "uint2")),
        ("float4e2m1", 22, ["DequantizeLinear"]),
        *((narrow, 20, ["DequantizeLinear"]) for narrow in ("int2", "int4", "uint4")),
        *((narrow, 18, ["Mul"]) for narrow in ("float6e3m2", "float4e2m1", "float8e4m3fn", "float8e5m2")),
        *((narrow, 9, ["Cast", "Reshape", "Mul"]) for narrow in ("int2", "uint4", "int8")),
    ],
)
def test_weights_of_narrow_types_are_widened(dtype: str, to: int, said: list[str]) -> None:
    found = older("DequantizeLinear", codes(dtype, 3, 4), SCALES, opset=28, to=to, constants=(0, 1), axis=0)
    assert found == said or found == ["Reshape", *said]


@pytest.mark.parametrize(("dtype", "came"), [("float6e2m3", 28), ("uint2", 25), ("float4e2m1", 23), ("int4", 21)])
def test_codes_that_are_no_constants_are_refused_before_their_type_came(dtype: str, came: int) -> None:
    message = refusal("DequantizeLinear", codes(dtype, 3), np.float32(2), opset=28, to=came - 1)
    assert f"{dtype} came with version {came}, and 'x0' is no constant" in message


@pytest.mark.parametrize("to", [20, 18, 12, 9])
@pytest.mark.parametrize("points", [None, np.array([-7, 0, 32767], np.int16)])
def test_16_bit_codes_become_32_bit_ones(to: int, points: Any) -> None:
    x = np.array([[-32768], [5], [32767]], np.int16)
    older("DequantizeLinear", x, SCALES, points, opset=21, to=to, axis=0)


@pytest.mark.parametrize("to", [20, 18, 12, 9])
@pytest.mark.parametrize("dims", [None, {0: [2, "n"], 1: [2, "m"]}])
def test_blocks_are_gathered(to: int, dims: Any) -> None:
    x, scale = codes("int8", 2, 5), np.array([[1, 2, 3], [4, 5, 6]], np.float32)
    said = older("DequantizeLinear", x, scale, opset=21, to=to, dims=dims, axis=1, block_size=2)
    assert "DequantizeLinear" not in said
    said = older(
        "QuantizeLinear", X[:2, :5], scale, codes("int8", 2, 3), opset=21, to=to, dims=dims, axis=1, block_size=2
    )
    assert "QuantizeLinear" not in said


def test_a_single_scale_needs_no_blocks() -> None:
    assert older("DequantizeLinear", codes("int8", 2, 5), np.float32(2), opset=21, to=20, block_size=2) == [
        "DequantizeLinear"
    ]


@pytest.mark.parametrize("result", [np.float16, ml_dtypes.bfloat16, np.float32])
@pytest.mark.parametrize("scale", [np.float16, ml_dtypes.bfloat16, np.float32])
def test_a_result_of_another_type_than_the_scale_is_rounded_once(result: Any, scale: Any) -> None:
    dtype = int(DType.of(np.dtype(result)))
    x = np.array([257, -3, 32767], np.int16)
    said = older("DequantizeLinear", x, np.array(1.5, scale), opset=23, to=22, output_dtype=dtype)
    assert said[said.index("DequantizeLinear") :] in (["DequantizeLinear"], ["DequantizeLinear", "Cast"])
    older("DequantizeLinear", x, np.array(1.5, scale), opset=23, to=18, output_dtype=dtype)


def test_scales_that_are_powers_of_two_become_float32() -> None:
    scale = np.array([0.25, 8], np.float32).astype(ml_dtypes.float8_e8m0fnu)
    attributes = {"axis": 0, "output_dtype": int(DType.FLOAT16)}
    said = older("DequantizeLinear", codes("int8", 2, 3), scale, opset=24, to=23, constants=(1,), **attributes)
    assert said == ["DequantizeLinear"]
    older("QuantizeLinear", X[:2], scale, opset=24, to=23, constants=(1,), axis=0)
    older("QuantizeLinear", X[:2], scale, opset=24, to=12, constants=(1,), axis=0)
    assert "float8e8m0 came with version 24" in refusal("QuantizeLinear", X[:2], scale, opset=24, to=23, axis=0)


@pytest.mark.parametrize("to", [22, 20, 18, 12, 9])
@pytest.mark.parametrize("point", [None, np.array([3, -128, 127], np.int8), np.array([0, 1, 255], np.uint8)])
def test_every_number_is_quantised_as_it_was(to: int, point: Any) -> None:
    older("QuantizeLinear", X, SCALES, point, opset=23, to=to, axis=0, dims={0: [3, "n"]})
    older("QuantizeLinear", X, SCALES[1:2], None if point is None else point[1:2], opset=23, to=to)


@pytest.mark.parametrize("to", [20, 18, 12, 9])
@pytest.mark.parametrize("dtype", [np.int16, np.uint16])
def test_16_bits_are_quantised_to_in_plain_arithmetic(to: int, dtype: Any) -> None:
    said = older("QuantizeLinear", X, np.float32(0.01), np.array(7, dtype), opset=21, to=to)
    assert said[-1] == "Cast"


@pytest.mark.parametrize("to", [22, 18, 12])
@pytest.mark.parametrize(
    ("x", "scale", "precision"),
    [
        (X, np.float16(0.1), 0),
        (HALVES, np.float32(0.1), 0),
        (X, np.float32(0.1), int(DType.FLOAT16)),
        (X, np.float32(0.1), int(DType.FLOAT64)),
        (np.array([7, -9], np.int32), np.int32(2), 0),
        (X, np.int32(3), 0),
        (np.array([2**24 + 1], np.int32), np.float32(2**20), 0),
    ],
    ids=str,
)
def test_a_division_in_another_type_is_said_by_casts(to: int, x: Any, scale: Any, precision: int) -> None:
    older("QuantizeLinear", x, scale, np.int8(1), opset=23, to=to, precision=precision)


@pytest.mark.parametrize("dims", [None, {0: ["n", 2], 1: ["n"]}])
def test_a_type_that_only_an_attribute_names_becomes_that_of_zero_points(dims: Any) -> None:
    x, scale = np.array([[1, -9], [3, 1000]], np.float32), np.array([1, 2], np.float32)
    for dtype in (DType.INT8, DType.FLOAT8E4M3FN, DType.FLOAT8E5M2):
        said = older("QuantizeLinear", x, scale, opset=21, to=20, dims=dims, axis=0, output_dtype=int(dtype))
        assert said[-1] == "QuantizeLinear"


def test_8_bit_floats_are_quantised_to_in_blocks() -> None:
    scale, attributes = np.array([[1, 2, 0.5]], np.float32), {"block_size": 2, "output_dtype": int(DType.FLOAT8E5M2)}
    x = np.array([[1, 3e5, -7, 0.3, np.nan]], np.float32)
    for saturate in (0, 1):
        said = older("QuantizeLinear", x, scale, opset=21, to=20, saturate=saturate, **attributes)
        assert said == ["Gather", "Div", "QuantizeLinear"]
    point = np.ones((1, 3), ml_dtypes.float8_e5m2)
    assert "in blocks with zero points" in refusal("QuantizeLinear", x, scale, point, opset=21, to=20, block_size=2)


@pytest.mark.parametrize(("dtype", "came"), [("float6e2m3", 28), ("int2", 25), ("float4e2m1", 23), ("uint4", 21)])
def test_types_to_quantise_to_are_refused_before_they_came(dtype: str, came: int) -> None:
    point = codes(dtype, 1)[0]
    message = refusal("QuantizeLinear", X, np.float32(1), point, opset=28, to=came - 1)
    assert f"it quantises to {dtype}, which came with version {came}" in message


@pytest.mark.parametrize("to", [10, 9])
@pytest.mark.parametrize("x", [[], [0, 0], [-0.0], [1.5, -3, 7], [2, 255], [-4], [1, np.nan], [3e38, -3e38]], ids=str)
def test_the_range_of_an_input_is_found_by_reductions(to: int, x: list[float]) -> None:
    older("DynamicQuantizeLinear", np.array(x, np.float32), opset=11, to=to, outputs=3, dims={0: ["n"]})
