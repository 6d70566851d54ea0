"""Slice: parts of a tensor from start to end, forwards or backwards."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, TypeAlias

import numpy as np

from ingot import prim
from ingot.dims import Dim, maximum, minimum, upper_bound
from ingot.dtypes import Array, DType
from ingot.errors import CheckError, InputError, ShapeError
from ingot.ir.value import Value
from ingot.ops.define import operator, superseded
from ingot.ops.facts import Fact, Inferred
from ingot.ops.shapes import axes_of, is_natural, require_rank
from ingot.ops.tensor.computed import marked, numbers_in, per_axis
from ingot.ops.tensor.follow import cells, followed, guarded, if_present, numbers, sizes, tensor, through
from ingot.ops.tensor.moved import along, elements_of, holding, in_own_type, sizes_of
from ingot.ops.typesets import ALL, ALL_3, INDICES, types
from ingot.prim.tensor import SizeReader

T: TypeAlias = Annotated[Array, types("T", {10: ALL_3, 13: ALL})]
Tind: TypeAlias = Annotated[Array, types("Tind", INDICES)]
T1: TypeAlias = Annotated[Array, types("T", ALL_3)]

_FAR = 2**31 - 1  # exporters write this, or the largest int64, for "to the end"


@operator("Slice", since=(10, 11, 13))
def slice_(data: T, starts: Tind, ends: Tind, axes: Tind | None = None, steps: Tind | None = None, /) -> T:
    """The part of `data` from `starts` to before `ends` along `axes` (else the first ones), every `steps` elements.

    Negative positions count from the end, those outside are drawn to it, and negative steps go backwards.
    """
    for name, x in (("starts", starts), ("ends", ends), ("axes", axes), ("steps", steps)):
        if x is not None and x.shape != (starts.size,):
            raise ShapeError(f"{name} has shape {list(x.shape)}, expected [{starts.size}]")
    named = _axes(None if axes is None else axes.tolist(), starts.size, data.ndim)
    strides = [1] * starts.size if steps is None else steps.tolist()
    if 0 in strides:
        raise InputError("a step is 0")
    parts: list[Any] = [slice(None)] * data.ndim
    for axis, start, end, step in zip(named, starts.tolist(), ends.tolist(), strides, strict=True):
        parts[axis] = slice(start, end, step)
    index: tuple[Any, ...] = (*parts, ...)
    part: Array = data[index]
    return part


@slice_.infer
def infer(data: Fact, starts: Fact, ends: Fact, axes: Fact | None = None, steps: Fact | None = None, /) -> Inferred:
    axes, steps = if_present(axes), if_present(steps)
    for name, fact in (("starts", starts), ("ends", ends), ("axes", axes), ("steps", steps)):
        if fact is not None:
            require_rank(fact, 1, name)
    if data.shape is None:
        return tensor(data.dtype, None)
    rank = len(data.shape)
    first, last = sizes(starts), sizes(ends)
    count = len(first) if first is not None else len(last) if last is not None else None
    named = numbers(axes)
    strides = None if steps is None else sizes(steps)
    if count is None or (axes is not None and named is None):
        return tensor(data.dtype, (None,) * rank)
    result = list(data.shape)
    for position, axis in enumerate(_axes(None if named is None else named.tolist(), count, rank)):
        start, end = _at(first, position), _at(last, position)
        step = 1 if steps is None else _at(strides, position)
        if step == 0:
            raise CheckError("a step is 0")
        result[axis] = _length(result[axis], start, end, step)

    def part() -> Array | None:
        by = np.ones(count, np.int64) if steps is None else numbers(steps)
        along = np.arange(count) if named is None else named
        return through(slice_, cells(data), numbers(starts), numbers(ends), along, by)

    return followed(data.dtype, tuple(result), part)


@slice_.lower
def lower(
    data: prim.Tensor,
    starts: prim.Tensor,
    ends: prim.Tensor,
    axes: prim.Tensor | None = None,
    steps: prim.Tensor | None = None,
    /,
    *,
    facts: tuple[Fact, ...],
    inferred: tuple[Fact, ...],
    read: SizeReader,
) -> prim.Tensor:
    """The sizes are those inferred, if it is known where the elements begin, from either end; else a run computes both.

    What the model states of the result, where the ends are computed, is checked against the input.
    """
    data = in_own_type(data, inferred[0])
    if any(not _is_known(fact) for place, fact in enumerate(facts) if place in (1, 2, 3, 4) and fact.present):
        return _computed(data, starts, ends, axes, steps, facts, read)
    shape = sizes_of(inferred[0])
    first = elements_of(facts[1], "starts")
    named = None if axes is None else elements_of(facts[3], "axes")
    strides = [1] * len(first) if steps is None else elements_of(facts[4], "steps")
    begins: list[Dim] = [0] * data.rank
    by = [1] * data.rank
    known = None if named is None else [axis for axis in named if isinstance(axis, int)]
    until = sizes(facts[2])
    in_range = True
    for position, axis in enumerate(_axes(known, len(first), data.rank)):
        start, step = first[position], strides[position]
        begin = _first(start, data.shape[axis], step) if shape[axis] != 0 else 0
        if begin is None or not isinstance(step, int):  # it may count from either end
            return _computed(data, starts, ends, axes, steps, facts, read)
        begins[axis], by[axis] = begin, step
        in_range &= shape[axis] == _length(data.shape[axis], start, _at(until, position), step)
    return prim.slice_(data, begins, shape, by, in_range=in_range)


def _is_known(fact: Fact) -> bool:
    elements = sizes(fact)
    return elements is not None and None not in elements


def _computed(
    data: prim.Tensor,
    starts: prim.Tensor,
    ends: prim.Tensor,
    axes: prim.Tensor | None,
    steps: prim.Tensor | None,
    facts: tuple[Fact, ...],
    read: SizeReader,
) -> prim.Tensor:
    """A slice whose bounds a run computes: the number of elements along each axis is read.

    Where steps are known, so is where the elements begin; else they are gathered.
    """
    rank = data.rank
    (first, many), (last, _) = numbers_in(starts), numbers_in(ends)
    strides = prim.full(1, (many,), DType.INT64) if steps is None else numbers_in(steps)[0]
    if last.shape != (many,) or strides.shape != (many,) or (axes is not None and prim.count(axes.shape) != many):
        raise prim.Refused("starts, ends, axes and steps of different lengths")
    if not many:
        return data
    known = [*range(many)] if axes is None else facts[3].integers
    over = _axes(known, many, rank) if known is not None else tuple(range(rank))
    size = holding([data.shape[axis] for axis in over])
    is_sliced = is_wrong = prim.full(False, (len(over),), DType.BOOL)
    if known is None:
        assert axes is not None
        marks = marked(axes, rank)
        is_sliced, is_wrong = prim.apply("equal", marks, 1), prim.apply("less", marks, 0)
        first, last, strides = (per_axis(axes, numbers, rank) for numbers in (first, last, strides))
        first = prim.where(is_sliced, first, 0)
        last = prim.where(is_sliced, last, size)
        strides = prim.where(is_sliced, strides, 1)
    begin, length = _bounds(first, last, strides, size)
    length = prim.where(is_wrong, -1, length)
    shape: list[Dim] = list(data.shape)
    by = _known_steps(over, known, steps is not None, facts)
    if by is not None:
        both = read(prim.concat([length, prim.apply("maximum", begin, 0)], 0))
        starts_at: list[Dim] = [0] * rank
        jumps = [1] * rank
        for place, axis in enumerate(over):
            shape[axis], starts_at[axis], jumps[axis] = both[place], both[place + len(over)], by[place]
        return prim.slice_(data, starts_at, shape, jumps, in_range=True)
    for axis, own in zip(over, read(length), strict=True):
        shape[axis] = own
    places: list[prim.Tensor | int] = list(range(rank))
    for place, axis in enumerate(over):
        start, step = (prim.reshape(prim.slice_(each, [place], [1]), ()) for each in (begin, strides))
        places[axis] = along(prim.iota((shape[axis],), 0) * step + start, rank - axis - 1)
    return prim.gather(data, places, tuple(shape), in_range=True)


def _bounds(
    first: prim.Tensor, last: prim.Tensor, step: prim.Tensor, size: prim.Tensor
) -> tuple[prim.Tensor, prim.Tensor]:
    """Where slices of axes of these sizes begin, and how many elements they have: -1 for a step of zero."""
    forwards = prim.apply("less", 0, step)
    lowest, highest = prim.where(forwards, prim.size(0), -1), prim.where(forwards, size, size - 1)

    def drawn_in(position: prim.Tensor) -> prim.Tensor:
        position = prim.where(prim.apply("less", position, 0), position + size, position)
        return prim.apply("minimum", prim.apply("maximum", position, lowest), highest)

    begin, end = drawn_in(first), drawn_in(last)
    way = prim.where(forwards, end - begin, begin - end)
    jump = prim.apply("absolute", prim.apply("maximum", step, -_MOST_STEP))
    length = prim.where(prim.apply("less", 0, way), (way - 1) / prim.apply("maximum", jump, 1) + 1, 0)
    return begin, prim.where(prim.apply("equal", step, 0), -1, length)


_MOST_STEP = 1 << 62
"""As far as any step: it has an absolute value."""


def _known_steps(
    over: Sequence[int], axes: Sequence[int] | None, has_steps: bool, facts: tuple[Fact, ...]
) -> list[int] | None:
    """The step along each of the axes `over`, where it is known before the model runs."""
    steps = facts[4].integers if has_steps else [1] * len(over)
    if steps is None or (axes is None and any(step != 1 for step in steps)):
        return None
    return [1] * len(over) if axes is None else steps


def _first(start: Dim, size: Dim, step: Dim) -> Dim | None:
    """Where a slice begins that has elements; None where that may be counted from either end."""
    if not isinstance(step, int):
        return None
    if step > 0:
        return start if is_natural(start) else guarded(lambda: _clamped(start, size))
    behind = guarded(lambda: _behind(start, size))
    return None if behind is None else behind - 1


@operator("Slice", since=1)
def slice_1(data: T1, /, *, starts: Sequence[int], ends: Sequence[int], axes: Sequence[int] | None = None) -> T1:
    """The same, forwards, with the positions in the model."""
    raise superseded()


@slice_1.upgrade
def upgrade(op: Any, data: Value, /, *, starts: Sequence[int], ends: Sequence[int], axes: Sequence[int] | None) -> Any:
    return op.Slice(data, list(starts), list(ends), None if axes is None else list(axes))


def _axes(axes: Sequence[int] | None, count: int, rank: int) -> tuple[int, ...]:
    if axes is None:
        if count > rank:
            raise ShapeError(f"{count} starts for a tensor of {rank} axes")
        return tuple(range(count))
    return axes_of(axes, rank)


def _at(values: list[Dim | None] | None, position: int) -> Dim | None:
    return values[position] if values is not None and position < len(values) else None


def _length(size: Dim | None, start: Dim | None, end: Dim | None, step: Dim | None) -> Dim | None:
    """How many elements a slice has; None where it is not known."""
    if isinstance(size, int) and isinstance(start, int) and isinstance(end, int) and isinstance(step, int):
        return len(range(*slice(start, end, step).indices(size)))
    if size is None or start is None or end is None or not isinstance(step, int):
        return None
    if size == 0:
        return 0
    return guarded(lambda: _forwards(size, start, end, step) if step > 0 else _backwards(size, start, end, -step))


def _forwards(size: Dim, start: Dim, end: Dim, step: int) -> Dim | None:
    begin, stop = _clamped(start, size), _clamped(end, size)
    if begin is None or stop is None:
        return None
    length = _rest(start, size) if stop == size else maximum(stop - begin, 0)
    return (length + step - 1) // step


def _rest(start: Dim, size: Dim) -> Dim:
    """The size from a position on, in a form in which the last of `n` is `min(n, 1)`, the others `max(n - 1, 0)`."""
    if isinstance(start, int) and abs(start) >= _FAR:
        return 0 if start > 0 else size
    if size - start == 1 or _is_negative(start):
        return minimum(1 if size - start == 1 else -start, size)
    return maximum(size - start, 0)


def _backwards(size: Dim, start: Dim, end: Dim, step: int) -> Dim | None:
    """Counted by the positions one behind each, so that what lies before the first is 0."""
    begin, stop = _behind(start, size), _behind(end, size)
    return None if begin is None or stop is None else (maximum(begin - stop, 0) + step - 1) // step


def _clamped(position: Dim, size: Dim) -> Dim | None:
    """A position counted from the front, drawn into the axis; None where it may count from either end."""
    if isinstance(position, int) and abs(position) >= _FAR:
        return size if position > 0 else 0
    if is_natural(position):
        return minimum(position, size)
    if _is_negative(position) or size - position == 1:
        return maximum(position if size - position == 1 else size + position, 0)
    return None


def _behind(position: Dim, size: Dim) -> Dim | None:
    if isinstance(position, int) and abs(position) >= _FAR:
        return size if position > 0 else 0
    if is_natural(position):
        return minimum(position + 1, size)
    if size - position == 1:
        return size
    return maximum(size + position + 1, 0) if _is_negative(position) else None


def _is_negative(position: Dim) -> bool:
    highest = position if isinstance(position, int) else upper_bound(position)
    return highest is not None and highest < 0
