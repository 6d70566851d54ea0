"""What follows from sizes before anything runs: what is out of all proportion, and what has nothing to do."""

from __future__ import annotations

import pytest

from ingot.dims import symbol
from ingot.dtypes import DType
from ingot.errors import InputError
from ingot.runtime.plan import Allocation, KernelStep, Segment, bind

N = symbol("n")


def segment(*kernels: KernelStep, rooms: tuple[Allocation, ...] = ()) -> Segment:
    return Segment(kernels, rooms, ("n",), (), None)


def test_more_steps_than_can_be_counted_are_refused() -> None:
    one = segment(KernelStep("k", 0, (), (N * N,)))
    assert len(bind(one, {"n": 1 << 31}).steps) == 1
    with pytest.raises(InputError, match="takes 21,267,647,932,558,653,966,460,912,964,485,513,216 steps"):
        bind(one, {"n": 1 << 62})


def test_a_value_of_more_bytes_than_there_are_is_refused() -> None:
    room = Allocation(0, DType.FLOAT32, (N, N), 0, 0)
    with pytest.raises(InputError, match="takes 4,398,046,511,104,000,000 bytes"):
        bind(segment(rooms=(room,)), {"n": 1_048_576_000})


def test_a_kernel_that_writes_nothing_is_passed_over() -> None:
    room = Allocation(0, DType.FLOAT32, (N, N - 1), 0, 0)
    made = segment(KernelStep("k", 1, (0,), (N,), (0,)), KernelStep("checks", 2, (0,), (N,)), rooms=(room,))
    assert bind(made, {"n": 1}).steps[:, 0].tolist() == [0, 2]
    assert bind(made, {"n": 2}).steps[:, 0].tolist() == [1, 2]
