"""Operators that onnxruntime's CPU has no kernel for, against their formulas, on every provider."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ops.contrib.peer import MICROSOFT, agrees, of_one_node, on_ingot, same

RNG = np.random.default_rng(25)


def floats(*shape: int, dtype: Any = np.float32) -> Any:
    return RNG.standard_normal(shape).astype(dtype)


def gives(
    expected: Any, op_type: str, *inputs: Any, compiled: bool = True, rtol: float = 1e-4, **attributes: Any
) -> None:
    """AssertionError unless every provider computes the expected arrays."""
    results = expected if isinstance(expected, list) else [expected]
    model = of_one_node(op_type, inputs, len(results), MICROSOFT, (), attributes)
    feeds = {f"x{i}": x for i, x in enumerate(inputs) if x is not None}
    for found in on_ingot(model, feeds, compiled=compiled):
        same(found, results, rtol, rtol)


@pytest.mark.parametrize("axes", [1, 2])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_spectra_and_back(axes: int, dtype: Any) -> None:
    x = floats(3, 4, 8, dtype=dtype)
    found = np.fft.rfftn(x, axes=tuple(range(-axes, 0)))
    pairs = np.stack([found.real, found.imag], axis=-1).astype(dtype)
    gives(pairs, "Rfft", x, compiled=False, signal_ndim=axes)
    gives(x, "Irfft", pairs, compiled=False, signal_ndim=axes)


def test_products_of_complex_numbers() -> None:
    a, b = floats(3, 4, 2), floats(4, 2)
    left, right = a[..., 0] + 1j * a[..., 1], b[..., 0] + 1j * b[..., 1]
    for name, found in (("ComplexMul", left * right), ("ComplexMulConj", left * right.conj())):
        gives(np.stack([found.real, found.imag], axis=-1).astype(np.float32), name, a, b)


def gelu(x: Any) -> Any:
    [y] = agrees("Gelu", x)
    return y


def test_biases_with_something_behind_them() -> None:
    x, bias, skip = floats(2, 3, 8), floats(8), floats(2, 3, 8)
    gives(x + bias + skip, "BiasAdd", x, bias, skip)
    left, right = np.split(x + bias, 2, axis=-1)
    gives(left * gelu(np.ascontiguousarray(right)), "BiasSplitGelu", x, bias)


@pytest.mark.parametrize(("shape", "inner"), [((2, 1, 1, 5), 1), ((3, 4, 5), 0)])
def test_softmax_of_sums(shape: tuple[int, ...], inner: int) -> None:
    x, bias = floats(2, 3, 4, 5), floats(*shape)
    e = np.exp(x + bias)
    gives(e / e.sum(axis=3, keepdims=True), "BiasSoftmax", x, bias, axis=3, is_inner_broadcast=inner)


@pytest.mark.parametrize("last", [0, 1])
@pytest.mark.parametrize("activation", [0, 1])
def test_groups_of_channels_are_normalised(last: int, activation: int) -> None:
    x, gamma, beta = floats(2, 5, 6, 8), floats(8), floats(8)
    grouped = x.reshape(2, 30, 4, 2)
    normal = (grouped - grouped.mean((1, 3), keepdims=True)) / np.sqrt(grouped.var((1, 3), keepdims=True) + 1e-5)
    y = normal.reshape(x.shape) * gamma + beta
    y = y / (1 + np.exp(-y)) if activation else y
    given, wanted = (x, y) if last else (np.moveaxis(x, 3, 1).copy(), np.moveaxis(y, 3, 1).copy())
    options: dict[str, Any] = {"groups": 4, "activation": activation, "epsilon": 1e-5}
    gives(wanted, "GroupNorm", given, gamma, beta, channels_last=last, **options)
    if last:
        part = floats(2, 8)
        gives([y, x], "SkipGroupNorm", x - part[:, None, None], gamma, beta, part, **options)


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_convolutions_with_channels_last(dtype: Any) -> None:
    x, w, b = floats(2, 3, 6, 7), floats(4, 3, 3, 3), floats(4)
    [plain] = agrees("FusedConv", x, w, b, pads=[1] * 4, rtol=1e-4, atol=1e-4)
    rows, y = (np.moveaxis(each, 1, 3).copy() for each in (x, plain))
    wide = [each.astype(dtype) for each in (rows, w, b)]
    tolerance = 1e-4 if dtype is np.float32 else 2e-2
    gives(y.astype(dtype), "NhwcConv", *wide, pads=[1] * 4, rtol=tolerance)
    z = floats(*y.shape).astype(dtype)
    gives(
        np.maximum(y + z, 0).astype(dtype), "NhwcFusedConv", *wide, z, pads=[1] * 4, activation="Relu", rtol=tolerance
    )


@pytest.mark.parametrize("keepdims", [0, 1])
def test_means_of_bytes_along_axes(keepdims: int) -> None:
    x = RNG.integers(0, 256, (2, 3, 4)).astype(np.uint8)
    args = [x, np.float32(0.5), np.uint8(100), np.float32(0.25), np.uint8(7)]
    mean = ((x.astype(float) - 100) * 0.5).mean(axis=(0, 2), keepdims=bool(keepdims))
    wanted = np.clip(np.rint(mean / 0.25) + 7, 0, 255).astype(np.uint8)
    gives(wanted, "QLinearReduceMean", *map(np.asarray, args), axes=[0, 2], keepdims=keepdims)
