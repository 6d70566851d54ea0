"""The order in which the axes of a tensor are stored.

It follows the tensors that it is computed from, so that both have the same layout: a convolution stores its channels
last, and what follows it does so too.
"""

from __future__ import annotations

from collections.abc import Mapping

from ingot.fuse.reshaped import reshaped_order
from ingot.prim.coded import Dequantised
from ingot.prim.tensor import (
    AssumeShape,
    Concat,
    Constant,
    Expand,
    Gather,
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
        case Gather():
            inner = order_like(tensor.x, known)
            return inner if tensor.rank == tensor.x.rank and _keeps_axes(tensor) else None
        case Reshape():
            inner = order_like(tensor.x, known)
            return None if inner is None else reshaped_order(tensor.x.shape, inner, tensor.shape)
    return None


def _keeps_axes(gather: Gather) -> bool:
    """Whether each axis that is not gathered from stays in its place, so that the others do so too."""
    return all(place == axis for axis, place in enumerate(gather.places) if isinstance(place, int))
