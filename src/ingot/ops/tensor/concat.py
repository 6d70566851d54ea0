"""Concat: tensors one behind the other along an axis."""

from __future__ import annotations

from math import prod
from typing import Annotated, Any, TypeAlias

import numpy as np

from ingot import prim
from ingot.dims import Dim
from ingot.dtypes import Array
from ingot.errors import InputError, ShapeError, UnsupportedError
from ingot.ir.types import Shape
from ingot.ir.value import Value
from ingot.ops.define import operator, superseded
from ingot.ops.facts import Fact, Inferred
from ingot.ops.limit import PIECE, affordable, pieces
from ingot.ops.shapes import axis_of, unify
from ingot.ops.tensor.carriers import carried
from ingot.ops.tensor.follow import cells, followed, guarded
from ingot.ops.tensor.moved import in_own_type
from ingot.ops.typesets import ALL, ALL_3, FLOATS_3, types

T: TypeAlias = Annotated[Array, types("T", {4: ALL_3, 13: ALL})]
T1: TypeAlias = Annotated[Array, types("T", FLOATS_3)]


@operator("Concat", since=(4, 11, 13))
def concat(*inputs: T, axis: int) -> T:
    """The inputs joined along `axis`; ShapeError if they differ in any other."""
    first = inputs[0]
    if any(x.dtype != first.dtype for x in inputs):
        raise InputError(f"the inputs differ in type: {sorted({str(x.dtype) for x in inputs})}")
    shape = affordable(_joined([x.shape for x in inputs], axis), first.dtype)  # type: ignore[arg-type]
    joined = np.empty(shape, first.dtype)
    if prod(shape) <= PIECE:
        return np.concatenate(inputs, axis, out=joined)
    start, axis = 0, axis_of(axis, first.ndim)
    for x in inputs:
        end = start + x.shape[axis]
        _copy_in_pieces(x, joined[(slice(None),) * axis + (slice(start, end),)])
        start = end
    return joined


def _copy_in_pieces(x: Array, target: Array) -> None:
    longest = int(np.argmax(x.shape))
    for piece in pieces(x.shape[longest], x.size // max(1, x.shape[longest])):
        at = (slice(None),) * longest + (piece,)
        target[at] = x[at]


@concat.infer
def infer(*inputs: Fact, axis: int) -> Inferred:
    dtype = next((x.dtype for x in inputs if x.dtype is not None), None)
    known = [x.shape for x in inputs if x.shape is not None]
    if len(known) < len(inputs):
        return followed(dtype, _unknown(known, axis), lambda: None)

    def joined() -> Array | None:
        parts = [cells(x) for x in inputs]
        arrays = [part for part in parts if part is not None]
        return np.concatenate(arrays, axis) if len(arrays) == len(parts) else None

    return followed(dtype, _joined(known, axis), joined)


@concat.lower
def lower(*inputs: prim.Tensor, axis: int, inferred: tuple[Fact, ...]) -> prim.Tensor:
    axis = axis_of(axis, inputs[0].rank)
    parts = [in_own_type(x, inferred[0]) for x in inputs if x.shape[axis] != 0]
    return prim.concat(parts or [in_own_type(inputs[0], inferred[0])], axis)


@concat.downgrade
def downgrade(op: Any, *inputs: Value, axis: int, version: int) -> Any:
    if version >= concat.since[0]:
        raise UnsupportedError("it does not take this element type")
    return carried(op, lambda *xs: op.Concat(*xs, axis=axis), *inputs, supported=FLOATS_3, version=version)


@operator("Concat", since=1)
def concat_1(*inputs: T1, axis: int | None = None) -> T1:
    """The same, along axis 1 if none is given."""
    raise superseded()


@concat_1.upgrade
def upgrade(op: Any, *inputs: Value, axis: int | None) -> Any:
    return op.Concat(*inputs, axis=1 if axis is None else axis)


def _joined(shapes: list[Shape], axis: int) -> Shape:
    ranks = {len(shape) for shape in shapes}
    if len(ranks) > 1:
        raise ShapeError(f"the inputs differ in rank: {sorted(ranks)}")
    axis = axis_of(axis, ranks.pop())
    result = list(shapes[0])
    for shape in shapes[1:]:
        for index, dim in enumerate(shape):
            result[index] = (
                _sum(result[index], dim)
                if index == axis
                else unify(result[index], dim, f"sizes of axis {index}, which is not joined,")
            )
    return tuple(result)


def _sum(a: Dim | None, b: Dim | None) -> Dim | None:
    return None if a is None or b is None else guarded(lambda: a + b)


def _unknown(known: list[Shape], axis: int) -> Shape | None:
    """What follows for the result from the inputs of known shape, when there are others."""
    if not known:
        return None
    joined = list(_joined(known, axis))
    joined[axis_of(axis, len(joined))] = None
    return tuple(joined)
