"""Rows that are padded in parts are those of the reference, and only where rows are long."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ingot
from fuse.programs import parameter
from ingot.loops.ir import kernels_in
from ingot.loops.show import show_kernel
from ingot.prim import apply, pad
from ingot.prim.tensor import Tensor
from lower.guarded import fenced
from schedule.scheduled_programs import V3, V4, scheduled


def text(result: Tensor, target: Any = V4) -> str:
    (kernel,) = kernels_in(scheduled([result], target).steps)
    return show_kernel(kernel)


def test_no_load_between_the_ends_of_a_row_asks_where_it_is() -> None:
    assert (
        text(pad(parameter("x", 10, 112), [0, 1], [0, 3]))
        == """kernel k1(x: float32[1120], k1_out: float32[1160])
  for i0 < 10 parallel:
    for i1b < 1 vector:
      k1_out[i0*116 + i1b] = 0.0
    for i1 < 112 vector:
      k1_out[i0*116 + i1 + 1] = x[i0*112 + i1]
    for i1e < 3 vector:
      k1_out[i0*116 + i1e + 113] = 0.0"""
    )


@pytest.mark.parametrize(
    "result",
    [
        pad(parameter("x", 10, 40), [0, 1], [0, 1]),
        pad(parameter("x", 10, 112), [0, 40], [0, 1]),
        pad(parameter("x", 10, 112), [1, 0], [0, 0]),
        apply("add", pad(parameter("x", 10, 112), [0, 1], [0, 1]), pad(parameter("y", 10, 112), [0, 2], [0, 0])),
        apply("add", pad(parameter("x", 10, 112), [0, 1], [0, 1]), parameter("y", 10, 114)),
    ],
    ids=["short rows", "much padding", "whole rows", "padding at other places", "what has none"],
)
def test_other_rows_are_stored_as_one(result: Tensor) -> None:
    assert text(result).count(" vector:") == 1


def test_without_masks_rows_are_stored_as_one() -> None:
    assert text(pad(parameter("x", 10, 112), [0, 1], [0, 1]), V3).count(" vector:") == 1


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int8, np.int64, np.bool_])
@pytest.mark.parametrize("columns", [64, 112, 257, 1000])
@pytest.mark.parametrize("pads", [(0, 1, 0, 1), (1, 0, 1, 5), (2, 7, 0, 0), (0, -3, 1, 2), (1, 3, -1, -4)], ids=str)
@pytest.mark.parametrize("threads", [1, 2])
def test_a_padded_row_is_that_of_the_reference(
    dtype: Any, columns: int, pads: tuple[int, int, int, int], threads: int
) -> None:
    x = np.random.default_rng(0).integers(0, 2, (2, 5, columns)).astype(dtype)
    kind = ingot.DType.of(x.dtype).onnx_name
    top, left, bottom, right = pads
    model = ingot.parse_model(f"""<ir_version: 10, opset_import: ["" : 21]> g ({kind}[n, 5, {columns}] x) => (y)
        <int64[6] pads = {{0, {top}, {left}, 0, {bottom}, {right}}}, {kind} fill = {{1}}> {{
        y = Pad (x, pads, fill) }}""")
    (expected,) = ingot.Session(model, providers=("reference",)).run(None, {"x": x})
    with fenced() as fences:
        session = ingot.Session(model, threads=threads, providers=("cpu",), fallback=False)
        np.testing.assert_array_equal(session(fences.holding(x)), expected)
