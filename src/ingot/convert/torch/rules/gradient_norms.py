"""Gradients of normalisations, in programs that compute one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ingot.builder import Var, op
from ingot.convert.operands import rank
from ingot.convert.torch.rule import Site, rule
from ingot.convert.torch.rules.normalisation import evened_groups
from ingot.convert.torch.sizes import Extent


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
    return tuple(gradient if want else None for gradient, want in zip((to_x, to_weight, to_bias), wanted, strict=True))


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
    return tuple(gradient if want else None for gradient, want in zip((to_x, to_weight, to_bias), wanted, strict=True))


def _summed(x: Var, axes: Any) -> Var:
    return op.ReduceSum(x, axes, keepdims=0) if len(axes) else op.Identity(x)
