"""Gradients that are core operators of torch, in programs that compute one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ingot.builder import Var, op
from ingot.convert.torch.operands import cast, number, rank
from ingot.convert.torch.rule import Site, refuse, rule
from ingot.convert.torch.rules.creation import filled
from ingot.convert.torch.rules.normalisation import evened_groups
from ingot.convert.torch.sizes import Extent
from ingot.dtypes import DType

_INDEX = DType.INT64


@rule("aten.embedding_dense_backward.default")
def embedding_dense_backward(
    site: Site, grad: Var, indices: Var, rows: Extent, padding: int, scaled_by_count: bool
) -> Var:
    """What reached each row of the table, added up; nothing for the row of padding."""
    if scaled_by_count:
        raise refuse("an embedding whose gradient is scaled by how often a row is read")
    width = site.result.shape[-1]
    flat = op.Reshape(indices, [-1, 1])
    parts = op.Reshape(grad, [-1, width])
    if padding >= 0:
        parts = op.Where(op.Equal(flat, np.array(padding, np.int64)), number(0, site.dtype), parts)
    return op.ScatterND(filled([rows, width], 0, site.dtype), flat, parts, reduction="add")


@rule("aten.max_pool2d_with_indices_backward.default")
def max_pool_backward(site: Site, grad: Var, x: Var, *options: Any) -> Var:
    """What reached each window goes to the place its largest was at."""
    indices = options[-1]
    lead = [0] * (rank(x) - 2)
    flat = op.Mul(op.Reshape(x, [*lead, -1]), number(0, site.dtype))
    places, parts = op.Reshape(indices, [*lead, -1]), op.Reshape(grad, [*lead, -1])
    return op.Reshape(op.ScatterElements(flat, places, parts, axis=-1, reduction="add"), op.Shape(x))


@rule("aten.native_layer_norm_backward.default")
def layer_norm_backward(
    site: Site,
    grad: Var,
    x: Var,
    shape: Sequence[Extent],
    mean: Var,
    inverse: Var,
    weight: Var | None,
    bias: Var | None,
    wanted: Sequence[bool],
) -> Any:
    inner = np.array([-1 - at for at in range(len(shape))], np.int64)
    outer = np.arange(rank(x) - len(shape))
    even = op.Mul(op.Sub(x, mean), inverse)
    scaled = grad if weight is None else op.Mul(grad, weight)
    pulled = op.Sub(scaled, op.ReduceMean(scaled, inner))
    turned = op.Mul(even, op.ReduceMean(op.Mul(scaled, even), inner))
    to_x = op.Mul(op.Sub(pulled, turned), inverse)
    to_weight = _summed(op.Mul(grad, even), outer)
    to_bias = _summed(grad, outer)
    return tuple(made if want else None for made, want in zip((to_x, to_weight, to_bias), wanted, strict=True))


@rule("aten.native_group_norm_backward.default")
def group_norm_backward(
    site: Site,
    grad: Var,
    x: Var,
    mean: Var,
    inverse: Var,
    weight: Var | None,
    n: Extent,
    channels: Extent,
    area: Extent,
    groups: int,
    wanted: Sequence[bool],
) -> Any:
    """As of a layer, in groups of channels."""
    even = evened_groups(x, mean, inverse, groups)
    tail = [-1] + [1] * (rank(x) - 2)
    scaled = grad if weight is None else op.Mul(grad, op.Reshape(weight, tail))
    rows = op.Reshape(scaled, [0, groups, -1])
    flat = op.Reshape(even, [0, groups, -1])
    last = np.array([2], np.int64)
    pulled = op.Sub(op.Sub(rows, op.ReduceMean(rows, last)), op.Mul(flat, op.ReduceMean(op.Mul(rows, flat), last)))
    to_x = op.Reshape(op.Mul(pulled, op.Unsqueeze(inverse, [2])), op.Shape(x))
    over = np.array([axis for axis in range(rank(x)) if axis != 1], np.int64)
    to_weight = op.ReduceSum(op.Mul(grad, even), over, keepdims=0)
    to_bias = op.ReduceSum(grad, over, keepdims=0)
    return tuple(made if want else None for made, want in zip((to_x, to_weight, to_bias), wanted, strict=True))


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
    kept = op.Not(op.Equal(cast(indices, _INDEX), np.array(padding)))
    lowest = number(-np.inf if mode == 2 else 0, dtype)
    rows = op.Where(op.Unsqueeze(kept, [1]), rows, lowest)
    shape = op.Concat(op.Shape(starts), op.Shape(weight, start=1), axis=0)
    empty = op.Expand(lowest, shape)
    made = op.ScatterND(empty, op.Unsqueeze(bags, [1]), rows, reduction="max" if mode == 2 else "add")
    none = op.Expand(np.array(0, np.int64), op.Shape(starts))
    sizes = op.ScatterND(none, op.Unsqueeze(bags, [1]), cast(kept, _INDEX), reduction="add")
    if mode == 1:
        made = op.Div(made, op.Unsqueeze(cast(op.Max(sizes, np.array(1)), dtype), [1]))
    if mode == 2:
        made = op.Where(op.IsInf(made), number(0, dtype), made)
    return made, bags, sizes, None


def _summed(x: Var, axes: Any) -> Var:
    return op.ReduceSum(x, axes, keepdims=0) if len(axes) else op.Identity(x)
