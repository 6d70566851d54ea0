"""Boxes and regions."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from ingot.convert.to_torch.prelude.windows import max_unpool


def non_max_suppression(
    boxes: Tensor, scores: Tensor, most: int, overlap: float, least: float | None, centred: bool = False
) -> Tensor:
    """Rows (batch, class, box) of the boxes kept, for each class from the best score down."""
    first, second = boxes[..., :2], boxes[..., 2:]
    if centred:
        low, high = first - second / 2, first + second / 2
    else:
        low, high = torch.minimum(first, second), torch.maximum(first, second)
    rows = [torch.zeros((0, 3), dtype=torch.int64, device=boxes.device)]
    for batch in range(scores.shape[0]):
        area = (high[batch] - low[batch]).prod(dim=-1)
        for class_ in range(scores.shape[1]):
            order = scores[batch, class_].argsort(descending=True, stable=True)
            if least is not None:
                order = order[scores[batch, class_][order] > least]
            chosen: list[Tensor] = []
            while order.numel() and len(chosen) < most:
                best, order = order[0], order[1:]
                chosen.append(best)
                ends = torch.minimum(high[batch, best], high[batch, order])
                shared = (ends - torch.maximum(low[batch, best], low[batch, order])).clamp(min=0).prod(dim=-1)
                union = area[best] + area[order] - shared
                order = order[~((shared > 0) & (shared / union > overlap))]
            rows += [torch.tensor([[batch, class_, int(box)]], device=boxes.device) for box in chosen]
    return torch.cat(rows)


def roi_align(
    x: Tensor,
    rois: Tensor,
    images: Tensor,
    bins: tuple[int, int],
    ratio: int,
    scale: float,
    half_pixel: bool,
    largest: bool = False,
) -> Tensor:
    """For each region of its image a grid of bins, each the mean or the largest of samples between pixels."""
    pooled = []
    for region, image in zip((rois * scale).tolist(), images.tolist(), strict=True):
        sides = []
        for axis, size in ((1, x.shape[2]), (0, x.shape[3])):
            start, end = (corner - 0.5 if half_pixel else corner for corner in (region[axis], region[axis + 2]))
            extent = end - start if half_pixel else max(end - start, 1.0)
            count = bins[1 - axis]
            number = ratio or max(math.ceil(extent / count), 0)
            steps = (torch.arange(number, device=x.device) + 0.5) / max(number, 1)
            at = start + (torch.arange(count, device=x.device).unsqueeze(1) + steps).flatten() * (extent / count)
            inside = ((at >= -1) & (at <= size)).to(x.dtype)
            at = at.clamp(0, size - 1)
            low = at.floor().to(torch.int64)
            after = (at - low).to(x.dtype)
            sides.append((low, (low + 1).clamp(max=size - 1), (1 - after) * inside, after * inside, number))
        corners = []
        for row, height in ((sides[0][0], sides[0][2]), (sides[0][1], sides[0][3])):
            for column, width in ((sides[1][0], sides[1][2]), (sides[1][1], sides[1][3])):
                corners.append(x[image][:, row][:, :, column] * (height.unsqueeze(1) * width))
        shape = (x.shape[1], bins[0], sides[0][4], bins[1], sides[1][4])
        if largest:
            pooled.append(torch.stack(corners).amax(dim=0).reshape(shape).amax(dim=(2, 4)))
        else:
            pooled.append(torch.stack(corners).sum(dim=0).reshape(shape).mean(dim=(2, 4)))
    return torch.stack(pooled) if pooled else x.new_zeros((0, x.shape[1], *bins))


def max_roi_pool(x: Tensor, rois: Tensor, bins: tuple[int, int], scale: float) -> Tensor:
    """For each region of its image the greatest element of each cell of a grid; zero where a cell is empty."""
    pooled = x.new_zeros((rois.shape[0], x.shape[1], *bins))
    for place, region in enumerate(rois.tolist()):
        image = int(region[0])
        left, top, right, bottom = (math.floor(abs(one * scale) + 0.5) * (1 if one >= 0 else -1) for one in region[1:])
        height, width = max(bottom - top + 1, 1), max(right - left + 1, 1)
        for row in range(bins[0]):
            upper, lower = top + row * height // bins[0], top - (-(row + 1) * height // bins[0])
            for column in range(bins[1]):
                first, last = left + column * width // bins[1], left - (-(column + 1) * width // bins[1])
                cell = x[image, :, max(upper, 0) : max(lower, 0), max(first, 0) : max(last, 0)]
                if cell.numel():
                    pooled[place, :, row, column] = cell.amax(dim=(1, 2))
    return pooled


def unpooled_in(x: Tensor, places: Tensor, shape: tuple[int, ...], larger: tuple[int, ...]) -> Tensor:
    """Elements put back where a pool took them from, in the first corner of a larger tensor of zeros."""
    unpooled = x.new_zeros(larger)
    unpooled[tuple(slice(size) for size in shape)] = max_unpool(x, places, shape)
    return unpooled
