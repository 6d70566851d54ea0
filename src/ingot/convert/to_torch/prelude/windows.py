"""Windows that move over images: convolutions and pools that torch has not in this form."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor


def pad_same(
    x: Tensor,
    kernel: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
    upper: bool = True,
    value: float = 0.0,
) -> Tensor:
    """`x` padded so that there are as many windows as strides fit in: of an odd number, one more at the end."""
    pads: list[int] = []
    for size, length, stride, dilation in zip(x.shape[2:], kernel, strides, dilations, strict=True):
        whole = max((-(-size // stride) - 1) * stride + (length - 1) * dilation + 1 - size, 0)
        less, more = whole // 2, whole - whole // 2
        pads = [less if upper else more, more if upper else less, *pads]
    return F.pad(x, pads, value=value)


def cropped(x: Tensor, before: Sequence[int], after: Sequence[int]) -> Tensor:
    """`x` without its first elements along each spatial axis, and with more (or fewer) at the end."""
    pads: list[int] = []
    for low, high in zip(before, after, strict=True):
        pads = [-low, high, *pads]
    return F.pad(x, pads)


def windows(
    x: Tensor,
    kernel: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
    pads: Sequence[int],
    value: float = 0.0,
    ceil: bool = False,
) -> Tensor:
    """The elements of each window, on axes of their own at the end; `pads` are before and after each spatial axis."""
    count = len(kernel)
    for axis in range(count):
        span = (kernel[axis] - 1) * dilations[axis] + 1
        low, high = pads[axis], pads[axis + count]
        if ceil:
            size = x.shape[axis + 2]
            number = -(-(size + low + high - span) // strides[axis]) + 1
            number -= (number - 1) * strides[axis] >= size + low  # a window that begins after the end is none
            high = max(high, (number - 1) * strides[axis] + span - size - low)
        x = F.pad(x, [0, 0] * (x.ndim - axis - 3) + [low, high], value=value)
        x = x.unfold(axis + 2, span, strides[axis])[..., :: dilations[axis]]
    return x


def max_pool_places(
    x: Tensor,
    kernel: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
    pads: Sequence[int],
    ceil: bool = False,
    columns_first: bool = False,
) -> tuple[Tensor, Tensor]:
    """The greatest element of each window, and where it lies in the flattened input."""
    sizes = x.shape[2:]
    seen = windows(x.to(torch.float64), kernel, strides, dilations, pads, -math.inf, ceil).flatten(x.ndim)
    numbers = torch.arange(math.prod(sizes), device=x.device).reshape(sizes)
    if columns_first:
        numbers = torch.arange(math.prod(sizes), device=x.device).reshape(sizes[::-1])
        numbers = numbers.permute(*range(numbers.ndim - 1, -1, -1))
    places = windows(numbers[None, None].to(torch.float64), kernel, strides, dilations, pads, -1, ceil).flatten(x.ndim)
    greatest, index = seen.max(dim=-1)
    where = places.expand(seen.shape).gather(-1, index.unsqueeze(-1)).squeeze(-1).to(torch.int64)
    first = torch.arange(x.shape[0] * x.shape[1], device=x.device) * math.prod(sizes)
    first = first.reshape(x.shape[0], x.shape[1], *[1] * len(sizes))
    return greatest.to(x.dtype), torch.where(where < 0, where, where + first)


def max_pool(
    x: Tensor,
    kernel: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
    pads: Sequence[int],
    ceil: bool = False,
) -> Tensor:
    """The greatest element of each window, whatever its padding."""
    wide = x if x.is_floating_point() else x.to(torch.float32)
    seen = windows(wide, kernel, strides, dilations, pads, -math.inf, ceil)
    return seen.amax(dim=tuple(range(x.ndim, seen.ndim))).to(x.dtype)


def average_pool(
    x: Tensor,
    kernel: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
    pads: Sequence[int],
    ceil: bool = False,
    count_pads: bool = False,
) -> Tensor:
    """The mean of each window: of the elements inside, or of the padding too."""
    ones = torch.ones((1, 1, *x.shape[2:]), dtype=x.dtype, device=x.device)
    inner = list(pads)
    if count_pads:
        flat = [one for pair in zip(pads, pads[len(kernel) :], strict=False) for one in pair]
        pairs = [tuple(flat[2 * axis : 2 * axis + 2]) for axis in range(len(kernel))][::-1]
        x = F.pad(x, [one for pair in pairs for one in pair])
        ones = F.pad(ones, [one for pair in pairs for one in pair], value=1.0)
        inner = [0] * len(pads)
    axes = tuple(range(x.ndim, x.ndim + len(kernel)))
    total = windows(x, kernel, strides, dilations, inner, 0.0, ceil).sum(dim=axes)
    return total / windows(ones, kernel, strides, dilations, inner, 0.0, ceil).sum(dim=axes)


def lp_pool(
    x: Tensor,
    p: int,
    kernel: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
    pads: Sequence[int],
    ceil: bool = False,
) -> Tensor:
    """The p-norm of each window."""
    seen = windows(x, kernel, strides, dilations, pads, 0.0, ceil)
    return torch.linalg.vector_norm(seen, p, dim=tuple(range(x.ndim, seen.ndim)))


def max_unpool(x: Tensor, places: Tensor, shape: Sequence[int]) -> Tensor:
    """Elements put back where a pool took them from, zeros elsewhere."""
    flat = torch.zeros(math.prod(shape), dtype=x.dtype, device=x.device)
    return flat.scatter(0, places.flatten(), x.flatten()).reshape(shape)


def col2im(
    x: Tensor,
    image: Sequence[int],
    block: Sequence[int],
    dilations: Sequence[int],
    pads: Sequence[int],
    strides: Sequence[int],
) -> Tensor:
    """Columns of blocks summed up where the blocks lie in an image of any number of axes."""
    rank = len(block)
    whole = [size + pads[axis] + pads[axis + rank] for axis, size in enumerate(image)]
    numbers = torch.arange(math.prod(whole), device=x.device).reshape(1, 1, *whole).to(torch.float64)
    places = windows(numbers, block, strides, dilations, [0] * (2 * rank)).to(torch.int64)
    columns = x.reshape(x.shape[0], -1, math.prod(block), x.shape[-1]).transpose(2, 3)
    flat = torch.zeros(*columns.shape[:2], math.prod(whole), dtype=x.dtype, device=x.device)
    index = places.reshape(1, 1, -1).expand(*columns.shape[:2], -1)
    padded = flat.scatter_add(2, index, columns.flatten(2)).reshape(*columns.shape[:2], *whole)
    return cropped(padded, pads[:rank], [-one for one in pads[rank:]])


def causal_conv(
    x: Tensor, weight: Tensor, bias: Tensor | None, past: Tensor | None, activation: str | None = None
) -> tuple[Tensor, Tensor]:
    """A convolution of each channel with itself and what was before it; and the last elements, for what follows."""
    length = weight.shape[-1] - 1
    if past is None:
        past = torch.zeros(*x.shape[:2], length, dtype=x.dtype, device=x.device)
    whole = torch.cat((past, x), dim=2)
    convolved = F.conv1d(whole, weight, bias, groups=x.shape[1])
    return F.silu(convolved) if activation == "silu" else convolved, whole[:, :, whole.shape[2] - length :]


def deform_conv(
    x: Tensor,
    weight: Tensor,
    offset: Tensor,
    bias: Tensor | None,
    mask: Tensor | None,
    kernel: tuple[int, int],
    strides: tuple[int, int],
    dilations: tuple[int, int],
    pads: tuple[int, int, int, int],
    groups: int,
    offset_groups: int,
) -> Tensor:
    """A convolution whose windows read at places that offsets move, between elements if need be."""
    batch, channels, height, width = x.shape
    rows, columns = offset.shape[2:]
    offset = offset.reshape(batch, offset_groups, kernel[0], kernel[1], 2, rows, columns).to(torch.float64)
    y = torch.arange(rows, device=x.device).reshape(1, 1, -1, 1) * strides[0] - pads[0]
    y = y + torch.arange(kernel[0], device=x.device).reshape(-1, 1, 1, 1) * dilations[0] + offset[:, :, :, :, 0]
    z = torch.arange(columns, device=x.device).reshape(1, 1, 1, -1) * strides[1] - pads[1]
    z = z + torch.arange(kernel[1], device=x.device).reshape(1, -1, 1, 1) * dilations[1] + offset[:, :, :, :, 1]
    grid = torch.stack(((2 * z + 1) / width - 1, (2 * y + 1) / height - 1), dim=-1)
    grid = grid.reshape(batch * offset_groups, kernel[0] * kernel[1] * rows, columns, 2)
    images = x.reshape(batch * offset_groups, channels // offset_groups, height, width).to(torch.float64)
    read = F.grid_sample(images, grid, align_corners=False).to(x.dtype)
    read = read.reshape(batch, offset_groups, channels // offset_groups, kernel[0], kernel[1], rows, columns)
    if mask is not None:
        read = read * mask.reshape(batch, offset_groups, 1, kernel[0], kernel[1], rows, columns)
    read = read.reshape(batch, groups, channels // groups, kernel[0], kernel[1], rows, columns)
    weight = weight.reshape(groups, -1, *weight.shape[1:])
    convolved = torch.einsum("bgcklrs,gockl->bgors", read, weight).reshape(batch, -1, rows, columns)
    return convolved if bias is None else convolved + bias.reshape(-1, 1, 1)
