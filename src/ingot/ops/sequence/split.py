"""From a tensor to a sequence of its parts along an axis, and back."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Annotated, TypeAlias

import numpy as np

from ingot.dims import Dim
from ingot.dtypes import Array
from ingot.errors import InputError, ShapeError
from ingot.ir.types import SequenceType, TensorType
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.limit import affordable
from ingot.ops.sequence.parts import even_parts
from ingot.ops.shapes import axis_of
from ingot.ops.typesets import ALL, ALL_3, INDICES, sequences, types

T: TypeAlias = Annotated[Array, types("T", {11: ALL_3, 24: ALL})]
S: TypeAlias = Annotated[list[Array], types("S", {11: sequences(ALL_3), 24: sequences(ALL)})]
I: TypeAlias = Annotated[Array, types("I", INDICES)]  # noqa: E741
T11: TypeAlias = Annotated[Array, types("T", ALL_3)]
S11: TypeAlias = Annotated[list[Array], types("S", sequences(ALL_3))]


@operator("SplitToSequence", since=(11, 24))
def split_to_sequence(x: T, split: I | None = None, /, *, axis: int = 0, keepdims: int = 1) -> S:
    """The parts of `x` along `axis`: of the sizes in `split`, or all of one size, the last of what is left.

    Without `split`, and where it is the number 1, the parts are of size one, and lose the axis unless `keepdims`.
    """
    axis = axis_of(axis, x.ndim)
    size = x.shape[axis]
    if split is None:
        return even_parts(x, axis, 1, bool(keepdims))
    if split.ndim > 1:
        raise ShapeError(f"split has {split.ndim} axes, expected at most 1")
    if split.ndim == 0:
        step = int(split)
        if step <= 0:
            raise InputError(f"parts of size {step}")
        if not size % step:
            # the standard has `keepdims` ignored, but PyTorch's exporter writes unbind like that, for onnxruntime
            return even_parts(x, axis, step, step > 1 or bool(keepdims))
        edges = [*range(0, size, step), size]
    else:
        sizes = split.tolist()
        if sum(sizes) != size or min(sizes, default=0) < 0:
            raise InputError(f"an axis of {size} cannot be split into parts of {sizes[:16]}")
        edges = [0, *accumulate(sizes)]
    if axis == 0:
        x = x.copy()
        return [x[a:b] for a, b in pairwise(edges)]
    front = (slice(None),) * axis
    return [x[(*front, slice(a, b))].copy() for a, b in pairwise(edges)]


@split_to_sequence.infer
def infer_split(x: Fact, split: Fact | None = None, /, *, axis: int, keepdims: int) -> Inferred:
    if x.dtype is None:
        return None
    if x.shape is None:
        return SequenceType(TensorType(x.dtype))
    axis = axis_of(axis, len(x.shape))
    before, after = x.shape[:axis], x.shape[axis + 1 :]
    if split is None or not split.present:
        return SequenceType(TensorType(x.dtype, (*before, 1, *after) if keepdims else before + after))
    if not keepdims and split.rank in (0, None):
        if split.integers is None or split.rank is None:
            return SequenceType(TensorType(x.dtype))
        if split.integers == [1]:
            return SequenceType(TensorType(x.dtype, before + after))
    return SequenceType(TensorType(x.dtype, (*before, _part_size(x.shape[axis], split), *after)))


def _part_size(size: Dim | None, split: Fact) -> Dim | None:
    """The size that every part has; None where it is unknown or they differ."""
    sizes = split.integers
    if sizes is None or split.rank is None:
        return None
    if split.rank == 0:
        step = sizes[0]
        if step <= 0:
            raise ShapeError(f"parts of size {step}")
        return step if isinstance(size, int) and size % step == 0 else None
    if isinstance(size, int) and (sum(sizes) != size or min(sizes, default=0) < 0):
        raise ShapeError(f"an axis of {size} cannot be split into parts of {sizes[:16]}")
    return sizes[0] if len(set(sizes)) == 1 else None


@operator("ConcatFromSequence", since=11)
def concat_from_sequence(input_sequence: S11, /, *, axis: int, new_axis: int = 0) -> T11:
    """The elements one after another along `axis`; along a new axis at that place if `new_axis`."""
    if new_axis not in (0, 1):
        raise InputError(f"new_axis is {new_axis}, expected 0 or 1")
    if not input_sequence:
        raise InputError("an empty sequence cannot be put together to a tensor")
    first = input_sequence[0]
    axis = axis_of(axis, first.ndim + new_axis)
    shape, dtype = first.shape, first.dtype
    if any(part.shape != shape or part.dtype != dtype for part in input_sequence):
        _require_fit(input_sequence, axis, new_axis)
    if new_axis:
        sizes = (*shape[:axis], 1, *shape[axis:])
        input_sequence = [part.reshape(sizes) for part in input_sequence]
    else:
        sizes = shape
    along = sum(part.shape[axis] for part in input_sequence)
    joined = np.empty(affordable((*sizes[:axis], along, *sizes[axis + 1 :]), dtype), dtype)
    return np.concatenate(input_sequence, axis, out=joined)


def _require_fit(parts: Sequence[Array], axis: int, new_axis: int) -> None:
    """ShapeError unless parts are of one type and differ along an axis alone; of one shape, for a new axis."""
    first = parts[0]
    for place, part in enumerate(parts):
        fits = part.shape if new_axis else part.shape[:axis] + part.shape[axis + 1 :]
        expected = first.shape if new_axis else first.shape[:axis] + first.shape[axis + 1 :]
        if part.ndim != first.ndim or fits != expected or part.dtype != first.dtype:
            raise ShapeError(
                f"element {place} is {part.dtype}{list(part.shape)}, element 0 {first.dtype}{list(first.shape)}"
            )


@concat_from_sequence.infer
def infer_concat(input_sequence: Fact, /, *, axis: int, new_axis: int) -> Inferred:
    type_ = input_sequence.type
    if not isinstance(type_, SequenceType) or not isinstance(type_.element, TensorType):
        return None
    element = type_.element
    if element.shape is None:
        return TensorType(element.dtype)
    axis = axis_of(axis, len(element.shape) + new_axis)
    return TensorType(element.dtype, (*element.shape[:axis], None, *element.shape[axis + (not new_axis) :]))
