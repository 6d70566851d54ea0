"""Transpositions in blocks: the loops, and what they compute."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ingot
from fuse.programs import N, parameter
from ingot.prim import apply, permute
from ingot.prim.tensor import Tensor
from schedule.scheduled_programs import schedules_to, texts_of


def test_a_transposition_is_in_blocks_of_as_many_rows_as_a_vector_has_lanes() -> None:
    schedules_to(
        [apply("exp", permute(parameter("x", N, 24), (1, 0)))],
        """
kernel k1(x: float32[24*n], k1_out: float32[24*n])
  for i0s < 3 parallel:
    for i1 < n vector:
      for i0t < 8 jam:
        k1_out[i1 + i0s*(8*n) + i0t*n] = exp(x[i1*24 + i0s*8 + i0t])
""",
    )


def test_the_last_block_of_an_axis_that_blocks_do_not_divide_ends_with_it() -> None:
    schedules_to(
        [permute(parameter("x", 5, 40, 21), (0, 2, 1))],
        """
kernel k1(x: float32[4200], k1_out: float32[4200])
  for i0 < 5 parallel:
    for i1s < 3 parallel:
      for i2 < 40 vector:
        for i1t < 8 jam:
          t0 = minimum(i1s*8, 13)
          k1_out[i0*840 + i2 + t0*40 + i1t*40] = x[i0*840 + i2*21 + t0 + i1t]
""",
    )


@pytest.mark.parametrize(
    "result",
    [
        permute(parameter("x", 40, 7), (1, 0)),
        permute(parameter("x", 7, 40), (1, 0)),
        permute(parameter("x", N, N), (1, 0)),
        apply("add", permute(parameter("x", 40, 40), (1, 0)), parameter("y", 40, 40)),
    ],
    ids=["short rows", "few rows", "rows of unknown number", "an operand that lies as the result"],
)
def test_what_is_too_short_or_lies_both_ways_is_no_transposition(result: Tensor) -> None:
    assert "jam" not in texts_of(result)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, np.int8, np.int64, np.bool_])
@pytest.mark.parametrize("shape", [(16, 16), (17, 33), (3, 40, 24), (1, 31, 129)])
@pytest.mark.parametrize("threads", [1, 2])
def test_a_transposition_moves_every_element(dtype: Any, shape: tuple[int, ...], threads: int) -> None:
    order = [*range(len(shape) - 2), len(shape) - 1, len(shape) - 2]
    x = np.random.default_rng(0).integers(0, 100, shape).astype(dtype)
    kind = ingot.DType.of(x.dtype).onnx_name
    sizes = ", ".join(["n", *map(str, shape[1:])])
    head = '<ir_version: 10, opset_import: ["" : 21]>'
    text = f"{head} g ({kind}[{sizes}] x) => (y) {{ y = Transpose <perm = {order}> (x) }}"
    y = ingot.Session(ingot.parse_model(text), threads=threads, providers=("cpu",), fallback=False)(x)
    np.testing.assert_array_equal(y, x.transpose(order))


def test_what_is_computed_of_a_transposed_tensor_is_right_in_every_block() -> None:
    text = """<ir_version: 10, opset_import: ["" : 21]>
    g (float[2, 37, 21] x, float[21, 1] scale, float[37] bias) => (y) {
      t = Transpose <perm = [0, 2, 1]> (x)
      s = Mul (t, scale)
      b = Add (s, bias)
      y = Relu (b)
    }"""
    rng = np.random.default_rng(0)
    x, scale, bias = (rng.standard_normal(shape).astype(np.float32) for shape in ((2, 37, 21), (21, 1), (37,)))
    y = ingot.Session(ingot.parse_model(text), providers=("cpu",), fallback=False)(x, scale, bias)
    np.testing.assert_allclose(y, np.maximum(x.transpose(0, 2, 1) * scale + bias, 0), rtol=1e-6, atol=1e-6)
