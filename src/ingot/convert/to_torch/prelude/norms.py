"""Normalisations that torch has not in this form."""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor


def batch_norm(x: Tensor, scale: Tensor, bias: Tensor, mean: Tensor, var: Tensor, eps: float) -> Tensor:
    """Each channel less its mean over its deviation, scaled and moved."""
    shape = [-1] + [1] * (x.ndim - 2) if x.ndim > 1 else [1] * x.ndim
    mean, var, scale, bias = (one.reshape(shape) for one in (mean, var, scale, bias))
    return ((x - mean) / torch.sqrt(var + eps) * scale + bias).to(x.dtype)


def batch_norm_training(
    x: Tensor, scale: Tensor, bias: Tensor, mean: Tensor, var: Tensor, eps: float, momentum: float
) -> tuple[Tensor, Tensor, Tensor]:
    """The same by mean and variance of this batch, towards which those given are moved."""
    axes = [axis for axis in range(x.ndim) if axis != 1]
    now, spread = x.mean(dim=axes), x.var(dim=axes, correction=0)
    moved = mean * momentum + now * (1 - momentum), var * momentum + spread * (1 - momentum)
    return batch_norm(x, scale, bias, now, spread, eps), moved[0].to(mean.dtype), moved[1].to(var.dtype)


def layer_norm(
    x: Tensor, scale: Tensor, bias: Tensor | None, axis: int, eps: float, wide: torch.dtype | None = torch.float32
) -> tuple[Tensor, Tensor, Tensor]:
    """The last axes less their mean over their deviation, scaled and moved; and mean and inverse deviation."""
    axes = tuple(range(axis % x.ndim, x.ndim))
    values = x.to(wide or x.dtype)
    mean = values.mean(dim=axes, keepdim=True)
    inverse = torch.rsqrt(values.var(dim=axes, correction=0, keepdim=True) + eps)
    y = ((values - mean) * inverse).to(x.dtype) * scale
    return y if bias is None else y + bias, mean, inverse


def rms_norm(x: Tensor, scale: Tensor, axis: int, eps: float, wide: torch.dtype | None = torch.float32) -> Tensor:
    """The last axes over the root of their mean square, scaled."""
    values = x.to(wide or x.dtype)
    square = values.square().mean(dim=tuple(range(axis % x.ndim, x.ndim)), keepdim=True)
    return ((values * torch.rsqrt(square + eps)).to(x.dtype) * scale).to(scale.dtype)


def mean_variance_norm(x: Tensor, axes: Sequence[int]) -> Tensor:
    """`x` less its mean over some axes, over its deviation."""
    centred = x - x.mean(dim=axes, keepdim=True)
    return centred / (centred.square().mean(dim=axes, keepdim=True).sqrt() + 1e-9)


def local_response_norm(x: Tensor, size: int, alpha: float, beta: float, k: float) -> Tensor:
    """Each channel over a power of the squares of those around: of an even number, one more lies behind."""
    around = (size - 1) // 2, size // 2
    beside = [0, 0] * (x.ndim - 2)
    squares = F.pad(x.square(), [*beside, *around]).unfold(1, size, 1).sum(dim=-1)
    return x / (k + alpha / size * squares) ** beta
