"""Reshapes of stored tensors that need no copy: how their axes lie in the same memory."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from ingot.dims import Dim
from ingot.prim.tensor import Sizes

Group = tuple[list[int], list[int]]
"""Axes of a tensor and those of a reshape of it, of as many elements."""


def reshaped_strides(inner: Sizes, strides: Sequence[Dim], outer: Sizes) -> tuple[Dim, ...] | None:
    """The strides of a tensor with `strides`, of shape `inner`, as one of shape `outer`; None where it has none."""
    groups = _groups(inner, outer)
    if groups is None:
        return None
    result: list[Dim] = [0] * len(outer)
    for axes, places in groups:
        for axis, following in pairwise(axes):
            if strides[axis] != strides[following] * inner[following]:
                return None
        step = strides[axes[-1]]
        for place in reversed(places):
            result[place] = step
            step = step * outer[place]
    return tuple(result)


def reshaped_order(inner: Sizes, order: Sequence[int], outer: Sizes) -> tuple[int, ...] | None:
    """The order of axes of a reshape of a tensor whose axes lie in `order`; None where it needs a copy."""
    if list(order) == list(range(len(inner))):
        return tuple(range(len(outer)))
    groups = _groups(inner, outer)
    if groups is None:
        return None
    result = [place for place, size in enumerate(outer) if size == 1]
    rest = [axis for axis in order if inner[axis] != 1]
    while rest:
        axes, places = next(group for group in groups if rest[0] in group[0])
        if rest[: len(axes)] != axes:
            return None
        result += places
        del rest[: len(axes)]
    return tuple(result)


def joined_axes(inner: Sizes, outer: Sizes) -> dict[int, list[int]] | None:
    """The axes of a tensor that each axis of a reshape of it joins, those of size one left out; None if it divides."""
    groups = _groups(inner, outer)
    if groups is None or any(len(places) != 1 for _, places in groups):
        return None
    return {places[0]: axes for axes, places in groups}


def _groups(inner: Sizes, outer: Sizes) -> list[Group] | None:
    """Axes of two shapes that correspond, those of size one left out; None if it is not seen which do."""
    left = [axis for axis, size in enumerate(inner) if size != 1]
    right = [axis for axis, size in enumerate(outer) if size != 1]
    groups: list[Group] = []
    while left and right:
        divided = _until([outer[place] for place in right], inner[left[0]])
        joined = _until([inner[axis] for axis in left], outer[right[0]])
        if divided is None and joined is None:
            return None
        counts = (1, divided) if divided is not None else (joined or 1, 1)
        groups.append((left[: counts[0]], right[: counts[1]]))
        del left[: counts[0]], right[: counts[1]]
    return None if left or right else groups


def _until(sizes: Sequence[Dim], total: Dim) -> int | None:
    """How many of the first sizes have a product; None if none do."""
    product: Dim = 1
    for number, size in enumerate(sizes, 1):
        product = product * size
        if product == total:
            return number
    return None
