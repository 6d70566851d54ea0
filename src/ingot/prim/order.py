"""Sorting as a primitive: where the first elements of each row are, in order."""

from __future__ import annotations

import numpy as np

from ingot.dataclass import dataclass
from ingot.dims import Dim
from ingot.dtypes import Array, DType
from ingot.prim.functions import FLOATING, INTEGERS
from ingot.prim.tensor import Refused, Tensor

SORTED = frozenset({*FLOATING, *INTEGERS, DType.BFLOAT16})
"""Element types that rows are sorted by."""


@dataclass(frozen=True, eq=False, slots=True)
class Order(Tensor):
    """The places of the least elements along the last axis of `x`, the least first; of equal ones the lower.

    How many is the last size. Zeros of both signs are equal, and so is every NaN, which is above all numbers. If it is
    `descending`, the greatest come first, of equal ones still the lower.
    """

    x: Tensor
    descending: bool

    @property
    def reads(self) -> tuple[Tensor, ...]:
        return (self.x,)


def order(x: Tensor, many: Dim, *, descending: bool = False) -> Tensor:
    """The places of the first elements of each row, int64; it must have so many. Refused for other than numbers."""
    if x.dtype not in SORTED:
        raise Refused(f"a sort of {x.dtype}")
    return Order(DType.INT64, (*x.shape[:-1], many), x, descending)


def places_in_order(x: Array, many: int, descending: bool) -> Array:
    """What an order is, for an array."""
    keys = x if x.dtype.kind in "iuf" else x.astype(np.float32)
    if not descending:
        places = np.argsort(keys, axis=-1, kind="stable")
    else:
        backwards = np.argsort(np.flip(keys, -1), axis=-1, kind="stable")
        places = keys.shape[-1] - 1 - np.flip(backwards, -1)
    return np.ascontiguousarray(places[..., :many]).astype(np.int64, copy=False)
