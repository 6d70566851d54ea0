"""Stores of a few neighbours, interleaved: the loops, and what they compute."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ingot
from fuse.programs import N, parameter
from ingot.codegen.llvm.kernel import emit
from ingot.loops.ir import kernels_in
from ingot.loops.parametrise import parametrise
from ingot.loops.show import show_kernel
from ingot.prim import apply, gather, iota, permute
from ingot.prim.tensor import Tensor
from schedule.scheduled_programs import V4, scheduled, schedules_to, texts_of

HEADER = '<ir_version: 10, opset_import: ["" : 21]>'


def test_vectors_are_along_the_axis_beside_a_short_innermost_one() -> None:
    schedules_to(
        [apply("exp", permute(parameter("x", 2, N), (1, 0)))],
        """
kernel k1(x: float32[2*n], k1_out: float32[2*n])
  for i0 < n vector:
    for i1 < 2 jam:
      k1_out[i0*2 + i1] = exp(x[i1*n + i0])
""",
    )


def test_pixels_that_are_repeated_are_interleaved_and_rows_of_them_stored_at_once() -> None:
    places = [iota((4, 2 * N), 0) / 2, iota((4, 2 * N), 1) / 2]
    schedules_to(
        [gather(parameter("x", 2, N), places, (4, 2 * N), in_range=True)],
        """
kernel k1(x: float32[2*n], k1_out: float32[8*n])
  for i0 < 2 parallel:
    for i1 < n vector:
      for i1t < 2 jam:
        k1_out[i0*(4*n) + i1*2 + i1t] = x[i0*n + i1]
        k1_out[i0*(4*n) + i1*2 + i1t + 2*n] = x[i0*n + i1]
""",
    )


def test_vectors_are_stored_interleaved_whatever_else_is_a_parameter_of_a_template() -> None:
    repeated = gather(parameter("x", 16), [iota((32,), 0) / 2], (32,), in_range=True)
    for result in (permute(parameter("x", 2, 16), (1, 0)), repeated):
        (kernel,) = kernels_in(scheduled([result], V4).steps)
        text = emit(parametrise(kernel).kernel, V4).text
        assert "shufflevector <16 x float>" in text
        assert "scatter" not in text


@pytest.mark.parametrize("factors", [(2, 2), (1, 3), (3, 4), (1, 5), (2, 1)])
@pytest.mark.parametrize("dtype", ["float", "int8", "double"])
@pytest.mark.parametrize("length", [3, 16, 37, 80])
def test_enlarged_images_are_those_of_the_reference(factors: tuple[int, int], dtype: str, length: int) -> None:
    graph = (
        f"g ({dtype}[2, 3, 4, {length}] x) => (y) <float[4] scales = {{1, 1, {factors[0]}, {factors[1]}}}>"
        ' { y = Resize <mode = "nearest", coordinate_transformation_mode = "asymmetric", nearest_mode = "floor">'
        " (x, , scales) }"
    )
    model = ingot.parse_model(f"{HEADER} {graph}")
    kind: Any = {"float": np.float32, "double": np.float64}.get(dtype, dtype)
    x = np.random.default_rng(1).integers(0, 100, (2, 3, 4, length)).astype(kind)
    result = ingot.Session(model, providers=("cpu", "reference"), fallback=False)(x)
    np.testing.assert_array_equal(result, x.repeat(factors[0], 2).repeat(factors[1], 3))


@pytest.mark.parametrize(
    "result",
    [permute(parameter("x", 5, N), (1, 0)), permute(parameter("x", 2, 3), (1, 0)), parameter("x", N, 2) * 2.0],
    ids=["five neighbours", "fewer than a vector has lanes", "contiguous as it is"],
)
def test_anything_else_is_not_interleaved(result: Tensor) -> None:
    assert "jam" not in texts_of(result)


@pytest.mark.parametrize("dtype", ["float", "double", "float16", "int8", "int64", "bool"])
@pytest.mark.parametrize("neighbours", [2, 3, 4])
@pytest.mark.parametrize("length", [16, 31, 77])
def test_every_lane_is_stored_in_its_place(dtype: str, neighbours: int, length: int) -> None:
    graph = f"g ({dtype}[b, {neighbours}, n] x) => (y) {{ y = Transpose <perm = [0, 2, 1]> (x) }}"
    session = ingot.Session(
        ingot.parse_model(f"{HEADER} {graph}"), providers=("cpu", "reference"), fallback=False, threads=1
    )
    kind: Any = {"float": np.float32, "double": np.float64, "bool": np.bool_}.get(dtype, dtype)
    x = np.random.default_rng(1).integers(0, 100, (3, neighbours, length)).astype(kind)
    np.testing.assert_array_equal(session(x), x.transpose(0, 2, 1))


@pytest.mark.parametrize("length", [16, 31, 77])
@pytest.mark.parametrize("dtype", ["uint8", "float"])
def test_padding_is_interleaved_with_what_is_read(dtype: str, length: int) -> None:
    body = "p = Pad (x, a, c)\n y = Transpose <perm = [0, 2, 3, 1]> (p)"
    constants = f"int64[8] a = {{0, 0, 1, 2, 0, 0, 1, 3}}, {dtype} c = {{7}}"
    graph = f"g ({dtype}[1, 3, 4, n] x) => (y) <{constants}> {{ {body} }}"
    session = ingot.Session(
        ingot.parse_model(f"{HEADER} {graph}"), providers=("cpu", "reference"), fallback=False, threads=1
    )
    kind: Any = np.uint8 if dtype == "uint8" else np.float32
    x = np.random.default_rng(1).integers(0, 100, (1, 3, 4, length)).astype(kind)
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (2, 3)), constant_values=7)
    np.testing.assert_array_equal(session(x), padded.transpose(0, 2, 3, 1))
    assert session.compiled is not None
    assert any("jam" in show_kernel(kernel) for kernel in kernels_in(session.compiled.scheduled.steps))


@pytest.mark.parametrize("mode", ["DCR", "CRD"])
def test_pixels_out_of_channels(mode: str) -> None:
    graph = f'g (float[1, 8, 3, n] x) => (y) {{ y = DepthToSpace <blocksize = 2, mode = "{mode}"> (x) }}'
    model = ingot.parse_model(f"{HEADER} {graph}")
    x = np.random.default_rng(1).standard_normal((1, 8, 3, 37)).astype(np.float32)
    result = ingot.Session(model, providers=("cpu", "reference"), fallback=False)(x)
    np.testing.assert_array_equal(result, ingot.Session(model, providers=("reference",))(x))
