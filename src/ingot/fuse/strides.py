"""How far apart the elements of a tensor lie in memory, along each of its axes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from ingot.dims import Dim


@lru_cache(maxsize=1024)
def c_strides(shape: tuple[Dim, ...]) -> tuple[Dim, ...]:
    """The strides of a tensor stored in the order of its axes."""
    return strides_of(shape, range(len(shape)))


def strides_of(shape: Sequence[Dim], order: Sequence[int]) -> tuple[Dim, ...]:
    """The strides of a tensor whose axes are stored in `order`, the outermost first."""
    strides: dict[int, Dim] = {}
    step: Dim = 1
    for axis in reversed(order):
        strides[axis] = step
        step = step * shape[axis]
    return tuple(strides[axis] for axis in range(len(shape)))
