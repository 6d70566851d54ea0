"""Where the greatest element of each window lies, in primitives: the first of equals."""

from __future__ import annotations

from math import prod

from ingot import prim
from ingot.dims import Dim
from ingot.ops.nn.sweeps import channels_first, padding_of, swept
from ingot.ops.nn.windows import Windows


def places_of_greatest(x: prim.Tensor, moving: Windows, fill: float, first_fastest: bool) -> prim.Tensor:
    """Its index in the flattened `x`, or in one whose first spatial axis runs fastest; -1 for a window of padding."""
    seen = swept(x, moving, fill)
    rank, sizes = x.rank - 2, x.shape[2:]
    kernel = [size for size in moving.kernel if isinstance(size, int)]
    inner = range(rank + 1, 2 * rank + 1)
    greatest = prim.reduce_("maximum", seen, inner)
    matches = prim.apply("equal", seen, greatest)
    if not x.dtype.is_integer:
        matches = prim.apply("or", matches, prim.apply("is_nan", seen))
    number = prim.scalar(0, prim.iota((1,), 0).dtype)
    for axis, (count, size) in enumerate(zip(seen.shape[1 : rank + 1], sizes, strict=True)):
        place = prim.iota((*(1,) * inner[axis], kernel[axis], *(1,) * (rank - axis)), inner[axis])
        number = number * kernel[axis] + place
        position = _position(moving, axis, size, count, place, rank)
        if padding_of(moving, axis, size, kernel[axis]) != (0, 0) or moving.ceil:
            inside = prim.apply("and", _not_below(position, 0), prim.apply("less", position, prim.size(size)))
            matches = prim.apply("and", matches, inside)
    first = prim.reduce_("minimum", prim.where(matches, number, prod(kernel)), inner)
    index = prim.iota((x.shape[0], *(1,) * (2 * rank + 1)), 0) * prim.size(x.shape[1])
    index = index + prim.iota((*(1,) * (2 * rank + 1), x.shape[1]), 2 * rank + 1)
    index = index * prim.size(prim.count(sizes))
    for axis, (count, size) in enumerate(zip(seen.shape[1 : rank + 1], sizes, strict=True)):
        place = prim.apply("remainder", first / prod(kernel[axis + 1 :]), kernel[axis])
        step = prim.count(sizes[:axis] if first_fastest else sizes[axis + 1 :])
        index = index + _position(moving, axis, size, count, place, rank) * prim.size(step)
    index = prim.where(prim.apply("equal", first, prod(kernel)), -1, index)
    return channels_first(prim.squeeze(index, inner))


def _position(moving: Windows, axis: int, size: Dim, count: Dim, place: prim.Tensor, rank: int) -> prim.Tensor:
    """Where along an axis an element of each window lies, of windows (batch, counts, kernel, channels)."""
    kernel = moving.kernel[axis]
    assert isinstance(kernel, int)
    before, _ = padding_of(moving, axis, size, kernel)
    start = prim.iota((*(1,) * (axis + 1), count, *(1,) * (2 * rank - axis)), axis + 1) * moving.strides[axis]
    return start + place * moving.dilations[axis] - prim.size(before)


def _not_below(x: prim.Tensor, least: int) -> prim.Tensor:
    return prim.apply("less_equal", prim.scalar(least, x.dtype), x)
