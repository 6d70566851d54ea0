"""What is known of views: the axes that a reshape joins, and along which axis indices count."""

from __future__ import annotations

from collections.abc import Sequence

from ingot.dims import Dim
from ingot.prim.tensor import Expand, Iota, Permute, Reshape, Sizes, Tensor


def index_axis(x: Tensor) -> int | None:
    """The axis along which each element is its own index; None where there is none, or none is known."""
    match x:
        case Iota():
            return x.axis
        case Expand():
            axis = index_axis(x.x)
            return axis if axis is not None and x.x.shape[axis] == x.shape[axis] else None
        case Permute():
            axis = index_axis(x.x)
            return None if axis is None else x.order.index(axis)
        case Reshape():
            axis = index_axis(x.x)
            inner, outer = _long(x.x.shape), _long(x.shape)
            if axis not in inner or [x.x.shape[place] for place in inner] != [x.shape[place] for place in outer]:
                return None
            return outer[inner.index(axis)]
    return None


def order_of_parts(x: Permute, sizes: Sequence[Dim]) -> tuple[int, ...] | None:
    """The order in which axes of `y` make up `sizes`, where `x` is a permutation of a reshape of `y` that joins axes.

    None where a reshape of `x` to these sizes does not divide again what was joined.
    """
    if not isinstance(x.x, Reshape):
        return None
    parts = _parts(x.x.shape, x.x.x.shape)
    if parts is None:
        return None
    order = tuple(place for axis in x.order for place in parts[axis])
    return order if tuple(x.x.x.shape[place] for place in order) == tuple(sizes) else None


def _long(shape: Sizes) -> list[int]:
    return [axis for axis, size in enumerate(shape) if size != 1]


def _parts(joined: Sizes, divided: Sizes) -> list[list[int]] | None:
    """The axes of `divided` that make up each of `joined`, in order; None where one does not fit."""
    rest = list(range(len(divided)))
    parts: list[list[int]] = []
    for size in joined:
        own: list[int] = []
        product: Dim = 1
        while product != size:
            if not rest:
                return None
            own.append(rest.pop(0))
            product = product * divided[own[-1]]
        parts.append(own)
    while rest and divided[rest[0]] == 1 and parts:
        parts[-1].append(rest.pop(0))
    return parts if not rest else None
