"""AffineGrid: the places that affine maps send the pixels of an image to."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import numpy as np

from ingot.dims import Dim
from ingot.dtypes import Array
from ingot.errors import InputError, ShapeError
from ingot.ir.types import TensorType
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.image.extent import require_extent
from ingot.ops.shapes import require_rank, unify
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
