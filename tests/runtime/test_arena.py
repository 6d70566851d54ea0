"""Where allocations lie in an arena: those that are needed at the same time apart, the others together."""

from __future__ import annotations

import random

import pytest

from ingot.runtime.arena import ALIGN, Arena, rounded


def test_allocations_that_are_needed_one_after_another_share_memory() -> None:
    arena = Arena([(0, 1), (1, 2), (2, 3)])
    assert arena.offsets([100, 1000, 50]) == ([1024, 0, 1024], 1024 + 128)


def test_the_largest_lies_lowest() -> None:
    assert Arena([(0, 1), (0, 1)]).offsets([64, 128]) == ([128, 0], 192)


def test_an_arena_of_nothing_takes_no_bytes() -> None:
    assert Arena([]).offsets([]) == ([], 0)
    assert Arena([(0, 5), (0, 5)]).offsets([0, 0]) == ([0, 0], 0)


@pytest.mark.parametrize("seed", range(20))
def test_allocations_that_are_needed_at_the_same_time_do_not_overlap(seed: int) -> None:
    numbers = random.Random(seed)
    lifetimes = [(first, first + numbers.randrange(5)) for first in (numbers.randrange(30) for _ in range(40))]
    arena = Arena(lifetimes)
    for _ in range(3):
        sizes = [numbers.randrange(1000) for _ in lifetimes]
        starts, total = arena.offsets(sizes)
        assert all(start % ALIGN == 0 for start in starts)
        assert total == max(start + -(-size // ALIGN) * ALIGN for start, size in zip(starts, sizes, strict=True))
        for one, (first, last) in enumerate(lifetimes):
            for other in range(one):
                if first <= lifetimes[other][1] and lifetimes[other][0] <= last:
                    apart = starts[one] + sizes[one] <= starts[other] or starts[other] + sizes[other] <= starts[one]
                    assert apart or not sizes[one] or not sizes[other]


@pytest.mark.parametrize("size", [0, 1, 63, 64, 65, 1000, 123_456, 10**12 + 1])
def test_a_size_is_rounded_up_by_an_eighth_at_most(size: int) -> None:
    assert size <= rounded(size) <= size + max(ALIGN, size // 8)
    assert rounded(rounded(size)) == rounded(size)
