"""Pad: elements added around a tensor, or taken off."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, TypeAlias

import numpy as np

from ingot.dims import Dim
from ingot.dtypes import Array
from ingot.errors import CheckError, InputError, ShapeError
from ingot.ir.value import Value
from ingot.ops.define import Since, operator, superseded
from ingot.ops.facts import Fact, Inferred
from ingot.ops.limit import affordable
from ingot.ops.shapes import axes_of
from ingot.ops.tensor.follow import cells, followed, guarded, if_present, numbers, sizes, tensor, through
from ingot.ops.typesets import (
    ALL,
    ALL_21,
    ALL_23,
    ALL_24,
    ALL_25,
    FLOATS_3,
    INDICES,
    INT64,
    NUMERIC_3,
    types,
)

T: TypeAlias = Annotated[Array, types("T", {19: ALL, 21: ALL_21, 23: ALL_23, 24: ALL_24, 25: ALL_25})]
Tind: TypeAlias = Annotated[Array, types("Tind", INDICES)]
Pads: TypeAlias = Annotated[Array, types("", INT64)]
T18: TypeAlias = Annotated[Array, types("T", {11: NUMERIC_3, 13: ALL})]
T2: TypeAlias = Annotated[Array, types("T", FLOATS_3)]

_MODES = ("constant", "reflect", "edge", "wrap")


@operator("Pad", since=(19, 21, 23, 24, 25))
def pad(
    data: T, pads: Pads, constant_value: T | None = None, axes: Tind | None = None, /, *, mode: str = "constant"
) -> T:
    """`data` with `pads` elements more before and after each of `axes`; fewer where they are negative.

    What is added is `constant_value` (zero, or empty text), the elements mirrored in the first and last (`reflect`),
    these themselves (`edge`), or those of the other end (`wrap`). What is taken off goes first.
    """
    before, after = amounts(pads, axes, data.ndim)
    if mode not in _MODES:
        raise CheckError(f"mode is '{mode}', expected one of {', '.join(_MODES)}")
    grown = [size + low + high for size, low, high in zip(data.shape, before, after, strict=True)]
    if any(size < 0 for size in grown):
        raise InputError(f"pads {pads.tolist()} take more off shape {list(data.shape)} than there is")
    shape = affordable(grown, data.dtype)
    cuts = (slice(max(-low, 0), high if high < 0 else None) for low, high in zip(before, after, strict=True))
    cropped = data[(*cuts, ...)]
    if mode != "constant":
        for axis in range(data.ndim):
            cropped = cropped.take(order(mode, cropped.shape[axis], before[axis], after[axis], axis), axis)
        return cropped
    result = np.full(shape, _fill(constant_value, data.dtype), data.dtype)
    starts = [max(low, 0) for low in before]
    result[tuple(slice(start, start + size) for start, size in zip(starts, cropped.shape, strict=True))] = cropped
    return result


@pad.infer
def infer(
    data: Fact, pads: Fact, constant_value: Fact | None = None, axes: Fact | None = None, /, *, mode: str
) -> Inferred:
    if mode not in _MODES:
        raise CheckError(f"mode is '{mode}', expected one of {', '.join(_MODES)}")
    constant_value, axes = if_present(constant_value), if_present(axes)
    if data.shape is None:
        return tensor(data.dtype, None)
    rank = len(data.shape)
    amounts = sizes(pads)
    named = list(range(rank)) if axes is None else None
    if axes is not None and (numbers_of_axes := numbers(axes)) is not None:
        named = list(axes_of(numbers_of_axes.reshape(-1).tolist(), rank))
    if amounts is None or named is None:
        return tensor(data.dtype, (None,) * rank)
    if len(amounts) != 2 * len(named):
        raise ShapeError(f"{len(amounts)} pads for {len(named)} axes, expected {2 * len(named)}")
    shape = list(data.shape)
    for position, axis in enumerate(named):
        shape[axis] = _padded(shape[axis], amounts[position], amounts[position + len(named)])
    if any(isinstance(size, int) and size < 0 for size in shape):
        raise ShapeError(f"pads {amounts} take more off than there is")

    def elements() -> Array | None:
        value: Array | None = np.array(0, np.object_)
        if constant_value is not None:
            value = cells(constant_value)
        return through(pad, cells(data), numbers(pads), value, np.array(named, np.int64), mode=mode)

    return followed(data.dtype, tuple(shape), elements)


@operator("Pad", since=(11, 13, 18))
def pad_18(
    data: T18,
    pads: Pads,
    constant_value: T18 | None = None,
    axes: Annotated[Tind | None, Since(18)] = None,
    /,
    *,
    mode: str = "constant",
) -> T18:
    """The same without mode `wrap`."""
    raise superseded()


@pad_18.upgrade
def upgrade_18(
    op: Any, data: Value, pads: Value, constant_value: Value | None = None, axes: Value | None = None, /, *, mode: str
) -> Any:
    return op.Pad(data, pads, constant_value, axes, mode=mode)


@operator("Pad", since=2)
def pad_2(data: T2, /, *, pads: Sequence[int], mode: str = "constant", value: float = 0.0) -> T2:
    """The same, with the amounts in the model."""
    raise superseded()


@pad_2.upgrade
def upgrade_2(op: Any, data: Value, /, *, pads: Sequence[int], mode: str, value: float) -> Any:
    if mode != "constant" or not value:
        return op.Pad(data, list(pads), mode=mode)
    return op.Pad(data, list(pads), op.CastLike(np.float32(value), data), mode=mode)


@operator("Pad", since=1)
def pad_1(data: T2, /, *, paddings: Sequence[int], mode: str = "constant", value: float = 0.0) -> T2:
    """The same, under another name."""
    raise superseded()


@pad_1.upgrade
def upgrade_1(op: Any, data: Value, /, *, paddings: Sequence[int], mode: str, value: float) -> Any:
    return upgrade_2(op, data, pads=paddings, mode=mode, value=value)


def amounts(pads: Array, axes: Array | None, rank: int) -> tuple[list[int], list[int]]:
    """How much to add before and after each axis."""
    named = tuple(range(rank)) if axes is None else axes_of(axes.reshape(-1).tolist(), rank)
    if pads.shape != (2 * len(named),):
        raise ShapeError(f"pads have shape {list(pads.shape)} for {len(named)} axes, expected [{2 * len(named)}]")
    before, after = [0] * rank, [0] * rank
    for position, axis in enumerate(named):
        before[axis] = int(pads[position])
        after[axis] = int(pads[position + len(named)])
    return before, after


def order(mode: str, size: int, before: int, after: int, axis: int) -> Array:
    """The indices along an axis of `size`, already cut, that make it as long as it is to be."""
    low, high = max(before, 0), max(after, 0)
    if size == 0 and low + high:
        raise InputError(f"axis {axis} has no elements to pad with in mode '{mode}'")
    at = np.arange(-low, size + high, dtype=np.int64)
    if mode == "edge" or size <= 1:
        return at.clip(0, max(size - 1, 0)) if size else at
    if mode == "wrap":
        return at % size
    period = 2 * (size - 1)
    there = at % period
    return np.minimum(there, period - there)


def _fill(value: Array | None, dtype: np.dtype[Any]) -> Any:
    if value is None:
        return "" if dtype == np.object_ else np.zeros((), dtype)[()]
    if value.size != 1:
        raise ShapeError(f"constant_value has shape {list(value.shape)}, expected one element")
    return value.reshape(-1)[0]


def _padded(size: Dim | None, before: Dim | None, after: Dim | None) -> Dim | None:
    if size is None or before is None or after is None:
        return None
    return guarded(lambda: size + before + after)
