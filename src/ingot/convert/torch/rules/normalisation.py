"""Normalisations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from ingot.builder import Var, op
from ingot.convert.operands import cast, number, rank
from ingot.convert.torch.dtypes import dtype_of
from ingot.convert.torch.operands import known_shape
from ingot.convert.torch.rule import Site, rule
from ingot.convert.torch.rules.reduction import variance
from ingot.convert.torch.sizes import Extent
from ingot.dtypes import DType
from ingot.errors import UnsupportedError


@rule("aten.layer_norm.default")
def layer_norm(
    site: Site,
    x: Var,
    shape: Sequence[Extent],
    weight: Var | None = None,
    bias: Var | None = None,
    eps: float = 1e-5,
    *_: Any,
) -> Var:
    return op.LayerNormalization(
        x, _scale(weight, shape, site.dtype), bias, axis=-len(shape), epsilon=eps, stash_type=_stash(site.dtype)
    )


@rule("aten.native_layer_norm.default")
def native_layer_norm(
    site: Site, x: Var, shape: Sequence[Extent], weight: Var | None, bias: Var | None, eps: float
) -> Any:
    scale = _scale(weight, shape, site.dtype)
    attributes: dict[str, Any] = {"axis": -len(shape), "epsilon": eps, "stash_type": _stash(site.dtype)}
    if not _reads_more(site):
        return op.LayerNormalization(x, scale, bias, **attributes), None, None
    normalised, mean, inverse = op.LayerNormalization(x, scale, bias, outputs=3, **attributes)
    return normalised, mean, inverse


@rule("aten.rms_norm.default")
def rms_norm(site: Site, x: Var, shape: Sequence[Extent], weight: Var | None = None, eps: float | None = None) -> Var:
    if eps is None:
        eps = torch.finfo(site.argument(0).dtype).eps
    return op.RMSNormalization(
        x, _scale(weight, shape, site.dtype), axis=-len(shape), epsilon=eps, stash_type=_stash(site.dtype)
    )


@rule("aten.group_norm.default")
def group_norm(
    site: Site,
    x: Var,
    groups: int,
    weight: Var | None = None,
    bias: Var | None = None,
    eps: float = 1e-5,
    *_: Any,
) -> Var:
    return _group_norm(site, x, groups, weight, bias, eps)


@rule("aten.native_group_norm.default")
def native_group_norm(
    site: Site,
    x: Var,
    weight: Var | None,
    bias: Var | None,
    n: Extent,
    channels: Extent,
    area: Extent,
    groups: int,
    eps: float,
) -> Any:
    normalised = _group_norm(site, x, groups, weight, bias, eps)
    if not _reads_more(site):
        return normalised, None, None
    rows = op.Reshape(x, [0, groups, -1])
    mean = op.ReduceMean(rows, [2], keepdims=0)
    spread = variance(rows, [2], 0, False, site.dtype)
    return normalised, mean, op.Reciprocal(op.Sqrt(op.Add(spread, number(eps, site.dtype))))


@rule("aten._native_batch_norm_legit_no_training.default")
def batch_norm_inference(
    site: Site,
    x: Var,
    weight: Var | None,
    bias: Var | None,
    mean: Var,
    var: Var,
    momentum: float,
    eps: float,
) -> Any:
    return _batch_norm(site, x, weight, bias, mean, var, eps), None, None


@rule("aten._native_batch_norm_legit.default")
def batch_norm(
    site: Site,
    x: Var,
    weight: Var | None,
    bias: Var | None,
    mean: Var,
    var: Var,
    training: bool,
    momentum: float,
    eps: float,
) -> Any:
    if not training:
        return _batch_norm(site, x, weight, bias, mean, var, eps), None, None
    return batch_norm_of_batch(site, x, weight, bias, True, momentum, eps)


@rule("aten._native_batch_norm_legit.no_stats")
def batch_norm_of_batch(
    site: Site, x: Var, weight: Var | None, bias: Var | None, training: bool, momentum: float, eps: float
) -> Any:
    """Normalised by the moments of the batch itself."""
    dtype = site.dtype
    over = [axis for axis in range(rank(x)) if axis != 1]
    mean = op.ReduceMean(x, np.array(over), keepdims=1)
    spread = variance(x, over, 0, True, dtype)
    inverse = op.Reciprocal(op.Sqrt(op.Add(spread, number(eps, dtype))))
    normalised = op.Mul(op.Sub(x, mean), inverse)
    tail = [-1] + [1] * (rank(x) - 2)
    if weight is not None:
        normalised = op.Mul(normalised, op.Reshape(weight, tail))
    if bias is not None:
        normalised = op.Add(normalised, op.Reshape(bias, tail))
    return normalised, op.Reshape(mean, [-1]), op.Reshape(inverse, [-1])


@rule("aten._native_batch_norm_legit_functional.default")
def batch_norm_in_training(
    site: Site,
    x: Var,
    weight: Var | None,
    bias: Var | None,
    mean: Var,
    var: Var,
    training: bool,
    momentum: float,
    eps: float,
) -> Any:
    """Normalised by the moments of the batch, with what the running ones become."""
    if not training:
        return _batch_norm(site, x, weight, bias, mean, var, eps), None, None, mean, var
    normalised, own, inverse = batch_norm_of_batch(site, x, weight, bias, True, momentum, eps)
    over = [axis for axis in range(rank(x)) if axis != 1]
    spread = variance(x, over, 1, False, site.dtype)
    part, rest = number(momentum, site.dtype), number(1 - momentum, site.dtype)
    moved = [op.Add(op.Mul(old, rest), op.Mul(new, part)) for old, new in ((mean, own), (var, spread))]
    return normalised, own, inverse, *moved


@rule("aten.instance_norm.default")
def instance_norm(
    site: Site,
    x: Var,
    weight: Var | None,
    bias: Var | None,
    mean: Var | None,
    var: Var | None,
    use_input_stats: bool,
    momentum: float,
    eps: float,
    *_: Any,
) -> Var:
    if not use_input_stats:
        if mean is None or var is None:
            raise UnsupportedError("instance_norm without moments of its own or given")
        return _batch_norm(site, x, weight, bias, mean, var, eps)
    channels = known_shape(x)[1]
    if not isinstance(channels, int):
        raise UnsupportedError("instance_norm of a number of channels that is not known")
    scale = np.ones(channels, site.dtype.numpy) if weight is None else weight
    shift = np.zeros(channels, site.dtype.numpy) if bias is None else bias
    return op.InstanceNormalization(x, scale, shift, epsilon=eps)


def evened_groups(x: Var, mean: Var, inverse: Var, groups: int) -> Var:
    """`x` less the mean of its group, times the inverse of its deviation."""
    rows = op.Reshape(x, [0, groups, -1])
    even = op.Mul(op.Sub(rows, op.Unsqueeze(mean, [2])), op.Unsqueeze(inverse, [2]))
    return op.Reshape(even, op.Shape(x))


def _batch_norm(site: Site, x: Var, weight: Any, bias: Any, mean: Var, var: Var, eps: float) -> Var:
    moments = dtype_of(site.argument(3).dtype) if site.argument(3) is not None else site.dtype
    channels = known_shape(mean)[0]
    scale = np.ones(channels, moments.numpy) if weight is None else weight
    shift = np.zeros(channels, moments.numpy) if bias is None else bias
    return op.BatchNormalization(x, scale, shift, mean, var, epsilon=eps)


def _group_norm(site: Site, x: Var, groups: int, weight: Any, bias: Any, eps: float) -> Var:
    channels = known_shape(x)[1]
    if not isinstance(channels, int):
        raise UnsupportedError("group_norm of a number of channels that is not known")
    scale = np.ones(channels, site.dtype.numpy) if weight is None else weight
    shift = np.zeros(channels, site.dtype.numpy) if bias is None else bias
    return op.GroupNormalization(x, scale, shift, num_groups=groups, epsilon=eps, stash_type=_stash(site.dtype))


def _scale(weight: Var | None, shape: Sequence[Extent], dtype: DType) -> Any:
    """The weight, or ones where there is none."""
    if weight is not None:
        return cast(weight, dtype)
    if not all(isinstance(size, int) for size in shape):
        raise UnsupportedError("a normalisation without a weight over sizes that are not known")
    return np.ones(list(shape), dtype.numpy)


def _stash(dtype: DType) -> int | None:
    """The type moments are computed in: that of float32, but of float64 its own."""
    return int(DType.FLOAT64) if dtype is DType.FLOAT64 else None


def _reads_more(site: Site) -> bool:
    """Whether anything reads more than the first result."""
    return any(user.args[1] != 0 for user in site.node.users if user.op == "call_function")
