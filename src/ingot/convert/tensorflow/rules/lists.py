"""Lists of tensors, which TensorArrays are: the tensor of their elements stacked."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ingot.builder import Var, op
from ingot.builder.known import shape_of
from ingot.convert.operands import as_var, cast, rank
from ingot.convert.tensorflow.dtypes import dtype_of
from ingot.convert.tensorflow.operands import joined, known, row, scalar, sizes_of, zero
from ingot.convert.tensorflow.resource import Collected, Collecting, Items
from ingot.convert.tensorflow.rule import Site, rule
from ingot.dims import Dim
from ingot.dtypes import DType
from ingot.errors import UnsupportedError

_END = np.iinfo(np.int64).max


@rule("TensorListReserve")
def reserve(site: Site, shape: Var, count: Var, *, element_dtype: Any) -> Items:
    return Items(dtype_of(element_dtype), None, scalar(site, count), _element_shape(site, shape))


@rule("EmptyTensorList")
def empty(site: Site, shape: Var, most: Var, *, element_dtype: Any) -> Items:
    return Items(dtype_of(element_dtype), None, None, _element_shape(site, shape))


@rule("TensorListFromTensor")
def from_tensor(site: Site, x: Var, shape: Var, *, element_dtype: Any) -> Items:
    return Items(
        dtype_of(element_dtype), x, None, (site.input_shape(0) or (None,))[1:] or _element_shape(site, shape), True
    )


@rule("TensorListStack")
def stack(site: Site, items: Items, shape: Var) -> Var:
    return whole(site, _shaped(site, items, shape))


@rule("TensorListLength")
def length(site: Site, items: Items) -> Any:
    return cast(_length(items), DType.INT32)


@rule("TensorListGetItem")
def get_item(site: Site, items: Items, index: Var, shape: Var, *, element_dtype: Any) -> Var:
    return op.Gather(whole(site, _shaped(site, items, shape)), index, axis=0)


@rule("TensorListSetItem")
def set_item(
    site: Site, items: Any, index: Var, item: Var, *, resize_if_index_out_of_bounds: bool = False
) -> Items | Collected:
    if isinstance(items, Collecting):
        return Collected(item)
    place = row(cast(index, DType.INT64))
    most = op.Add(place, np.array([1], np.int64)) if resize_if_index_out_of_bounds else None
    base = _extended(items, item, most)
    stacked = op.ScatterND(base, op.Unsqueeze(place, [0]), op.Unsqueeze(item, [0]))
    return Items(items.dtype, stacked, items.least, _merged(items.shape, item), True)


@rule("TensorListPushBack")
def push_back(site: Site, items: Items, item: Var) -> Items:
    last = op.Unsqueeze(item, [0])
    if items.stacked is None and items.least is None:
        return replace(items, stacked=last, shape=_merged(items.shape, item), full=True)
    stacked = op.Concat(_extended(items, item, None), last, axis=0)
    return Items(items.dtype, stacked, None, _merged(items.shape, item), True)


@rule("TensorListPopBack")
def pop_back(site: Site, items: Items, shape: Var) -> tuple[Items, Var]:
    held = whole(site, _shaped(site, items, shape))
    rest = op.Slice(held, [0], [-1], [0])
    return Items(items.dtype, rest, None, items.shape, True), op.Gather(held, np.array(-1), axis=0)


@rule("TensorListResize")
def resize(site: Site, items: Items, count: Var) -> Items:
    wanted = scalar(site, count)
    if items.stacked is None:
        return replace(items, least=wanted)
    cut = op.Slice(items.stacked, [0], row(wanted), [0])
    return Items(items.dtype, cut, wanted, items.shape)


@rule("TensorListGather")
def gather(site: Site, items: Items, indices: Var, shape: Var) -> Var:
    return op.Gather(whole(site, _shaped(site, items, shape)), indices, axis=0)


@rule("TensorListScatter", "TensorListScatterV2")
def scatter(site: Site, x: Var, indices: Var, shape: Var, count: Var | None = None, *, element_dtype: Any) -> Items:
    places = cast(indices, DType.INT64)
    needed: Any = op.Add(op.ReduceMax(places, keepdims=1), np.array([1], np.int64))
    if count is not None:
        needed = op.Max(needed, row(scalar(site, count)))
    rest = op.Slice(sizes_of(x), [1], [rank(x)])
    zeros = op.Expand(zero(dtype_of(element_dtype)), joined(needed, rest))
    stacked = op.ScatterND(zeros, op.Unsqueeze(places, [1]), x)
    return Items(dtype_of(element_dtype), stacked, None, (site.input_shape(0) or (None,))[1:], True)


@rule("TensorListScatterIntoExistingList")
def scatter_into(site: Site, items: Items, x: Var, indices: Var) -> Items:
    places = cast(indices, DType.INT64)
    first = op.Gather(x, np.array(0), axis=0)
    most = op.Add(op.ReduceMax(places, keepdims=1), np.array([1], np.int64))
    stacked_items = op.ScatterND(_extended(items, first, most), op.Unsqueeze(places, [1]), x)
    return replace(items, stacked=stacked_items, full=True)


@rule("TensorListConcat", "TensorListConcatV2")
def concat(site: Site, items: Items, shape: Var | None = None, leading: Var | None = None) -> tuple[Var, Var]:
    """All elements joined along their first axis, and how long each is: all are as long."""
    held = whole(site, items)
    sizes = sizes_of(held)
    rows, each = op.Slice(sizes, [0], [1]), op.Slice(sizes, [1], [2])
    rest = op.Slice(sizes, [2], [_END])
    return op.Reshape(held, op.Concat(op.Mul(rows, each), rest, axis=0), allowzero=1), op.Expand(each, rows)


@rule("TensorListSplit")
def split(site: Site, x: Var, shape: Var, lengths: Var, *, element_dtype: Any) -> Items:
    parts = known(lengths, "the length of a part")
    if len(set(parts.tolist())) != 1:
        raise UnsupportedError("a list of parts of different lengths")
    rest = op.Slice(sizes_of(x), [1], [rank(x)])
    stacked = op.Reshape(x, joined(np.array([len(parts), int(parts[0])], np.int64), rest), allowzero=1)
    return Items(dtype_of(element_dtype), stacked, None, (int(parts[0]), *(site.input_shape(0) or (None,))[1:]), True)


@rule("TensorListElementShape")
def element_shape(site: Site, items: Items) -> Any:
    if items.stacked is None:
        sizes = np.array([-1 if size is None else size for size in items.shape or ()], np.int64)
        return cast(as_var(sizes), site.dtype)
    return cast(op.Shape(items.stacked, start=1), site.dtype)


def started(site: Site, items: Items) -> Items:
    """A list that a loop can carry around: with a tensor, even where it has no elements yet."""
    if items.stacked is not None:
        return items
    sizes = None if items.shape is None else [site.sized(size) for size in items.shape]
    if items.least is not None and sizes is not None and not any(size is None for size in sizes):
        stacked_items = op.Expand(zero(items.dtype), joined(row(items.least), *sizes))
        return replace(items, stacked=stacked_items, full=True)
    none = np.zeros((0, *(size if isinstance(size, int) else 0 for size in items.shape or ())), items.dtype.numpy)
    return replace(items, stacked=as_var(none), full=False)


def whole(site: Site, items: Items) -> Var:
    """All elements of a list stacked, zeros for those that were never set."""
    if items.stacked is None:
        ready = started(site, items)
        if not ready.full and items.least is not None:
            raise UnsupportedError("a list that is read before anything is in it")
        assert ready.stacked is not None
        return ready.stacked
    if items.full or items.least is None:
        return items.stacked
    sizes = op.Shape(items.stacked)
    lacking = op.Max(op.Sub(row(items.least), op.Slice(sizes, [0], [1])), np.array([0], np.int64))
    rest = op.Slice(sizes, [1], [_END])
    return op.Concat(items.stacked, op.Expand(zero(items.dtype), op.Concat(lacking, rest, axis=0)), axis=0)


def _extended(items: Items, item: Var, most: Any) -> Var:
    """The elements of a list with those it lacks, up to `least` and to `most`; `item` has the shape of one."""
    sizes = sizes_of(item)
    least = None if items.least is None else row(items.least)
    needed = most if least is None else least if most is None else op.Max(least, most)
    if items.stacked is None:
        if needed is None:
            raise UnsupportedError("an element is set in a list that has none")
        return op.Expand(zero(items.dtype), joined(needed, sizes))
    if items.full and most is None:
        return items.stacked
    rows = op.Shape(items.stacked, start=0, end=1)
    head = op.Reshape(items.stacked, joined(rows, sizes), allowzero=1)  # without elements it has no shape yet
    if needed is None:
        return head
    lacking = op.Max(op.Sub(needed, rows), np.array([0], np.int64))
    return op.Concat(head, op.Expand(zero(items.dtype), joined(lacking, sizes)), axis=0)


def _length(items: Items) -> Any:
    if items.stacked is None:
        return np.array(0, np.int64) if items.least is None else items.least
    rows = op.Squeeze(op.Shape(items.stacked, start=0, end=1), [0])
    return rows if items.least is None else op.Max(rows, items.least)


def _element_shape(site: Site, shape: Var) -> tuple[int | None, ...] | None:
    held = site.elements(shape)
    if held is None or shape.rank == 0:
        return None
    return tuple(size if isinstance(size, int) and size >= 0 else None for size in held)


def _shaped(site: Site, items: Items, shape: Var) -> Items:
    """The list with what the reader knows of the shape of its elements."""
    stated = _element_shape(site, shape)
    if items.shape is None or (stated is not None and None in items.shape):
        return replace(items, shape=stated)
    return items


def _merged(shape: tuple[Dim | None, ...] | None, item: Var) -> tuple[Dim | None, ...] | None:
    return shape if item.rank is None else shape_of(item.value)
