"""Trilu: the upper or lower triangle of matrices."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

import numpy as np

from ingot import prim
from ingot.dtypes import Array, DType
from ingot.errors import ShapeError
from ingot.ir.value import Value
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.older import dtype_of, rank_of
from ingot.ops.tensor import places
from ingot.ops.tensor.carriers import carried, carrier
from ingot.ops.tensor.moved import in_own_type
from ingot.ops.typesets import ALL, ALL_3, INT64, types

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
    inside = along >= offset if upper else along <= offset
    zero = "" if x.dtype == np.object_ else np.zeros((), x.dtype)
    return np.asarray(np.where(inside, x, zero), x.dtype)


@trilu.infer
def infer(x: Fact, k: Fact | None = None, /, *, upper: int) -> Inferred:
    if x.rank is not None:
        _check(x.rank)
    return x.type


@trilu.lower
def lower(x: prim.Tensor, k: prim.Tensor | None = None, /, *, upper: int, inferred: tuple[Fact, ...]) -> prim.Tensor:
    x = in_own_type(x, inferred[0])
    rows, columns = (prim.iota(x.shape, axis) for axis in (x.rank - 2, x.rank - 1))
    offset = 0 if k is None else prim.reshape(k, ())
    along = columns - rows
    inside = prim.apply("less_equal", offset, along) if upper else prim.apply("less_equal", along, offset)
    return prim.where(inside, x, 0)


@trilu.downgrade
def downgrade(op: Any, x: Value, k: Value | None = None, /, *, upper: int, version: int) -> Any:
    """What is to stay is chosen by how far each column is from the row of the same number."""
    rank = rank_of(x)
    columns, rows = (places.counted(op, x, axis, version) for axis in (rank - 1, rank - 2))
    along = op.Sub(columns, places.spread(op, rows, [1], version))
    offset: Any = np.int64(0) if k is None else k
    inside = op.GreaterOrEqual(along, offset) if upper else op.LessOrEqual(along, offset)
    if dtype_of(x) is DType.BOOL:
        return op.And(inside, x)
    wide = carrier(dtype_of(x), ALL_3, version)
    zero = np.array("" if wide is DType.STRING else 0, wide.numpy)
    return carried(op, lambda each: op.Where(inside, each, zero), x, supported=ALL_3, version=version)


def _check(rank: int) -> None:
    if rank < 2:
        raise ShapeError(f"the input has {rank} axes, expected 2 or more")
