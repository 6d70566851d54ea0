"""What part of a tensor one scale is for: all of it, one index of an axis, or a block of consecutive indices."""

from __future__ import annotations

import numpy as np

from ingot.dtypes import Array
from ingot.errors import ShapeError
from ingot.ir.types import Shape, format_shape
from ingot.ops.shapes import axis_of


def spread(values: Array, shape: tuple[int, ...], axis: int, block_size: int, name: str) -> Array:
    """Scales or zero points, repeated so that they broadcast to a tensor of `shape`.

    ShapeError if they are neither one, nor one for each index of `axis`, nor one for each block along it.
    """
    check_granularity(shape, values.shape, axis, block_size, name)
    if values.ndim == 0 or values.shape == (1,):
        return values.reshape(())
    axis = axis_of(axis, len(shape))
    if not block_size:
        return values.reshape([-1 if i == axis else 1 for i in range(len(shape))])
    return np.take(values, np.arange(shape[axis]) // block_size, axis=axis)


def check_pair(scale: Shape | None, zero_point: Shape | None) -> None:
    """ShapeError if the shapes of scales and zero points provably differ; a scalar and a vector of one are the same."""
    if scale is None or zero_point is None or (scale in ((), (1,)) and zero_point in ((), (1,))):
        return
    if len(scale) != len(zero_point) or any(
        isinstance(a, int) and isinstance(b, int) and a != b for a, b in zip(scale, zero_point, strict=True)
    ):
        raise ShapeError(f"scale has shape [{format_shape(scale)}], the zero point [{format_shape(zero_point)}]")


def check_granularity(shape: Shape | None, scale_shape: Shape | None, axis: int, block_size: int, name: str) -> None:
    """ShapeError if scales of `scale_shape` provably do not fit a tensor of `shape`."""
    if block_size < 0:
        raise ShapeError(f"block_size is {block_size}, and cannot be negative")
    if (
        scale_shape is None
        or shape is None
        or scale_shape == ()
        or (scale_shape == (1,) and (not block_size or len(shape) != 1))
    ):
        return
    rank = len(shape)
    if not block_size:
        if len(scale_shape) != 1:
            raise ShapeError(f"{name} has {len(scale_shape)} axes: it is a scalar or a vector where block_size is 0")
        if not isinstance(scale_shape[0], int):
            return  # it may turn out to be a single one, and axis without a meaning
        size = shape[axis_of(axis, rank)]
        if isinstance(size, int) and scale_shape[0] != size:
            raise ShapeError(f"{name} has {scale_shape[0]} elements, axis {axis} has {size}")
        return
    if len(scale_shape) != rank:
        raise ShapeError(f"{name} has {len(scale_shape)} axes, expected {rank} where blocks have size {block_size}")
    axis = axis_of(axis, rank)
    for i, (size, many) in enumerate(zip(shape, scale_shape, strict=True)):
        if isinstance(size, int) and isinstance(many, int):
            expected = -(-size // block_size) if i == axis else size
            if many != expected:
                of = f"blocks of {block_size} over {size}" if i == axis else f"{size}"
                raise ShapeError(f"{name} has size {many} at axis {i}, expected {expected} for {of}")
