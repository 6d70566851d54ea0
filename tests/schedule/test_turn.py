"""Transpositions in blocks: the loops, and what they compute."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ingot
from fuse.programs import N, parameter
from ingot.dtypes import DType
from ingot.loops.ir import kernels_in
from ingot.loops.show import show_kernel
from ingot.prim import apply, gather, pad, permute
from ingot.prim.tensor import Tensor
from ingot.schedule.target import Target
from lower.guarded import fenced
from schedule.scheduled_programs import V3, V4, scheduled, schedules_to, texts_of


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


def test_rows_at_computed_places_are_turned_too() -> None:
    schedules_to(
        [permute(gather(parameter("x", 50, 24), [parameter("at", N, 1, dtype=DType.INT64), 1], (N, 24)), (1, 0))],
        """
kernel k1(x: float32[1200], at: int64[n], k1_out: float32[24*n])
  for i0s < 3 parallel:
    for i1 < n vector:
      for i0t < 8 jam:
        k1_out[i1 + i0s*(8*n) + i0t*n] = x[checked(at[i1] < 50)*24 + i0s*8 + i0t]
""",
    )


@pytest.mark.parametrize("mode", ["linear", "nearest", "cubic"])
@pytest.mark.parametrize(
    ("channels", "size", "wanted"), [(16, (5, 7), (11, 33)), (21, (6, 8), (24, 16)), (40, (3, 4), (9, 5))]
)
@pytest.mark.parametrize("threads", [1, 2])
def test_images_that_lie_with_their_channels_together_are_resized_into_planes(
    mode: str, channels: int, size: tuple[int, int], wanted: tuple[int, int], threads: int
) -> None:
    text = f"""<ir_version: 10, opset_import: ["" : 21]>
    g (float[n, 3, h, w] x, float[{channels}, 3, 1, 1] k, int64[2] s) => (y, z) {{
      fixed = Constant <value_ints = {[*wanted]}> ()
      c = Conv (x, k)
      y = Resize <axes = [2, 3], mode = "{mode}"> (c, , , s)
      z = Resize <axes = [2, 3], mode = "{mode}"> (c, , , fixed)
    }}"""
    rng = np.random.default_rng(0)
    model = ingot.parse_model(text)
    session = ingot.Session(model, threads=threads, providers=("cpu",), fallback=False)
    reference = ingot.Session(model, providers=("reference",))
    for batch, sizes in ((1, wanted), (2, wanted), (1, (wanted[0] + 1, wanted[1] - 3))):
        x = rng.standard_normal((batch, 3, *size)).astype(np.float32)
        feeds = {"x": x, "k": rng.standard_normal((channels, 3, 1, 1)).astype(np.float32), "s": np.array(sizes)}
        for result, expected in zip(session.run(None, feeds), reference.run(None, feeds), strict=True):
            np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-5)


def test_an_index_out_of_range_is_an_error_where_rows_are_turned() -> None:
    text = """<ir_version: 10, opset_import: ["" : 21]>
    g (float[50, 24] x, int64[n] at) => (y) { r = Gather (x, at)  y = Transpose <perm = [1, 0]> (r) }"""
    session = ingot.Session(ingot.parse_model(text), threads=1, providers=("cpu", "reference"), fallback=False)
    x = np.random.default_rng(0).standard_normal((50, 24)).astype(np.float32)
    for many in (1, 7, 8, 9, 37):
        at = np.arange(many) * 7 % 50 - 25
        np.testing.assert_array_equal(session(x, at), x[at].T)
        with pytest.raises(ingot.IngotError):
            session(x, np.where(np.arange(many) == many - 1, 50, at))


PADS = [(0, 1, 0, 2), (2, 0, 1, 0), (1, 1, 1, 1), (20, 0, 0, 19), (0, 20, 19, 0), (-1, 3, -2, 1), (3, -1, 0, -4)]


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int8, np.uint8, np.int64])
@pytest.mark.parametrize("shape", [(16, 16), (17, 33), (40, 24), (31, 129)])
@pytest.mark.parametrize("pads", PADS, ids=str)
@pytest.mark.parametrize("fill", [0, 7])
def test_a_padded_transposition_moves_every_element(
    dtype: Any, shape: tuple[int, int], pads: tuple[int, int, int, int], fill: int
) -> None:
    x = np.random.default_rng(0).integers(0, 100, (2, *shape)).astype(dtype)
    kind = ingot.DType.of(x.dtype).onnx_name
    top, left, bottom, right = pads
    text = f"""<ir_version: 10, opset_import: ["" : 21]> g ({kind}[n, {shape[0]}, {shape[1]}] x) => (y)
        <int64[6] pads = {{0, {top}, {left}, 0, {bottom}, {right}}}, {kind} fill = {{{fill}}}> {{
        p = Pad (x, pads, fill) y = Transpose <perm = [0, 2, 1]> (p) }}"""
    kept = x[:, max(0, -top) : shape[0] - max(0, -bottom), max(0, -left) : shape[1] - max(0, -right)]
    around = [(0, 0), (max(0, top), max(0, bottom)), (max(0, left), max(0, right))]
    expected = np.pad(kept, around, constant_values=fill).transpose(0, 2, 1)
    with fenced() as fences:
        y = ingot.Session(ingot.parse_model(text), providers=("cpu",), fallback=False)(fences.holding(x))
    np.testing.assert_array_equal(y, expected)


@pytest.mark.parametrize(("target", "axis"), [(V4, 0), (V4, 1), (V3, 0)])
def test_a_padded_transposition_is_in_blocks_where_masks_are(target: Target, axis: int) -> None:
    before = [1 if axis == number else 0 for number in range(2)]
    result = permute(pad(parameter("x", 40, 40), before, [0, 0]), (1, 0))
    (kernel,) = kernels_in(scheduled([result], target).steps)
    assert " jam:" in show_kernel(kernel)


def test_padding_along_what_is_read_takes_masks() -> None:
    result = permute(pad(parameter("x", 40, 40), [0, 1], [0, 0]), (1, 0))
    (kernel,) = kernels_in(scheduled([result], V3).steps)
    assert " jam:" not in show_kernel(kernel)
