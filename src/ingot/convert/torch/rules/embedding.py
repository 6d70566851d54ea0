"""Embeddings: rows of a table, alone or in bags, and what reaches the table."""

from __future__ import annotations

from typing import Any

import numpy as np

from ingot.builder import Var, op
from ingot.convert.operands import cast, number
from ingot.convert.torch.rule import Site, rule
from ingot.convert.torch.rules.creation import filled
from ingot.convert.torch.sizes import Extent
from ingot.dtypes import DType

_INDEX = DType.INT64


@rule("aten.embedding.default")
def embedding(site: Site, weight: Var, indices: Var, *_: Any, **__: Any) -> Var:
    return op.Gather(weight, indices)


@rule("aten._embedding_bag.default", "aten._embedding_bag_forward_only.default")
def embedding_bag(
    site: Site,
    weight: Var,
    indices: Var,
    offsets: Var,
    scaled_by_count: bool = False,
    mode: int = 0,
    sparse: bool = False,
    weights: Var | None = None,
    include_last: bool = False,
    padding: int = -1,
) -> Any:
    """Rows of a table, those between two offsets added up, averaged, or the largest of each column taken."""
    dtype = site.dtype
    count = op.Size(indices)
    starts = op.Slice(offsets, [0], [-1]) if include_last else offsets
    places = op.Unsqueeze(op.Range(np.array(0), count, np.array(1)), [1])
    begun = op.GreaterOrEqual(places, cast(op.Unsqueeze(starts, [0]), _INDEX))
    bags = op.Sub(op.ReduceSum(cast(begun, _INDEX), [1], keepdims=0), np.array(1))
    rows = op.Gather(weight, indices)
    if weights is not None:
        rows = op.Mul(rows, op.Unsqueeze(weights, [1]))
    counted = op.Not(op.Equal(cast(indices, _INDEX), np.array(padding)))
    lowest = number(-np.inf if mode == 2 else 0, dtype)
    rows = op.Where(op.Unsqueeze(counted, [1]), rows, lowest)
    shape = op.Concat(op.Shape(starts), op.Shape(weight, start=1), axis=0)
    empty = op.Expand(lowest, shape)
    bags_reduced = op.ScatterND(empty, op.Unsqueeze(bags, [1]), rows, reduction="max" if mode == 2 else "add")
    none = op.Expand(np.array(0, np.int64), op.Shape(starts))
    sizes = op.ScatterND(none, op.Unsqueeze(bags, [1]), cast(counted, _INDEX), reduction="add")
    if mode == 1:
        bags_reduced = op.Div(bags_reduced, op.Unsqueeze(cast(op.Max(sizes, np.array(1)), dtype), [1]))
    if mode == 2:
        bags_reduced = op.Where(op.IsInf(bags_reduced), number(0, dtype), bags_reduced)
    return bags_reduced, bags, sizes, None


@rule("aten.embedding_dense_backward.default")
def embedding_dense_backward(
    site: Site, grad: Var, indices: Var, rows: Extent, padding: int, scaled_by_count: bool
) -> Var:
    """What reached each row of the table, added up; nothing for the row of padding.

    With `scaled_by_count` each is divided by how often the row was read.
    """
    width = site.result.shape[-1]
    flat = op.Reshape(indices, [-1, 1])
    parts = op.Reshape(grad, [-1, width])
    if padding >= 0:
        parts = op.Where(op.Equal(flat, np.array(padding, np.int64)), number(0, site.dtype), parts)
    if scaled_by_count:
        ones = op.Expand(number(1, site.dtype), op.Shape(flat))
        counts = op.ScatterND(filled([rows, 1], 0, site.dtype), flat, ones, reduction="add")
        parts = op.Div(parts, op.GatherND(counts, flat))
    return op.ScatterND(filled([rows, width], 0, site.dtype), flat, parts, reduction="add")
