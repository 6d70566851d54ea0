"""Unique: each element, or slice along an axis, once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, TypeAlias

import numpy as np

from ingot import prim
from ingot.dtypes import Array, DType
from ingot.errors import UnsupportedError
from ingot.ir.types import TensorType
from ingot.ir.value import Value
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.older import dtype_of
from ingot.ops.shapes import axis_of, fresh, product
from ingot.ops.tensor.carriers import carrier
from ingot.ops.tensor.distinct import distinct_rows
from ingot.ops.tensor.follow import guarded, tensor
from ingot.ops.text.distinct import numbered
from ingot.ops.typesets import ALL, ALL_3, INT64, types
from ingot.prim.tensor import SizeReader

T: TypeAlias = Annotated[Array, types("T", {11: ALL_3, 28: ALL})]
Positions: TypeAlias = Annotated[Array, types("", INT64)]


@operator("Unique", since=(11, 28))
def unique(
    x: T, /, *, axis: int | None = None, sorted_: int = 1
) -> tuple[T, Positions | None, Positions | None, Positions | None]:
    """The elements of `x`, or its slices along `axis`, each once: in ascending order, else as they first come.

    Then where each comes first, which of them each of `x` is, and how often each comes. NaN is one value, the largest.
    """
    if axis is None:
        x, axis = x.reshape(-1), 0
    axis = axis_of(axis, x.ndim)
    if x.dtype == np.object_ and x.ndim == 1:
        first, inverse, counts = _distinct_texts(x.tolist())
    else:
        ranks = _ranks(x)
        rows = np.moveaxis(ranks, axis, 0).reshape(x.shape[axis], x.size // max(x.shape[axis], 1))
        first, inverse, counts = _distinct(rows)
    if not sorted_:
        order = np.argsort(first, kind="stable")
        place = np.empty_like(order)
        place[order] = np.arange(order.size)
        first, counts, inverse = first[order], counts[order], place[inverse]
    return x.take(first, axis), first, inverse, counts


@unique.infer
def infer(x: Fact, /, *, axis: int | None, sorted_: int) -> Sequence[Inferred]:
    shape = x.shape
    if shape is not None and axis is not None:
        axis = axis_of(axis, len(shape))
    total = None
    if shape is not None:
        total = guarded(lambda: product(shape)) if axis is None else shape[axis]
    distinct = fresh("distinct")
    if axis is None:
        values = tensor(x.dtype, (distinct,))
    else:
        values = tensor(x.dtype, None if shape is None else (*shape[:axis], distinct, *shape[axis + 1 :]))
    counts = TensorType(DType.INT64, (distinct,))
    return [values, counts, TensorType(DType.INT64, (total,)), counts]


@unique.lower
def lower(
    x: prim.Tensor, /, *, axis: int | None, sorted_: int, read: SizeReader
) -> tuple[prim.Tensor, prim.Tensor, prim.Tensor, prim.Tensor]:
    """Elements are rows of one, and slices along an axis rows of all their elements."""
    if axis is None:
        x, axis = prim.reshape(x, (prim.count(x.shape),)), 0
    axis = axis_of(axis, x.rank)
    others = [each for each in range(x.rank) if each != axis]
    rows = prim.permute(x, [axis, *others])
    rows = prim.reshape(rows, (x.shape[axis], prim.count([x.shape[each] for each in others])))
    distinct = distinct_rows(rows, bool(sorted_), read)
    (total,) = distinct.first.shape
    at = prim.reshape(distinct.first, [total if each == axis else 1 for each in range(x.rank)])
    shape = tuple(total if each == axis else size for each, size in enumerate(x.shape))
    values = prim.gather(x, [at if each == axis else each for each in range(x.rank)], shape, in_range=True)
    return values, distinct.first, distinct.inverse, distinct.counts


@unique.downgrade
def downgrade(op: Any, x: Value, /, *, axis: int | None, sorted_: int, outputs: int, version: int) -> Any:
    if version < unique.since[0]:
        raise UnsupportedError("how many distinct elements there are shows only when the model runs")
    dtype = dtype_of(x)
    wide = carrier(dtype, ALL_3, version)
    results = op.Unique(op.Cast(x, to=int(wide)), axis=axis, sorted=sorted_, outputs=outputs)
    results = results if isinstance(results, tuple) else (results,)
    return op.Cast(results[0], to=int(dtype)), *results[1:]


def _distinct_texts(texts: list[str]) -> tuple[Array, Array, Array]:
    """Where each distinct text comes first, in ascending order; which one each is; how often each comes."""
    different, which = numbered(texts)
    if which is None:
        places = dict(zip(reversed(texts), range(len(texts) - 1, -1, -1), strict=True))
        different = sorted(places)
        numbers = {text: number for number, text in enumerate(different)}
        inverse = np.fromiter(map(numbers.__getitem__, texts), np.int64, len(texts))
        first = np.fromiter(map(places.__getitem__, different), np.int64, len(different))
        return first, inverse, np.bincount(inverse, minlength=len(different)).astype(np.int64, copy=False)
    ascending = sorted(range(len(different)), key=different.__getitem__)
    rank = np.empty(len(different), np.int64)
    rank[ascending] = np.arange(len(different))
    inverse = rank.take(which)
    first = np.empty(len(different), np.int64)
    first[inverse[::-1]] = np.arange(len(texts) - 1, -1, -1)  # of those in one place the last stays
    return first, inverse, np.bincount(inverse, minlength=len(different)).astype(np.int64, copy=False)


def _ranks(x: Array) -> Array:
    """For each element, how many distinct ones are smaller; whole numbers sort the same and are no NaN."""
    plain = x if x.dtype.isbuiltin == 1 else x.astype(np.float32)
    _, inverse = np.unique(plain, return_inverse=True)
    return np.asarray(inverse).reshape(x.shape)


def _distinct(rows: Array) -> tuple[Array, Array, Array]:
    """Where each distinct row comes first, in ascending order; which one each row is; how often each comes."""
    if not rows.size:
        first = np.zeros(min(len(rows), 1), np.int64)
        return first, np.zeros(len(rows), np.int64), np.full(len(first), len(rows), np.int64)
    if rows.shape[1] == 1:
        rows = rows[:, 0]
    _, first, inverse, counts = np.unique(rows, True, True, True, axis=0)
    return first.astype(np.int64), inverse.reshape(-1).astype(np.int64), counts.astype(np.int64)
