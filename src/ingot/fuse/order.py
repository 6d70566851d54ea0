"""The order in which the axes of a tensor are stored.

It follows the tensors that it is computed from, so that both have the same layout: a convolution stores its channels
last, and what follows it does so too.
"""

from __future__ import annotations

from collections.abc import Mapping

from ingot.dims import Dim
from ingot.prim.coded import Dequantised
from ingot.prim.tensor import (
    AssumeShape,
    Concat,
    Constant,
    Expand,
    Iota,
    Map,
    Pad,
    Permute,
    Reduce,
    Reshape,
    Slice,
    Tensor,
    Window,
)

Order = tuple[int, ...]


def order_like(tensor: Tensor, known: Mapping[Tensor, Order]) -> Order | None:
    """The order of axes, the outermost first, that suits the stored tensors a tensor reads; None if none is better."""
    if tensor in known:
        return known[tensor]
    match tensor:
        case Map():
            for argument in tensor.arguments:
                if not isinstance(argument, Expand | Constant | Iota):
                    order = order_like(argument, known)
                    if order is not None:
                        return order
        case Permute():
            inner = order_like(tensor.x, known)
            return None if inner is None else tuple(tensor.order.index(axis) for axis in inner)
        case Reduce() | Slice() | Pad() | AssumeShape() | Dequantised():
            return order_like(tensor.x, known)
        case Concat():
            orders = [order for part in tensor.parts if (order := order_like(part, known)) is not None]
            others = [order for order in orders if order != tuple(range(tensor.rank))]
            return others[0] if others else orders[0] if orders else None
        case Window():
            inner = order_like(tensor.x, known)
            last = tuple(range(tensor.x.rank, tensor.rank))
            return None if inner is None else (*last, *inner)
        case Reshape():
            return _reshaped(tensor, known)
    return None


def _reshaped(tensor: Reshape, known: Mapping[Tensor, Order]) -> Order | None:
    """The order after a reshape of a tensor stored in the order of its axes, or one that only divides axes."""
    inner = order_like(tensor.x, known)
    if inner == tuple(range(tensor.x.rank)):
        return tuple(range(tensor.rank))
    parts = None if inner is None else _divided(tensor)
    if inner is None or parts is None:
        return None
    ones = [axis for axis, size in enumerate(tensor.shape) if size == 1]
    return (*ones, *(part for axis in inner for part in parts.get(axis, ())))


def _divided(tensor: Reshape) -> dict[int, list[int]] | None:
    """The axes that each axis of what is reshaped becomes, those of size one left out; None if axes are joined."""
    rest = [axis for axis, size in enumerate(tensor.shape) if size != 1]
    parts: dict[int, list[int]] = {}
    for axis, size in enumerate(tensor.x.shape):
        product: Dim = 1
        while product != size and rest:
            product = product * tensor.shape[rest[0]]
            parts.setdefault(axis, []).append(rest.pop(0))
        if product != size:
            return None
    return None if rest else parts
