"""Taking and putting elements by index, and orders among them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ingot.builder import Var, op
from ingot.convert.torch.operands import cast, known_shape, number, operand, positive, rank
from ingot.convert.torch.rule import Site, refuse, rule
from ingot.convert.torch.rules.arithmetic import floored
from ingot.convert.torch.sizes import Extent, as_row
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
    given = _indices(indices)
    if not given:
        return op.Identity(x)
    axes = sorted(given)
    moved, together = _front(x, axes)
    count = len(axes)
    if count == 1:
        taken = op.Gather(moved, given[axes[0]])
    else:
        taken = op.GatherND(moved, op.Concat(*_joined([given[axis] for axis in axes]), axis=-1))
    if not together or axes[0] == 0:
        return taken
    inner = rank(taken) - (rank(x) - count)  # the axes of the indices go where the first of them was
    order = [*range(inner, inner + axes[0]), *range(inner), *range(inner + axes[0], rank(taken))]
    return op.Transpose(taken, perm=order)


@rule("aten.index_put.default", "aten._unsafe_index_put.default", "aten.index_put_.default")
def index_put(site: Site, x: Var, indices: Sequence[Var | None], values: Var, accumulate: bool = False, *_: Any) -> Var:
    """`x` with `values` where the indices point; where they point twice, one of them, or all added."""
    given = _indices(indices)
    if not given:
        sized = op.Expand(values, op.Shape(x))
        return op.Add(x, sized) if accumulate else sized
    axes = sorted(given)
    masks = [node for node in site.node.args[1] if node is not None]
    if len(masks) == 1 and masks[0].meta["val"].dtype.is_floating_point is False and rank(values) == 0:
        mask = indices[axes[0]]
        if mask is not None and mask.dtype is DType.BOOL and not accumulate:
            behind = rank(x) - axes[0] - rank(mask)
            spread = op.Unsqueeze(mask, list(range(rank(mask), rank(mask) + behind))) if behind else mask
            return op.Where(spread, cast(values, site.dtype), x)
    moved, together = _front(x, axes)
    places = op.Concat(*_joined([given[axis] for axis in axes]), axis=-1)
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
    made = cast(op.ScatterND(moved, places, updates, reduction=reduction), site.dtype)
    if axes == list(range(len(axes))):
        return made
    order = [*axes, *(axis for axis in range(rank(x)) if axis not in axes)]
    return op.Transpose(made, perm=[order.index(axis) for axis in range(rank(x))])


@rule("aten.scatter.src", "aten.scatter.value", "aten.scatter.reduce", "aten.scatter.value_reduce")
def scatter(site: Site, x: Var, dim: int, index: Var, source: Any, *, reduce: str | None = None) -> Var:
    reduction = {None: "none", "add": "add", "multiply": "mul"}[reduce]
    return _scattered(site, x, dim, index, source, reduction)


@rule("aten.scatter_add.default")
def scatter_add(site: Site, x: Var, dim: int, index: Var, source: Var) -> Var:
    return _scattered(site, x, dim, index, source, "add")


@rule("aten.scatter_reduce.two")
def scatter_reduce(
    site: Site, x: Var, dim: int, index: Var, source: Var, reduce: str, *, include_self: bool = True
) -> Var:
    """Elements put where the index points, joined with what is there and with each other."""
    dtype = site.dtype
    if dtype is DType.BOOL:
        if reduce == "mean":
            raise refuse("the mean of bools")
        wide, parts = cast(x, DType.INT32), cast(source, DType.INT32)
        return cast(_reduced_into(site, wide, dim, index, parts, _OF_BOOLS[reduce], include_self), dtype)
    return _reduced_into(site, x, dim, index, source, reduce, include_self)


_OF_BOOLS = {"sum": "amax", "prod": "amin", "amax": "amax", "amin": "amin"}


def _reduced_into(site: Site, x: Var, dim: int, index: Var, source: Var, reduce: str, include_self: bool) -> Var:
    dtype = x.dtype
    assert dtype is not None
    kind = {"sum": "add", "prod": "mul", "amax": "max", "amin": "min", "mean": "add"}[reduce]
    start = x
    if not include_self:
        neutral = {"add": 0, "mul": 1, "max": _limit(dtype, -1), "min": _limit(dtype, 1)}[kind]
        start = _scattered(site, x, dim, index, neutral, "none")
    made = _scattered(site, start, dim, index, source, kind)
    if reduce != "mean":
        return made
    ones = op.Expand(number(1, dtype), op.Shape(x))
    counts = ones if include_self else _scattered(site, ones, dim, index, 0, "none")
    counts = _scattered(site, counts, dim, index, 1, "add")
    if dtype.is_float:
        return op.Div(made, counts)
    return floored(made, counts, dtype)


@rule("aten.index_add.default")
def index_add(site: Site, x: Var, dim: int, index: Var, source: Var, *, alpha: Any = 1) -> Var:
    if site.dtype is DType.BOOL:
        raise refuse("index_add of bools")
    source = cast(source, site.dtype)
    if alpha != 1:
        source = op.Mul(source, operand(alpha, site.dtype))
    if rank(x) == 0:
        row = op.Reshape(source, [-1])
        made = op.ScatterElements(op.Reshape(x, [1]), op.Reshape(index, [-1]), row, reduction="add")
        return op.Reshape(made, np.zeros(0, np.int64))
    axis = positive(dim, rank(x))
    index = op.Unsqueeze(index, [0]) if rank(index) == 0 else index
    shape = [1] * rank(x)
    shape[axis] = -1
    spread = op.Expand(op.Reshape(index, shape), op.Shape(source))
    return op.ScatterElements(x, spread, source, axis=axis, reduction="add")


@rule("aten.index_copy.default")
def index_copy(site: Site, x: Var, dim: int, index: Var, source: Var) -> Var:
    if rank(x) == 0:
        return op.Identity(source)
    axis = positive(dim, rank(x))
    shape = [1] * rank(x)
    shape[axis] = -1
    spread = op.Expand(op.Reshape(index, shape), op.Shape(source))
    return op.ScatterElements(x, spread, cast(source, site.dtype), axis=axis)


@rule("aten.index_fill.int_Scalar", "aten.index_fill.int_Tensor")
def index_fill(site: Site, x: Var, dim: int, index: Var, value: Any) -> Var:
    axis = positive(dim, max(rank(x), 1))
    if rank(x) == 0:
        return operand(value, site.dtype) if not isinstance(value, Var) else cast(value, site.dtype)
    shape = [1] * rank(x)
    shape[axis] = -1
    sizes = op.Shape(x)
    many = op.Reshape(op.Size(index), [1])
    wanted = op.ScatterElements(sizes, np.array([axis]), many)
    spread = op.Expand(op.Reshape(index, shape), wanted)
    return op.ScatterElements(x, spread, op.Expand(operand(value, site.dtype), wanted), axis=axis)


@rule("aten.select_scatter.default")
def select_scatter(site: Site, x: Var, source: Var, dim: int, index: Extent) -> Var:
    axis = positive(dim, rank(x))
    return _put_slice(site, x, op.Unsqueeze(source, [axis]), axis, as_row(index))


@rule("aten.slice_scatter.default")
def slice_scatter(
    site: Site,
    x: Var,
    source: Var,
    dim: int = 0,
    start: Extent | None = None,
    end: Extent | None = None,
    step: Extent = 1,
) -> Var:
    axis = positive(dim, rank(x))
    every = op.Range(np.array(0), op.Squeeze(op.Shape(x, start=axis, end=axis + 1), [0]), np.array(1))
    first, last = as_row(0 if start is None else start), as_row(_END if end is None else end)
    return _put_slice(site, x, source, axis, op.Slice(every, first, last, [0], as_row(step)))


@rule("aten.masked_scatter.default")
def masked_scatter(site: Site, x: Var, mask: Var, source: Var) -> Var:
    """The elements that the mask marks are taken from `source`, one after another."""
    if known_shape(x) != known_shape(mask):
        x = op.Expand(x, op.Shape(mask))
        mask = op.Expand(mask, op.Shape(x))
    mask = cast(mask, DType.BOOL)
    flat = op.Reshape(mask, [-1])
    order = op.Sub(op.CumSum(cast(flat, DType.INT64), np.array(0)), np.array(1))
    taken = op.Gather(op.Reshape(cast(source, site.dtype), [-1]), op.Max(order, np.array(0)))
    return op.Where(mask, op.Reshape(taken, op.Shape(x), allowzero=1), x)


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


@rule("aten.sort.default", "aten.sort.stable")
def sort(site: Site, x: Var, *args: Any, **options: Any) -> Any:
    if args and isinstance(args[0], bool) and site.node.target._overloadname == "stable":
        args = args[1:]
    dim = args[0] if args else options.get("dim", -1)
    descending = args[1] if len(args) > 1 else options.get("descending", False)
    if rank(x) == 0:
        return op.Identity(x), np_zero(x)
    size = op.Shape(x, start=dim, end=dim + 1 or None)
    return _top(x, size, dim, descending)


@rule("aten.topk.default")
def topk(site: Site, x: Var, k: Extent, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    if rank(x) == 0:
        return op.Identity(x), np_zero(x)
    return _top(x, as_row(k), dim, largest)


@rule("aten.argsort.default")
def argsort(site: Site, x: Var, dim: int = -1, descending: bool = False) -> Var:
    order: Var = sort(site, x, dim, descending)[1]
    return order


@rule("aten.bucketize.Tensor", "aten.searchsorted.Tensor")
def searchsorted(site: Site, x: Var, y: Var, *, out_int32: bool = False, right: bool = False, **more: Any) -> Var:
    """How many boundaries lie below each value, or not above it."""
    bucketized = "bucketize" in str(site.node.target)
    values, edges = (x, y) if bucketized else (y, x)
    if more.get("sorter") is not None or (rank(edges) > 1):
        raise refuse("searchsorted with a sorter or in rows of their own")
    wide = op.Unsqueeze(values, [-1])
    dtype = site.promoted(0, 1)
    below = "GreaterOrEqual" if (right or more.get("side") == "right") else "Greater"
    counted = op[below](cast(wide, dtype), cast(edges, dtype))
    return op.ReduceSum(cast(counted, site.dtype), [-1], keepdims=0)


def np_zero(x: Var) -> Var:
    return op.Expand(np.array(0, np.int64), op.Shape(x))


def _top(x: Var, count: Any, dim: int, largest: bool) -> Any:
    dtype = x.dtype
    if dtype is DType.BOOL:
        values, places = op.TopK(cast(x, DType.INT32), count, axis=dim, largest=int(largest), outputs=2)
        return cast(values, DType.BOOL), places
    return op.TopK(x, count, axis=dim, largest=int(largest), outputs=2)


def _indices(indices: Sequence[Var | None]) -> dict[int, Var]:
    """The integer indices by the axis they are for; a mask is the places where it is true."""
    found: dict[int, Var] = {}
    axis = 0
    for item in indices:
        if item is None:
            axis += 1
        elif item.dtype in (DType.BOOL, DType.UINT8):
            places = op.NonZero(item)
            for row in range(rank(item)):
                found[axis] = op.Gather(places, np.array(row, np.int64))
                axis += 1
        else:
            found[axis] = cast(item, DType.INT64)
            axis += 1
    return found


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


def _scattered(site: Site, x: Var, dim: int, index: Var, source: Any, reduction: str) -> Var:
    if rank(x) == 0 or rank(index) == 0:
        row = op.Reshape(x, [1]) if rank(x) == 0 else x
        where = op.Reshape(index, [1])
        part = op.Reshape(source, [1]) if isinstance(source, Var) else source
        made = _scattered(site, row, 0, where, part, reduction)
        return op.Reshape(made, np.zeros(0, np.int64)) if rank(x) == 0 else made
    dtype = x.dtype
    assert dtype is not None
    if isinstance(source, Var):
        starts = np.zeros(rank(x), np.int64)
        updates = op.Slice(cast(source, dtype), starts, op.Shape(index))  # torch lets the source be larger
    else:
        updates = op.Expand(operand(source, dtype), op.Shape(index))
    if dtype is DType.BOOL and reduction != "none":
        wide = op.ScatterElements(
            cast(x, DType.INT32), index, cast(updates, DType.INT32), axis=dim, reduction=reduction
        )
        return cast(wide, DType.BOOL)
    return op.ScatterElements(x, index, updates, axis=dim, reduction=reduction)


def _put_slice(site: Site, x: Var, source: Var, axis: int, places: Any) -> Var:
    """`source` put at places along one axis."""
    order = [axis, *(each for each in range(rank(x)) if each != axis)]
    moved = op.Transpose(x, perm=order) if axis else x
    part = cast(source, site.dtype)
    part = op.Transpose(part, perm=order) if axis else part
    size = op.Shape(x, start=axis, end=axis + 1)
    places = op.Where(op.Less(places, np.array(0)), op.Add(places, size), places)
    wanted = op.Concat(op.Shape(places), op.Slice(op.Shape(moved), [1], [_END]), axis=0)
    made = op.ScatterND(moved, op.Unsqueeze(places, [-1]), op.Expand(part, wanted))
    return op.Transpose(made, perm=[order.index(each) for each in range(rank(x))]) if axis else made


def _limit(dtype: DType, sign: int) -> Any:
    if dtype.is_float:
        return sign * np.inf
    limits = np.iinfo(dtype.numpy)
    return limits.max if sign > 0 else limits.min
