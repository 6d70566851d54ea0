"""Trilu: the upper or lower triangle of matrices."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import numpy as np

from ingot.dtypes import Array
from ingot.errors import ShapeError
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.typesets import ALL, INT64, types

T: TypeAlias = Annotated[Array, types("T", ALL)]
Diagonal: TypeAlias = Annotated[Array, types("", INT64)]


@operator("Trilu", since=14)
def trilu(x: T, k: Diagonal | None = None, /, *, upper: int = 1) -> T:
    """The last two axes with zeros (or empty text) below diagonal `k`, or above unless `upper`; 0 is the main one."""
    _check(x.ndim)
    if k is not None and (k.size != 1 or k.ndim > 1):
        raise ShapeError(f"k has shape {list(k.shape)}, expected one element")
    rows, columns = x.shape[-2:]
    offset = 0 if k is None else max(min(int(k.reshape(-1)[0]), columns + 1), -rows - 1)
    along = np.arange(columns) - np.arange(rows)[:, None]
    kept = along >= offset if upper else along <= offset
    zero = "" if x.dtype == np.object_ else np.zeros((), x.dtype)
    return np.asarray(np.where(kept, x, zero), x.dtype)


@trilu.infer
def infer(x: Fact, k: Fact | None = None, /, *, upper: int) -> Inferred:
    if x.rank is not None:
        _check(x.rank)
    return x.type


def _check(rank: int) -> None:
    if rank < 2:
        raise ShapeError(f"the input has {rank} axes, expected 2 or more")
