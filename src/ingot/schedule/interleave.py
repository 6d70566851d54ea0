"""Stores of a few neighbours: vectors along the axis beside a short innermost one, interleaved before they are stored.

Pixels out of channels, pairs that are rotated, the coordinates of a grid: along the innermost axis there are too few
elements for a vector, and along the one beside it they lie apart.
"""

from __future__ import annotations

from ingot.loops.ir import LANES_APART, For, Kind, Let, Load, Nest, Scalar, Store, Var
from ingot.loops.rewrite import indices, parts
from ingot.schedule.jam import fills_reach
from ingot.schedule.target import Target
from ingot.schedule.turn import Turned

_MOST = 4
"""Neighbours that are interleaved: each takes a vector, and a permutation for each of the others."""

_WORD = 4
"""Bytes of an element that a vector has at least, where an axis is short: narrower ones fill a part of it."""


def interleaved(nest: Nest, target: Target) -> Turned | None:
    """A nest whose innermost axis is short, in vectors along the axis beside it; None for any other."""
    if len(nest.stages) != 1 or nest.stages[0].inner or nest.stages[0].starts or len(nest.stages[0].body) != 1:
        return None
    (store,) = nest.stages[0].body
    if not isinstance(store, Store) or any(not isinstance(term, Var) for term, _ in store.index.terms):
        return None
    place = next((row for row in nest.rows if store.index.factor(row) == 1), None)
    if place is None or not isinstance(place.extent, int) or not 1 < place.extent <= _MOST:
        return None
    along = next((row for row in nest.rows if row is not place and store.index.factor(row) == place.extent), None)
    lanes = target.lanes(max(_WORD, store.buffer.dtype.numpy.itemsize))
    if along is None or lanes == 1 or (isinstance(along.extent, int) and along.extent < lanes):
        return None
    loads = [part for part in parts([store.value]) if isinstance(part, Load)]
    if not all(_is_contiguous(load, along) for load in loads) or not fills_reach(loads, along):
        return None
    rows = tuple(row for row in nest.rows if row is not along and row is not place)
    return Turned(rows, (For(along, (For(place, (store,), Kind.JAM),), Kind.VECTOR),))


def _is_contiguous(load: Load, along: Var) -> bool:
    """Whether what is read lies contiguous along an axis, or a few elements apart, or is the same.

    Where some of it is not read, as in padding, it lies contiguous: the lanes of a vector are masked.
    """
    places = [load.index, *(condition.index for condition in load.where)]
    if any(not isinstance(term, Var) and _depends(term, along) for place in places for term, _ in place.terms):
        return False
    if load.where:
        return load.index.factor(along) == 1
    factor = load.index.factor(along)
    return isinstance(factor, int) and 0 <= factor <= LANES_APART


def _depends(value: Scalar, var: Var) -> bool:
    return any(index.factor(var) != 0 for index in indices(Let("", value)))
