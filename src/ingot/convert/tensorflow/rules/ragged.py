"""Ragged and sparse tensors: the dense ones that they are made of, and that they become."""

from __future__ import annotations

from typing import Any

import numpy as np

from ingot.builder import Var, op
from ingot.convert.operands import cast, number, rank
from ingot.convert.tensorflow.dtypes import dtype_of
from ingot.convert.tensorflow.operands import joined, row, scalar, sizes_of, vector
from ingot.convert.tensorflow.rule import Site, rule
from ingot.dtypes import DType
from ingot.errors import UnsupportedError

_ZERO, _ONE = np.array(0, np.int64), np.array(1, np.int64)


@rule("RaggedTensorToTensor")
def ragged_to_tensor(
    site: Site, sizes: Var, values: Var, default: Var, *partitions: Var, row_partition_types: list[str]
) -> Var:
    """Rows of different lengths side by side, filled up with a default."""
    kinds = list(row_partition_types)
    match kinds:
        case ["ROW_SPLITS"]:
            splits = cast(partitions[0], DType.INT64)
            starts, ends = op.Slice(splits, [0], [-1], [0]), op.Slice(splits, [1], [np.iinfo(np.int64).max], [0])
            lengths = op.Sub(ends, starts)
            rows: Any = op.Shape(lengths)
            at = _owner_of(op.Range(_ZERO, op.Squeeze(op.Shape(values, start=0, end=1), [0]), _ONE), ends)
        case ["FIRST_DIM_SIZE", "VALUE_ROWIDS"]:
            rows = row(cast(partitions[0], DType.INT64))
            at = cast(partitions[1], DType.INT64)
            counts = op.ScatterND(
                op.Expand(_ZERO, rows), op.Unsqueeze(at, [1]), op.Expand(_ONE, op.Shape(at)), reduction="add"
            )
            starts = op.CumSum(counts, np.array(0), exclusive=1)
            lengths = counts
        case _:
            raise UnsupportedError("a ragged tensor with more than one ragged axis")
    widest = op.ReduceMax(joined(lengths, np.array([0], np.int64)), keepdims=1)
    wanted = _wanted(site, sizes)
    height = rows if wanted[0] < 0 else np.array([wanted[0]], np.int64)
    width = widest if len(wanted) < 2 or wanted[1] < 0 else np.array([wanted[1]], np.int64)
    order = op.Range(_ZERO, op.Squeeze(op.Shape(values, start=0, end=1), [0]), _ONE)
    within = op.Sub(order, op.Gather(starts, at, axis=0))
    inner = [op.Slice(sizes_of(values), [1], [rank(values)])] if rank(values) > 1 else []
    blank = op.Expand(default, joined(op.Max(rows, height), op.Max(widest, width), *inner))
    places = op.Concat(op.Unsqueeze(at, [1]), op.Unsqueeze(within, [1]), axis=1)
    dense = op.ScatterND(blank, places, values)
    return op.Slice(dense, [0, 0], joined(height, width), [0, 1])


@rule("RaggedRange")
def ragged_range(site: Site, starts: Var, limits: Var, deltas: Var) -> tuple[Any, Var]:
    """Ranges one after another, and where each begins."""
    dtype = dtype_of(site.op.outputs[1].dtype)
    splits_type = dtype_of(site.op.outputs[0].dtype)
    if not dtype.is_integer:
        raise UnsupportedError("ranges of fractions")
    first, last, step = (op.Reshape(cast(each, DType.INT64), np.array([-1])) for each in (starts, limits, deltas))
    span = op.Sub(last, first)
    one = op.Sign(step)
    counts = op.Max(
        op.Div(op.Add(op.Mul(span, one), op.Sub(op.Abs(step), _ONE)), op.Abs(step)), np.array([0], np.int64)
    )
    ends = op.CumSum(counts, np.array(0))
    splits = op.Concat(np.array([0], np.int64), ends, axis=0)
    total = op.Gather(splits, np.array(-1), axis=0)
    order = op.Range(_ZERO, total, _ONE)
    before = op.Slice(splits, [0], [-1], [0])
    owner = _owner_of(order, ends)
    within = op.Sub(order, op.Gather(before, owner, axis=0))
    first, step = (op.Expand(each, op.Shape(counts)) for each in (first, step))
    values = op.Add(op.Gather(first, owner, axis=0), op.Mul(within, op.Gather(step, owner, axis=0)))
    return cast(splits, splits_type), cast(values, dtype)


@rule("RaggedGather")
def ragged_gather(site: Site, splits: Var, values: Var, indices: Var, *, PARAMS_RAGGED_RANK: int) -> tuple[Any, Var]:  # noqa: N803
    """Rows of a ragged tensor by their numbers."""
    if PARAMS_RAGGED_RANK != 1 or rank(indices) != 1:
        raise UnsupportedError("rows of a ragged tensor with more than one ragged axis")
    kind = dtype_of(site.op.outputs[0].dtype)
    wide = cast(splits, DType.INT64)
    starts = op.Gather(op.Slice(wide, [0], [-1], [0]), indices, axis=0)
    ends = op.Gather(op.Slice(wide, [1], [np.iinfo(np.int64).max], [0]), indices, axis=0)
    bounds = op.CumSum(op.Sub(ends, starts), np.array(0))
    new_splits = op.Concat(np.array([0], np.int64), bounds, axis=0)
    order = op.Range(_ZERO, op.Gather(new_splits, np.array(-1), axis=0), _ONE)
    owner = _owner_of(order, bounds)
    within = op.Sub(order, op.Gather(op.Slice(new_splits, [0], [-1], [0]), owner, axis=0))
    return cast(new_splits, kind), op.Gather(values, op.Add(op.Gather(starts, owner, axis=0), within), axis=0)


@rule("RaggedBincount")
def ragged_bincount(
    site: Site, splits: Var, values: Var, size: Var, weights: Var, *, binary_output: bool = False
) -> Var:
    """How often each number below `size` is in each row, or the sum of its weights."""
    ends = op.Slice(cast(splits, DType.INT64), [1], [np.iinfo(np.int64).max], [0])
    length = op.Shape(values, start=0, end=1)
    order = op.Range(_ZERO, op.Squeeze(length, [0]), _ONE)
    count = row(scalar(site, size))
    inside = op.Where(op.Less(cast(values, DType.INT64), count), cast(values, DType.INT64), count)
    places = op.Concat(op.Unsqueeze(_owner_of(order, ends), [1]), op.Unsqueeze(inside, [1]), axis=1)
    zeros = op.Expand(number(0, site.dtype), joined(op.Shape(ends), op.Add(count, np.array([1], np.int64))))
    plain = binary_output or 0 in (site.input_shape(3) or ())
    added = op.Expand(number(1, site.dtype), length) if plain else weights
    counts = op.Slice(op.ScatterND(zeros, places, added, reduction="add"), [0], count, [1])
    return op.Min(counts, number(1, site.dtype)) if binary_output else counts


@rule("SparseToDense")
def sparse_to_dense(site: Site, places: Var, sizes: Var, values: Var, default: Var) -> Var:
    indices = cast(places, DType.INT64)
    if rank(places) == 0:
        indices = op.Reshape(indices, np.array([1, 1]))
    elif rank(places) == 1:
        indices = op.Unsqueeze(indices, [1])
    blank = op.Expand(default, vector(site, sizes))
    return op.ScatterND(blank, indices, op.Expand(values, op.Shape(indices, start=0, end=1)))


@rule("SparseTensorDenseMatMul")
def sparse_dense_matmul(
    site: Site,
    places: Var,
    values: Var,
    sizes: Var,
    dense: Var,
    *,
    adjoint_a: bool = False,
    adjoint_b: bool = False,
) -> Var:
    wide = op.Expand(number(0, site.dtype), vector(site, sizes))
    matrix = op.ScatterND(wide, cast(places, DType.INT64), values, reduction="add")
    left = op.Transpose(matrix, perm=[1, 0]) if adjoint_a else matrix
    return op.MatMul(left, op.Transpose(dense, perm=[1, 0]) if adjoint_b else dense)


@rule("SparseReshape")
def sparse_reshape(site: Site, places: Var, sizes: Var, wanted: Var) -> tuple[Var, Var]:
    """Places counted through, and taken apart again by the new sizes."""
    old = vector(site, sizes)
    new = vector(site, wanted)
    total = op.ReduceProd(old, keepdims=1)
    rest = op.ReduceProd(op.Where(op.Equal(new, np.array([-1])), np.array([1], np.int64), new), keepdims=1)
    settled = op.Where(op.Equal(new, np.array([-1])), op.Div(total, op.Max(rest, np.array([1], np.int64))), new)
    flat = op.ReduceSum(op.Mul(cast(places, DType.INT64), _strides(old)), [1], keepdims=1)
    strides = _strides(settled)
    return op.Mod(op.Div(flat, strides), settled), settled


def _strides(sizes: Any) -> Var:
    """How many elements lie between neighbours along each axis."""
    turned = op.Slice(sizes, [-1], [-np.iinfo(np.int64).max], [0], [-1])
    logs = op.Concat(np.array([1], np.int64), op.Slice(turned, [0], [-1], [0]), axis=0)
    products = op.Scan([np.array(1, np.int64)], [logs], body=lambda total, item: (op.Mul(total, item),) * 2)[1]
    return op.Slice(products, [-1], [-np.iinfo(np.int64).max], [0], [-1])


def _owner_of(order: Var, ends: Var) -> Var:
    """How many rows end at or before each place."""
    passed = op.GreaterOrEqual(op.Unsqueeze(order, [1]), op.Unsqueeze(ends, [0]))
    return op.ReduceSum(cast(passed, DType.INT64), [1], keepdims=0)


def _wanted(site: Site, sizes: Var) -> list[int]:
    held = site.elements(sizes)
    if held is None or not all(isinstance(size, int) for size in held):
        raise UnsupportedError("the shape of the dense tensor is not known")
    return [int(size) for size in held if isinstance(size, int)] if sizes.rank else [-1, -1]
