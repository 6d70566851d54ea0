"""What the schedule chooses by the target, and what it moves out of loops."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fuse.programs import N, parameter, weights
from ingot.dims import Dim
from ingot.dtypes import DType
from ingot.fuse.contraction import Packed
from ingot.fuse.fuse import fuse
from ingot.loops.ir import BranchStep, Contraction, Kernel, LoopStep, Nest, Tile, Winograd, kernels_in, nests_in
from ingot.prim import apply, concat, contract, pad, permute, reduce_, scan, scatter, window
from ingot.prim.make_region import branch, repeat
from ingot.prim.tensor import Constant, Tensor
from ingot.schedule.fusion_limits import fusion_limits
from ingot.schedule.schedule import schedule
from ingot.schedule.target import Target
from ingot.schedule.winograd import Filters
from schedule.scheduled_programs import V3, V4, scheduled, texts_of


def convolution(channels: int, side: int) -> Tensor:
    """A convolution by filters of 3 x 3, as many as there are channels, that keeps the sides of an image."""
    x = pad(parameter("x", 1, side, side, channels), (0, 1, 1, 0), (0, 1, 1, 0), 0.0)
    windows = permute(window(x, (1, 2), (3, 3), (1, 1), (1, 1)), (0, 1, 2, 4, 5, 3))
    return contract(windows, weights(3, 3, channels, channels), "nhwijc,ijco->nhwo")


def product_of(results: list[Tensor], target: Target) -> Contraction | Winograd:
    (kernel,) = kernels_in(scheduled(results, target).steps)
    (nest,) = kernel.nests
    assert isinstance(nest, Contraction | Winograd)
    return nest


@pytest.mark.parametrize(
    ("side", "l2", "tiles"), [(3, 1 << 18, None), (3, 1 << 20, 2), (7, 1 << 20, 2), (7, 1 << 24, 4)]
)
def test_winograd_pays_by_how_much_of_the_filters_stays_in_the_cache(side: int, l2: int, tiles: int | None) -> None:
    nest = product_of([convolution(128, side)], replace(V3, l2=l2))
    assert (nest.side if isinstance(nest, Winograd) else None) == tiles


def test_filters_are_transformed_and_kept_as_they_are_for_winograd() -> None:
    fused = fuse([convolution(128, 7)], fusion_limits(V4))
    (before,) = fused.constants.values()
    assert isinstance(before, Packed)
    after = schedule(fused, V4)
    assert {buffer.name: type(memory) for buffer, memory in after.constants.items()} == {
        "k1_weights": Filters,
        "k1_filters": Constant,
    }
    assert [buffer.name for buffer in after.zeros] == ["k1_zeros"]


def test_weights_are_not_copied_until_they_are_packed() -> None:
    held = weights(128, 128, 3, 3)
    x = pad(parameter("x", 1, 7, 7, 128), (0, 1, 1, 0), (0, 1, 1, 0), 0.0)
    windows = permute(window(x, (1, 2), (3, 3), (1, 1), (1, 1)), (0, 1, 2, 4, 5, 3))
    product = contract(windows, permute(held, (2, 3, 1, 0)), "nhwijc,ijco->nhwo")
    fused = fuse([product], fusion_limits(V4))
    after = schedule(fused, V4)
    for memory in (*fused.constants.values(), *after.constants.values()):
        assert isinstance(memory, Packed | Filters | Constant)
        assert isinstance(held, Constant)
        assert np.shares_memory(memory.array, held.array)


@pytest.mark.parametrize(("target", "tile"), [(V3, Tile(4, 3, 8)), (V4, Tile(6, 4, 16))], ids=["v3", "v4"])
def test_a_tile_fills_the_registers_of_the_target(target: Target, tile: Tile) -> None:
    assert product_of([contract(parameter("x", N, 8), weights(8, 192), "mk,kn->mn")], target).tile == tile


@pytest.mark.parametrize(("target", "columns"), [(V3, 32), (V4, 64)], ids=["v3", "v4"])
def test_a_panel_is_as_wide_as_the_widest_tile(target: Target, columns: int) -> None:
    nest = product_of([contract(parameter("x", N, 8), parameter("y", 8, 64), "mk,kn->mn")], target)
    (panel,) = nest.scratch
    assert str(panel.elements) == f"{8 * columns}*`$threads`"


def test_fusion_knows_no_machine_and_the_schedule_leaves_no_plain_nest() -> None:
    x = parameter("x", N, 8)
    fused = fuse([apply("exp", x), reduce_("add", x, (0,)), concat([x, x], 0)], fusion_limits(V4))
    assert all(isinstance(nest, Nest) for kernel in kernels_in(fused.steps) for nest in kernel.nests)
    after = schedule(fused, V4)
    assert not any(isinstance(nest, Nest) for kernel in kernels_in(after.steps) for nest in kernel.nests)
    assert list(after.stores) == list(kernels_in(after.steps))


def test_updates_of_single_elements_stay_in_order() -> None:
    x, places = parameter("x", 9, 8), parameter("places", 5, dtype=DType.INT64)
    rows = parameter("rows", 5, dtype=DType.INT64)
    text = texts_of(scatter(x, parameter("updates", 5), (rows, places)))
    assert "  for i0 < 5:\n    k1_out[checked(" in text


def test_running_totals_along_the_last_axis_share_rows() -> None:
    assert "for i0 < n parallel:\n    total = 0.0\n    for i1 < 8:" in texts_of(scan("add", parameter("x", N, 8), 1))


# --- packing


def recurrent(right: Tensor, trips: Dim = 3) -> list[Tensor]:
    """A state that is multiplied by a tensor in every run of a loop."""
    last, _ = repeat(
        trips, [parameter("start", 6, 8)], lambda _, states: ([contract(states[0], right, "mk,kn->mn")], [])
    )
    return last


def names(steps: tuple[object, ...]) -> list[str]:
    return [step.name for step in steps if isinstance(step, Kernel | LoopStep | BranchStep)]


def test_an_invariant_right_side_is_packed_right_before_the_loop() -> None:
    steps = scheduled(recurrent(parameter("right", 8, 8))).steps
    assert names(steps) == ["k1", "k2_pack", "loop1", "k3"]
    (loop,) = [step for step in steps if isinstance(step, Kernel) and step.name == "loop1"]
    (product,) = nests_in(loop)
    assert isinstance(product, Contraction)
    assert (product.packed, product.rhs.buffer.name, product.scratch) == (True, "k2_panels", ())


def test_what_a_kernel_packs_is_what_it_is_for() -> None:
    right = parameter("right", 8, 8)
    after = scheduled(recurrent(permute(right, (1, 0))))
    (pack,) = [kernel for kernel in after.stores if kernel.name == "k2_pack"]
    assert after.stores[pack] is right


def test_a_right_side_that_a_run_writes_is_packed_in_every_run() -> None:
    def body(_: Tensor, states: tuple[Tensor, ...]) -> tuple[list[Tensor], list[Tensor]]:
        return [contract(states[0], states[1], "mk,kn->mn"), apply("exp", states[1])], []

    last, _ = repeat(3, [parameter("start", 6, 8), parameter("right", 8, 8)], body)
    assert not [name for name in texts_of(*last).split() if "_pack" in name]


def test_packing_leaves_a_loop_but_not_the_branch_around_it() -> None:
    (looped,) = recurrent(parameter("right", 8, 8))
    (result,) = branch(parameter("condition", dtype=DType.BOOL), [looped], [parameter("other", 6, 8)])
    steps = scheduled([result]).steps
    assert "k2_pack" not in names(steps)
    (step,) = [step for step in steps if isinstance(step, BranchStep)]
    assert names(step.then)[:3] == ["k1", "k2_pack", "loop1"]


def test_packing_leaves_all_loops_that_do_not_write_what_is_packed() -> None:
    right = parameter("right", 8, 8)

    def outer(_: Tensor, states: tuple[Tensor, ...]) -> tuple[list[Tensor], list[Tensor]]:
        inner = repeat(2, [states[0]], lambda _, inner: ([contract(inner[0], right, "mk,kn->mn")], []))[0]
        return [apply("exp", inner[0])], []

    last, _ = repeat(3, [parameter("start", 6, 8)], outer)
    steps = scheduled(last).steps
    (before,) = [name for name in names(steps) if name.endswith("_pack")]
    everywhere = [kernel.name for kernel in kernels_in(steps) if kernel.name.endswith("_pack")]
    assert everywhere == [before]
