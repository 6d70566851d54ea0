"""What follows from sizes before anything runs: what is out of all proportion, and what has nothing to do."""

from __future__ import annotations

import random
import struct
from collections.abc import Sequence

import pytest

from ingot.codegen.jumps import CHOOSE, FAIL, GO
from ingot.dims import Dim, symbol
from ingot.dtypes import DType
from ingot.errors import InputError
from ingot.prim.guard import Guard
from ingot.prim.tensor import Tensor
from ingot.runtime.arena import ALIGN, Arena
from ingot.runtime.bind import Binder, Binding, ScalableLayout
from ingot.runtime.guards import GuardFailed
from ingot.runtime.plan import Allocation, Arm, Jump, KernelStep, Segment

N, M = symbol("n"), symbol("m")


def segment(
    *steps: KernelStep | Jump,
    allocations: tuple[Allocation, ...] = (),
    guards: tuple[Guard, ...] = (),
    arms: tuple[Arm, ...] = (),
    names: tuple[str, ...] = ("n",),
) -> Segment:
    return Segment(steps, allocations, names, guards, None, arms)


def kernel(*scalars: Dim, writes: tuple[int, ...] = ()) -> KernelStep:
    return KernelStep("k", 1, (0,), scalars, writes)


def floats(slot: int, *shape: Dim, first: int = 0, last: int = 0, tensor: Tensor | None = None) -> Allocation:
    return Allocation(slot, DType.FLOAT32, shape, first, last, tensor)


def scalars(binder: Binder, binding: Binding, row: int, count: int) -> Sequence[int]:
    """The first scalars of a step, as they lie in memory."""
    return struct.unpack_from(f"<{count}q", binding.scalars, 8 * binder.places[row])


def test_more_steps_than_can_be_counted_are_refused() -> None:
    binder = Binder(segment(kernel(N * N)))
    assert scalars(binder, binder.bind({"n": 1 << 31}), 0, 1) == (1 << 62,)
    with pytest.raises(InputError, match="takes 21,267,647,932,558,653,966,460,912,964,485,513,216 steps"):
        binder.bind({"n": 1 << 62})


def test_a_value_of_more_bytes_than_there_are_is_refused() -> None:
    binder = Binder(segment(allocations=(floats(0, N, N),)))
    with pytest.raises(InputError, match=r"sizes \[1048576000, 1048576000\] takes 4,398,046,511,104,000,000 bytes"):
        binder.bind({"n": 1_048_576_000})


def test_a_loop_of_more_iterations_than_can_be_counted_is_refused() -> None:
    binder = Binder(segment(Jump("loop", 0, (0, -1, -1), 1, 1, N * N)))
    with pytest.raises(InputError, match="takes 18,446,744,073,709,551,616 steps"):
        binder.bind({"n": 1 << 32})


def test_a_kernel_that_writes_nothing_is_passed_over() -> None:
    binder = Binder(segment(kernel(N, writes=(0,)), kernel(N), allocations=(floats(0, N, N - 1),)))
    empty = binder.bind({"n": 1})
    assert empty.replaced == (0,)
    assert scalars(binder, empty, 0, 2) == (GO, 1)
    assert scalars(binder, empty, 1, 1) == (1,)
    assert binder.bind({"n": 2}).replaced == ()


def test_working_memory_of_a_kernel_that_is_passed_over_takes_no_bytes() -> None:
    allocations = (floats(0, N), floats(1, 100), floats(2, 100, first=0, last=1), floats(3, M, first=1, last=1))
    own = segment(kernel(N, writes=(0,)), kernel(M, writes=(3,)), allocations=allocations, names=("n", "m"))
    binder = Binder(own)
    assert binder.bind_tightly({"n": 0, "m": 7}).layout.sizes == (0, 0, 400, 28)
    assert binder.bind_tightly({"n": 1, "m": 7}).layout.sizes == (4, 400, 400, 28)
    assert binder.bind_tightly({"n": 0, "m": 0}).layout.sizes == (0, 0, 0, 0)


def test_each_step_finds_its_own_scalars() -> None:
    loop = Jump("loop", 0, (0, -1, -1), 1, 3, N + 1)
    binder = Binder(segment(kernel(N, 2, 3 * N), loop, kernel(*range(9), N * N)))
    binding = binder.bind({"n": 5})
    assert scalars(binder, binding, 0, 3) == (5, 2, 15)
    assert scalars(binder, binding, 1, 4) == (0, 1, 3, 6)
    assert scalars(binder, binding, 2, 10) == (*range(9), 25)
    assert len(binding.scalars) == 8 * binder.words


def test_sizes_without_a_name_need_no_sizes() -> None:
    binder = Binder(segment(kernel(7), allocations=(floats(0, 5, 5),), names=()))
    assert binder.bind({}).needed == 128
    assert binder.bind({"other": 3}) is binder.bind({})


def test_the_sizes_of_before_are_not_computed_again() -> None:
    binder = Binder(segment(kernel(N)))
    first = binder.bind({"n": 3, "m": 1})
    assert binder.bind({"n": 3, "m": 2}) is first
    assert binder.bind({"n": 4, "m": 2}) is not first


def test_bindings_of_a_small_segment_are_remembered_for_as_many_runs_as_a_loop_has() -> None:
    binder = Binder(segment(kernel(N)))
    first = [binder.bind({"n": size}) for size in range(500)]
    assert [binder.bind({"n": size}) for size in range(500)] == first
    for size in range(5000):
        binder.bind({"n": size})
    assert len(binder._bindings) * binder._packed.size <= 1 << 20


def test_no_more_bindings_of_a_large_segment_are_remembered_than_a_few() -> None:
    binder = Binder(segment(*[kernel(N) for _ in range(2000)]))
    for size in range(1, 200):
        binder.bind({"n": size})
    assert len(binder._bindings) <= 64


def test_sizes_that_differ_fail_their_guard_with_what_was_assumed() -> None:
    guards = (Guard(N, M), Guard(2 * N, 6), Guard(M, M))
    binder = Binder(segment(kernel(N), guards=guards, names=("m", "n")))
    binder.bind({"n": 3, "m": 3})
    with pytest.raises(GuardFailed, match=r"sizes that were assumed to be equal are not: n = 3, m = 4$") as caught:
        binder.bind({"n": 3, "m": 4, "p": 5})
    assert caught.value.guards == guards[:1]
    assert caught.value.sizes == {"n": 3, "m": 4, "p": 5}
    with pytest.raises(GuardFailed, match=r"are not: 2\*n = 8, 6$"):
        binder.bind({"n": 4, "m": 4})


def test_a_size_that_divides_by_zero_fails_as_a_guard_does() -> None:
    binder = Binder(segment(kernel(N // M), names=("m", "n")))
    assert scalars(binder, binder.bind({"n": 7, "m": 2}), 0, 1) == (3,)
    with pytest.raises(GuardFailed, match="divided by zero"):
        binder.bind({"n": 7, "m": 0})


@pytest.mark.parametrize(("n", "m", "closed"), [(2, 2, False), (2, 3, True), (0, 0, True)])
def test_an_arm_is_closed_where_its_guards_fail_or_its_sizes_are_none(n: int, m: int, closed: bool) -> None:
    choice = Jump("if", CHOOSE, (1,), 1, 3)
    arm = Arm(1, 2, (Guard(N, M),))
    inside = floats(2, N - 1, first=1, last=1)
    after = floats(3, N, first=0, last=3)
    steps = (choice, kernel(8 // N, writes=(2,)), Jump("end", GO, (-1,), 3), kernel(N, writes=(3,)))
    binder = Binder(segment(*steps, allocations=(inside, after), arms=(arm,), names=("m", "n")))
    binding = binder.bind({"n": n, "m": m})
    assert (1 in binding.replaced) == closed
    if closed:
        assert scalars(binder, binding, 1, 1) == (FAIL,)
        assert binding.needed == (64 if n else 0)
    else:
        assert scalars(binder, binding, 1, 1) == (4,)
        assert binding.needed == 128
    assert scalars(binder, binding, 0, 3) == (CHOOSE, 1, 3)


def test_the_shapes_of_results_follow_from_the_sizes() -> None:
    result = Tensor(DType.FLOAT32, (N, 3))
    binder = Binder(segment(kernel(N), allocations=(floats(0, N, 3, tensor=result), floats(1, N))))
    binding = binder.bind({"n": 2})
    assert binding.shapes == ((2, 3),)
    assert binding.needed == 24 + 64
    assert [each.tensor for each in binder.results] == [result]


@pytest.mark.parametrize("seed", range(10))
def test_a_layout_is_scaled_so_that_allocations_stay_apart(seed: int) -> None:
    numbers = random.Random(seed)
    lifetimes = [(first, first + numbers.randrange(5)) for first in (numbers.randrange(30) for _ in range(40))]
    first = tuple(numbers.randrange(100_000) for _ in lifetimes)
    scalable = ScalableLayout(Arena(lifetimes), first)
    for factor in (1.0, 0.1, 1.07, 3.0, 40.0):
        sizes = tuple(int(size * factor * numbers.uniform(0.8, 1)) for size in first)
        layout = scalable.scaled(sizes)
        assert layout is not None
        assert all(start % ALIGN == 0 for start in layout.offsets)
        assert all(size <= most for size, most in zip(sizes, layout.sizes, strict=True))
        placed = list(zip(layout.offsets, sizes, lifetimes, strict=True))
        assert all(start + size <= layout.total for start, size, _ in placed)
        for one, (start, size, (begin, end)) in enumerate(placed):
            for other, extent, (born, last) in placed[:one]:
                if born <= end and begin <= last:
                    assert start + size <= other or other + extent <= start


def test_a_layout_is_not_scaled_for_sizes_that_have_changed_differently() -> None:
    scalable = ScalableLayout(Arena([(0, 1), (0, 1), (0, 1)]), (1 << 20, 1 << 20, 0))
    assert scalable.scaled((1 << 21, 1 << 21, 0)) is not None
    assert scalable.scaled((1 << 24, 1 << 20, 0)) is None
    assert scalable.scaled((1 << 20, 1 << 20, 1)) is None


def test_sizes_that_grow_a_little_keep_the_layout_of_before() -> None:
    binder = Binder(segment(kernel(N), allocations=(floats(0, N, 1000), floats(1, N, 1000))))
    exact = binder.bind({"n": 100}).layout
    assert exact.total == -(-400_000 // 64) * 64 * 2
    grown = binder.bind({"n": 101}).layout
    assert exact.total < grown.total < exact.total * 1.13
    assert binder.bind({"n": 103}).layout is grown
    assert binder.bind({"n": 60}).layout is grown
    assert binder.bind({"n": 10}).layout is not grown


def test_a_tight_binding_takes_no_more_than_its_sizes_need() -> None:
    binder = Binder(segment(kernel(N), allocations=(floats(0, N, 1000),)))
    binder.bind({"n": 100})
    assert binder.bind({"n": 101}).needed > 404_000 + 64
    assert binder.bind_tightly({"n": 101}).needed == -(-404_000 // 64) * 64
