"""Split: a tensor cut into several along an axis."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Annotated, Any, TypeAlias

import numpy as np

from ingot import prim
from ingot.dims import Dim, is_multiple, maximum, minimum
from ingot.dtypes import Array, DType
from ingot.errors import CheckError, ShapeError, UnsupportedError
from ingot.ir.types import TensorType
from ingot.ir.value import Value
from ingot.ops.define import operator, superseded
from ingot.ops.facts import Fact, Inferred
from ingot.ops.older import constant_of
from ingot.ops.shapes import axis_of, require_rank
from ingot.ops.tensor.carriers import carried
from ingot.ops.tensor.follow import cells, followed, guarded, if_present, sizes, tensor
from ingot.ops.tensor.moved import in_own_type, sizes_of
from ingot.ops.typesets import ALL, ALL_3, FLOATS_3, INT64, types

T: TypeAlias = Annotated[Array, types("T", ALL)]
Sizes: TypeAlias = Annotated[Array, types("", INT64)]
T11: TypeAlias = Annotated[Array, types("T", ALL_3)]
T1: TypeAlias = Annotated[Array, types("T", FLOATS_3)]

_MOST_OUTPUTS = 2**16


@operator("Split", since=18)
def split(x: T, lengths: Sizes | None = None, /, *, axis: int = 0, num_outputs: int | None = None) -> tuple[T, ...]:
    """`x` cut along `axis` into parts of the given lengths, or into `num_outputs` parts.

    These are equal but for the last ones, which have what is left. ShapeError unless lengths add up to the axis.
    """
    axis = axis_of(axis, x.ndim)
    _either(lengths is not None, num_outputs)
    size = x.shape[axis]
    if lengths is None:
        parts = [min(step, max(size - start, 0)) for start, step in _even(size, num_outputs or 1)]
    elif lengths.ndim != 1:
        raise ShapeError(f"split has {lengths.ndim} axes, expected 1")
    else:
        parts = lengths.tolist()
    if (parts and min(parts) < 0) or sum(parts) != size:
        raise ShapeError(f"lengths {parts} do not cut an axis of {size} elements")
    before = (slice(None),) * axis
    return tuple([x[(*before, slice(start, end))] for start, end in pairwise(accumulate(parts, initial=0))])


@split.infer
def infer(
    x: Fact, lengths: Fact | None = None, /, *, axis: int, num_outputs: int | None, outputs: int = 0
) -> Sequence[Inferred]:
    lengths = if_present(lengths)
    _either(lengths is not None, num_outputs)
    if lengths is not None:
        require_rank(lengths, 1, "split")
    if x.shape is None:
        return [tensor(x.dtype, None)] * outputs
    at = axis_of(axis, len(x.shape))
    size = x.shape[at]
    if lengths is None:
        parts = [_part(size, index, num_outputs or 1) for index in range(num_outputs or 1)]
    else:
        parts = _part_sizes(size, sizes(lengths)) or [None] * outputs
    shape = x.shape
    return [
        followed(x.dtype, (*shape[:at], part, *shape[at + 1 :]), lambda index=index: _elements(x, at, parts, index))  # type: ignore[misc]
        for index, part in enumerate(parts)
    ]


split.sized_by("lengths")


@split.lower
def lower(
    x: prim.Tensor,
    lengths: prim.Tensor | None = None,
    /,
    *,
    axis: int,
    num_outputs: int | None,
    inferred: tuple[Fact, ...],
) -> tuple[prim.Tensor, ...]:
    """Lengths are assumed to add up to the axis."""
    x = in_own_type(x, inferred[0])
    axis = axis_of(axis, x.rank)
    shapes = [sizes_of(each) for each in inferred]
    parts = [shape[axis] for shape in shapes]
    starts = [parts[0] * index for index in range(len(parts))]  # where there is nothing left, nothing is read
    if lengths is not None:
        starts = [sum(parts[:index], 0) for index in range(len(parts))]
        x = prim.assume_shape(x, (*x.shape[:axis], sum(parts, 0), *x.shape[axis + 1 :]))
    zeros = (0,) * x.rank
    return tuple(
        prim.slice_(x, (*zeros[:axis], start, *zeros[axis + 1 :]), shape, in_range=lengths is None)
        for start, shape in zip(starts, shapes, strict=True)
    )


@split.downgrade
def downgrade_18(
    op: Any, x: Value, lengths: Value | None = None, /, *, axis: int, num_outputs: int | None, outputs: int
) -> Any:
    count = num_outputs or outputs
    if lengths is not None:
        return op.Split(x, lengths, axis=axis, outputs=outputs)
    shape = x.type.shape if isinstance(x.type, TensorType) else None
    size = None if shape is None else shape[axis_of(axis, len(shape))]
    if size is not None and is_multiple(size, count):
        return op.Split(x, axis=axis, outputs=count)
    starts = np.arange(count, dtype=np.int64)
    if isinstance(size, int):
        step = -(-size // count)
        return op.Split(x, (size - starts * step).clip(0, step), axis=axis, outputs=count)
    total = op.Gather(op.Shape(x), [axis], axis=0)
    step = op.Div(op.Add(total, np.array([count - 1])), np.array([count]))
    left = op.Sub(total, op.Mul(starts, step))
    return op.Split(x, op.Max(op.Min(left, step), np.zeros(1, np.int64)), axis=axis, outputs=count)


@operator("Split", since=13)
def split_13(x: T, lengths: Sizes | None = None, /, *, axis: int = 0) -> tuple[T, ...]:
    """The same; without lengths, into as many equal parts as there are outputs."""
    raise superseded()


@split_13.upgrade
def upgrade_13(op: Any, x: Value, lengths: Value | None = None, /, *, axis: int, outputs: int) -> Any:
    if lengths is not None:
        return op.Split(x, lengths, axis=axis, outputs=outputs)
    return op.Split(x, axis=axis, num_outputs=outputs, outputs=outputs)


@split_13.downgrade
def downgrade_13(op: Any, x: Value, lengths: Value | None = None, /, *, axis: int, outputs: int) -> Any:
    if lengths is None:
        return op.Split(x, axis=axis, outputs=outputs)
    known = constant_of(lengths)
    if known is not None:
        return op.Split(x, axis=axis, split=known.tolist(), outputs=outputs)
    start: Any = np.zeros(1, np.int64)
    parts = []
    for index in range(outputs):
        end = op.Add(start, op.Gather(lengths, [index], axis=0))
        parts.append(op.Slice(x, start, end, [axis]))
        start = end
    return parts


@operator("Split", since=(2, 11))
def split_11(x: T11, /, *, axis: int = 0, split: Sequence[int] | None = None) -> tuple[T11, ...]:
    """The same, with the lengths in the model."""
    raise superseded()


@split_11.upgrade
def upgrade_11(op: Any, x: Value, /, *, axis: int, split: Sequence[int] | None, outputs: int) -> Any:
    if split is not None:
        return op.Split(x, list(split), axis=axis, outputs=len(split))
    return upgrade_13(op, x, axis=axis, outputs=outputs)


@split_11.downgrade
def downgrade_11(op: Any, x: Value, /, *, axis: int, split: Sequence[int] | None, outputs: int, version: int) -> Any:
    if version >= split_11.since[0]:
        raise UnsupportedError("it does not take this element type")
    return carried(
        op, lambda each: op.Split(each, axis=axis, split=split, outputs=outputs), x, supported=FLOATS_3, version=version
    )


@operator("Split", since=1)
def split_1(
    x: T1, lengths: T1 | None = None, /, *, axis: int | None = None, split: Sequence[int] | None = None
) -> tuple[T1, ...]:
    """The same, with the lengths in the model or, as floats, computed."""
    raise superseded()


@split_1.upgrade
def upgrade_1(
    op: Any,
    x: Value,
    lengths: Value | None = None,
    /,
    *,
    axis: int | None,
    split: Sequence[int] | None,
    outputs: int,
) -> Any:
    if lengths is not None and split is None:
        return op.Split(x, op.Cast(lengths, to=int(DType.INT64)), axis=axis or 0, outputs=outputs)
    return upgrade_11(op, x, axis=axis or 0, split=split, outputs=outputs)


def _either(lengths: bool, num_outputs: int | None) -> None:
    if lengths == (num_outputs is not None):
        raise CheckError("Split takes either lengths or num_outputs", hint="set num_outputs for equal parts")
    if num_outputs is not None and not 0 < num_outputs <= _MOST_OUTPUTS:
        raise CheckError(f"num_outputs is {num_outputs}, outside 1 to {_MOST_OUTPUTS}")


def _even(size: int, count: int) -> list[tuple[int, int]]:
    step = -(-size // count)
    return [(index * step, step) for index in range(count)]


def _part(size: Dim | None, index: int, count: int) -> Dim | None:
    if size is None:
        return None

    def part() -> Dim:
        step = (size + count - 1) // count
        return step if index == 0 else maximum(minimum(step, size - index * step), 0)

    exact = guarded(lambda: size // count if (size % count) == 0 else None)
    return exact if exact is not None else guarded(part)


def _part_sizes(size: Dim | None, lengths: list[Dim | None] | None) -> list[Dim | None]:
    """The lengths, where they are known; ShapeError if they cannot add up to the size."""
    if lengths is None:
        return []
    if any(isinstance(length, int) and length < 0 for length in lengths):
        raise ShapeError(f"a length is negative: {lengths}")
    known = [length for length in lengths if isinstance(length, int)]
    if isinstance(size, int) and (sum(known) > size or (len(known) == len(lengths) and sum(known) != size)):
        raise ShapeError(f"lengths {lengths} do not cut an axis of {size} elements")
    if lengths.count(None) == 1 and size is not None:
        others = [length for length in lengths if length is not None]
        rest = guarded(lambda: size - sum(others, 0))
        return [rest if length is None else length for length in lengths]
    return lengths


def _elements(x: Fact, axis: int, parts: list[Dim | None], index: int) -> Array | None:
    elements = cells(x)
    if elements is None or not all(isinstance(part, int) for part in parts):
        return None
    lengths = np.array(parts, np.int64)
    piece: Array = split.evaluate(elements, lengths, axis=axis)[index]
    return piece
