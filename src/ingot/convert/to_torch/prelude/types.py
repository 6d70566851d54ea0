"""Element types, and chance."""

from __future__ import annotations

import math

import torch
from torch import Tensor


def cast_to_few_bits(x: Tensor, bits: int, signed: bool) -> Tensor:
    """Integers of a few bits, kept in bytes: of what is larger, the lowest bits."""
    low = x.to(torch.int64) & (2**bits - 1)
    if not signed:
        return low.to(torch.uint8)
    return torch.where(low >= 2 ** (bits - 1), low - 2**bits, low).to(torch.int8)


def cast_to_float8(x: Tensor, dtype: torch.dtype, saturate: bool) -> Tensor:
    """Floats of eight bits: what is too large becomes the largest, or infinite, or NaN where there is no infinity."""
    x = x.to(torch.float32)
    most = torch.finfo(dtype).max
    if saturate:
        return torch.where(x.isnan(), x, x.clamp(-most, most)).to(dtype)
    if dtype == torch.float8_e4m3fn:  # whose largest is 448: what lies beyond 464 is nearer to the next
        x = torch.where(x.abs() > 464, torch.full_like(x, torch.nan), x)
    return x.to(dtype)


def counted(
    start: float, end: float | None = None, step: float = 1, *, dtype: torch.dtype = torch.int64, device: torch.device
) -> Tensor:
    """Numbers from a start up to an end, none if that lies before it."""
    start, end = (0, start) if end is None else (start, end)
    count = max(math.ceil((end - start) / step), 0)
    wide = torch.float64 if dtype.is_floating_point else torch.int64
    return (start + torch.arange(count, device=device).to(wide) * step).to(dtype)


def dropout(x: Tensor, ratio: float, training: bool, generator: torch.Generator | None = None) -> tuple[Tensor, Tensor]:
    """A share of the elements made zero and the others larger, while training; and which were kept."""
    if not training or float(ratio) == 0:
        return x, torch.ones_like(x, dtype=torch.bool)
    drawn = torch.rand(x.shape, generator=generator, device=x.device)
    mask = drawn >= ratio
    return torch.where(mask, x / (1 - ratio), torch.zeros_like(x)), mask
