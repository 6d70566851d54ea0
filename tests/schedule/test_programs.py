"""Programs of primitives and their scheduled kernels, as text, for a target with 16 registers of 32 bytes."""

from __future__ import annotations

import cProfile

import numpy as np
import pytest

from fuse.programs import N, parameter, weights
from ingot.fuse.fuse import fuse
from ingot.loops.ir import kernels_in
from ingot.loops.show import show_kernel
from ingot.prim import apply, contract, pad, permute, reduce_, scan, unsqueeze, window
from ingot.schedule.fusion_limits import fusion_limits
from ingot.schedule.merge_reductions import merge_reductions
from lower.machine import runs
from schedule.scheduled_programs import V3, V4, scheduled, schedules_to, texts_of


def test_the_contiguous_axis_runs_in_vectors_and_the_others_are_shared_by_threads() -> None:
    x = parameter("x", N, 3, 8)
    results = [apply("exp", permute(x, (1, 0, 2)))]
    schedules_to(
        results,
        """
kernel k1(x: float32[24*n], k1_out: float32[24*n])
  for i0 < 3 parallel:
    for i1 < n parallel:
      for i2 < 8 vector:
        k1_out[i0*(8*n) + i1*8 + i2] = exp(x[i1*24 + i0*8 + i2])
""",
    )


def test_neighbouring_loops_that_memory_goes_through_as_through_one_are_joined() -> None:
    x = parameter("x", N, 3, 8)
    results = [apply("exp", x)]
    schedules_to(
        results,
        """
kernel k1(x: float32[24*n], k1_out: float32[24*n])
  for i0i1i2 < 24*n vector:
    k1_out[i0i1i2] = exp(x[i0i1i2])
""",
    )


def test_rows_of_a_reduction_along_an_outer_axis_run_in_vectors() -> None:
    x = parameter("x", 40, 64)
    results = [reduce_("add", x, (0,))]
    schedules_to(
        results,
        """
kernel k1(x: float32[2560], k1_out: float32[64])
  for i1 < 64 vector:
    r0 = 0.0
    for j0 < 40:
      r0 += x[j0*64 + i1]
    k1_out[i1] = r0
""",
    )


def test_long_rows_are_reduced_in_several_columns_at_a_time() -> None:
    schedules_to(
        [reduce_("add", parameter("x", 40, 512), (0,))],
        """
kernel k1(x: float32[20480], k1_out: float32[512])
  for i1s < 8 parallel:
    for i1 < 8 vector:
      for i1t < 8 jam:
        r0 = 0.0
        for j0 < 40:
          r0 += x[j0*512 + i1s*64 + i1t*8 + i1]
        k1_out[i1s*64 + i1t*8 + i1] = r0
""",
    )


def test_running_totals_of_long_rows_are_of_several_columns_at_a_time() -> None:
    schedules_to(
        [scan("add", parameter("x", 40, 512), 0)],
        """
kernel k1(x: float32[20480], k1_out: float32[20480])
  for i1s < 8 parallel:
    for i1 < 8 vector:
      for i1t < 8 jam:
        total = 0.0
        for i0 < 40:
          total += x[i0*512 + i1s*64 + i1t*8 + i1]
          k1_out[i0*512 + i1s*64 + i1t*8 + i1] = total
""",
    )


def test_each_of_many_matrices_is_reduced_in_several_columns_at_a_time() -> None:
    schedules_to(
        [reduce_("add", parameter("x", 3, 40, 100), (1,))],
        """
kernel k1(x: float32[12000], k1_out: float32[300])
  for i0 < 3 parallel:
    for i2s < 1:
      for i2 < 8 vector:
        for i2t < 8 jam:
          r0 = 0.0
          for j1 < 40:
            r0 += x[i0*4000 + j1*100 + i2s*64 + i2t*8 + i2]
          k1_out[i0*100 + i2s*64 + i2t*8 + i2] = r0
    for i2s < 1:
      for i2 < 8 vector:
        for i2t < 4 jam:
          r0 = 0.0
          for j1 < 40:
            r0 += x[i0*4000 + j1*100 + i2s*32 + i2t*8 + i2 + 64]
          k1_out[i0*100 + i2s*32 + i2t*8 + i2 + 64] = r0
    for i2r < 4 vector:
      r0 = 0.0
      for j1 < 40:
        r0 += x[i0*4000 + j1*100 + i2r + 96]
      k1_out[i0*100 + i2r + 96] = r0
""",
    )


@pytest.mark.parametrize("shape", [(3, 40, 100), (2, 17, 513), (5, 20, 15), (2, 300, 48)])
@pytest.mark.parametrize("dtype", ["float", "double", "int64", "int32", "uint8"])
def test_columns_of_many_matrices_are_reduced_as_the_reference_does(shape: tuple[int, ...], dtype: str) -> None:
    x = np.random.default_rng(1).integers(0, 9, shape).astype({"float": "f4", "double": "f8"}.get(dtype, dtype))
    for sizes in (", ".join(map(str, shape)), "b, m, n"):
        sums = "" if dtype == "uint8" else "z = ReduceSum (x, axes)"
        runs(
            f"g ({dtype}[{sizes}] x) => (m{', z' if sums else ''}) <int64[1] axes = {{1}}>"
            f" {{ m = ReduceMax (x, axes) {sums} }}",
            {"x": x},
        )


def test_reductions_of_the_same_elements_are_one_kernel() -> None:
    x = parameter("x", 40, 9)
    schedules_to(
        [reduce_("maximum", x, (1,)), reduce_("add", x * x, (1,))],
        """
kernel k1(x: float32[360], k1_out: float32[40], k2_out: float32[40])
  for i0 < 40 parallel:
    r0 = -inf
    r0_1 = 0.0
    for j1 < 9 vector:
      r0 = maximum(r0, x[i0*9 + j1])
      r0_1 += x[i0*9 + j1] * x[i0*9 + j1]
    k1_out[i0] = r0
    k2_out[i0] = r0_1
""",
    )


def test_a_reduction_whose_result_is_computed_with_that_of_another_is_merged_with_it() -> None:
    x = parameter("x", 40, 9)
    least = reduce_("minimum", x, (1,))
    schedules_to(
        [least, reduce_("maximum", x, (1,)) - least],
        """
kernel k1(x: float32[360], k1_out: float32[40], k2_out: float32[40])
  for i0 < 40 parallel:
    r0 = inf
    r0_1 = -inf
    for j1 < 9 vector:
      r0 = minimum(r0, x[i0*9 + j1])
      r0_1 = maximum(r0_1, x[i0*9 + j1])
    k1_out[i0] = r0
    k2_out[i0] = r0_1 - r0
""",
    )


def test_reductions_of_other_elements_or_of_each_other_are_kernels_of_their_own() -> None:
    x, y = parameter("x", 40, 9), parameter("y", 40, 9)
    assert texts_of(reduce_("maximum", x, (1,)), reduce_("add", y, (1,))).count("kernel") == 2
    assert texts_of(reduce_("maximum", x, (1,)), reduce_("add", x, (0,))).count("kernel") == 2
    most = reduce_("maximum", x, (1,))
    assert texts_of(most, reduce_("add", x - most, (1,))).count("kernel") == 2


def calls_to_merge(count: int) -> int:
    """The functions that are called to look for reductions to merge among so many that have nothing in common."""
    sums = [reduce_("add", parameter(f"x{n}", 40, 9), (1,)) for n in range(count)]
    steps = fuse(sums, fusion_limits(V3)).steps
    profile = cProfile.Profile()
    merged = profile.runcall(merge_reductions, steps)
    assert len(merged.steps) == count
    return sum(entry.callcount for entry in profile.getstats())


def test_unrelated_reductions_are_looked_at_once() -> None:
    assert calls_to_merge(80) < 2.2 * calls_to_merge(40)


@pytest.mark.parametrize("shape", [(3, 40000), (1, 100003), (5, 7, 9)])
@pytest.mark.parametrize("threads", [1, 2])
def test_merged_reductions_are_those_of_the_reference(shape: tuple[int, ...], threads: int) -> None:
    x = np.random.default_rng(2).integers(-9, 9, shape).astype(np.float32)
    for sizes in (", ".join(map(str, shape)), ", ".join("abc"[: len(shape)])):
        runs(
            f"g (float[{sizes}] x) => (a, b, c, d, e, f, y, s, z) <int64[1] axes = {{-1}}> {{ a = ReduceMax (x, axes)"
            " b = ReduceMin (x, axes) c = ReduceMean (x, axes) d = ReduceSumSquare (x, axes) e = ReduceL1 (x, axes)"
            " f = ReduceMax (x) y, s, z = DynamicQuantizeLinear (x) }",
            {"x": x},
            threads=threads,
        )


@pytest.mark.parametrize(
    ("channels", "filters", "length", "is_in_vectors"),
    [
        (8, 16, 56, True),  # one vector of filters: each product would load an element of the image
        (8, 24, 56, True),  # two vectors of filters, half of the second in vain
        (8, 24, 20, False),  # two vectors of a row, most of the second in vain
        (8, 64, 20, False),
        (8, 64, 64, True),  # nothing in vain, and the result keeps its order
        (24, 64, 64, False),  # channels fill a vector
    ],
)
def test_vectors_are_of_an_image_or_of_filters_by_what_is_computed_in_vain(
    channels: int, filters: int, length: int, is_in_vectors: bool
) -> None:
    images = window(parameter("x", 1, channels, length + 2, length + 2), (2, 3), (3, 3), (1, 1), (1, 1))
    windows = permute(images, (0, 2, 3, 4, 5, 1))
    product = contract(windows, weights(3, 3, channels, filters), "nhwijc,ijco->nhwo")
    kernels = kernels_in(scheduled([permute(product, (0, 3, 1, 2))], V4).steps)
    assert any(f"m o<{filters}" in show_kernel(kernel) for kernel in kernels) == is_in_vectors


def test_rows_that_meet_all_others_are_turned_once_and_reduced_in_tiles() -> None:
    x, y = parameter("x", 6, 20), parameter("y", 24, 20)
    apart = unsqueeze(x, [2]) - unsqueeze(permute(y, (1, 0)), [0])
    schedules_to(
        [reduce_("add", apart * apart, (1,))],
        """
kernel k1(y: float32[480], k1_out: float32[480])
  for i0s < 3 parallel:
    for i1 < 24 vector:
      for i0t < 8 jam:
        t0 = minimum(i0s*8, 12)
        k1_out[i1 + t0*24 + i0t*24] = y[i1*20 + t0 + i0t]
kernel k2(k1_out: float32[480], x: float32[120], k2_out: float32[144])
  for i0s < 2 parallel:
    for i2s < 1:
      for i2 < 8 vector:
        for i0t < 4 jam:
          for i2t < 2 jam:
            r0 = 0.0
            for j1 < 20:
              t0 = x[j1 + minimum(i0s*4 + i0t, 5)*20] - k1_out[j1*24 + i2s*16 + i2t*8 + i2]
              r0 += t0 * t0
            k2_out[minimum(i0s*4 + i0t, 5)*24 + i2s*16 + i2t*8 + i2] = r0
    for i2r < 8 vector:
      for i0t < 4 jam:
        r0 = 0.0
        for j1 < 20:
          t1 = x[j1 + minimum(i0s*4 + i0t, 5)*20] - k1_out[j1*24 + i2r + 16]
          r0 += t1 * t1
        k2_out[minimum(i0s*4 + i0t, 5)*24 + i2r + 16] = r0
""",
    )


@pytest.mark.parametrize("dtype", ["float", "double", "int64", "int32"])
def test_columns_are_summed_as_the_reference_sums_them(dtype: str) -> None:
    x = np.random.default_rng(1).integers(-9, 9, (11, 512)).astype({"float": "f4", "double": "f8"}.get(dtype, dtype))
    runs(
        f"g ({dtype}[11, 512] x) => (y, z, m) <int64 zero = {{0}}, int64[1] zeros = {{0}}>"
        " { y = CumSum <reverse = 1> (x, zero) z = ReduceSum (x, zeros) m = ReduceMax (x, zeros) }",
        {"x": x},
    )


def test_what_is_read_in_every_step_of_a_sum_counts_more_than_what_is_stored_after_it() -> None:
    x = parameter("x", 40, 2, 64)
    results = [permute(reduce_("add", x, (1,)), (2, 0, 1))]
    schedules_to(
        results,
        """
kernel k1(x: float32[5120], k1_out: float32[2560])
  for i1 < 40 parallel:
    for i0 < 64 vector:
      r0 = 0.0
      for j1 < 2:
        r0 += x[i1*128 + j1*64 + i0]
      k1_out[i0*40 + i1] = r0
""",
    )


def test_a_long_sum_across_rows_is_in_blocks() -> None:
    x = parameter("x", N, 40, 64)
    schedules_to(
        [reduce_("add", x, (0, 1))],
        """
kernel k1(x: float32[2560*n], k1_out: float32[64])
  for i2 < 64 vector:
    r0 = 0.0
    for j0j1s < (5*n)//16:
      r0_block = 0.0
      for j0j1 < 128:
        r0_block += x[i2 + j0j1s*8192 + j0j1*64]
      r0 += r0_block
    r0_block = 0.0
    for j0j1r < 8*((5*n) % 16):
      r0_block += x[i2 + j0j1r*64 + 8192*((5*n)//16)]
    r0 += r0_block
    k1_out[i2] = r0
""",
    )
    schedules_to(
        [reduce_("add", parameter("x", 20, 200, 64), (0, 1))],
        """
kernel k1(x: float32[256000], k1_out: float32[64])
  for i2 < 64 vector:
    r0 = 0.0
    for j0j1s < 31:
      r0_block = 0.0
      for j0j1 < 128:
        r0_block += x[i2 + j0j1s*8192 + j0j1*64]
      r0 += r0_block
    r0_block = 0.0
    for j0j1r < 32:
      r0_block += x[i2 + j0j1r*64 + 253952]
    r0 += r0_block
    k1_out[i2] = r0
""",
    )


def test_lanes_a_few_elements_apart_run_in_vectors() -> None:
    x = parameter("x", 4, 99)
    seen = window(x, (1,), (3,), (2,), (1,))
    schedules_to(
        [reduce_("maximum", seen, (2,))],
        """
kernel k1(x: float32[396], k1_out: float32[196])
  for i0 < 4 parallel:
    for i1 < 49 vector:
      r0 = -inf
      for j2 < 3:
        r0 = maximum(r0, x[i0*99 + i1*2 + j2])
      k1_out[i0*49 + i1] = r0
""",
    )


def test_a_costly_function_that_two_passes_need_is_stored_by_the_first() -> None:
    x = parameter("x", N, 8)
    powers = apply("exp", x)
    results = [apply("divide", powers, reduce_("add", powers, (1,)))]
    schedules_to(
        results,
        """
kernel k1(x: float32[8*n], k1_out: float32[8*n])
  for i0 < n parallel:
    r0 = 0.0
    for i1 < 8 vector:
      r0 += exp(x[i0*8 + i1])
      k1_out[i0*8 + i1] = exp(x[i0*8 + i1])
    for i1 < 8 vector:
      k1_out[i0*8 + i1] = k1_out[i0*8 + i1] / r0
""",
    )


def test_a_reduction_of_one_long_row_becomes_two_kernels() -> None:
    x = parameter("x", 100_000)
    results = [reduce_("add", x, (0,))]
    schedules_to(
        results,
        """
kernel k1_parts(x: float32[100000], k1_parts: float32[13])
  for part < 12 parallel:
    r0 = 0.0
    for j0 < 8333 vector:
      r0 += x[j0 + part*8333]
    k1_parts[part] = r0
  r0 = 0.0
  for j0 < 4 vector:
    r0 += x[j0 + 99996]
  k1_parts[12] = r0
kernel k1(k1_parts: float32[13], k1_out: float32[1])
  r0 = 0.0
  for part < 13 vector:
    r0 += k1_parts[part]
  k1_out[0] = r0
""",
    )


def test_windows_that_overlap_are_jammed() -> None:
    x = parameter("x", 4, 16, 32)
    results = [reduce_("maximum", window(x, (1,), (3,), (2,), (1,)), (3,))]
    schedules_to(
        results,
        """
kernel k1(x: float32[2048], k1_out: float32[896])
  for i0 < 4 parallel:
    for i2 < 32 vector:
      for i1t < 7 jam:
        r0 = -inf
        for j3 < 3:
          r0 = maximum(r0, x[i0*512 + j3*32 + i2 + i1t*64])
        k1_out[i0*224 + i2 + i1t*32] = r0
""",
    )


def test_running_totals_of_rows_beside_each_other_run_in_vectors() -> None:
    x = parameter("x", 16, 8)
    results = [scan("add", x, 0)]
    schedules_to(
        results,
        """
kernel k1(x: float32[128], k1_out: float32[128])
  for i1 < 8 vector:
    total = 0.0
    for i0 < 16:
      total += x[i0*8 + i1]
      k1_out[i0*8 + i1] = total
""",
    )


def test_axes_of_a_contraction_are_joined_and_it_gets_a_tile() -> None:
    x = parameter("x", 2, 6, 8)
    results = [contract(x, weights(8, 64), "bmk,kn->bmn")]
    schedules_to(
        results,
        """
kernel k1(k1_weights: float32[512], x: float32[96], k1_out: float32[768])
  product m bm<12, n n<64 in tiles of 6 x 2 x 8:
    sum = over k<8: x[k + bm*8] * k1_weights[0] packed
    k1_out[n + bm*64] = sum
""",
    )


def test_padding_is_read_from_a_buffer_of_zeros() -> None:
    x = pad(parameter("x", 12, 32), (1, 0), (1, 0), 0.0)
    windows = permute(window(x, (0,), (3,), (1,), (1,)), (0, 2, 1))
    results = [contract(windows, weights(3, 32, 48), "hic,ico->ho")]
    schedules_to(
        results,
        """
kernel k1(k1_weights: float32[4608], x: float32[384], k1_zeros: float32[32], k1_out: float32[576])
  product m h<12, n o<48 in tiles of 4 x 3 x 8:
    sum = over i<3 c<32: (x[h*32 + i*32 + c - 32] if 0 <= h + i - 1 < 12 else 0.0) * k1_weights[0] packed
    k1_out[h*48 + o] = sum
""",
    )


def test_a_side_that_a_run_computes_is_packed_in_a_panel_of_each_thread() -> None:
    x, y = parameter("x", N, 8), parameter("y", 8, 64)
    results = [contract(x, y, "mk,kn->mn")]
    schedules_to(
        results,
        """
kernel k1(y: float32[512], x: float32[8*n], k1_out: float32[64*n], k1_panel: float32[256*`$threads`])
  product m m<n, n n<64 in tiles of 6 x 2 x 8:
    sum = over k<8: x[m*8 + k] * y[k*64 + n]
    k1_out[m*64 + n] = sum
""",
    )


def test_attention_goes_through_keys_in_blocks() -> None:
    query, key, value = (parameter(name, 2, 16, 8) for name in ("query", "key", "value"))
    scores = contract(query, key, "bmd,btd->bmt")
    powers = apply("exp", apply("subtract", scores, reduce_("maximum", scores, (2,))))
    shares = apply("divide", powers, reduce_("add", powers, (2,)))
    results = [contract(shares, value, "bmt,btn->bmn")]
    schedules_to(
        results,
        """
kernel k1(value: float32[256], key: float32[256], query: float32[256], k1_out: float32[256],
          k1_keys: float32[512*`$threads`], k1_values: float32[1024*`$threads`], k1_scores: float32[7168*`$threads`])
  attend batch b<2, m m<16, n n<8 in tiles of 6 x 2 x 8:
    384 of t<16 at a time, in lines of 512, 1024 and 7168
    sum = over depth<8: query[b*128 + m*8 + depth] * key[b*128 + t*8 + depth]
    total = over t<16: weight of sum
    read = over t<16: weight * value[b*128 + t*8 + n]
    k1_out[b*128 + m*8 + n] = read / total
""",
    )
