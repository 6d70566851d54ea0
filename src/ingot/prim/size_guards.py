"""Guards of the sizes that a tensor has by its formula: none is below zero, and windows fit the axes they slide over.

Sizes are formulas of others, such as `h - 2`, and the code of a kernel multiplies and divides them as if they counted
something: two axes below zero would make a product above it, and elements that are nowhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ingot.dims import Dim, lower_bound, minimum
from ingot.prim.guard import Guard
from ingot.prim.tensor import Tensor, Window


def size_guards(tensor: Tensor) -> Iterable[Guard]:
    """The guards of a tensor whose sizes are not known to be in order."""
    if isinstance(tensor, Window) or any(map(_may_be_negative, tensor.shape)):
        return _size_guards(tensor)
    return ()  # of most


def _size_guards(tensor: Tensor) -> Iterator[Guard]:
    for size in tensor.shape:
        if _may_be_negative(size):
            yield Guard(minimum(size, 0), 0, "a size is below zero")
    if isinstance(tensor, Window):
        kernel = tensor.shape[len(tensor.x.shape) :]
        for axis, length, dilation in zip(tensor.axes, kernel, tensor.dilations, strict=True):
            reach = (length - 1) * dilation + 1
            slack = tensor.x.shape[axis] - reach
            if _may_be_negative(slack):
                yield Guard(minimum(slack, 0), 0, f"a window that reaches over {reach} does not fit")


def _may_be_negative(size: Dim) -> bool:
    if isinstance(size, int):
        return size < 0
    least = lower_bound(size)
    return least is None or least < 0
