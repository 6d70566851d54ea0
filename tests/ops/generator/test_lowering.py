"""Generators in primitives: constants, diagonals and ranges, of sizes with names too."""

from __future__ import annotations

import numpy as np
import pytest

from lower.agreement import agree, refusal


@pytest.mark.parametrize(
    ("held", "type_"),
    [
        ("value_float = 2.5", "float"),
        ("value_floats = [1.5, -2.0]", "float[2]"),
        ("value_int = -7", "int64"),
        ("value_ints = [1, 2, 3]", "int64[3]"),
        ("value = bool[2] {1, 0}", "bool[2]"),
        ("value = float16[1] {15360}", "float16[1]"),
    ],
)
def test_constants_agree(held: str, type_: str) -> None:
    agree(f"g () => ({type_} y) {{ y = Constant <{held}> () }}")


def test_constants_of_strings_are_refused() -> None:
    assert "string" in refusal('g () => (string y) { y = Constant <value_string = "a"> () }')


@pytest.mark.parametrize("size", [0, 5])
def test_one_value_fills_sizes_with_names(size: int) -> None:
    graph = "{ s = Shape (x) y = ConstantOfShape <value = int32[1] {7}> (s) z = ConstantOfShape (s) }"
    agree(f"g (float[N, 3] x) => (int32[N, 3] y, float[N, 3] z) {graph}", x=np.zeros((size, 3), np.float32))


def test_one_value_fills_sizes_that_the_model_holds() -> None:
    held = "<int64[2] s = {2, 3}, int64[0] none = {}>"
    graph = "{ y = ConstantOfShape <value = uint8[1] {250}> (s) z = ConstantOfShape (none) }"
    agree(f"g () => (uint8[2, 3] y, float z) {held} {graph}")


def test_sizes_that_a_run_gives_agree() -> None:
    agree("g (int64[2] s) => (float[A, B] y) { y = ConstantOfShape (s) }", s=np.array([2, 3]))


@pytest.mark.parametrize("k", [0, 2, -1, 9, -9, 2**62])
@pytest.mark.parametrize("shape", [(3, 4), (4, 2), (0, 3)])
def test_diagonals_agree(shape: tuple[int, int], k: int) -> None:
    x = np.zeros(shape, np.int32)
    agree(f"g (int32[N, M] x) => (int32[N, M] y) {{ y = EyeLike <k = {k}> (x) }}", x=x)
    agree(f"g (int32[N, M] x) => (float16[N, M] y) {{ y = EyeLike <k = {k}, dtype = 10> (x) }}", x=x)
    agree(f"g (int32[N, M] x) => (bool[N, M] y) {{ y = EyeLike <k = {k}, dtype = 9> (x) }}", x=x)


@pytest.mark.parametrize(
    ("start", "limit", "delta", "count"), [(2, 9, 3, 3), (9, 2, -2, 4), (5, 5, 1, 0), (5, 2, 1, 0)]
)
@pytest.mark.parametrize("dtype", ["int16", "int32", "int64"])
def test_ranges_of_integers_agree(dtype: str, start: int, limit: int, delta: int, count: int) -> None:
    held = f"<{dtype} a = {{{start}}}, {dtype} b = {{{limit}}}, {dtype}[1] c = {{{delta}}}>"
    agree(f"g () => ({dtype}[{count}] y) {held} {{ y = Range (a, b, c) }}")


@pytest.mark.parametrize("stash", [1, 11])
@pytest.mark.parametrize(
    ("dtype", "start", "limit", "delta"),
    [
        ("float", 0.1, -9.3, -0.3),
        ("double", 0.1, -9.3, -0.3),
        ("float16", 0x2E66, 0xC8A6, 0xB4CD),  # the same, in bits
        ("bfloat16", 0x3DCD, 0xC115, 0xBE9A),
    ],
)
def test_ranges_of_floats_agree(dtype: str, start: float, limit: float, delta: float, stash: int) -> None:
    held = f"<{dtype} a = {{{start}}}, {dtype} b = {{{limit}}}, {dtype} c = {{{delta}}}>"
    agree(f"g () => ({dtype}[C] y) {held} {{ y = Range <stash_type = {stash}> (a, b, c) }}", 0)


def test_a_range_to_a_size_with_a_name_agrees() -> None:
    graph = "<int64 zero = {0}, int64 two = {2}> { n = Size (x) y = Range (zero, n, two) }"
    model = f"g (float[N] x) => (int64[C] y) {graph}"
    agree(model, x=np.zeros(5, np.float32))
    agree(model, x=np.zeros(0, np.float32))


def test_ranges_that_a_run_gives_agree() -> None:
    graph = "g (float a, float b, float c) => (float[C] y) { y = Range (a, b, c) }"
    agree(graph, a=np.float32(0), b=np.float32(2.5), c=np.float32(0.5))
    agree("g (int64 a, int64 b, int64 c) => (int64[C] y) { y = Range (a, b, c) }", a=7, b=0, c=-2)
