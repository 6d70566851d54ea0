"""CenterCropPad: the middle of a tensor, or the tensor in the middle of zeros."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, TypeAlias

import numpy as np

from ingot import prim
from ingot.dims import Dim, maximum, minimum
from ingot.dtypes import Array, DType
from ingot.errors import ShapeError
from ingot.ir.types import TensorType
from ingot.ir.value import Value
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.image.extent import require_extent
from ingot.ops.older import constant_of, dtype_of, shape_of
from ingot.ops.shapes import axes_of, require_rank
from ingot.ops.tensor.moved import in_own_type, sizes_of
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


center_crop_pad.sized_by("shape")


@center_crop_pad.lower
def lower(
    x: prim.Tensor, shape: prim.Tensor, /, *, axes: Sequence[int] | None, inferred: tuple[Fact, ...]
) -> prim.Tensor:
    """Cut to the smaller of both sizes, then put amid zeros; of each, one is nothing."""
    x = in_own_type(x, inferred[0])
    sizes = sizes_of(inferred[0])
    cut = [maximum(length - size, 0) // 2 for length, size in zip(x.shape, sizes, strict=True)]
    overlap = [minimum(length, size) for length, size in zip(x.shape, sizes, strict=True)]
    added = [maximum(size - length, 0) for length, size in zip(x.shape, sizes, strict=True)]
    before = [each // 2 for each in added]
    middle = prim.slice_(x, cut, overlap, in_range=True)
    return prim.pad(middle, before, [all_ - lo for all_, lo in zip(added, before, strict=True)])


@center_crop_pad.downgrade
def downgrade(op: Any, x: Value, shape: Value, /, *, axes: Sequence[int] | None) -> Any:
    """A slice, then a pad; their numbers are constants where the sizes are known."""
    sizes = shape_of(x)
    rank = len(sizes)
    if not rank:
        return op.Identity(x)
    chosen = tuple(range(rank)) if axes is None else axes_of(axes, rank)
    known, lengths = constant_of(shape), [sizes[axis] for axis in chosen]
    if known is not None and all(isinstance(length, int) for length in lengths):
        return _fixed(op, x, rank, chosen, np.asarray(lengths, np.int64), known.astype(np.int64))
    two, none = np.asarray(2), np.asarray(0)
    length = op.Shape(x)
    target = shape if dtype_of(shape) is DType.INT64 else op.Cast(shape, to=int(DType.INT64))
    if axes is not None:
        target = op.ScatterElements(length, np.asarray(chosen, np.int64), target, axis=0)
    start = op.Div(op.Max(op.Sub(length, target), none), two)
    cut = op.Slice(x, start, op.Add(start, op.Min(length, target)))
    added = op.Max(op.Sub(target, length), none)
    before = op.Div(added, two)
    return op.Pad(cut, op.Concat(before, op.Sub(added, before), axis=0))


def _fixed(op: Any, x: Value, rank: int, axes: tuple[int, ...], length: Array, target: Array) -> Any:
    result: Any = x
    start = np.maximum(length - target, 0) // 2
    if (target < length).any():
        result = op.Slice(result, start, start + np.minimum(length, target), np.asarray(axes, np.int64))
    added = np.zeros((2, rank), np.int64)
    added[0, axes] = np.maximum(target - length, 0) // 2
    added[1, axes] = np.maximum(target - length, 0) - added[0, axes]
    if added.any():
        result = op.Pad(result, added.reshape(-1))
    return op.Identity(x) if result is x else result
