"""Operations that move elements: shapes, slices, joined and repeated tensors."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from ingot.builder import Var, op
from ingot.convert.keras.conversion import Conversion, as_array, cast
from ingot.convert.keras.operations.elementwise import operand_of, result_type
from ingot.convert.keras.rule import rule
from ingot.convert.keras.sequences import flipped
from ingot.convert.operands import rank, shape
from ingot.dtypes import DType
from ingot.errors import UnsupportedError

_END = np.iinfo(np.int64).max


@rule("ops.Reshape")
def reshaped(c: Conversion, operation: Any, x: Any) -> Var:
    """Another shape; sizes that are not known are those that stood there."""
    value = c.operand(x)
    return op.Reshape(value, _target(operation.newshape, value))


def _target(sizes: Any, value: Var) -> Any:
    wanted = [sizes] if isinstance(sizes, int) else list(sizes)
    if all(isinstance(size, int | np.integer) for size in wanted):
        return [int(size) for size in wanted]
    open_ = [place for place, size in enumerate(wanted) if size is None]
    if len(open_) == 1 and -1 not in wanted:
        return [-1 if size is None else int(size) for size in wanted]
    own = shape(value)
    known = sum(1 for size in own if not isinstance(size, int))
    if all(place < len(own) and not isinstance(own[place], int) for place in open_) and len(open_) <= known:
        return [0 if size is None else int(size) for size in wanted]
    raise UnsupportedError(f"a shape {tuple(wanted)} in which more than one size is not known")


@rule("ops.Transpose")
def transposed(c: Conversion, operation: Any, x: Any) -> Var:
    value = c.operand(x)
    axes = operation.axes
    return op.Transpose(value, perm=[axis % rank(value) for axis in axes] if axes is not None else None)


@rule("ops.Swapaxes")
def swapped(c: Conversion, operation: Any, x: Any) -> Var:
    value = c.operand(x)
    order = list(range(rank(value)))
    one, other = operation.axis1 % rank(value), operation.axis2 % rank(value)
    order[one], order[other] = other, one
    return op.Transpose(value, perm=order)


@rule("ops.Moveaxis")
def moved(c: Conversion, operation: Any, x: Any) -> Var:
    value = c.operand(x)
    count = rank(value)
    sources = [axis % count for axis in np.atleast_1d(operation.source).tolist()]
    targets = [axis % count for axis in np.atleast_1d(operation.destination).tolist()]
    order = [axis for axis in range(count) if axis not in sources]
    for target, source in sorted(zip(targets, sources, strict=True)):
        order.insert(target, source)
    return op.Transpose(value, perm=order)


@rule("ops.ExpandDims")
def expanded(c: Conversion, operation: Any, x: Any) -> Var:
    axis = operation.axis
    return op.Unsqueeze(c.operand(x), list(axis) if isinstance(axis, list | tuple) else [axis])


@rule("ops.Squeeze")
def squeezed(c: Conversion, operation: Any, x: Any) -> Var:
    value, axis = c.operand(x), operation.axis
    if axis is None:
        axis = [place for place, size in enumerate(shape(value)) if size == 1]
    return op.Squeeze(value, list(axis) if isinstance(axis, list | tuple) else [axis])


@rule("ops.Ravel")
def raveled(c: Conversion, operation: Any, x: Any) -> Var:
    return op.Reshape(c.operand(x), [-1])


@rule("ops.Concatenate")
def joined(c: Conversion, operation: Any, xs: Sequence[Any]) -> Var:
    return op.Concat(*(operand_of(c, x) for x in xs), axis=operation.axis)


@rule("ops.Append")
def appended(c: Conversion, operation: Any, x1: Any, x2: Any) -> Var:
    parts = [operand_of(c, x1), operand_of(c, x2)]
    if operation.axis is None:
        parts = [op.Reshape(part, [-1]) for part in parts]
    return op.Concat(*parts, axis=operation.axis or 0)


@rule("ops.Stack")
def stacked(c: Conversion, operation: Any, xs: Sequence[Any]) -> Var:
    return op.Concat(*(op.Unsqueeze(operand_of(c, x), [operation.axis]) for x in xs), axis=operation.axis)


@rule("ops.Hstack", "ops.Vstack", "ops.Dstack")
def side_by_side(c: Conversion, operation: Any, xs: Sequence[Any]) -> Var:
    parts = [operand_of(c, x) for x in xs]
    least = {"Hstack": 1, "Vstack": 2, "Dstack": 3}[type(operation).__name__]
    if least == 2:
        parts = [op.Unsqueeze(part, [0]) if rank(part) == 1 else part for part in parts]
        return op.Concat(*parts, axis=0)
    if least == 3:
        parts = [op.Unsqueeze(part, [2]) if rank(part) == 2 else part for part in parts]
        return op.Concat(*parts, axis=2)
    return op.Concat(*parts, axis=0 if rank(parts[0]) == 1 else 1)


@rule("ops.Split", "ops.ArraySplit")
def split(c: Conversion, operation: Any, x: Any) -> Any:
    value, where = c.operand(x), operation.indices_or_sections
    axis = operation.axis % rank(value)
    if isinstance(where, int | np.integer):
        count = int(where)
        return [value] if count == 1 else list(op.Split(value, axis=axis, num_outputs=count, outputs=count))
    ends = [0, *np.asarray(where).tolist(), _END]
    return [op.Slice(value, [begin], [end], [axis]) for begin, end in pairwise(ends)]


@rule("ops.Unstack")
def unstacked(c: Conversion, operation: Any, x: Any) -> list[Var]:
    value = c.operand(x)
    return [op.Gather(value, place, axis=operation.axis) for place in range(len(c.results))]


@rule("ops.Tile")
def tiled(c: Conversion, operation: Any, x: Any) -> Var:
    value = c.operand(x)
    repeats = [operation.repeats] if isinstance(operation.repeats, int) else list(operation.repeats)
    if len(repeats) > rank(value):
        value = op.Unsqueeze(value, list(range(len(repeats) - rank(value))))
    return op.Tile(value, [1] * (rank(value) - len(repeats)) + [int(count) for count in repeats])


@rule("ops.Repeat")
def repeated(c: Conversion, operation: Any, x: Any) -> Var:
    value, axis, count = c.operand(x), operation.axis, operation.repeats
    if axis is None:
        value, axis = op.Reshape(value, [-1]), 0
    axis %= rank(value)
    counts = np.asarray(as_array(count)).reshape(-1)
    if counts.size > 1:
        return op.Gather(value, np.repeat(np.arange(counts.size), counts), axis=axis)
    before, after = axis + 1, rank(value) - axis - 1
    wide = op.Tile(op.Unsqueeze(value, [before]), [1] * before + [int(counts[0])] + [1] * after)
    rest = [size for size in shape(value)[before:] if isinstance(size, int)]
    if len(rest) == after:
        return op.Reshape(wide, [0] * axis + [-1, *rest])
    return op.Reshape(wide, op.Concat([0] * axis + [-1], op.Shape(value, start=before), axis=0))


@rule("ops.Flip", "ops.Fliplr", "ops.Flipud")
def turned(c: Conversion, operation: Any, x: Any) -> Var:
    value = c.operand(x)
    match type(operation).__name__:
        case "Fliplr":
            axes = [1]
        case "Flipud":
            axes = [0]
        case _:
            axis = operation.axis
            axes = (
                list(range(rank(value))) if axis is None else list(axis) if isinstance(axis, list | tuple) else [axis]
            )
    for each in axes:
        value = flipped(value, each)
    return value


@rule("ops.Roll")
def rolled(c: Conversion, operation: Any, x: Any) -> Var:
    value, shift, axis = c.operand(x), operation.shift, operation.axis
    if axis is None:
        flat = _rolled(op.Reshape(value, [-1]), int(shift), 0)
        return op.Reshape(flat, op.Shape(value))
    shifts = [shift] if isinstance(shift, int) else list(shift)
    axes = [axis] if isinstance(axis, int) else list(axis)
    for each, where in zip(shifts, axes, strict=True):
        value = _rolled(value, int(each), int(where))
    return value


def _rolled(x: Var, shift: int, axis: int) -> Var:
    size = shape(x)[axis]
    shift = shift % size if isinstance(size, int) and size else shift
    if not shift:
        return x
    return op.Concat(op.Slice(x, [-shift], [_END], [axis]), op.Slice(x, [0], [-shift], [axis]), axis=axis)


@rule("ops.Pad")
def padded(c: Conversion, operation: Any, x: Any, constant_values: Any = None) -> Var:
    value = c.operand(x)
    width = np.broadcast_to(np.asarray(operation.pad_width), (rank(value), 2)).T.reshape(-1).astype(np.int64)
    mode = {"constant": "constant", "reflect": "reflect", "edge": "edge", "wrap": "wrap", "symmetric": None}.get(
        operation.mode
    )
    if mode is None:
        raise UnsupportedError(f"padding '{operation.mode}'")
    if mode != "constant":
        return op.Pad(value, width, mode=mode)
    return op.Pad(value, width, c.number(constant_values or 0, value))


@rule("ops.BroadcastTo")
def broadcast(c: Conversion, operation: Any, x: Any) -> Var:
    value = c.operand(x)
    if any(size is None for size in operation.shape):
        raise UnsupportedError(f"a shape {tuple(operation.shape)} of which not every size is known")
    return op.Expand(value, [int(size) for size in operation.shape])


@rule("ops.GetItem")
def item(c: Conversion, operation: Any, x: Any, key: Any) -> Var:
    value = c.operand(x)
    keys = key if isinstance(key, tuple) else (key,)
    fixed: list[Any] = []
    for each in keys:
        plain = isinstance(each, Var | slice | int | np.integer) or each is None or each is Ellipsis
        fixed.append(each if plain else as_array(each))
    if any(isinstance(each, Var) and each.dtype is DType.BOOL for each in fixed):
        raise UnsupportedError("a selection by booleans, whose size is not known")
    if len(fixed) == 1 and isinstance(fixed[0], Var | np.ndarray):
        return op.Gather(value, fixed[0], axis=0)
    return value[tuple(fixed)]


@rule("ops.Take")
def gathered(c: Conversion, operation: Any, x: Any, indices: Any) -> Var:
    value, axis = operand_of(c, x), operation.axis
    if axis is None:
        value, axis = op.Reshape(value, [-1]), 0
    places = c.operand(indices)
    return op.Gather(value, places if places.dtype in (DType.INT32, DType.INT64) else cast(places, "int64"), axis=axis)


@rule("ops.TakeAlongAxis")
def gathered_along(c: Conversion, operation: Any, x: Any, indices: Any) -> Var:
    value, axis = operand_of(c, x), operation.axis
    places = cast(c.operand(indices), "int64")
    if axis is None:
        return op.GatherElements(op.Reshape(value, [-1]), op.Reshape(places, [-1]), axis=0)
    return op.GatherElements(value, places, axis=axis)


@rule("ops.ZerosLike", "ops.OnesLike", "ops.EmptyLike")
def filled_like(c: Conversion, operation: Any, x: Any) -> Var:
    number = 1 if type(operation).__name__ == "OnesLike" else 0
    return _filled(c, c.operand(x), number)


@rule("ops.FullLike")
def full_like(c: Conversion, operation: Any, x: Any, fill_value: Any) -> Var:
    return op.Expand(c.operand(fill_value, result_type(c)), op.Shape(c.operand(x)))


def _filled(c: Conversion, x: Var, number: float) -> Var:
    return op.Expand(c.operand(number, result_type(c)), op.Shape(x))


@rule("ops.Tril", "ops.Triu")
def triangle(c: Conversion, operation: Any, x: Any) -> Var:
    upper = int(type(operation).__name__ == "Triu")
    return op.Trilu(c.operand(x), np.array(operation.k, np.int64), upper=upper)


@rule("ops.Diff")
def differences(c: Conversion, operation: Any, a: Any) -> Var:
    value, axis = operand_of(c, a), operation.axis
    for _ in range(operation.n):
        value = op.Slice(value, [1], [_END], [axis]) - op.Slice(value, [0], [-1], [axis])
    return value


@rule("ops.Slice")
def sliced(c: Conversion, operation: Any, inputs: Any, start_indices: Any) -> Var:
    value = c.operand(inputs)
    starts = cast(c.operand(start_indices), "int64")
    axes = list(range(rank(value)))
    return op.Slice(value, starts, starts + np.array(operation.shape, np.int64), axes)


@rule("ops.Scatter")
def scattered(c: Conversion, operation: Any, indices: Any, values: Any) -> Var:
    updates = c.operand(values)
    zeros = op.Expand(c.number(0, updates), [int(size) for size in operation.shape])
    return op.ScatterND(zeros, cast(c.operand(indices), "int64"), updates, reduction="add")


@rule("ops.ScatterUpdate")
def updated(c: Conversion, operation: Any, inputs: Any, indices: Any, updates: Any) -> Var:
    reductions = {None: "none", "add": "add", "max": "max", "min": "min", "mul": "mul"}
    reduction = getattr(operation, "reduction", None)
    return op.ScatterND(
        operand_of(c, inputs),
        cast(c.operand(indices), "int64"),
        operand_of(c, updates),
        reduction=reductions[reduction],
    )


@rule("ops.Meshgrid")
def grid(c: Conversion, operation: Any, *xs: Any) -> list[Var]:
    values = [c.operand(x) for x in xs]
    count = len(values)
    order = list(range(count))
    if operation.indexing == "xy" and count > 1:
        order[0], order[1] = 1, 0
    views = [
        op.Reshape(value, [-1 if place == order[at] else 1 for place in range(count)])
        for at, value in enumerate(values)
    ]
    whole = op.Concat(*(op.Shape(values[order.index(place)]) for place in range(count)), axis=0)
    return [op.Expand(view, whole) for view in views]


@rule("ops.Diagonal")
def diagonal(c: Conversion, operation: Any, x: Any) -> Var:
    value = c.operand(x)
    sizes = shape(value)
    one, other = operation.axis1 % rank(value), operation.axis2 % rank(value)
    if not isinstance(sizes[one], int) or not isinstance(sizes[other], int):
        raise UnsupportedError("a diagonal of a matrix whose size is not known")
    picked = np.eye(int(sizes[one]), int(sizes[other]), operation.offset, dtype=bool)
    rows, columns = np.nonzero(picked)
    order = [axis for axis in range(rank(value)) if axis not in (one, other)]
    moved = op.Transpose(value, perm=[*order, one, other])
    flat = op.Reshape(moved, [0] * len(order) + [int(sizes[one]) * int(sizes[other])])
    return op.Gather(flat, rows * int(sizes[other]) + columns, axis=-1)
