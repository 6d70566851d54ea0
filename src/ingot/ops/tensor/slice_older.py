"""Slice in versions before 10, which took positions in the model and no steps: the rest is gathered."""

from __future__ import annotations

from typing import Any

import numpy as np

from ingot.dims import Dim
from ingot.dtypes import DType
from ingot.errors import UnsupportedError
from ingot.ir.value import Value
from ingot.ops.older import constant_of, dtype_of, integers_of, rank_of, shape_of
from ingot.ops.shapes import axes_of
from ingot.ops.tensor.places import MOST_COUNTED, count_to, natural
from ingot.ops.tensor.slice import slice_

_FAR = 2**31 - 1
_ONE = np.ones(1, np.int64)
_ZERO = np.zeros(1, np.int64)


@slice_.downgrade
def downgrade(
    op: Any,
    data: Value,
    starts: Value,
    ends: Value,
    axes: Value | None = None,
    steps: Value | None = None,
    /,
    *,
    version: int,
) -> Any:
    """One Slice of all axes whose positions are constants, and a Gather along each other axis."""
    if version >= slice_.since[0]:
        raise UnsupportedError("it does not take this element type")
    count = shape_of(starts)[0]
    if not isinstance(count, int):
        raise UnsupportedError(f"how many positions '{starts.name}' holds is not known")
    named = list(range(count)) if axes is None else integers_of(axes)
    if any(axis < 0 for axis in named):
        named = list(axes_of(named, rank_of(data)))
    strides = [1] * count if steps is None else integers_of(steps)
    if constant_of(starts) is None or constant_of(ends) is None:
        return _computed(op, data, (starts, ends), named, strides, version)
    first, last = integers_of(starts), integers_of(ends)
    result: Any = data
    plain = [position for position, step in enumerate(strides) if step == 1]
    if plain:
        picked = ([numbers[at] for at in plain] for numbers in (first, last, named))
        result = op.Slice(data, **dict(zip(("starts", "ends", "axes"), picked, strict=True)))
    for start, end, axis, step in zip(first, last, named, strides, strict=True):
        if step != 1:
            result = _stepped(op, result, shape_of(data)[axis], start, end, step, axis, version)
    return result


def _stepped(op: Any, data: Any, size: Dim | None, start: int, end: int, step: int, axis: int, version: int) -> Any:
    """A Gather of every so many elements; where the size is not known, of the part that they are in."""
    if isinstance(size, int) and size <= MOST_COUNTED:
        return op.Gather(data, np.arange(size, dtype=np.int64)[start:end:step], axis=axis)
    if step < 0:  # the positions one behind: what lies before the first is 0, and -1 the end
        start, end = (min(end, _FAR) + 1) or _FAR, (min(start, _FAR - 1) + 1) or _FAR
    part = op.Slice(data, starts=[start], ends=[end], axes=[axis])
    length = op.Gather(op.Shape(part), [axis], axis=0)
    apart = np.array([abs(step)], np.int64)
    count = op.Div(op.Add(length, apart - 1), apart)
    at = op.Mul(count_to(op, count, version), apart)
    if step < 0:
        at = op.Sub(op.Sub(length, _ONE), at)
    return op.Gather(part, at, axis=axis)


def _computed(op: Any, data: Value, edges: tuple[Value, Value], axes: list[int], steps: list[int], version: int) -> Any:
    result: Any = data
    both = [edge if dtype_of(edge) is DType.INT64 else op.Cast(edge, to=int(DType.INT64)) for edge in edges]
    for position, (axis, step) in enumerate(zip(axes, steps, strict=True)):
        size = op.Gather(op.Shape(data), [axis], axis=0)
        low, high = (_ZERO, size) if step > 0 else (-_ONE, op.Sub(size, _ONE))
        start, end = (_drawn_in(op, op.Gather(edge, [position], axis=0), size, low, high) for edge in both)
        way = op.Sub(end, start) if step > 0 else op.Sub(start, end)
        apart = np.array([abs(step)], np.int64)
        count = natural(op, op.Div(op.Add(way, apart - 1), apart))
        at = count_to(op, count, version)
        at = at if step == 1 else op.Mul(at, np.array([step], np.int64))
        result = op.Gather(result, op.Add(start, at), axis=axis)
    return result


def _drawn_in(op: Any, position: Any, size: Any, low: Any, high: Any) -> Any:
    """A position counted from the front, not before `low` nor behind `high`."""
    position = op.Where(op.Less(position, _ZERO), op.Add(position, size), position)
    position = op.Where(op.Less(position, low), low, position)
    return op.Where(op.Greater(position, high), high, position)
