"""Elements moved about in primitives: in the type they have, to sizes and from indices that are known or computed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ingot import prim
from ingot.dims import Dim
from ingot.dtypes import DType
from ingot.ops.facts import Fact
from ingot.ops.shapes import is_natural
from ingot.ops.tensor.follow import sizes
from ingot.prim.functions import STORED
from ingot.prim.tensor import Constant


def in_own_type(x: prim.Tensor, fact: Fact) -> prim.Tensor:
    """`x` in the element type that inference found: 16-bit floats, which come as wider ones, as they were."""
    if fact.dtype not in STORED:
        raise prim.Refused(f"elements of {fact.dtype}")
    return prim.cast(x, fact.dtype)


def sizes_of(fact: Fact) -> tuple[Dim, ...]:
    """The shape that inference found; Refused where a size is not known."""
    shape = fact.shape
    known = tuple(size for size in shape or () if size is not None)
    if shape is None or len(known) < len(shape):
        raise prim.Refused("a result of unknown sizes")
    return known


def elements_of(fact: Fact, name: str) -> list[Dim]:
    """What a small integer tensor of one axis holds; Refused where that is only known when the model runs."""
    elements = sizes(fact)
    known = [element for element in elements or () if element is not None]
    if elements is None or len(known) < len(elements):
        raise prim.Refused(f"data-dependent {name}")
    return known


def holding(elements: Sequence[Dim]) -> prim.Tensor:
    """int64, of one axis: the sizes given."""
    known = [element for element in elements if isinstance(element, int)]
    if len(known) == len(elements):
        return prim.constant(np.array(known, np.int64))
    at = prim.iota((len(elements),), 0)
    values = prim.expand(prim.size(elements[-1]), (len(elements),))
    for index, element in list(enumerate(elements))[-2::-1]:
        values = prim.where(prim.apply("equal", at, index), prim.size(element), values)
    return values


def from_front(indices: prim.Tensor, size: Dim, fact: Fact) -> prim.Tensor:
    """Indices as int64, counted from the front of an axis of `size`; one that is outside stays outside."""
    if isinstance(indices, Constant):
        array = indices.array.astype(np.int64)
        if isinstance(size, int):
            array = np.where(array < 0, array + size, array)
        if isinstance(size, int) or (array >= 0).all():
            return prim.constant(array)
    wide = prim.cast(indices, DType.INT64)
    if fact.elements is not None and all(map(is_natural, fact.elements)):
        return wide
    return prim.where(prim.apply("less", wide, 0), wide + prim.size(size), wide)


def along(place: prim.Tensor, behind: int) -> prim.Tensor:
    """Indices with axes of size one behind theirs, so that they line up with `behind` axes less than the result has."""
    return prim.reshape(place, (*place.shape, *(1,) * behind))


def stored(tensors: Sequence[prim.Tensor]) -> list[prim.Tensor]:
    """The same tensors, of one shape, as parts of one that is stored: what reads them does not compute them again."""
    shape = tensors[0].shape
    one_more = [prim.full(0, (1, *shape[1:]), tensors[0].dtype)] if len(tensors) == 1 else []
    whole = prim.concat([*tensors, *one_more], 0)  # what is joined is stored
    starts = [(place * shape[0], *(0,) * (len(shape) - 1)) for place in range(len(tensors))]
    return [prim.slice_(whole, start, shape, in_range=True) for start in starts]


def own_place(shape: Sequence[Dim], within: Sequence[Dim], axis: int) -> prim.Tensor | int:
    """The index along an axis as a place in a tensor of sizes `within`: checked, unless it is there for certain."""
    here, there = shape[axis], within[axis]
    fits = here == there or (isinstance(here, int) and isinstance(there, int) and here <= there)
    return axis if fits else prim.iota(tuple(shape), axis)


def coordinates(indices: prim.Tensor, within: Sequence[Dim], fact: Fact) -> list[prim.Tensor]:
    """What each index along the last axis holds, counted from the front of the axes of sizes `within`."""
    counted = []
    for position, size in enumerate(within):
        if isinstance(indices, Constant):
            part = prim.constant(indices.array[..., position])
        else:
            starts = (*(0,) * (indices.rank - 1), position)
            part = prim.squeeze(prim.slice_(indices, starts, (*indices.shape[:-1], 1)), [indices.rank - 1])
        counted.append(from_front(part, size, fact))
    return counted
