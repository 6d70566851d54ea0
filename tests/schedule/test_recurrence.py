"""Loops with contractions: what is merged into them, what runs inside of one kernel, and what is stored in place."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from fuse.programs import N, parameter, weights
from ingot.dims import Dim
from ingot.dtypes import DType
from ingot.loops.ir import Contraction, Kernel, LoopStep, Recurrence, Step, kernels_in, nests_in
from ingot.loops.kernel import kernel_of
from ingot.loops.show import show_kernel
from ingot.loops.verify import verify_kernel
from ingot.prim import apply, concat, constant, contract, full, permute, slice_, unsqueeze
from ingot.prim.make_region import repeat, repeated
from ingot.prim.region import BodyArgument
from ingot.prim.tensor import Tensor
from schedule.scheduled_programs import scheduled

T = N * 2
"""As many runs as a size that is not known."""


def gated(
    start: Tensor, right: Tensor, gates: int, trips: Dim = T, whole: bool = False
) -> tuple[list[Tensor], list[Tensor]]:
    """A state that is the product of the sigmoids of its gates; with `whole`, a run reads all gates at once, too."""
    size = start.shape[1]
    assert isinstance(size, int)

    def body(_: Tensor, states: tuple[Tensor, ...]) -> tuple[list[Tensor], list[Tensor]]:
        sums = contract(states[0], right, "mk,kn->mn")
        parts = [slice_(sums, [0, gate * size], start.shape) for gate in range(gates)]
        new = apply("sigmoid", parts[0])
        for part in parts[1:]:
            new = new * apply("sigmoid", part)
        return [new], [apply("exp", sums) if whole else new]

    return repeat(trips, [start], body)


def recurrences(steps: Sequence[Step]) -> list[Recurrence]:
    return [nest for kernel in kernels_in(steps) for nest in kernel.nests if isinstance(nest, Recurrence)]


def products(steps: Sequence[Step]) -> list[Contraction]:
    return [nest for kernel in kernels_in(steps) for nest in nests_in(kernel) if isinstance(nest, Contraction)]


def test_a_step_of_a_recurrent_network_is_one_contraction_that_stores_states_alone() -> None:
    last, rows = gated(full(0.0, (N, 8), DType.FLOAT32), weights(8, 16), gates=2)
    after = scheduled([*last, *rows])
    (kernel,) = [kernel for kernel in kernels_in(after.steps) if kernel.name == "loop1"]
    assert show_kernel(kernel) == (
        """kernel loop1(k2_weights: float32[128], k1_out: float32[8*n], k3_out: float32[8*n], b1: float32[16*n**2])
  repeat t<2*n, swapping k1_out and k3_out:
    product m m<n, n i1<8 in tiles of 6 x 2 x 8:
      sum0, sum1 = over k<8: k1_out[m*8 + k] * k2_weights[0] packed, to and fro by t from zeros
      e0 = sigmoid(sum0) * sigmoid(sum1)
      k3_out[m*8 + i1] = e0
      b1[m*8 + i1 + t*(8*n)] = e0"""
    )


def test_sums_that_another_kernel_reads_as_a_whole_are_stored_too() -> None:
    last, rows = gated(parameter("start", N, 8), weights(8, 16), gates=2, whole=True)
    (product, *_) = products(scheduled([*last, *rows]).steps)
    assert product.groups == 2
    stored = [statement.buffer.name for statement in product.body if hasattr(statement, "buffer")]
    assert stored == ["k2_out", "k2_out", "k3_out"]


@pytest.mark.parametrize(("gates", "groups"), [(1, 1), (3, 3), (4, 4), (5, 1)])
def test_as_many_gates_are_summed_together_as_a_tile_has_vectors(gates: int, groups: int) -> None:
    last, _ = gated(parameter("start", N, 8), weights(8, 8 * gates), gates)
    assert products(scheduled(last).steps)[0].groups == groups


def test_a_step_that_is_worth_sharing_stays_a_step() -> None:
    for size, inside in ((256, True), (272, False)):  # squares below and above 2^16
        last, _ = gated(parameter("start", N, size), weights(size, size), 1)
        steps = scheduled(last).steps
        assert bool(recurrences(steps)) is inside
        assert any(isinstance(step, LoopStep) for step in steps) is not inside


def test_a_loop_that_ends_by_a_condition_or_runs_for_very_long_stays_a_loop() -> None:
    start, number = parameter("start", 3, 8), BodyArgument(DType.INT64, (), "number")
    last, _ = gated(start, weights(8, 8), 1, trips=(1 << 20) + 1)
    assert not recurrences(scheduled(last).steps)
    state = BodyArgument(start.dtype, start.shape, "state")
    new = apply("tanh", contract(state, weights(8, 8), "mk,kn->mn"))
    going = apply("less", number, 5)
    last, _ = repeated(7, None, [start], number, [state], going, [new], [], 7)
    assert not recurrences(scheduled(last).steps)


def test_loops_that_read_nothing_of_each_other_are_one_recurrence() -> None:
    one, _ = gated(parameter("one", N, 8), weights(8, 16), 2)
    other, _ = gated(parameter("other", N, 8), weights(8, 16), 2)
    (recurrence,) = recurrences(scheduled([*one, *other]).steps)
    assert (len(recurrence.cycles), recurrence.rows) == (2, N)
    after, _ = gated(one[0], weights(8, 16), 2)
    assert [len(each.cycles) for each in recurrences(scheduled([*after, *other]).steps)] == [1, 2]


def test_a_loop_whose_rows_read_each_other_stays_a_loop() -> None:
    def body(_: Tensor, states: tuple[Tensor, ...]) -> tuple[list[Tensor], list[Tensor]]:
        other = slice_(states[0], [N - 1, 0], (N, 8), [-1, 1])
        return [apply("tanh", contract(states[0], weights(8, 8), "mk,kn->mn")) + other], []

    last, _ = repeat(T, [parameter("start", N, 8)], body)
    assert not recurrences(scheduled(last).steps)


def test_rows_of_two_loops_are_stored_side_by_side_and_flipped() -> None:
    parts = []
    for flipped in (False, True):
        _, (rows,) = gated(parameter(f"start{flipped}", N, 8), weights(8, 16), 2)
        if flipped:
            rows = slice_(rows, [T - 1, 0, 0], rows.shape, [-1, 1, 1])
        parts.append(unsqueeze(rows, [1]))
    both = permute(concat(parts, 1), (0, 2, 1, 3))  # run, row, direction, unit
    after = scheduled([both])
    (kernel,) = [kernel for kernel in kernels_in(after.steps) if kernel.name.startswith("loop")]
    text = show_kernel(kernel)
    assert after.placed[both].buffer in kernel.writes
    assert "[t*(16*n) + m*16 + i1] = e0" in text
    assert "[t*(-16*n) + m*16 + i1 + 32*n**2 - 16*n + 8] = e0" in text
    assert [step.name for step in after.steps if isinstance(step, Kernel)] == ["k1", "k2", kernel.name]


def test_rows_that_something_else_reads_are_copied() -> None:
    _, (rows,) = gated(parameter("start", N, 8), weights(8, 16), 2)
    after = scheduled([permute(rows, (1, 0, 2)), apply("exp", rows)])
    assert len([step for step in after.steps if isinstance(step, Kernel)]) == 4


def test_a_product_by_weights_that_are_not_finite_is_summed_from_the_first_run_on() -> None:
    right = np.full((8, 8), np.inf, np.float32)
    zeros = full(0.0, (N, 8), DType.FLOAT32)
    for array, skips in ((np.ones((8, 8), np.float32), True), (right, False)):
        last, _ = gated(zeros, constant(array), 1)
        (product,) = products(scheduled(last).steps)
        assert product.from_zeros is skips


def test_a_recurrence_with_statements_has_one_row() -> None:
    last, _ = gated(parameter("start", N, 8), weights(8, 16), 2)
    (recurrence,) = recurrences(scheduled(last).steps)
    _, rows = repeat(T, [parameter("state", 4)], lambda _, states: ([apply("exp", states[0])], [states[0]]))
    (short,) = recurrences(scheduled(rows).steps)
    assert short.rows == 1
    (cycle,) = recurrence.cycles
    broken = Recurrence(recurrence.rows, (cycle, *short.cycles))
    with pytest.raises(Exception, match="a cycle of rows with statements"):
        verify_kernel(kernel_of("broken", (broken,), ()))
