"""Flatten: a tensor as a matrix."""

from __future__ import annotations

from math import prod
from typing import Annotated, Any, TypeAlias

from ingot import prim
from ingot.dtypes import Array
from ingot.errors import ShapeError, UnsupportedError
from ingot.ir.value import Value
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.older import shape_of
from ingot.ops.shapes import product
from ingot.ops.tensor.follow import cells, followed, guarded, through
from ingot.ops.tensor.moved import in_own_type, sizes_of
from ingot.ops.typesets import ALL, ALL_3, ALL_21, ALL_23, ALL_24, ALL_25, FLOATS_3, types

T: TypeAlias = Annotated[
    Array, types("T", {1: FLOATS_3, 9: ALL_3, 13: ALL, 21: ALL_21, 23: ALL_23, 24: ALL_24, 25: ALL_25})
]

_ALL_TYPES_SINCE = 9


@operator("Flatten", since=(1, 9, 11, 13, 21, 23, 24, 25))
def flatten(x: T, /, *, axis: int = 1) -> T:
    """A matrix: the axes before `axis` are its rows, the others its columns."""
    axis = _split(axis, x.ndim)
    return x.reshape(prod(x.shape[:axis]), prod(x.shape[axis:]))


@flatten.infer
def infer(x: Fact, /, *, axis: int) -> Inferred:
    if x.shape is None:
        return followed(x.dtype, (None, None), lambda: None)
    shape, at = x.shape, _split(axis, len(x.shape))

    return followed(
        x.dtype,
        (guarded(lambda: product(shape[:at])), guarded(lambda: product(shape[at:]))),
        lambda: through(flatten, cells(x), axis=axis),
    )


@flatten.lower
def lower(x: prim.Tensor, /, *, axis: int, inferred: tuple[Fact, ...]) -> prim.Tensor:
    return prim.reshape(in_own_type(x, inferred[0]), sizes_of(inferred[0]))


@flatten.downgrade
def downgrade(op: Any, x: Value, /, *, axis: int, version: int) -> Any:
    """A Reshape, which takes the types that Flatten did not take before; one size of two has to be known."""
    shape = shape_of(x)
    at = _split(axis, len(shape))
    if version < _ALL_TYPES_SINCE:
        rows, columns = product(shape[:at]), product(shape[at:])
        if isinstance(columns, int) and columns:
            return op.Reshape(x, [-1, columns])
        if isinstance(rows, int) and rows:
            return op.Reshape(x, [rows, -1])
    raise UnsupportedError("it does not take this element type")


def _split(axis: int, rank: int) -> int:
    if not -rank <= axis <= rank:
        raise ShapeError(f"axis is {axis}, outside -{rank} to {rank}")
    return axis + rank if axis < 0 else axis
