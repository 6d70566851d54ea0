"""Memory that several constants share."""

from __future__ import annotations

import gc
from weakref import ref

import numpy as np

from ingot.providers.cpu.large_pages import zeros


def test_parts_of_one_allocation_do_not_overlap_and_are_zero() -> None:
    parts = [zeros(size) for size in (100, 64, 1 << 20, 7)]
    for number, part in enumerate(parts):
        assert not part.any()
        part[:] = number + 1
    assert all((part == number + 1).all() for number, part in enumerate(parts))
    assert not any(np.shares_memory(one, other) for one in parts for other in parts if one is not other)


def test_memory_that_nobody_uses_is_given_back() -> None:
    part = zeros(1000)
    assert part.base is not None
    whole = ref(part.base)
    others = [zeros(8 << 20) for _ in range(5)]  # so that the next allocation is another one
    del part
    gc.collect()
    assert whole() is None or any(other.base is whole() for other in others)


def test_large_arrays_have_memory_of_their_own() -> None:
    assert zeros(1 << 24).base is None
