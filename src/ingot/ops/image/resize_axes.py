"""Which axes Resize changes, to which sizes, by which scales."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from ingot.dataclass import dataclass
from ingot.dims import Dim
from ingot.dtypes import Array
from ingot.errors import CheckError, InputError, ShapeError
from ingot.ir.tensor import Tensor
from ingot.ir.types import Shape
from ingot.ops.facts import Fact
from ingot.ops.shapes import axes_of

EXACT = 2**20
"""Sizes below this have exact halves, and products with a scale worth rounding, in float32."""


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis of `length` pixels that is to have `size`, of a crop from `start` to `end` (0 to 1 is all of it)."""

    axis: int
    length: int
    size: int
    scale: float
    start: float = 0.0
    end: float = 1.0


def chosen_axes(axes: Sequence[int] | None, rank: int) -> tuple[int, ...]:
    """The axes named, or all of them."""
    return tuple(range(rank)) if axes is None else axes_of(axes, rank)


def resized_axes(
    shape: Sequence[int],
    roi: Array | None,
    scales: Array | None,
    sizes: Array | None,
    axes: Sequence[int] | None,
    policy: str,
) -> list[Axis]:
    """What becomes of each axis; InputError where the numbers do not fit or make no sense."""
    chosen = chosen_axes(axes, len(shape))
    scales, sizes = (
        None if tensor is None or (tensor.shape == (0,) and chosen) else tensor for tensor in (scales, sizes)
    )
    if (scales is None) == (sizes is None):
        raise InputError("one of scales and sizes must be given, and only one")
    for name, tensor, count in (("scales", scales, 1), ("sizes", sizes, 1), ("roi", roi, 2)):
        if tensor is not None and tensor.shape != (count * len(chosen),):
            raise ShapeError(f"{name} has shape {list(tensor.shape)}, for {len(chosen)} axes it takes {count} each")
    corners = [0.0] * len(chosen) + [1.0] * len(chosen) if roi is None else [float(corner) for corner in roi]
    if not np.isfinite(corners).all():
        raise InputError("roi holds numbers that are not finite")
    regions = list(zip(corners[: len(chosen)], corners[len(chosen) :], strict=True))
    lengths = [shape[axis] for axis in chosen]
    if scales is not None:
        factors = [float(scale) for scale in scales]
        if not all(np.isfinite(factor) and factor > 0 for factor in factors):
            raise InputError(f"scales are {factors}, expected numbers above 0")
        targets = [
            scaled(length, factor * (end - start))
            for length, factor, (start, end) in zip(lengths, factors, regions, strict=True)
        ]
    else:
        assert sizes is not None
        targets, factors = _sized(lengths, [int(size) for size in sizes], policy)
    resized = []
    for axis, length, size, factor, (start, end) in zip(chosen, lengths, targets, factors, regions, strict=True):
        if length == 0 and size > 0:
            raise InputError(f"axis {axis} has no pixels, it cannot have {size}")
        resized.append(Axis(axis, length, size, factor, start, end))
    return resized


def scaled(length: int, scale: float) -> int:
    """A length times a scale, cut off; both have the precision of float32, so that 10 by 0.7 is 7."""
    exact = length * scale
    return int(np.floor(np.float32(exact))) if exact < EXACT else int(exact)


def coordinate_precision(length: int, positions: Array) -> Array:
    """Positions in pixels, rounded to float32 like the scales they come from, where float32 can hold halves."""
    return positions.astype(np.float32).astype(np.float64) if length < EXACT else positions


def _sized(lengths: Sequence[int], sizes: Sequence[int], policy: str) -> tuple[list[int], list[float]]:
    if any(size < 0 for size in sizes):
        raise InputError(f"sizes are {list(sizes)}")
    if policy == "stretch" or not lengths:
        return list(sizes), [size / length if length else 1.0 for size, length in zip(sizes, lengths, strict=True)]
    if 0 in lengths:
        raise InputError(f"axes of {list(lengths)} pixels have no aspect ratio to keep")
    ratios = [Fraction(size, length) for size, length in zip(sizes, lengths, strict=True)]
    ratio = min(ratios) if policy == "not_larger" else max(ratios)
    return [int(ratio * length + Fraction(1, 2)) for length in lengths], [float(ratio)] * len(lengths)


def resized_shape(
    shape: Shape, scales: Fact | None, sizes: Fact | None, axes: Sequence[int], policy: str
) -> tuple[Dim | None, ...]:
    """The same of what is known before the numbers are."""
    resized: list[Dim | None] = list(shape)
    for name, fact in (("scales", scales), ("sizes", sizes)):
        if fact is not None and fact.shape is not None and len(fact.shape) != 1:
            raise ShapeError(f"{name} has {len(fact.shape)} axes, expected 1")
        count = None if fact is None or fact.shape is None else fact.shape[0]
        if isinstance(count, int) and count not in (0, len(axes)):
            raise ShapeError(f"{name} has {count} numbers, for {len(axes)} axes")
    elements = None if sizes is None else sizes.elements
    constant = None if scales is None or not scales.constant or not scales.constant.size else _numbers(scales.constant)
    if elements and constant is not None:
        raise CheckError("one of scales and sizes must be given, and only one")
    lengths = [shape[axis] for axis in axes]
    if elements and policy == "stretch":
        targets: list[Dim | None] = list(elements)
    elif elements:
        known, wanted = [n for n in lengths if isinstance(n, int)], [n for n in elements if isinstance(n, int)]
        exact = len(known) == len(wanted) == len(axes)
        targets = [*_sized(known, wanted, policy)[0]] if exact else [None] * len(axes)
    elif constant is not None:
        targets = [_scaled_dim(length, float(scale)) for length, scale in zip(lengths, constant, strict=True)]
    else:
        targets = [None] * len(axes)
    for axis, size in zip(axes, targets, strict=True):
        if isinstance(size, int) and size < 0:
            raise ShapeError(f"axis {axis} would have {size} pixels")
        resized[axis] = size
    return tuple(resized)


def _numbers(constant: Tensor) -> Array | None:
    return None if constant.external and not constant.is_loaded else constant.numpy()


def _scaled_dim(length: Dim | None, scale: float) -> Dim | None:
    if length is None or not np.isfinite(scale) or scale <= 0:
        return None
    if isinstance(length, int):
        return scaled(length, scale)
    ratio = Fraction(scale)
    if ratio.denominator > 256:
        return None
    try:
        return length * ratio.numerator // ratio.denominator
    except ValueError:  # too large an expression to follow
        return None
