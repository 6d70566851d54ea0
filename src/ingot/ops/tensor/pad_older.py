"""Pad in older versions: without mode `wrap`, without axes, with the amounts in the model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ingot.dtypes import DType
from ingot.errors import UnsupportedError
from ingot.ir.value import Value
from ingot.ops.older import constant_of, dtype_of, integers_of, rank_of, shape_of
from ingot.ops.shapes import axes_of
from ingot.ops.tensor.carriers import carried, carried_in, carrier
from ingot.ops.tensor.pad import amounts, order, pad, pad_2, pad_18
from ingot.ops.tensor.places import natural
from ingot.ops.typesets import FLOATS_3, NUMERIC_3

_ALL_TYPES_SINCE = 13
_AXES_SINCE = 18
_FAR = 2**31 - 1


@pad.downgrade
def downgrade(
    op: Any,
    data: Value,
    pads: Value,
    constant_value: Value | None = None,
    axes: Value | None = None,
    /,
    *,
    mode: str,
    version: int,
) -> Any:
    if version >= pad.since[0]:
        raise UnsupportedError("it does not take this element type")
    if mode != "wrap":
        return op.Pad(data, pads, constant_value, axes, mode=mode)
    if constant_of(pads) is not None and (axes is None or constant_of(axes) is not None):
        return _wrapped(op, data, integers_of(pads), None if axes is None else integers_of(axes))
    return _wrapped_by(op, data, pads if axes is None else _for_all_axes(op, rank_of(data), pads, axes))


@pad_18.downgrade
def downgrade_18(
    op: Any,
    data: Value,
    pads: Value,
    constant_value: Value | None = None,
    axes: Value | None = None,
    /,
    *,
    mode: str,
    version: int,
) -> Any:
    if version < pad_18.since[0]:
        return _with_attributes(op, data, pads, constant_value, mode, version)
    if version < _ALL_TYPES_SINCE:
        fill = None if constant_value is None else _filled(op, constant_value, version)
        return carried(op, lambda x: op.Pad(x, pads, fill, mode=mode), data, supported=NUMERIC_3, version=version)
    if version < _AXES_SINCE and axes is not None:
        return op.Pad(data, _for_all_axes(op, rank_of(data), pads, axes), constant_value, mode=mode)
    raise UnsupportedError("it does not take this element type")


@pad_2.downgrade
def downgrade_2(op: Any, data: Value, /, *, pads: Sequence[int], mode: str, value: float) -> Any:
    return op.Pad(data, paddings=pads, mode=mode, value=value)


def _filled(op: Any, fill: Value, version: int) -> Any:
    """What is filled in, in a type that is taken; still a constant if it is one."""
    known = constant_of(fill)
    if known is None:
        return carried_in(op, fill, NUMERIC_3, version)
    return known.astype(carrier(dtype_of(fill), NUMERIC_3, version).numpy)


def _wrapped(op: Any, data: Value, pads: list[int], axes: list[int] | None) -> Any:
    """A Gather along each axis, from the other end where it leaves what is kept."""
    shape = shape_of(data)
    before, after = amounts(np.array(pads), None if axes is None else np.array(axes), len(shape))
    result: Any = None
    for axis, (size, low, high) in enumerate(zip(shape, before, after, strict=True)):
        if not low and not high:
            continue
        first = max(-low, 0)
        if isinstance(size, int):
            at: Any = order("wrap", size - first + min(high, 0), low, high, axis) + first
        else:
            cropped = op.Add(op.Gather(op.Shape(data), np.int64(axis), axis=0), np.int64(min(high, 0) - first))
            end = op.Add(cropped, np.int64(max(high, 0)))
            at = op.Mod(op.Range(np.int64(-max(low, 0)), end, np.int64(1)), cropped)
            at = op.Add(at, np.int64(first)) if first else at
        result = op.Gather(data if result is None else result, at, axis=axis)
    return op.Identity(data) if result is None else result


def _wrapped_by(op: Any, data: Value, pads: Any) -> Any:
    """The same by amounts that are computed, for all axes."""
    rank, zero, result = rank_of(data), np.int64(0), data
    for axis in range(rank):
        low, high = (op.Gather(pads, np.int64(at), axis=0) for at in (axis, axis + rank))
        first = op.Max(op.Neg(low), zero)
        size = op.Gather(op.Shape(data), np.int64(axis), axis=0)
        cropped = op.Add(op.Sub(size, first), op.Min(high, zero))
        at = op.Range(op.Min(op.Neg(low), zero), op.Add(cropped, op.Max(high, zero)), np.int64(1))
        result = op.Gather(result, op.Add(op.Mod(at, cropped), first), axis=axis)
    return result


def _for_all_axes(op: Any, rank: int, pads: Value, axes: Value) -> Any:
    """The amounts for each axis in turn, none where none is given."""
    known = constant_of(axes)
    if known is None:
        at = op.Mod(op.Cast(axes, to=int(DType.INT64)), np.array([rank], np.int64))
        both = op.Concat(at, op.Add(at, np.array([rank], np.int64)), axis=0)
        return op.ScatterElements(np.zeros(2 * rank, np.int64), both, pads, axis=0)
    named = axes_of(known.reshape(-1).tolist(), rank)
    source = [2 * len(named)] * (2 * rank)
    for position, axis in enumerate(named):
        source[axis], source[axis + rank] = position, position + len(named)
    constant = constant_of(pads)
    if constant is not None:
        return np.append(constant, 0)[source]
    return op.Gather(op.Concat(pads, [0], axis=0), source, axis=0)


def _with_attributes(op: Any, data: Value, pads: Value, fill: Value | None, mode: str, version: int) -> Any:
    """The amounts and what is filled in as attributes; elements that are filled in may be put beside the others too."""
    try:
        amounts, value = integers_of(pads), 0.0 if fill is None or mode != "constant" else _number(fill)
        return carried(
            op, lambda x: op.Pad(x, pads=amounts, mode=mode, value=value), data, supported=FLOATS_3, version=version
        )
    except UnsupportedError:
        if mode != "constant":
            raise
    empty: Any = np.zeros((), dtype_of(data).numpy) if fill is None else op.Reshape(fill, np.empty(0, np.int64))
    return _beside(op, data, pads, empty)


def _number(fill: Value) -> float:
    """What is filled in, where float32 has it, as which it is kept."""
    known = constant_of(fill)
    if known is None:
        raise UnsupportedError(f"'{fill.name}' is computed while the model runs, and an attribute there")
    value = float(known.reshape(-1)[0])
    if value == value and float(np.float32(value)) != value:
        raise UnsupportedError(f"{value} is filled in, which is float32 there and has no such number")
    return value


def _beside(op: Any, data: Value, pads: Value, fill: Any) -> Any:
    """What is taken off is sliced off; what is added is joined on."""
    rank, zero, result = rank_of(data), np.zeros(1, np.int64), data
    known = constant_of(pads)
    for axis in range(rank):
        if known is not None and not known[axis] and not known[axis + rank]:
            continue
        low, high = (op.Gather(pads, [at], axis=0) for at in (axis, axis + rank))
        end = op.Where(op.Less(high, zero), high, np.array([_FAR], np.int64))
        result = op.Slice(result, natural(op, op.Sub(zero, low)), end, [axis])
        sizes = op.Shape(result)
        others = [op.Gather(sizes, [at], axis=0) for at in range(rank) if at != axis]
        shapes = (op.Concat(*others[:axis], natural(op, each), *others[axis:], axis=0) for each in (low, high))
        first, last = (op.Expand(fill, shape) for shape in shapes)
        result = op.Concat(first, result, last, axis=axis)
    return result if result is not data else op.Identity(data)
