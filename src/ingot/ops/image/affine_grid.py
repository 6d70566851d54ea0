"""AffineGrid: the places that affine maps send the pixels of an image to."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

import numpy as np

from ingot import prim
from ingot.dims import Dim
from ingot.dtypes import Array, DType
from ingot.errors import InputError, ShapeError, UnsupportedError
from ingot.ir.types import TensorType
from ingot.ir.value import Value
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.image.extent import require_extent
from ingot.ops.older import dtype_of, shape_of
from ingot.ops.shapes import require_rank, unify
from ingot.ops.tensor.moved import along, sizes_of
from ingot.ops.typesets import FLOATS, INT64, types

T1: TypeAlias = Annotated[Array, types("T1", FLOATS)]
T2: TypeAlias = Annotated[Array, types("T2", INT64)]


@operator("AffineGrid", since=20)
def affine_grid(theta: T1, size: T2, /, *, align_corners: int = 0) -> T1:
    """For images of `size`, `[N, C, H, W]` or `[N, C, D, H, W]`, each pixel's place times the matrix of its image.

    Places go from -1 to 1, from edge to edge of the image or, with `align_corners`, between the centres of its
    outermost pixels; the innermost axis comes first.
    """
    if size.shape not in ((4,), (5,)):
        raise ShapeError(f"size has shape {list(size.shape)}, expected 4 or 5 numbers")
    batch, _, *sizes = (int(n) for n in size)
    spatial = len(sizes)
    if theta.shape != (batch, spatial, spatial + 1):
        raise ShapeError(f"theta has shape {list(theta.shape)}, expected {[batch, spatial, spatial + 1]}")
    if any(n < 0 for n in sizes):
        raise InputError(f"size is {size.tolist()}")
    require_extent((max(batch, 1), *sizes, spatial + 1), 8)
    ticks = [_ticks(n, bool(align_corners)) for n in sizes]
    places = np.stack([*np.meshgrid(*ticks, indexing="ij")[::-1], np.ones(sizes)], axis=-1)
    return np.asarray(np.einsum("nij,...j->n...i", theta.astype(np.float64), places), theta.dtype)


def _ticks(count: int, align_corners: bool) -> Array:
    """The centres of pixels from -1 to 1; of a single one, the middle."""
    steps = 2 * np.arange(count, dtype=np.float64)
    if align_corners and count > 1:
        return steps / (count - 1) - 1
    return (steps + 1) / max(count, 1) - 1


@affine_grid.infer
def infer(theta: Fact, size: Fact, /, *, align_corners: int) -> Inferred:
    require_rank(theta, 3, "theta")
    require_rank(size, 1, "size")
    if theta.dtype is None:
        return None
    matrix = theta.shape or (None, None, None)
    count = size.shape[0] if size.shape is not None else None
    spatial: Dim | None = count - 2 if isinstance(count, int) else matrix[1]
    if spatial is None and isinstance(matrix[2], int):
        spatial = matrix[2] - 1
    if not isinstance(spatial, int):
        return TensorType(theta.dtype)
    if spatial not in (2, 3):
        raise ShapeError(f"images have 2 or 3 axes, these {spatial}")
    unify(matrix[1], spatial, "the axes of theta and size")
    unify(matrix[2], spatial + 1, "the columns of theta and the axes of size plus one")
    sizes = size.elements or (None,) * (spatial + 2)
    return TensorType(theta.dtype, (unify(matrix[0], sizes[0], "the batch sizes"), *sizes[2:], spatial))


affine_grid.sized_by("size")


@affine_grid.lower
def lower(
    theta: prim.Tensor,
    size: prim.Tensor,
    /,
    *,
    align_corners: int,
    facts: tuple[Fact, ...],
    inferred: tuple[Fact, ...],
) -> prim.Tensor:
    """For each axis of the image, the column of the matrices for it times the places along it, in float64, added up."""
    shape = sizes_of(inferred[0])
    batch = None if facts[1].elements is None else facts[1].elements[0]
    spatial = len(shape) - 2
    if batch is None:
        raise prim.Refused("a statically unknown size")
    theta = prim.assume_shape(theta, (batch, spatial, spatial + 1))
    wide = prim.cast(theta, DType.FLOAT64)
    total: prim.Tensor | None = None
    for column in range(spatial + 1):
        part = prim.slice_(wide, (0, 0, column), (shape[0], spatial, 1))
        part = prim.reshape(part, (shape[0], *(1,) * spatial, spatial))
        if column < spatial:
            axis = spatial - 1 - column  # the innermost comes first
            ticks = _ticks_in_primitives(shape[axis + 1], bool(align_corners))
            part = part * along(ticks, spatial - axis)
        total = part if total is None else total + part
    assert total is not None
    assert inferred[0].dtype is not None
    return prim.cast(total, inferred[0].dtype)


def _ticks_in_primitives(count: Dim, align_corners: bool) -> prim.Tensor:
    if isinstance(count, int):
        return prim.constant(_ticks(count, align_corners))
    steps = prim.cast(prim.iota((count,), 0), DType.FLOAT64) * 2.0
    many = prim.cast(prim.size(count), DType.FLOAT64)
    centres = (steps + 1.0) / many - 1.0
    if not align_corners:
        return centres
    return prim.where(prim.apply("less", 1.0, many), steps / (many - 1.0) - 1.0, centres)


@affine_grid.downgrade
def downgrade(op: Any, theta: Value, size: Value, /, *, align_corners: int) -> Any:
    """For each axis of the image, the column of the matrices for it times the places along it, and all added up."""
    spatial = _spatial(theta, size)
    dtype = dtype_of(theta)
    inside = DType.FLOAT64 if dtype is DType.FLOAT64 else DType.FLOAT32
    matrices = theta if inside is dtype else op.Cast(theta, to=int(inside))
    total: Any = None
    for column in range(spatial + 1):
        factor = op.Gather(matrices, [column], axis=2)  # [N, axes, 1]
        factor = op.Transpose(op.Unsqueeze(factor, list(range(3, spatial + 2))), perm=[0, *range(2, spatial + 2), 1])
        if column < spatial:
            axis = spatial - 1 - column  # the innermost comes first
            factor = op.Mul(factor, _places(op, size, axis, spatial, inside, bool(align_corners)))
        total = factor if total is None else op.Add(total, factor)
    return total if inside is dtype else op.Cast(total, to=int(dtype))


def _spatial(theta: Value, size: Value) -> int:
    """How many axes the images have."""
    (count,) = shape_of(size)
    if isinstance(count, int):
        return count - 2
    rows = shape_of(theta)[1]
    if not isinstance(rows, int):
        raise UnsupportedError(f"it is not known how many numbers '{size.name}' holds")
    return rows


def _places(op: Any, size: Value, axis: int, spatial: int, dtype: DType, align_corners: bool) -> Any:
    """Places along an axis, to broadcast to the grid: twice the distance from the middle over the length, in pixels."""
    one, two = np.asarray(1), np.asarray(2)
    count = op.Gather(size, np.asarray(axis + 2))
    steps = op.Range(np.asarray(0), count, one)
    span = op.Sub(count, one) if align_corners else count
    doubled = op.Sub(op.Mul(steps, two), op.Sub(count, one))
    length = op.Max(span, one)
    places = op.Div(op.Cast(doubled, to=int(dtype)), op.Cast(length, to=int(dtype)))
    return op.Unsqueeze(places, list(range(1, spatial - axis + 1)))
