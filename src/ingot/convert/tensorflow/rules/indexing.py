"""Elements by their places: gathering, scattering, partitions, what is there once."""

from __future__ import annotations

from typing import Any

import numpy as np

from ingot.builder import Var, op
from ingot.convert.operands import cast, constant, number, rank
from ingot.convert.tensorflow.dtypes import dtype_of
from ingot.convert.tensorflow.operands import axes_of, joined, scalar, sizes_of, vector, zero
from ingot.convert.tensorflow.rule import Site, rule
from ingot.dtypes import DType
from ingot.errors import UnsupportedError

_ZERO, _ONE = np.array(0, np.int64), np.array(1, np.int64)


@rule("GatherV2")
def gather_v2(site: Site, x: Var, indices: Var, axis: Var, *, batch_dims: int = 0) -> Var:
    return gathered(x, indices, axes_of(axis, None)[0], batch_dims)


@rule("Gather")
def gather(site: Site, x: Var, indices: Var) -> Var:
    return gathered(x, indices, 0, 0)


@rule("ResourceGather")
def resource_gather(site: Site, variable: Any, indices: Var, *, batch_dims: int = 0) -> Var:
    return gathered(site.read(variable, site.op.outputs[0].dtype), indices, batch_dims, batch_dims)


@rule("GatherNd")
def gather_nd(site: Site, x: Var, indices: Var) -> Var:
    return op.GatherND(x, cast(indices, DType.INT64))


@rule("ResourceGatherNd")
def resource_gather_nd(site: Site, variable: Any, indices: Var) -> Var:
    return op.GatherND(site.read(variable, site.op.outputs[0].dtype), cast(indices, DType.INT64))


@rule("ScatterNd")
def scatter_nd(site: Site, indices: Var, updates: Var, sizes: Var) -> Var:
    """Zeros, to which updates are added: those of one place are summed."""
    zeros = op.Expand(zero(site.dtype), vector(site, sizes))
    summed = None if site.dtype in (DType.STRING, DType.BOOL) else "add"
    return op.ScatterND(zeros, cast(indices, DType.INT64), updates, reduction=summed)


@rule("TensorScatterUpdate")
def tensor_scatter_update(site: Site, x: Var, indices: Var, updates: Var) -> Var:
    return op.ScatterND(x, cast(indices, DType.INT64), updates)


@rule("TensorScatterAdd", "ScatterNdNonAliasingAdd")
def tensor_scatter_add(site: Site, x: Var, indices: Var, updates: Var) -> Var:
    return op.ScatterND(x, cast(indices, DType.INT64), updates, reduction="add")


@rule("TensorScatterSub")
def tensor_scatter_sub(site: Site, x: Var, indices: Var, updates: Var) -> Var:
    return op.ScatterND(x, cast(indices, DType.INT64), op.Neg(updates), reduction="add")


@rule("TensorScatterMax")
def tensor_scatter_max(site: Site, x: Var, indices: Var, updates: Var) -> Var:
    return op.ScatterND(x, cast(indices, DType.INT64), updates, reduction="max")


@rule("TensorScatterMin")
def tensor_scatter_min(site: Site, x: Var, indices: Var, updates: Var) -> Var:
    return op.ScatterND(x, cast(indices, DType.INT64), updates, reduction="min")


@rule("InplaceUpdate")
def inplace_update(site: Site, x: Var, rows: Var, updates: Var) -> Var:
    return op.ScatterND(x, op.Unsqueeze(cast(rows, DType.INT64), [-1]), updates)


@rule("InplaceAdd")
def inplace_add(site: Site, x: Var, rows: Var, updates: Var) -> Var:
    return op.ScatterND(x, op.Unsqueeze(cast(rows, DType.INT64), [-1]), updates, reduction="add")


@rule("InplaceSub")
def inplace_sub(site: Site, x: Var, rows: Var, updates: Var) -> Var:
    return op.ScatterND(x, op.Unsqueeze(cast(rows, DType.INT64), [-1]), op.Neg(updates), reduction="add")


@rule("DynamicStitch", "ParallelDynamicStitch")
def dynamic_stitch(site: Site, *inputs: Var) -> Var:
    """Rows put where indices say, the last of several."""
    half = len(inputs) // 2
    indices, parts = inputs[:half], inputs[half:]
    inner = rank(parts[0]) - rank(indices[0])
    flat, rows = [], []
    for index, part in zip(indices, parts, strict=True):
        flat.append(op.Reshape(cast(index, DType.INT64), np.array([-1])))
        tail = op.Slice(sizes_of(part), [rank(index)], [rank(part)]) if inner else None
        rows.append(op.Reshape(part, joined(np.array([-1]), tail) if tail is not None else np.array([-1])))
    places = flat[0] if half == 1 else op.Concat(*flat, axis=0)
    values = rows[0] if half == 1 else op.Concat(*rows, axis=0)
    count = op.Add(op.ReduceMax(places, keepdims=1), np.array([1], np.int64))
    sizes = joined(count, op.Slice(sizes_of(values), [1], [1 + inner])) if inner else count
    return op.ScatterND(op.Expand(zero(site.dtype), sizes), op.Unsqueeze(places, [-1]), values)


@rule("DynamicPartition")
def dynamic_partition(site: Site, x: Var, partitions: Var, *, num_partitions: int) -> list[Var]:
    places = op.Reshape(cast(partitions, DType.INT64), np.array([-1])) if rank(partitions) != 1 else partitions
    if rank(partitions) != 1:
        tail = op.Slice(sizes_of(x), [rank(partitions)], [rank(x)])
        x = op.Reshape(x, joined(np.array([-1]), tail) if rank(x) > rank(partitions) else np.array([-1]))
    kind = places.dtype or DType.INT64
    return [op.Compress(x, op.Equal(places, number(at, kind)), axis=0) for at in range(num_partitions)]


@rule("Unique", "UniqueWithCounts")
def unique(site: Site, x: Var) -> Any:
    return _unique(site, x, None)


@rule("UniqueV2", "UniqueWithCountsV2")
def unique_v2(site: Site, x: Var, axis: Var) -> Any:
    held = constant(axis)
    if held is None or held.size > 1:
        raise UnsupportedError("an axis that is not known")
    return _unique(site, x, int(held.ravel()[0]) if held.size and rank(x) > 1 else None)


@rule("ListDiff")
def list_diff(site: Site, x: Var, y: Var) -> tuple[Var, Var]:
    """What is in `x` and not in `y`, and where."""
    same = cast(op.Equal(op.Unsqueeze(x, [1]), op.Unsqueeze(y, [0])), DType.INT32)
    alone = op.Equal(op.ReduceSum(same, [1], keepdims=0), np.array(0, np.int32))
    places = op.Squeeze(op.NonZero(alone), [0])
    return op.Compress(x, alone, axis=0), cast(places, dtype_of(site.op.outputs[1].dtype))


@rule("LowerBound")
def lower_bound(site: Site, ordered: Var, values: Var) -> Var:
    return _counted(site, op.Less(op.Unsqueeze(ordered, [1]), op.Unsqueeze(values, [2])))


@rule("UpperBound")
def upper_bound(site: Site, ordered: Var, values: Var) -> Var:
    return _counted(site, op.LessOrEqual(op.Unsqueeze(ordered, [1]), op.Unsqueeze(values, [2])))


@rule("Bucketize")
def bucketize(site: Site, x: Var, *, boundaries: list[float]) -> Var:
    edges = np.array(boundaries, np.float32)
    wide = DType.FLOAT64 if x.dtype in (DType.FLOAT64, DType.INT64, DType.INT32) else DType.FLOAT32
    above = op.GreaterOrEqual(op.Unsqueeze(cast(x, wide), [-1]), edges.astype(wide.numpy))
    return cast(op.ReduceSum(cast(above, DType.INT32), [-1], keepdims=0), site.dtype)


@rule("Bincount")
def bincount(site: Site, x: Var, size: Var, weights: Var) -> Var:
    flat = op.Reshape(x, np.array([-1]))
    return _bins(site, flat, scalar(site, size), op.Reshape(weights, np.array([-1])), weighted=_has_elements(site, 2))


@rule("DenseBincount")
def dense_bincount(site: Site, x: Var, size: Var, weights: Var, *, binary_output: bool = False) -> Var:
    counts = _bins(site, x, scalar(site, size), weights, weighted=_has_elements(site, 2) and not binary_output)
    return op.Min(counts, number(1, site.dtype)) if binary_output else counts


@rule("HistogramFixedWidth")
def histogram_fixed_width(site: Site, x: Var, limits: Var, bins: Var) -> Var:
    dtype = x.dtype or DType.FLOAT32
    wide = dtype if dtype.is_float else DType.FLOAT64
    low, high = (op.Gather(cast(limits, wide), np.array(at)) for at in range(2))
    count = scalar(site, bins)
    step = op.Div(op.Sub(high, low), cast(count, wide))
    flat = op.Reshape(cast(x, wide), np.array([-1]))
    places = cast(op.Floor(op.Div(op.Sub(flat, low), step)), DType.INT64)
    last = op.Sub(cast(count, DType.INT64), _ONE)
    inside = op.Max(op.Min(places, last), _ZERO)
    return _bins(site, inside, count, None, weighted=False)


def gathered(x: Var, indices: Var, axis: int, batch: int) -> Var:
    """Slices of `x` along an axis; the first `batch` axes are those of `indices` too."""
    indices = indices if indices.dtype in (DType.INT32, DType.INT64) else cast(indices, DType.INT64)
    batch = batch + rank(indices) if batch < 0 else batch
    axis = axis + rank(x) if axis < 0 else axis
    if batch == 0:
        return op.Gather(x, indices, axis=axis)
    count, more = rank(x), rank(indices) - batch
    order = [*range(batch), axis, *(at for at in range(batch, count) if at != axis)]
    moved = x if axis == batch else op.Transpose(x, perm=order)
    places = op.Unsqueeze(cast(indices, DType.INT64), [rank(indices)])
    rows = op.GatherND(moved, places, batch_dims=batch)
    if axis == batch:
        return rows
    between = axis - batch
    back = [
        *range(batch),
        *range(batch + more, batch + more + between),
        *range(batch, batch + more),
        *range(batch + more + between, count - 1 + more),
    ]
    return op.Transpose(rows, perm=back)


def _unique(site: Site, x: Var, axis: int | None) -> Any:
    """In the order in which they come first; the places of all among them, and how often each is there."""
    values, _, places, counts = op.Unique(x, axis=axis, sorted=0, outputs=4)
    kind = dtype_of(site.op.outputs[1].dtype)
    return [values, cast(places, kind), cast(counts, kind)][: site.count]


def _counted(site: Site, held: Var) -> Var:
    return cast(op.ReduceSum(cast(held, DType.INT32), [2], keepdims=0), site.dtype)


def _has_elements(site: Site, position: int) -> bool:
    """Whether weights are given: a vector without elements stands for none."""
    known = site.input_shape(position)
    if known is None:
        raise UnsupportedError("whether there are weights is not known")
    return 0 not in known


def _bins(site: Site, x: Var, size: Any, weights: Any, *, weighted: bool) -> Var:
    """How often each number below `size` is there, or the sum of its weights; along the last axis."""
    classes = op.Range(_ZERO, cast(size, DType.INT64), _ONE)
    here = cast(op.Equal(op.Unsqueeze(cast(x, DType.INT64), [-1]), classes), site.dtype)
    if weighted:
        here = op.Mul(here, op.Unsqueeze(weights, [-1]))
    return op.ReduceSum(here, [-2], keepdims=0)
