"""Operators on packed and quantised tensors against what they stand for."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from ingot.errors import CheckError, InputError, ShapeError, UnsupportedError
from ops.ml.one_node import evaluate, inferred

RNG = np.random.default_rng(5)


def run(op_type: str, *inputs: Any, **attributes: Any) -> Any:
    return evaluate(op_type, *inputs, domain="com.microsoft", version=1, **attributes)


def floats(*shape: int) -> Any:
    return RNG.normal(size=shape).astype(np.float32)


def codes(*shape: int, dtype: Any = np.uint8) -> Any:
    limits = np.iinfo(dtype)
    return RNG.integers(limits.min, limits.max + 1, shape).astype(dtype)


def one(value: float, dtype: Any = np.float32) -> Any:
    return np.array(value, dtype)


def packed(values: Any, bits: int) -> Any:
    """Codes along the last axis put into bytes, the lowest first."""
    lanes = 8 // bits
    padded = np.zeros((*values.shape[:-1], -(-values.shape[-1] // lanes) * lanes), np.uint8)
    padded[..., : values.shape[-1]] = values
    groups = padded.reshape(*values.shape[:-1], -1, lanes)
    return (groups << (np.arange(lanes, dtype=np.uint8) * bits)).sum(axis=-1).astype(np.uint8)


@pytest.mark.parametrize("bits", [2, 4, 8])
@pytest.mark.parametrize("points", ["default", "packed", "float"])
def test_a_product_with_packed_weights(bits: int, points: str) -> None:
    n, k, size = 3, 40, 16
    blocks = 3
    weights = RNG.integers(0, 2**bits, (n, blocks * size)).astype(np.uint8)
    scales, a, bias = floats(n, blocks), floats(2, k), floats(n)
    zero = np.full((n, blocks), 2 ** (bits - 1))
    given = None
    if points != "default":
        zero = RNG.integers(0, 2**bits, (n, blocks))
        given = zero.astype(np.float32) if points == "float" else packed(zero.astype(np.uint8), bits)
    b = packed(weights, bits).reshape(n, blocks, -1)
    y = run("MatMulNBits", a, b, scales, given, None, bias, K=k, N=n, bits=bits, block_size=size)
    wide = (weights - np.repeat(zero, size, axis=1)) * np.repeat(scales, size, axis=1)
    np.testing.assert_allclose(y, a @ wide[:, :k].T + bias, rtol=1e-4, atol=1e-3)


def test_a_product_with_packed_weights_refuses_what_does_not_fit() -> None:
    a, b, s = floats(2, 32), codes(3, 2, 8), floats(3, 2)
    fine: dict[str, Any] = {"K": 32, "N": 3, "block_size": 16}
    with pytest.raises(ShapeError, match="and K is 31"):
        run("MatMulNBits", a, b, s, **(fine | {"K": 31}))
    with pytest.raises(CheckError, match="block_size is 24"):
        run("MatMulNBits", a, b, s, **(fine | {"block_size": 24}))
    with pytest.raises(ShapeError, match="b has shape"):
        run("MatMulNBits", a, b[:2], s, **fine)
    with pytest.raises(UnsupportedError, match="weight_prepacked is 1"):
        run("MatMulNBits", a, b, s, **fine, weight_prepacked=1)
    with pytest.raises(InputError, match="there are 2 blocks"):
        run("MatMulNBits", a, b, s, None, np.full(32, 2, np.int32), **fine)
    given: Any = {"a": (10, ["n", 32]), "b": (2, [3, 2, 8]), "s": (10, [3, 2])}
    assert inferred("MatMulNBits", given, domain="com.microsoft", version=1, **fine) == "float16[n, 3]"


@pytest.mark.parametrize("bits", [2, 4, 8])
def test_rows_are_gathered_from_packed_bytes(bits: int) -> None:
    values = RNG.integers(0, 2**bits, (5, 32)).astype(np.uint8)
    scales = floats(5, 2)
    at = np.array([[4, -5], [2, 2]])
    y = run("GatherBlockQuantized", packed(values, bits), at, scales, bits=bits, block_size=16)
    wide = (values.astype(np.float32) - 2 ** (bits - 1)) * np.repeat(scales, 16, axis=1)
    np.testing.assert_allclose(y, wide[at], rtol=1e-6)
    with pytest.raises(InputError, match="indices go from 5 to 5, the axis has 5"):
        run("GatherBlockQuantized", packed(values, bits), np.array([5]), scales, bits=bits, block_size=16)


@pytest.mark.parametrize("dtype", [ml_dtypes.int4, ml_dtypes.uint4])
def test_four_bits_are_gathered_along_any_axis(dtype: Any) -> None:
    values = RNG.integers(0, 8, (3, 20, 4)).astype(dtype)
    scales, zero = floats(3, 2, 4), RNG.integers(0, 8, (3, 2, 4)).astype(dtype)
    y = run("GatherBlockQuantized", values, np.array([3, 1]), scales, zero, gather_axis=2, block_size=16)
    wide = (values.astype(np.float32) - np.repeat(zero, 16, axis=1)[:, :20].astype(np.float32)) * np.repeat(
        scales, 16, axis=1
    )[:, :20]
    np.testing.assert_allclose(y, wide[..., [3, 1]], rtol=1e-6)


@pytest.mark.parametrize("a_type", [np.uint8, np.int8])
@pytest.mark.parametrize("b_type", [np.uint8, np.int8])
def test_products_of_bytes_are_exact_up_to_one_rounding(a_type: Any, b_type: Any) -> None:
    a, b = codes(2, 3, 4, dtype=a_type), codes(4, 5, dtype=b_type)
    a_zero, b_zero = codes(dtype=a_type), codes(5, dtype=b_type)
    scale, bias = np.abs(floats(5)), floats(5)
    y = run("MatMulIntegerToFloat", a, b, one(0.5), scale, np.asarray(a_zero), b_zero, bias)
    sums = (a.astype(np.int64) - int(a_zero)) @ (b.astype(np.int64) - b_zero)
    np.testing.assert_allclose(y, sums * (0.5 * scale.astype(np.float64)) + bias, rtol=1e-6, atol=1e-5)
    flat = (a[0].astype(np.int64) - int(a_zero)) @ (b.astype(np.int64) - b_zero)
    c = RNG.integers(-9, 9, 5).astype(np.int32)
    args = [a[0], one(0.5), np.asarray(a_zero), b, scale, b_zero, c]
    np.testing.assert_allclose(run("QGemm", *args, alpha=2.0), (flat + c) * scale, rtol=1e-5, atol=1e-4)
    small = run("QGemm", *args, one(100), one(7, np.uint8))
    expected = np.clip(np.rint((flat + c) * (0.5 * scale.astype(np.float64)) / 100) + 7, 0, 255)
    assert small.dtype == np.uint8
    np.testing.assert_array_equal(small, expected)


def test_an_input_is_quantised_by_its_own_range() -> None:
    a, b, scale = floats(3, 4), codes(4, 5, dtype=np.int8), np.abs(floats(5)) / 100
    y = run("DynamicQuantizeMatMul", a, b, scale)
    np.testing.assert_allclose(y, a @ (b * scale), atol=0.05)


@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
def test_sums_and_products_are_quantised_again(dtype: Any) -> None:
    a, b = codes(3, 4, dtype=dtype), codes(4, dtype=dtype)
    zero = one(3, dtype)
    limits = np.iinfo(dtype)
    left, right = (a.astype(float) - 3) * 0.5, b.astype(float) * 0.25
    for op_type, exact in (("QLinearAdd", left + right), ("QLinearMul", left * right)):
        y = run(op_type, a, one(0.5), zero, b, one(0.25), None, one(2), zero)
        assert y.dtype == dtype
        np.testing.assert_array_equal(y, np.clip(np.rint(exact / 2) + 3, limits.min, limits.max))
    chosen = run("QLinearWhere", a > 0, a, one(0.5), zero, b, one(0.25), one(0, dtype), one(0.5), zero)
    np.testing.assert_array_equal(chosen, np.where(a > 0, a, np.clip(np.rint(right / 0.5) + 3, limits.min, limits.max)))


def test_functions_of_bytes() -> None:
    x = np.array([[0, 128, 255]], np.uint8)
    real = (x.astype(float) - 128) / 32
    args = [x, one(1 / 32), one(128, np.uint8), one(1 / 256), one(0, np.uint8)]
    sigmoid = np.clip(np.rint(256 / (1 + np.exp(-real))), 0, 255)
    np.testing.assert_array_equal(run("QLinearSigmoid", *args), sigmoid)
    e = np.exp(real - real.max())
    np.testing.assert_array_equal(run("QLinearSoftmax", *args, opset=13), np.clip(np.rint(256 * e / e.sum()), 0, 255))
    leaky = run("QLinearLeakyRelu", x, one(1), one(128, np.uint8), one(1), one(128, np.uint8), alpha=0.5)
    assert leaky.tolist() == [[64, 128, 255]]


def test_a_softmax_of_old_is_taken_over_all_axes_from_its_own_on() -> None:
    x = codes(2, 3, 4)
    args = [one(0.01), one(0, np.uint8), one(1 / 1024), one(0, np.uint8)]
    flat = run("QLinearSoftmax", x.reshape(2, 12), *args, opset=13, axis=1)
    np.testing.assert_array_equal(run("QLinearSoftmax", x, *args, opset=12, axis=1), flat.reshape(2, 3, 4))


def test_parts_are_brought_to_one_scale_and_joined() -> None:
    a, b = np.array([[2, 4]], np.uint8), np.array([[10]], np.uint8)
    zero = one(0, np.uint8)
    y = run("QLinearConcat", one(2), zero, a, one(1), zero, b, one(4), one(8, np.uint8), axis=1)
    assert y.tolist() == [[1, 2, 4]]
    with pytest.raises(CheckError, match="4 inputs, expected tensor, scale and zero point"):
        run("QLinearConcat", one(2), zero, a, one(1), zero, b, axis=1)


@pytest.mark.parametrize("last", [0, 1])
def test_means_of_bytes(last: int) -> None:
    x = codes(1, 4, 4, 2)
    args = [one(1), one(0, np.uint8), one(1), one(0, np.uint8)]
    given = x if last else np.moveaxis(x, 3, 1)
    mean = np.rint(x.astype(float).mean(axis=(1, 2), keepdims=True))
    y = run("QLinearGlobalAveragePool", given, *args, channels_last=last)
    np.testing.assert_array_equal(y if last else np.moveaxis(y, 1, 3), mean)
    y = run("QLinearAveragePool", given, *args, kernel_shape=[4, 4], channels_last=last)
    np.testing.assert_array_equal(y if last else np.moveaxis(y, 1, 3), mean)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.uint16, ml_dtypes.int4, ml_dtypes.uint4])
def test_numbers_become_codes_and_back(dtype: Any) -> None:
    x = np.array([[0.5, 1.5, 2.5], [-1e9, 1e9, 3]], np.float32)
    zero = np.array([1, 0], np.int32).astype(dtype)
    y = run("QuantizeLinear", x, np.array([1, 2], np.float32), zero, axis=0)
    assert y.dtype == dtype
    assert y[0].astype(int).tolist() == [1, 3, 3]
    back = run("DequantizeLinear", y, np.array([1, 2], np.float16), zero, axis=0)
    assert back.dtype == np.float16
    assert back[0].tolist() == [0, 2, 2]
    with pytest.raises(ShapeError, match="2 scales and no axis"):
        run("QuantizeLinear", x, np.array([1, 2], np.float32))
