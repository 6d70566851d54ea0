"""Cast, CastLike and BitCast beyond the standard's cases: every pair of types, every tie, text."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from onnx import TensorProto, helper

import ingot
from ingot.dims import symbol
from ingot.dtypes import Array, DType, pack
from ingot.errors import CheckError, InputError
from ingot.ir.types import TensorType
from ingot.ops.catalog import standard
from ingot.ops.facts import Fact
from ingot.ops.tensor.bitcast import bit_cast
from ingot.ops.tensor.cast import cast, cast_like
from ingot.ops.tensor.convert import convert
from ingot.ops.tensor.float_texts import END, SMALLEST, float_texts
from ingot.runtime.evaluate import Evaluation
from ingot.versions.upgrade import upgrade

NUMBERS = [dtype for dtype in DType if (dtype.is_float or dtype.is_integer) or dtype is DType.BOOL]
NARROW = [
    DType.BFLOAT16,
    DType.FLOAT16,
    DType.FLOAT8E4M3FN,
    DType.FLOAT8E4M3FNUZ,
    DType.FLOAT8E5M2,
    DType.FLOAT8E5M2FNUZ,
    DType.FLOAT4E2M1,
    DType.FLOAT6E2M3,
    DType.FLOAT6E3M2,
]


@pytest.mark.parametrize("to", [*NUMBERS, DType.STRING], ids=str)
@pytest.mark.parametrize("source", [*NUMBERS, DType.STRING], ids=str)
def test_every_type_becomes_every_other(source: DType, to: DType) -> None:
    ones = np.array([["1", "0"]], np.object_)
    x = ones if source is DType.STRING else np.array([[1, 0]], np.float32).astype(source.numpy)
    for shaped in (x, x[0, :1].reshape(()), x[:, :0]):
        result = cast.evaluate(shaped, to=int(to))
        assert isinstance(result, np.ndarray)
        assert result.dtype == to.numpy
        assert result.shape == shaped.shape
        if to is not DType.STRING and result.size:
            assert float(result.reshape(-1)[0]) == 1


def positive_values(dtype: DType) -> Any:
    """Codes and values of the finite numbers of a type that are not negative, ascending."""
    codes = np.arange(1 << (dtype.bits - 1), dtype=np.uint16 if dtype.bits == 16 else np.uint8)
    with np.errstate(invalid="ignore"):
        values = codes.view(dtype.numpy).astype(np.float64)
    finite = np.isfinite(values)
    return codes[finite], values[finite]


@pytest.mark.parametrize("dtype", NARROW, ids=str)
def test_what_lies_between_two_floats_goes_to_the_nearer_and_a_tie_to_the_even_one(dtype: DType) -> None:
    codes, values = positive_values(dtype)
    middle = (values[:-1] + values[1:]) / 2
    low, high = codes[:-1], codes[1:]
    even = np.where(low % 2 == 0, low, high)
    nudge = 2.0**-48
    for x, expected in ((middle, even), (middle * (1 - nudge), low), (middle * (1 + nudge), high)):
        result = convert(x, dtype)
        np.testing.assert_array_equal(result.view(codes.dtype), expected)


def test_large_integers_are_rounded_once_to_bfloat16() -> None:
    ties = np.array([2**60 + 2**52, 2**60 + 2**52 + 1, -(2**60) - 2**52 - 1, 2**63 - 1, -(2**63)], np.int64)
    result = convert(ties, DType.BFLOAT16).astype(np.float64)
    assert result.tolist() == [2.0**60, 2.0**60 + 2.0**53, -(2.0**60) - 2.0**53, 2.0**63, -(2.0**63)]
    assert convert(np.array([2**64 - 1], np.uint64), DType.BFLOAT16).astype(np.float64).tolist() == [2.0**64]


@pytest.mark.parametrize("dtype", [d for d in NARROW if "8" in d.name], ids=str)
def test_saturation_stops_at_the_largest_number_and_nothing_else_does(dtype: DType) -> None:
    largest = float(ml_dtypes.finfo(dtype.numpy).max)  # type: ignore[no-untyped-call]
    x = np.array([1e9, -1e9, np.inf, -np.inf, np.nan, largest], np.float32)
    kept = convert(x, dtype).astype(np.float32)
    np.testing.assert_array_equal(kept, np.array([largest, -largest, largest, -largest, np.nan, largest], np.float32))
    lost = convert(x, dtype, saturate=False).astype(np.float32)
    beyond = np.inf if dtype is DType.FLOAT8E5M2 else np.nan
    np.testing.assert_array_equal(lost, np.array([beyond, -beyond, beyond, -beyond, np.nan, largest], np.float32))


@pytest.mark.parametrize(
    ("mode", "expected"), [("up", [0, 126, 126, 128, 128, 128]), ("down", [0, 125, 126, 127, 127, 127])]
)
def test_scales_are_rounded_as_asked(mode: str, expected: list[int]) -> None:
    x = np.array([0, 0.3, 0.5, 1.1, 1.5, 1.6], np.float32)
    assert convert(x, DType.FLOAT8E8M0, round_mode=mode).view(np.uint8).tolist() == expected


def test_scales_to_the_nearest_go_up_at_a_tie_and_end_in_nan() -> None:
    x = np.array([1.49, 1.5, 2.0**-127, 2.0**-149, 0, np.inf, 3e38, np.nan, -1])
    codes = convert(x, DType.FLOAT8E8M0, saturate=False, round_mode="nearest").view(np.uint8).tolist()
    assert codes == [127, 128, 0, 255, 255, 255, 255, 255, 255]
    codes = convert(x, DType.FLOAT8E8M0, saturate=True, round_mode="nearest").view(np.uint8).tolist()
    assert codes == [127, 128, 0, 0, 0, 254, 254, 255, 255]


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [
        (DType.INT8, [-1, 3, 44, 0]),
        (DType.UINT8, [255, 3, 44, 0]),
        (DType.INT4, [-1, 3, -4, 0]),
        (DType.UINT4, [15, 3, 12, 0]),
        (DType.INT2, [-1, -1, 0, 0]),
        (DType.UINT2, [3, 3, 0, 0]),
    ],
)
def test_a_float_is_truncated_and_keeps_its_low_bits(dtype: DType, expected: list[int]) -> None:
    result = convert(np.array([-1.9, 3.9, 300.5, np.nan]), dtype)
    assert result.astype(np.int64).tolist() == expected


def test_a_float_too_large_stops_at_the_end_of_a_wide_integer() -> None:
    x = np.array([1e30, -1e30, np.inf, -np.inf, np.nan], np.float32)
    for dtype in (DType.INT32, DType.INT64):
        bounds = np.iinfo(dtype.numpy)
        assert convert(x, dtype).tolist() == [bounds.max, bounds.min, bounds.max, bounds.min, 0]
    assert convert(x[[0, 2]], DType.UINT64).tolist() == [2**64 - 1] * 2
    assert convert(np.array([2.0**63]), DType.UINT64).tolist() == [2**63]


def test_integers_wrap_around() -> None:
    assert convert(np.array([200, -9], np.int16), DType.INT8).tolist() == [-56, -9]
    assert convert(np.array([-1], np.int64), DType.UINT64).tolist() == [2**64 - 1]
    assert pack(convert(np.array([-9, 200], np.int64), DType.INT4), DType.INT4).tolist() == [0x87]


def test_numbers_are_written_plainly() -> None:
    x = np.array([1e-7, 314.15926, 1, -0.0, np.nan, np.inf, -np.inf, 1e20], np.float32)
    expected = ["0.0000001", "314.15927", "1.0", "-0.0", "NaN", "INF", "-INF", "100000000000000000000.0"]
    assert convert(x, DType.STRING).tolist() == expected
    assert convert(np.array([-3, 2**63 - 1]), DType.STRING).tolist() == ["-3", "9223372036854775807"]
    assert convert(np.array([0.1], ml_dtypes.float8_e5m2), DType.STRING).tolist() == ["0.09375"]


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_thousands_are_written_in_plain_digits(dtype: type[np.floating[Any]]) -> None:
    numbers = np.array([999.5, 1510, -2048, 9600, 12344], dtype)
    texts = convert(numbers, DType.STRING).tolist()
    assert not any("e" in text for text in texts)
    np.testing.assert_array_equal(np.array(texts, np.float64).astype(dtype), numbers)


def test_many_numbers_are_written_with_the_digits_that_each_has_alone() -> None:
    rng = np.random.default_rng(0)
    low, high = (np.array(each, np.float32).view(np.uint32) for each in (SMALLEST, END))
    bits = rng.integers(low + 1, high, 50_000).astype(np.uint32)
    powers = 2.0 ** np.arange(-9, 14)
    beside = [np.nextafter(np.float32(power), np.float32(to)) for power in powers for to in (0, 1e9)]
    short = np.round(rng.standard_normal(1000), rng.integers(1, 6))
    x = np.concatenate([bits.view(np.float32), powers, beside, short[np.abs(short) >= SMALLEST], [0, -0.0]])
    x = x.astype(np.float32) * rng.choice([np.float32(-1), np.float32(1)], x.size)
    assert float_texts(x) == list(map(str, x))


def test_what_many_numbers_have_among_them_is_written_plainly_too() -> None:
    x = np.tile(np.array([1.5, np.nan, 1e-7, -np.inf, 0, 123456.75, 1e20, -2.25], np.float32), 700)
    texts = convert(x, DType.STRING).tolist()
    assert texts == ["1.5", "NaN", "0.0000001", "-INF", "0.0", "123456.75", "100000000000000000000.0", "-2.25"] * 700
    assert texts[:8] == convert(x[:8], DType.STRING).tolist()


@pytest.mark.parametrize("to", [DType.STRING, DType.FLOAT32, DType.FLOAT64, DType.INT32])
@pytest.mark.parametrize("x", [np.array([[2.0, 3.0]], np.float32), np.array(["2", "3"], np.object_), np.array(7)])
def test_a_cast_that_is_called_again_gives_the_same_in_an_array_of_its_own(x: Array, to: DType) -> None:
    again = cast.rules["bind"](to=int(to), saturate=1, round_mode="up")
    result, expected = again(x), cast.evaluate(x, to=int(to))
    assert result.dtype == expected.dtype
    assert result.tolist() == expected.tolist()
    assert not np.shares_memory(result, x)


@pytest.mark.parametrize("end", [9_999, 10_000, 2**40])
def test_many_whole_numbers_are_written_and_read_as_one_at_a_time(end: int) -> None:
    numbers = np.array([0, -1, 1, end, -end, end - 1, 1 - end, 7] * 12, np.int64)
    texts = convert(numbers, DType.STRING)
    assert texts.tolist() == list(map(str, numbers.tolist()))
    np.testing.assert_array_equal(convert(texts, DType.INT64), numbers)


ODD = ["", "-", "1-2", "--1", "1,2", "1 2", "1.5", "+3", " 4 ", "007", "-0", "٣", "9223372036854775807", "1e3", "1_0"]


@pytest.mark.parametrize("text", [*ODD, "-9223372036854775808", "9223372036854775808", "18446744073709551616"])
@pytest.mark.parametrize("place", [0, 50, 99])
def test_one_text_among_many_is_read_as_alone(text: str, place: int) -> None:
    texts = np.array(["12"] * 100, np.object_)
    texts[place] = text
    try:
        expected = convert(texts[place : place + 1], DType.INT64)[0]
    except InputError:
        with pytest.raises(InputError):
            convert(texts, DType.INT64)
    else:
        numbers = convert(texts, DType.INT64)
        assert numbers[place] == expected
        assert np.delete(numbers, place).tolist() == [12] * 99


def test_text_is_read_whatever_its_case() -> None:
    text = np.array(["3.14", "1e-5", " 1E8 ", "+INF", "inf", "-Inf", "nan", ".5", "5."], np.object_)
    expected = np.array([3.14, 1e-5, 1e8, np.inf, np.inf, -np.inf, np.nan, 0.5, 5], np.float32)
    np.testing.assert_array_equal(convert(text, DType.FLOAT32), expected)
    whole = np.array(["100", "-7", "100.5", "9007199254740993"], np.object_)
    assert convert(whole, DType.INT64).tolist() == [100, -7, 100, 9007199254740993]


def test_a_truth_value_written_as_text_is_read_as_a_number_again() -> None:
    text = convert(np.array([False, True]), DType.STRING)
    assert text.tolist() == ["0", "1"]
    for written in (text, np.array(["False", "True"], np.object_)):
        for dtype in (DType.INT8, DType.FLOAT32, DType.BOOL):
            assert convert(written, dtype).tolist() == [0, 1]


@pytest.mark.parametrize("text", ["Hello World!", "", "1_000", "0x10", "1e", "--1"])
def test_text_that_is_no_number_is_refused(text: str) -> None:
    for dtype in (DType.FLOAT32, DType.INT32):
        with pytest.raises(InputError, match="is not a number"):
            convert(np.array([text], np.object_), dtype)


@pytest.mark.parametrize("text", ["nan", "inf", "1e30", "99999999999999999999"])
def test_text_that_is_no_64_bit_integer_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        convert(np.array([text], np.object_), DType.INT64)


def test_complex_numbers_and_unknown_types_are_refused() -> None:
    with pytest.raises(CheckError, match="complex"):
        cast.evaluate(np.zeros(2, np.complex64), to=1)
    for number in (0, 99, -1):
        with pytest.raises(CheckError, match="no element type"):
            cast.evaluate(np.zeros(2, np.float32), to=number)


def test_sizes_are_followed_through_integer_types() -> None:
    n = symbol("n")
    x = Fact(TensorType(DType.INT64, (4,)), (n, 2**32 + 5, None, -1))
    narrow = cast.rules["infer"](x, to=int(DType.INT32), saturate=1, round_mode="up")
    assert narrow.elements == (n, 5, None, -1)
    assert cast.rules["infer"](x, to=int(DType.UINT8), saturate=1, round_mode="up").elements == (None, 5, None, 255)
    assert cast.rules["infer"](x, to=1, saturate=1, round_mode="up") == TensorType(DType.FLOAT32, (4,))
    target = Fact(TensorType(DType.INT32, None))
    assert cast_like.rules["infer"](x, target, saturate=1, round_mode="up").elements == (n, 5, None, -1)
    assert cast_like.rules["infer"](x, Fact(), saturate=1, round_mode="up") is None


@pytest.mark.parametrize(
    ("source", "to"),
    [
        (DType.UINT4, DType.INT4),
        (DType.INT4, DType.FLOAT4E2M1),
        (DType.UINT2, DType.INT2),
        (DType.INT8, DType.FLOAT8E5M2),
        (DType.UINT16, DType.BFLOAT16),
        (DType.COMPLEX64, DType.FLOAT64),
        (DType.BOOL, DType.UINT8),
    ],
)
def test_bits_survive_being_read_as_another_type_and_back(source: DType, to: DType) -> None:
    raw = np.arange(64, dtype=np.uint8) & ((1 << min(source.bits, 8)) - 1)
    x = (raw != 0) if source is DType.BOOL else raw.view(source.numpy)
    there = bit_cast.evaluate(x, to=int(to))
    assert there.dtype == to.numpy
    np.testing.assert_array_equal(pack(there, to), pack(x, source))
    np.testing.assert_array_equal(pack(bit_cast.evaluate(there, to=int(source)), source), pack(x, source))
    assert bit_cast.evaluate(x[0].reshape(()), to=int(to)).shape == ()


def test_bits_of_another_number_are_refused() -> None:
    with pytest.raises(CheckError, match=r"32 bits.*16"):
        bit_cast.evaluate(np.zeros(2, np.float32), to=int(DType.INT16))
    with pytest.raises(CheckError, match="strings"):
        bit_cast.rules["infer"](Fact(TensorType(DType.FLOAT32, None)), to=int(DType.STRING))


def test_the_first_cast_spelled_its_type() -> None:
    node = helper.make_node("Cast", ["x"], ["y"], to="INT32")
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [2])
    y = helper.make_tensor_value_info("y", TensorProto.INT32, [2])
    proto = helper.make_model(
        helper.make_graph([node], "g", [x], [y]), opset_imports=[helper.make_opsetid("", 5)], ir_version=3
    )
    model = ingot.from_onnx(proto)
    assert upgrade(model) == 1
    (result,) = Evaluation(model, standard()).run({"x": np.array([1.5, -2.5], np.float32)})
    assert result.dtype == np.int32
    assert result.tolist() == [1, -2]
