"""What fusion decides by follows from the target: other machines, other numbers, other kernels."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fuse.programs import parameter, weights
from ingot.fuse.decide import decide
from ingot.loops.ir import kernels_in
from ingot.loops.show import show_kernel
from ingot.prim import apply, concat, contract, pad, permute, reduce_, window
from ingot.prim.tensor import Tensor
from ingot.schedule.fusion_limits import fusion_limits
from ingot.schedule.target import Target, named
from schedule.scheduled_programs import V3, V4, scheduled


@pytest.mark.parametrize(
    ("name", "padded_row", "few_rows", "folded_bytes"),
    [
        ("x86-64-v4", 16, 8, 4 << 20),
        ("x86-64-v4+amx", 16, 8, 4 << 20),
        ("x86-64-v3", 8, 8, 4 << 20),
        ("aarch64", 4, 8, 2 << 20),
        ("wasm32", 4, 0, 4 << 20),
    ],
)
def test_limits_follow_from_the_vectors_threads_and_caches_of_a_target(
    name: str, padded_row: int, few_rows: int, folded_bytes: int
) -> None:
    limits = fusion_limits(named(name))
    assert (limits.padded_row, limits.few_rows, limits.folded_bytes) == (padded_row, few_rows, folded_bytes)


def padded_convolution(channels: int) -> list[Tensor]:
    x = pad(parameter("x", 1, 9, 9, channels), (0, 1, 1, 0), (0, 1, 1, 0), 0.0)
    windows = permute(window(x, (1, 2), (3, 3), (1, 1), (1, 1)), (0, 1, 2, 4, 5, 3))
    return [contract(windows, weights(3, 3, channels, 4), "nhwijc,ijco->nhwo")]


@pytest.mark.parametrize(("target", "stored"), [(V4, True), (V3, False)], ids=["v4", "v3"])
def test_padding_shorter_than_a_vector_is_stored(target: Target, stored: bool) -> None:
    decision = decide(padded_convolution(8), fusion_limits(target))
    assert ("its padding is read in short pieces" in decision.why.values()) == stored


@pytest.mark.parametrize(("target", "kernels"), [(V4, 2), (replace(V4, threads=False), 1)], ids=["threads", "alone"])
def test_a_long_reduction_is_split_only_for_threads(target: Target, kernels: int) -> None:
    results = [reduce_("add", parameter("x", 2, 1 << 16), (1,))]
    assert len(list(kernels_in(scheduled(results, target).steps))) == kernels


def test_a_constant_is_folded_up_to_what_a_cache_holds() -> None:
    known = apply("exp", weights(64, 64))
    results = [apply("add", parameter("x", 64, 64), known), concat([known, known], 0)]
    assert [len(decide(results, fusion_limits(replace(V4, l2=l2))).known) for l2 in (1 << 20, 1 << 10)] == [1, 0]


@pytest.mark.parametrize(("registers", "rows"), [(32, 7), (16, 7), (8, 4)])
def test_as_many_rows_are_jammed_as_half_the_registers_hold(registers: int, rows: int) -> None:
    x = parameter("x", 4, 58, 32)
    results = [reduce_("maximum", window(x, (1,), (3,), (2,), (1,)), (3,))]
    (kernel,) = kernels_in(scheduled(results, replace(V4, registers=registers)).steps)
    assert f" < {rows} jam:" in show_kernel(kernel)


def test_a_reduction_without_rows_is_not_divided() -> None:
    limits = fusion_limits(named("x86-64-v4"))
    assert limits.divides(1, 1 << 20)
    assert not limits.divides(0, 1 << 20)
