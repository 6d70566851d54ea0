"""Tile: a tensor repeated along each axis."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from operator import mul
from typing import Annotated, Any, TypeAlias

import numpy as np

from ingot import prim
from ingot.dims import Dim
from ingot.dtypes import Array, DType
from ingot.errors import ShapeError, UnsupportedError
from ingot.ir.value import Value
from ingot.ops.define import operator, superseded
from ingot.ops.facts import Fact, Inferred
from ingot.ops.limit import affordable
from ingot.ops.older import dtype_of, integers_of
from ingot.ops.shapes import require_rank
from ingot.ops.tensor.carriers import carried, carrier
from ingot.ops.tensor.follow import cells, followed, guarded, numbers, sizes, tensor, through
from ingot.ops.tensor.moved import elements_of, in_own_type, sizes_of
from ingot.ops.typesets import ALL, ALL_3, FLOATS_3, INT64, types

T: TypeAlias = Annotated[Array, types("T", {6: ALL_3, 13: ALL})]
Repeats: TypeAlias = Annotated[Array, types("T1", INT64)]
T1: TypeAlias = Annotated[Array, types("T", FLOATS_3)]

_LONG_ROW = 256
"""Elements of a row from which on it is copied as fast as memory allows."""
_FEW = 4
_MOST_AXES = 64  # numpy's own limit


@operator("Tile", since=(6, 13))
def tile(x: T, repeats: Repeats, /) -> T:
    """`x` set side by side with itself, `repeats` times along each axis."""
    if repeats.shape != (x.ndim,):
        raise ShapeError(f"repeats has shape {list(repeats.shape)} for a tensor of {x.ndim} axes")
    times: list[int] = repeats.tolist()
    if times and min(times) < 0:
        raise ShapeError(f"a tensor is repeated a negative number of times: {times}")
    shape = affordable(map(mul, x.shape, times), x.dtype)
    if not prod(shape) or 2 * x.ndim > _MOST_AXES:
        return np.tile(x, times) if prod(shape) else np.empty(shape, x.dtype)
    tiles: Array = np.empty([size for pair in zip(times, x.shape, strict=True) for size in pair], x.dtype)
    tiles[...] = x.reshape([size for own in x.shape for size in (1, own)])
    return tiles.reshape(shape)


@tile.infer
def infer(x: Fact, repeats: Fact, /) -> Inferred:
    require_rank(repeats, 1, "repeats")
    times = sizes(repeats)
    if x.shape is None:
        return tensor(x.dtype, None if times is None else (None,) * len(times))
    if times is None:
        return tensor(x.dtype, (None,) * len(x.shape))
    if len(times) != len(x.shape):
        raise ShapeError(f"{len(times)} repeats for a tensor of {len(x.shape)} axes")
    if any(isinstance(count, int) and count < 0 for count in times):
        raise ShapeError(f"a tensor is repeated a negative number of times: {times}")

    return followed(
        x.dtype,
        tuple(_times(a, b) for a, b in zip(x.shape, times, strict=True)),
        lambda: through(tile, cells(x), numbers(repeats)),
    )


tile.sized_by("repeats")


@tile.lower
def lower(
    x: prim.Tensor, repeats: prim.Tensor, /, *, facts: tuple[Fact, ...], inferred: tuple[Fact, ...]
) -> prim.Tensor:
    """First the last axes, up to rows worth copying whole, then the others."""
    x = in_own_type(x, inferred[0])
    times = elements_of(facts[1], "repeats")
    first = _last_of_long_rows(x.shape, times) + 1
    rows = _repeated(x, (*(1 for _ in times[:first]), *times[first:]))
    whole = _repeated(rows, (*times[:first], *(1 for _ in times[first:])))
    return prim.reshape(whole, sizes_of(inferred[0]))


def _last_of_long_rows(shape: Sequence[Dim], times: Sequence[Dim]) -> int:
    """The last axis that is repeated in rows, of it and those behind it, that are long; -1 if there is none.

    Rows of it are all that copies of it are made of. A count that is not known counts as a few.
    """
    row = 1
    for axis in reversed(range(len(shape))):
        size, count = shape[axis], times[axis]
        if not isinstance(size, int):
            break
        row *= size
        if row >= _LONG_ROW and count != 1:
            return axis
        row *= count if isinstance(count, int) else _FEW
    return -1


def _repeated(x: prim.Tensor, times: Sequence[Dim]) -> prim.Tensor:
    """An axis of one element is repeated as it is; any other gets one before it, and both are made one."""
    apart: list[Dim] = []
    spread: list[Dim] = []
    for size, count in zip(x.shape, times, strict=True):
        apart += [size] if size == 1 or count == 1 else [1, size]
        spread += [count * size] if size == 1 or count == 1 else [count, size]
    whole = [size * count for size, count in zip(x.shape, times, strict=True)]
    return prim.reshape(prim.expand(prim.reshape(x, apart), tuple(spread)), whole)


@tile.downgrade
def downgrade(op: Any, x: Value, repeats: Value, /, *, version: int) -> Any:
    """One after another along each axis; how often has to be exact as a float."""
    if version >= tile.since[0]:
        raise UnsupportedError("it does not take this element type")
    counts = integers_of(repeats)
    kind = carrier(dtype_of(x), FLOATS_3, version).numpy.type
    if any(float(kind(count)) != count for count in counts):
        raise UnsupportedError(f"repeats {counts} are {kind.__name__} there, which has not all of these numbers")

    def tiled(result: Any) -> Any:
        for axis, count in enumerate(counts):
            result = op.Tile(result, kind(count), kind(axis)) if count != 1 else result
        return result

    return carried(op, tiled, x, supported=FLOATS_3, version=version) if set(counts) - {1} else op.Identity(x)


@operator("Tile", since=1)
def tile_1(x: T1, tiles: T1, axis: T1, /) -> T1:
    """The same along one axis; how often and which are numbers in tensors of floats."""
    raise superseded()


@tile_1.upgrade
def upgrade(op: Any, x: Value, tiles: Value, axis: Value, /) -> Any:
    int64 = int(DType.INT64)
    ones = op.Expand(np.array([1], np.int64), op.Shape(op.Shape(x)))
    at = op.Reshape(op.Cast(axis, to=int64), [1])
    count = op.Reshape(op.Cast(tiles, to=int64), [1])
    return op.Tile(x, op.ScatterElements(ones, at, count, axis=0))


def _times(size: Dim | None, count: Dim | None) -> Dim | None:
    if size == 0 or count == 0:
        return 0
    return None if size is None or count is None else guarded(lambda: size * count)
