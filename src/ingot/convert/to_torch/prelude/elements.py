"""Elements and reductions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor


def shrink(x: Tensor, bias: float, threshold: float) -> Tensor:
    """`x` moved towards zero by `bias` where it is beyond the threshold, zero within."""
    moved = torch.where(x < -threshold, x + bias, torch.zeros_like(x))
    return torch.where(x > threshold, x - bias, moved)


def hardmax(x: Tensor, axis: int) -> Tensor:
    """One where the first greatest element of the axis is, zero elsewhere."""
    return torch.zeros_like(x).scatter(axis, x.argmax(dim=axis, keepdim=True), 1)


def shift_right(x: Tensor, y: Tensor) -> Tensor:
    """Bits moved down and zeros put in, of unsigned numbers that int64 holds."""
    halved = (x >> 1) & torch.iinfo(torch.int64).max
    return torch.where(y == 0, x, halved >> (y - 1).clamp(min=0))


def extreme_of_few(x: Tensor, function: str, dim: int | tuple[int, ...], keepdim: bool = False) -> Tensor:
    """The greatest (`amax`) or least (`amin`) element, of no elements the farthest from it that there is."""
    dims = [axis % x.ndim for axis in ((dim,) if isinstance(dim, int) else dim)]
    if all(x.shape[axis] for axis in dims):
        return getattr(x, function)(dim=dims, keepdim=keepdim)
    shape = [1 if axis in dims else size for axis, size in enumerate(x.shape) if keepdim or axis not in dims]
    if x.dtype == torch.bool:
        return torch.full(shape, function == "amin", device=x.device)
    lowest, highest = -torch.inf, torch.inf
    if not x.is_floating_point():
        lowest, highest = torch.iinfo(x.dtype).min, torch.iinfo(x.dtype).max
    return torch.full(shape, lowest if function == "amax" else highest, dtype=x.dtype, device=x.device)


def product_over(x: Tensor, dims: Sequence[int], keepdim: bool = False) -> Tensor:
    """The product over several axes."""
    for axis in sorted((axis % x.ndim for axis in dims), reverse=True):
        x = x.prod(dim=axis, keepdim=keepdim, dtype=x.dtype)
    return x


def last_place(function: Callable[..., Tensor], x: Tensor, dim: int, keepdim: bool) -> Tensor:
    """Where the last of the greatest or least elements is."""
    return x.shape[dim] - 1 - function(x.flip(dim), dim=dim, keepdim=keepdim)


def top_k(x: Tensor, k: int, dim: int, largest: bool = True) -> tuple[Tensor, Tensor]:
    """The `k` greatest or least elements and their places: of equals, those that come first."""
    values, places = torch.sort(x, dim=dim, descending=largest, stable=True)
    return values.narrow(dim, 0, k), places.narrow(dim, 0, k)


def cumulative(
    function: Callable[..., Tensor], x: Tensor, dim: int, exclusive: bool = False, reverse: bool = False
) -> Tensor:
    """Running sums or products, from the other end or without the element itself."""
    x = x.flip(dim) if reverse else x
    result = function(x, dim=dim, dtype=x.dtype)
    if exclusive:
        first = torch.full_like(result.narrow(dim, 0, 1), 0 if function is torch.cumsum else 1)
        result = torch.cat((first, result.narrow(dim, 0, x.shape[dim] - 1)), dim=dim)
    return result.flip(dim) if reverse else result
