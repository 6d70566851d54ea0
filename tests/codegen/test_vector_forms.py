"""Vectors of elements a few places apart, and of floats as integers: whole registers, and no lane by itself."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from onnx import TensorProto

import ingot
from ingot.codegen.llvm.kernel import emit
from ingot.loops.ir import kernels_in
from ingot.loops.parametrise import parametrise
from ingot.schedule.target import named

HEADER = '<ir_version: 10, opset_import: ["" : 21]> '
TYPES = {"float": "f4", "double": "f8", "float16": "f2", "uint8": "u1", "int64": "i8"}
NUMBERS = [0, 1.5, -1.5, 127.9, 128, 255.5, 256, -129, 4e4, -4e4, 65535.5, 65536, 2.0**31 - 130, 2.0**31, -(2.0**31)]
NUMBERS += [-(2.0**31) - 1000, 4e9, 2.0**32, 5e9, -0.5, 2.0**63, -9.3e18, 2.0**64, 1e30, -1e30, np.inf, -np.inf, np.nan]


def compiled(text: str) -> ingot.Session:
    return ingot.Session(ingot.parse_model(HEADER + text), providers=("cpu", "reference"), fallback=False, threads=1)


def code_of(session: ingot.Session) -> str:
    """The LLVM of the kernels of a model, for a machine with vectors of 64 bytes."""
    assert session.compiled is not None
    kernels = kernels_in(session.compiled.scheduled.steps)
    return "".join(emit(parametrise(kernel).kernel, named("x86-64-v4")).text for kernel in kernels)


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("stride", [2, 3, 4, 5])
def test_a_slice_by_steps_reads_to_its_last_element_and_no_further(kind: str, stride: int) -> None:
    session = compiled(
        f"g ({kind}[n] x) => ({kind}[m] y) <int64[1] a={{0}}, int64[1] e={{1000000}}, int64[1] s={{{stride}}}> "
        "{ y = Slice(x, a, e, a, s) }"
    )
    for length in (1, stride * 15 + 1, stride * 16, stride * 31 + 1, 1000):
        x = np.arange(length).astype(TYPES[kind])
        np.testing.assert_array_equal(session(x), x[::stride])
    assert ("masked.gather" in code_of(session)) == (stride > 4)


@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize("width", [1, 5, 16, 37, 64])
def test_a_padded_window_of_an_image_is_read_inside_of_it_alone(stride: int, width: int) -> None:
    session = compiled(
        "g (float[1, 3, h, w] x) => (float[1, 3, p, q] y) "
        f"{{ y = MaxPool <kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[{stride}, {stride}]> (x) }}"
    )
    x = np.random.default_rng(0).standard_normal((1, 3, 9, width), np.float32)
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)), constant_values=-np.inf)
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))[:, :, ::stride, ::stride]
    np.testing.assert_array_equal(session(x), windows.max((-1, -2)))
    assert "masked.gather" not in code_of(session)


@pytest.mark.parametrize("kind", ["float", "double", "float16"])
@pytest.mark.parametrize("target", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"])
def test_a_vector_of_floats_becomes_the_integers_that_its_elements_become_alone(kind: str, target: str) -> None:
    to = getattr(TensorProto, target.upper())
    session = compiled(f"g ({kind}[n] x) => ({target}[n] y) {{ y = Cast <to = {to}> (x) }}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # numpy overflows casts
        x = np.array(NUMBERS).astype(TYPES[kind])
    alone = compiled(f"g ({kind} x) => ({target} y) {{ y = Cast <to = {to}> (x) }}")
    expected = [alone(element) for element in x]
    np.testing.assert_array_equal(session(np.concatenate([x, x, x])), expected * 3)
    assert ".sat." not in code_of(session)


def test_the_larger_of_two_floats_is_nan_where_one_is_and_either_zero_of_two() -> None:
    session = compiled("g (float[n] x, float[n] y) => (z, w) { z = Max (x, y) w = Min (x, y) }")
    assert code_of(session).count("call nsz") >= 2  # to order zeros takes as long as the rest
    x = np.array([0.0, -0.0, np.nan, 1, -1, np.inf, np.nan] * 5, np.float32)
    y = np.array([-0.0, 0.0, 1, np.nan, -2, -np.inf, np.nan] * 5, np.float32)
    for result, expected in zip(session(x, y), (np.maximum(x, y), np.minimum(x, y)), strict=True):
        np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("channels", [1, 15, 16, 17, 32, 40])
def test_windows_of_each_channel_are_right_for_any_number_of_channels(channels: int) -> None:
    x = np.random.default_rng(0).standard_normal((2, channels, 9, 9), np.float32)
    w = np.random.default_rng(1).standard_normal((channels, 1, 3, 3), np.float32)
    numbers = ", ".join(map(str, w.ravel().tolist()))
    text = (
        f"g (float[2, {channels}, 9, 9] x) => (y) <float[{channels}, 1, 3, 3] w={{{numbers}}}> "
        f"{{ a = Conv <group={channels}, pads=[1, 1, 1, 1]> (x, w) b = Sigmoid (a) y = Mul (a, b) }}"
    )
    expected = ingot.Session(ingot.parse_model(HEADER + text), providers=("reference",))(x)
    np.testing.assert_allclose(compiled(text)(x), expected, rtol=1e-5, atol=1e-5)


def test_a_long_loop_is_there_once_where_a_mask_costs_nothing() -> None:
    """Its rest is a vector under a mask as all others are."""
    session = compiled("g (float[n] x) => (float[n] y) { a = Erf(x) y = Tanh(a) }")
    assert session.compiled is not None
    (kernel,) = kernels_in(session.compiled.scheduled.steps)
    stores = {
        name: emit(parametrise(kernel).kernel, named(name)).text.splitlines() for name in ("x86-64-v3", "x86-64-v4")
    }
    masked = {
        name: [line for line in lines if "call void" in line and "masked.store" in line]
        for name, lines in stores.items()
    }
    plain = {name: [line for line in lines if "store <" in line] for name, lines in stores.items()}
    assert (len(plain["x86-64-v3"]), len(masked["x86-64-v3"])) == (1, 1)
    assert (len(plain["x86-64-v4"]), len(masked["x86-64-v4"])) == (0, 1)
