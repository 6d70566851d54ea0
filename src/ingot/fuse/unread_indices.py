"""Guards on indices that no kernel checks, because what they are for is empty: a run that has any deoptimises."""

from __future__ import annotations

from collections.abc import Iterator, Set

import numpy as np

from ingot.dims import Dim, Expr, minimum
from ingot.prim.evaluate import evaluate
from ingot.prim.make import count
from ingot.prim.tensor import (
    AssumeShape,
    Expand,
    Gather,
    Iota,
    Permute,
    Reshape,
    Scatter,
    Sizes,
    Tensor,
)
from ingot.prim.walk import reachable


def unread_guards(tensor: Gather | Scatter, moving: Set[Tensor]) -> Iterator[tuple[Dim, Dim]]:
    """Sizes that are equal unless there are indices that no kernel checks, being repeated along an empty axis.

    Those known when the model is compiled are compared with the size of their axis; those that are `moving` are not.
    """
    if isinstance(tensor, Gather) and tensor.in_range:
        return
    whole = tensor.shape if isinstance(tensor, Gather) else tensor.updates.shape
    for axis, place in enumerate(tensor.places):
        if isinstance(place, int):
            continue
        indices = _source(place)
        own = count(indices.shape)
        if own == 0 or not _may_be_empty(whole) or own == count(whole):
            continue
        there, none = minimum(own, 1), 1 - minimum(count(whole), 1)
        size = tensor.x.shape[axis]
        if indices.is_constant:
            (array,) = evaluate([indices], {}, {})
            least, most = int(np.min(array)), int(np.max(array))
            if least >= 0 and isinstance(size, int) and most < size:
                continue
            there = there if least < 0 else most + 1 - minimum(size, most + 1)
        else:
            if indices not in moving and any(isinstance(operand, Iota) for operand in reachable(indices)):
                continue  # they are counted, by a rule that knows what it does
        yield there * none, 0


def _may_be_empty(shape: Sizes) -> bool:
    return any(isinstance(size, Expr) or size == 0 for size in shape)


def _source(place: Tensor) -> Tensor:
    """Indices before they were repeated."""
    while isinstance(place, Expand | Reshape | Permute | AssumeShape):
        place = place.x
    return place
