"""Quantisation in primitives and as machine code: ties, NaN, the ends of types, one scale or many."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from ingot.dtypes import Array
from lower.agreement import agree, refusal
from lower.machine import runs

REAL = [
    *(0.0, -0.0, 0.5, 1.5, 2.5, -0.5, -1.5, 127.5, 128.5, 255.5, 256.0, -300.0, 1e10, -1e10, np.nan, np.inf, -np.inf),
    *(32767.5, -40000.0, 65535.5, 70000.0, 3.3, -7.7, 1e-30),
]
FLOATS = {"float": np.float32, "float16": np.float16, "bfloat16": ml_dtypes.bfloat16}
CODES = {"uint8": 128, "int8": -5, "uint16": 4000, "int16": -300}
"""Types to quantise to, each with a zero point."""


def real(dtype: str) -> Array:
    with np.errstate(all="ignore"):
        return np.array(REAL).astype(FLOATS[dtype]).reshape(-1, 4)


def codes(dtype: str, *shape: int) -> Array:
    limits = np.iinfo(dtype)
    return np.random.default_rng(0).integers(limits.min, limits.max, shape, endpoint=True).astype(dtype)


def scales(*shape: int, dtype: Any = np.float32) -> Array:
    return np.random.default_rng(1).uniform(0.1, 3, shape).astype(dtype)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("to", CODES)
def test_numbers_at_ties_and_ends_become_the_codes_of_the_reference(to: str, dtype: str) -> None:
    graph = f"g ({dtype}[N, 4] x, {dtype} s, {to} z) => ({to}[N, 4] y) {{ y = QuantizeLinear (x, s, z) }}"
    point = np.array(CODES[to], to)
    for scale in (1, 0.37, 0):
        agree(graph, x=real(dtype), s=np.array(scale, FLOATS[dtype]), z=point)
    runs(graph, *({"x": real(dtype), "s": np.array(scale, FLOATS[dtype]), "z": point} for scale in (1, 0.37, 0)))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("of", CODES)
def test_codes_become_the_numbers_of_the_reference(of: str, dtype: str) -> None:
    graph = f"g ({of}[N, 4] x, {dtype} s, {of} z) => ({dtype}[N, 4] y) {{ y = DequantizeLinear (x, s, z) }}"
    given = {"x": codes(of, 5, 4), "s": np.array(0.37, FLOATS[dtype]), "z": np.array(CODES[of], of)}
    agree(graph, 0, **given)
    runs(graph, given, {**given, "x": codes(of, 0, 4)}, rtol=0)


GRANULARITIES: list[tuple[str, str, tuple[int, ...]]] = [
    ("N", "axis = 0", (6,)),
    ("4", "axis = -1", (4,)),
    ("1", "axis = 1", (1,)),
    ("N, 2", "axis = 1, block_size = 2", (6, 2)),
    ("N, 2", "axis = -1, block_size = 3", (6, 2)),
]


@pytest.mark.parametrize(("sizes", "how", "shape"), GRANULARITIES)
def test_scales_for_parts_of_a_tensor_agree(sizes: str, how: str, shape: tuple[int, ...]) -> None:
    graph = f"g (float[N, 4] x, float[{sizes}] s, int8[{sizes}] z) => (int8[N, 4] y, float[N, 4] w)"
    graph = f"{graph} {{ y = QuantizeLinear <{how}> (x, s, z) w = DequantizeLinear <{how}> (y, s, z) }}"
    given = {"x": real("float"), "s": scales(*shape), "z": codes("int8", *shape)}
    agree(graph, **given)
    runs(graph, given)


def test_the_division_is_in_the_type_asked_for() -> None:
    graph = "{ y = QuantizeLinear <output_dtype = 4, precision = 10> (x, s) }"
    agree(f"g (float[N, 4] x, float s) => (uint16[N, 4] y) {graph}", x=scales(50, 4) * 900, s=np.float32(0.1))


def test_differences_of_32_bit_codes_do_not_wrap_around() -> None:
    graph = "{ y = DequantizeLinear (x, s, z) w = DequantizeLinear (x, s) }"
    graph = f"g (int32[N] x, float s, int32 z) => (float[N] y, float[N] w) {graph}"
    x = np.array([2**31 - 1, -(2**31), 0, 2**24 + 1], np.int32)
    agree(graph, 0, x=x, s=np.float32(0.37), z=np.int32(-(2**31)))
    runs(graph, {"x": x, "s": np.float32(0.37), "z": np.int32(-(2**31))}, rtol=0)


@pytest.mark.parametrize(
    "x",
    [[], [0, 0], [-1, -2], [3, 2.5, 1], [1, np.nan, -1], [1, np.inf, -1], [3e38, -3e38], [0.5, -0.7, 100]],
    ids=str,
)
def test_the_range_of_any_input_is_taken_in(x: list[float]) -> None:
    graph = "g (float[N] x) => (uint8[N] y, float s, uint8 z) { y, s, z = DynamicQuantizeLinear (x) }"
    agree(graph, 0, x=np.array(x, np.float32))
    runs(graph, {"x": np.array(x, np.float32)}, rtol=0)


def test_scales_of_an_open_length_are_assumed_to_be_one_for_each_index() -> None:
    graph = "g (uint8[N, 4] x, float[C] s) => (float[N, 4] y) { y = DequantizeLinear (x, s) }"
    x, scales = np.arange(8, dtype=np.uint8).reshape(2, 4), np.array([1, 0.5, 2, 3], np.float32)
    agree(graph, 0, x=x, s=scales)
    runs(graph, {"x": x, "s": scales}, rtol=0)
    runs(graph, {"x": x, "s": scales[:1]}, rtol=0)


def test_blocks_that_primitives_cannot_tell_are_refused() -> None:
    node = "DequantizeLinear <block_size = 2> (x, s)"
    assert refusal(f"g (uint8[N, 4] x, float[N, C] s) => (float[N, 4] y) {{ y = {node} }}")
