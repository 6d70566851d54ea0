"""Taking elements by index or mask, and putting them there as numpy's indexing does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ingot.builder import Var, op
from ingot.convert.operands import cast, number, rank
from ingot.convert.torch.operands import known_shape
from ingot.convert.torch.rule import Site, rule
from ingot.dtypes import DType

_END = np.iinfo(np.int64).max


@rule("aten.index_select.default")
def index_select(site: Site, x: Var, dim: int, index: Var) -> Var:
    if rank(x) == 0:
        return op.Reshape(op.Gather(op.Unsqueeze(x, [0]), index), np.zeros(0, np.int64))
    return op.Gather(x, op.Unsqueeze(index, [0]) if rank(index) == 0 else index, axis=dim)


@rule("aten.gather.default")
def gather(site: Site, x: Var, dim: int, index: Var, **_: Any) -> Var:
    if rank(x) == 0:
        return op.Expand(x, op.Shape(index))
    index = cast(index, DType.INT64)
    if rank(index) != rank(x) and 0 in known_shape(index):  # torch lets what takes nothing have any axes
        return op.Expand(number(0, site.dtype), op.Shape(index))
    if rank(index) == 0:
        return op.Squeeze(op.GatherElements(x, op.Unsqueeze(index, [0]), axis=dim), [0])
    return op.GatherElements(x, index, axis=dim)


@rule("aten.take.default")
def take(site: Site, x: Var, index: Var) -> Var:
    return op.Gather(op.Reshape(x, [-1]), index)


@rule("aten.index.Tensor", "aten._unsafe_index.Tensor")
def index(site: Site, x: Var, indices: Sequence[Var | None]) -> Var:
    """Numpy's advanced indexing: the indexed axes are replaced by those of the indices joined."""
    by_axis = _indices(indices)
    if not by_axis:
        return op.Identity(x)
    axes = sorted(by_axis)
    moved, together = _front(x, axes)
    count = len(axes)
    if count == 1:
        gathered = op.Gather(moved, by_axis[axes[0]])
    else:
        gathered = op.GatherND(moved, op.Concat(*_joined([by_axis[axis] for axis in axes]), axis=-1))
    if not together or axes[0] == 0:
        return gathered
    inner = rank(gathered) - (rank(x) - count)  # the axes of the indices go where the first of them was
    order = [*range(inner, inner + axes[0]), *range(inner), *range(inner + axes[0], rank(gathered))]
    return op.Transpose(gathered, perm=order)


@rule("aten.index_put.default", "aten._unsafe_index_put.default", "aten.index_put_.default")
def index_put(site: Site, x: Var, indices: Sequence[Var | None], values: Var, accumulate: bool = False, *_: Any) -> Var:
    """`x` with `values` where the indices point; where they point twice, one of them, or all added."""
    by_axis = _indices(indices)
    if not by_axis:
        sized = op.Expand(values, op.Shape(x))
        return op.Add(x, sized) if accumulate else sized
    axes = sorted(by_axis)
    masks = [node for node in site.node.args[1] if node is not None]
    if len(masks) == 1 and masks[0].meta["val"].dtype.is_floating_point is False and rank(values) == 0:
        mask = indices[axes[0]]
        if mask is not None and mask.dtype is DType.BOOL and not accumulate:
            behind = rank(x) - axes[0] - rank(mask)
            spread = op.Unsqueeze(mask, list(range(rank(mask), rank(mask) + behind))) if behind else mask
            return op.Where(spread, cast(values, site.dtype), x)
    moved, together = _front(x, axes)
    places = op.Concat(*_joined([by_axis[axis] for axis in axes]), axis=-1)
    rest = op.Slice(op.Shape(moved), [len(axes)], [_END])
    inner = op.Slice(op.Shape(places), [0], [-1])
    inner_rank = rank(places) - 1
    wanted = op.Concat(inner, rest, axis=0)
    values = cast(values, site.dtype)
    if together and axes[0] > 0:
        front = axes[0]
        total = inner_rank + rank(x) - len(axes)
        missing = total - rank(values)
        if missing > 0:
            values = op.Unsqueeze(values, list(range(missing)))
        order = [*range(front, front + inner_rank), *range(front), *range(front + inner_rank, total)]
        values = op.Transpose(values, perm=order)
    updates = op.Expand(values, wanted)
    reduction = "add" if accumulate else "none"
    if site.dtype is DType.BOOL and accumulate:  # one of them is true
        moved, updates = cast(moved, DType.INT32), cast(updates, DType.INT32)
    scattered = cast(op.ScatterND(moved, places, updates, reduction=reduction), site.dtype)
    if axes == list(range(len(axes))):
        return scattered
    order = [*axes, *(axis for axis in range(rank(x)) if axis not in axes)]
    return op.Transpose(scattered, perm=[order.index(axis) for axis in range(rank(x))])


@rule("aten.masked_scatter.default")
def masked_scatter(site: Site, x: Var, mask: Var, source: Var) -> Var:
    """The elements that the mask marks are taken from `source`, one after another."""
    if known_shape(x) != known_shape(mask):
        x = op.Expand(x, op.Shape(mask))
        mask = op.Expand(mask, op.Shape(x))
    mask = cast(mask, DType.BOOL)
    flat = op.Reshape(mask, [-1])
    order = op.Sub(op.CumSum(cast(flat, DType.INT64), np.array(0)), np.array(1))
    gathered = op.Gather(op.Reshape(cast(source, site.dtype), [-1]), op.Max(order, np.array(0)))
    return op.Where(mask, op.Reshape(gathered, op.Shape(x), allowzero=1), x)


@rule("aten.masked_select.default")
def masked_select(site: Site, x: Var, mask: Var) -> Var:
    wide = op.Expand(x, op.Shape(mask))
    return op.Compress(op.Reshape(wide, [-1]), op.Reshape(op.Expand(mask, op.Shape(wide)), [-1]), axis=0)


@rule("aten.nonzero.default")
def nonzero(site: Site, x: Var) -> Var:
    if rank(x) == 0:
        there = op.NonZero(op.Unsqueeze(x, [0]))
        return op.Slice(op.Transpose(there, perm=[1, 0]), [0], [0], [1])
    return op.Transpose(op.NonZero(x), perm=[1, 0])


def _indices(indices: Sequence[Var | None]) -> dict[int, Var]:
    """The integer indices by the axis they are for; a mask is the places where it is true."""
    by_axis: dict[int, Var] = {}
    axis = 0
    for item in indices:
        if item is None:
            axis += 1
        elif item.dtype in (DType.BOOL, DType.UINT8):
            places = op.NonZero(item)
            for row in range(rank(item)):
                by_axis[axis] = op.Gather(places, np.array(row, np.int64))
                axis += 1
        else:
            by_axis[axis] = cast(item, DType.INT64)
            axis += 1
    return by_axis


def _front(x: Var, axes: Sequence[int]) -> tuple[Var, bool]:
    """`x` with some axes first, and whether they were side by side."""
    together = list(axes) == list(range(axes[0], axes[0] + len(axes)))
    order = [*axes, *(axis for axis in range(rank(x)) if axis not in axes)]
    return (x if order == list(range(rank(x))) else op.Transpose(x, perm=order)), together


def _joined(indices: Sequence[Var]) -> list[Var]:
    """Indices in one shape, each with a last axis of one."""
    if len(indices) == 1:
        return [op.Unsqueeze(indices[0], [-1])]
    zero = indices[0]
    for other in indices[1:]:
        zero = op.Add(zero, other)
    shape = op.Shape(zero)
    return [op.Unsqueeze(op.Expand(each, shape), [-1]) for each in indices]
