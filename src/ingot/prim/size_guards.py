"""Guards of the sizes that a tensor has by its formula: none is below zero, windows fit the axes they slide over, and
32 bits hold the sums of as many products of bytes as a run counts.

Sizes are formulas of others, such as `h - 2`, and the code of a kernel multiplies and divides them as if they counted
something: two axes below zero would make a product above it, and elements that are nowhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from math import prod

from ingot.dims import Dim, Expr, lower_bound, minimum
from ingot.dtypes import DType
from ingot.prim.guard import Guard
from ingot.prim.tensor import Contract, Tensor, Window

MOST_BYTE_PRODUCTS = (2**31 - 1) // 255**2
"""As many products of bytes, each less a zero point, have sums that 32 bits always hold."""

_MOST_KNOWN = 1024
"""Sizes that are kept with what is known of them: a network has the same few in all of its layers."""


def size_guards(tensor: Tensor) -> Iterable[Guard]:
    """The guards of a tensor whose sizes are not known to be in order."""
    if isinstance(tensor, Window | Contract) or any(map(_may_be_negative, tensor.shape)):
        return _size_guards(tensor)
    return ()  # of most


def _size_guards(tensor: Tensor) -> Iterator[Guard]:
    for size in tensor.shape:
        if _may_be_negative(size):
            yield _never_negative(size, "a size is below zero")
    if isinstance(tensor, Contract) and tensor.dtype is DType.INT32:
        left, _, result = tensor.labels
        sizes: list[Dim] = [size for size, label in zip(tensor.lhs.shape, left, strict=True) if label not in result]
        products = prod(sizes)
        if not isinstance(products, int):
            most = f"more than {MOST_BYTE_PRODUCTS:,} products of bytes are summed"
            yield Guard(minimum(products, MOST_BYTE_PRODUCTS), products, most)
    if isinstance(tensor, Window):
        kernel = tensor.shape[len(tensor.x.shape) :]
        for axis, length, dilation in zip(tensor.axes, kernel, tensor.dilations, strict=True):
            reach = (length - 1) * dilation + 1
            slack = tensor.x.shape[axis] - reach
            if _may_be_negative(slack):
                yield _never_negative(slack, f"a window that reaches over {reach} does not fit")


def _may_be_negative(size: Dim) -> bool:
    return size < 0 if isinstance(size, int) else _may_be_below_zero(size)


@lru_cache(_MOST_KNOWN)
def _may_be_below_zero(size: Expr) -> bool:
    least = lower_bound(size)
    return least is None or least < 0


@lru_cache(_MOST_KNOWN)
def _never_negative(size: Dim, otherwise: str) -> Guard:
    return Guard(minimum(size, 0), 0, otherwise)
