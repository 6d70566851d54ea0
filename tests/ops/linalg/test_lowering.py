"""Products in primitives: equations, transposed factors, bytes with zero points, sizes with names."""

from __future__ import annotations

import numpy as np
import pytest

from ingot import Session
from ingot.builder import Float32, build, op
from ingot.dtypes import Array
from ingot.loops.ir import kernels_in
from lower.agreement import agree, refusal

RTOL, ATOL = 1e-5, 1e-5


def floats(*shape: int) -> Array:
    return np.random.default_rng(4).standard_normal(shape).astype(np.float32)


def small_bytes(dtype: str, *shape: int) -> Array:
    return np.random.default_rng(4).integers(0, 120, shape).astype(dtype)


@pytest.mark.parametrize("c", ["float c", "float[N] c", "float[M, 1] c", "float[M, N] c"])
@pytest.mark.parametrize("transposed", [0, 1])
def test_what_is_added_to_a_product_broadcasts(c: str, transposed: int) -> None:
    shapes = ("[K, M]", "[N, K]") if transposed else ("[M, K]", "[K, N]")
    graph = f"""g (float{shapes[0]} a, float{shapes[1]} b, {c}) => (y)
    {{ y = Gemm <transA = {transposed}, transB = {transposed}, alpha = 0.5, beta = 2.0> (a, b, c) }}"""
    a, b = floats(3, 4), floats(4, 5)
    added = {"float c": (), "float[N] c": (5,), "float[M, 1] c": (3, 1), "float[M, N] c": (3, 5)}[c]
    agree(graph, RTOL, ATOL, a=a.T if transposed else a, b=b.T if transposed else b, c=floats(*added))


def test_integers_wrap_around_and_are_not_scaled() -> None:
    graph = "g (int32[M, K] a, int32[K, N] b) => (y) { y = Gemm (a, b) }"
    big = np.full((2, 3), 2**30, np.int32)
    agree(graph, a=big, b=big.T)
    assert refusal(graph.replace("Gemm", "Gemm <alpha = 0.5>")) == "Gemm: integers that are scaled"


EQUATIONS = [
    ("ij,jk->ik", "IJ JK"),
    ("bhld,bhmd->bhlm", "BHLD BHMD"),
    ("bld,bmd->b", "BLD BMD"),
    ("ij->ji", "IJ"),
    ("ij->", "IJ"),
    ("ii->i", "II"),
    ("ii", "II"),
    ("iji,jk->ik", "IJI JK"),
    ("i,j->ij", "I J"),
    ("i,i->", "I I"),
    ("ij,ij->ij", "IJ IJ"),
    (",ij->ij", "0 IJ"),
    ("...ij,...jk->...ik", "ABIJ ABJK"),
    ("b...,b...->b...", "BAC BAC"),
    ("ij,jk,kl->il", "IJ JK KL"),
    ("ab,cd,ac->bd", "AB CD AC"),
    ("i,j,k->", "I J K"),
]


@pytest.mark.parametrize(("equation", "axes"), EQUATIONS)
@pytest.mark.parametrize("start", [1, 2])
def test_equations_agree(equation: str, axes: str, start: int) -> None:
    letters = sorted(set(axes) - {" ", "0"})
    sizes = {letter: start + place for place, letter in enumerate(letters)}
    operands = ["" if term == "0" else term for term in axes.split(" ")]
    declared = ", ".join(
        f"double[{', '.join(term)}] x{i}" if term else f"double x{i}" for i, term in enumerate(operands)
    )
    names = ", ".join(f"x{i}" for i in range(len(operands)))
    graph = f'g ({declared}) => (y) {{ y = Einsum <equation = "{equation}"> ({names}) }}'
    rng = np.random.default_rng(start)
    feeds = {f"x{i}": rng.standard_normal([sizes[letter] for letter in term]) for i, term in enumerate(operands)}
    agree(graph, 1e-12, 1e-12, **feeds)


def test_axes_of_size_one_broadcast_in_an_equation() -> None:
    graph = 'g (float[A, 1, 3] x, float[1, B, 3] y) => (z) { z = Einsum <equation = "...i,...i->..."> (x, y) }'
    agree(graph, RTOL, ATOL, x=floats(4, 1, 3), y=floats(1, 5, 3))


def test_a_diagonal_may_have_two_names() -> None:
    agree('g (float[A, B] x) => (y) { y = Einsum <equation = "ii->i"> (x) }', x=floats(3, 3))


@pytest.mark.parametrize(("rows", "columns"), [("uint8 u", "int8 v"), ("uint8[M] u", "int8[N] v")])
def test_products_of_bytes_are_exact(rows: str, columns: str) -> None:
    graph = f"""g (uint8[B, M, K] a, int8[K, N] b, {rows}, {columns}) => (y)
    {{ y = MatMulInteger (a, b, u, v) }}"""
    u, v = small_bytes("uint8", *([3] if "[" in rows else [])), small_bytes("int8", *([5] if "[" in columns else []))
    agree(graph, a=small_bytes("uint8", 2, 3, 4), b=small_bytes("int8", 4, 5), u=u, v=v)


def test_a_quantised_product_is_that_of_the_reference_to_the_last_step() -> None:
    graph = """g (uint8[M, K] a, float[M] p, uint8[M] u, int8[K, N] b, float q, int8 v, float r, uint8 w) => (y)
    { y = QLinearMatMul (a, p, u, b, q, v, r, w) }"""
    scales = {"p": np.abs(floats(3)) / 9, "q": np.float32(0.02), "r": np.float32(0.3)}
    points = {"u": small_bytes("uint8", 3), "v": np.int8(-3), "w": np.uint8(40)}
    agree(graph, a=small_bytes("uint8", 3, 40), b=small_bytes("int8", 40, 6), **scales, **points)


@pytest.mark.parametrize(("scale", "point"), [("float[M] p", "uint8 u"), ("float p", "uint8[M] u")])
def test_one_zero_point_goes_with_many_scales_and_the_reverse(scale: str, point: str) -> None:
    graph = f"""g (uint8[M, K] a, {scale}, {point}, int8[K, N] b, float q, int8 v, float r, uint8 w) => (y)
    {{ y = QLinearMatMul (a, p, u, b, q, v, r, w) }}"""
    p = np.abs(floats(*([3] if "[" in scale else []))) / 9
    u = small_bytes("uint8", *([3] if "[" in point else []))
    others = {"q": np.float32(0.02), "v": np.int8(-3), "r": np.float32(0.3), "w": np.uint8(40)}
    agree(graph, a=small_bytes("uint8", 3, 40), b=small_bytes("int8", 40, 6), p=p, u=u, **others)


def test_a_scale_and_a_zero_point_of_different_shapes_are_refused() -> None:
    graph = """g (uint8[M, K] a, float[M] p, uint8[M, 1] u, int8[K, N] b, float q, int8 v, float r, uint8 w) => (y)
    { y = QLinearMatMul (a, p, u, b, q, v, r, w) }"""
    assert "different shapes" in refusal(graph)


def test_constant_bytes_that_are_spread_to_sizes_of_a_run_are_multiplied() -> None:
    graph = """g (uint8[B, M, 4] a) => (y) <uint8[4, 3] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 200, 210, 220}, uint8 p = {3},
        uint8 q = {7}, int64[2] rest = {4, 3}> {
        size = Shape <start = 0, end = 1> (a) shape = Concat <axis = 0> (size, rest) b = Expand (w, shape)
        y = MatMulInteger (a, b, p, q)
    }"""
    agree(graph, a=small_bytes("uint8", 2, 5, 4))


@pytest.mark.parametrize("columns", [8, 38])
@pytest.mark.parametrize("constant", [False, True])
def test_stacks_that_either_side_repeats_agree(columns: int, constant: bool) -> None:
    rng = np.random.default_rng(columns)
    a, b = (rng.standard_normal(shape, dtype=np.float32) for shape in ((3, 1, 5, 7), (1, 4, 7, columns)))
    first, second = Float32[3, 1, 5, 7], Float32[1, 4, 7, columns]
    if constant:
        model = build(lambda x: op.MatMul(x, b), first, opset=21)
    else:
        model = build(lambda x, y: op.MatMul(x, y), first, second, opset=21)
    session = Session(model, providers=("cpu", "reference"), fallback=False, threads=1)
    feeds = dict(zip(session.inputs, (a, b), strict=False))
    for _ in range(2):
        np.testing.assert_allclose(session.run(None, feeds)[0], np.matmul(a, b), rtol=1e-5, atol=1e-5)
    assert session.compiled is not None
    is_one = len(list(kernels_in(session.compiled.scheduled.steps))) == 1
    assert is_one == (columns == 38)
