"""CenterCropPad: the middle of a tensor, or the tensor in the middle of zeros."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, TypeAlias

import numpy as np

from ingot.dims import Dim
from ingot.dtypes import Array
from ingot.errors import ShapeError
from ingot.ir.types import TensorType
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.image.extent import require_extent
from ingot.ops.shapes import axes_of, require_rank
from ingot.ops.typesets import ALL, INDICES, types

T: TypeAlias = Annotated[Array, types("T", ALL)]
Tind: TypeAlias = Annotated[Array, types("Tind", INDICES)]


@operator("CenterCropPad", since=18)
def center_crop_pad(x: T, shape: Tind, /, *, axes: Sequence[int] | None = None) -> T:
    """`x` brought to `shape` (along `axes`, if given) by cutting off or adding zeros on both sides.

    Where the difference is odd, one more is cut off, or added, at the end.
    """
    chosen = tuple(range(x.ndim)) if axes is None else axes_of(axes, x.ndim)
    if shape.shape != (len(chosen),):
        raise ShapeError(f"shape has shape {list(shape.shape)}, for {len(chosen)} axes")
    sizes = list(x.shape)
    cut = [slice(None)] * x.ndim
    put = [slice(None)] * x.ndim
    for axis, size in zip(chosen, (int(n) for n in shape), strict=True):
        length = x.shape[axis]
        sizes[axis] = size
        if size < length:
            cut[axis] = slice((length - size) // 2, (length - size) // 2 + size)
        else:
            put[axis] = slice((size - length) // 2, (size - length) // 2 + length)
    require_extent(sizes, x.dtype.itemsize)
    result = np.full(sizes, "", np.object_) if x.dtype == np.object_ else np.zeros(sizes, x.dtype)
    result[tuple(put)] = x[tuple(cut)]
    return result


@center_crop_pad.infer
def infer(x: Fact, shape: Fact, /, *, axes: Sequence[int] | None) -> Inferred:
    require_rank(shape, 1, "shape")
    count = shape.shape[0] if shape.shape is not None else None
    rank = x.rank if x.rank is not None or axes is not None else count
    if x.dtype is None or not isinstance(rank, int):
        return None if x.dtype is None else TensorType(x.dtype)
    chosen = tuple(range(rank)) if axes is None else axes_of(axes, rank)
    if isinstance(count, int) and count != len(chosen):
        raise ShapeError(f"shape has {count} numbers, for {len(chosen)} axes")
    sizes: list[Dim | None] = list(x.shape or (None,) * rank)
    for axis, size in zip(chosen, shape.elements or (None,) * len(chosen), strict=True):
        if isinstance(size, int) and size < 0:
            raise ShapeError(f"axis {axis} would have size {size}")
        sizes[axis] = size
    return TensorType(x.dtype, tuple(sizes))
