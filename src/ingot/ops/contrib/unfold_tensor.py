"""UnfoldTensor: the slices that a window sees which moves along an axis."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import numpy as np

from ingot import prim
from ingot.dims import Dim, maximum
from ingot.dtypes import Array
from ingot.errors import CheckError, ShapeError
from ingot.ir.types import TensorType
from ingot.ops.contrib.domain import MICROSOFT
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.nn.precision import refuse_huge
from ingot.ops.shapes import axis_of
from ingot.ops.typesets import ALL, types

T: TypeAlias = Annotated[Array, types("T", ALL)]


@operator("UnfoldTensor", since=1, domain=MICROSOFT)
def unfold_tensor(x: T, /, *, size: int, dim: int = -1, step: int = 1) -> T:
    """All slices of `size` elements along axis `dim`, `step` apart; the elements of a slice are on a new last axis."""
    _check(size, step)
    axis = axis_of(dim, x.ndim, "dim")
    if size > x.shape[axis]:
        raise ShapeError(f"size is {size}, axis {axis} has {x.shape[axis]} elements")
    count = (x.shape[axis] - size) // step + 1
    refuse_huge((*x.shape[:axis], count, *x.shape[axis + 1 :], size), np.dtype(np.float64))
    return np.ascontiguousarray(
        np.lib.stride_tricks.sliding_window_view(x, size, axis)[(slice(None),) * axis + (slice(None, None, step),)]
    )


@unfold_tensor.infer
def infer(x: Fact, /, *, size: int, dim: int, step: int) -> Inferred:
    _check(size, step)
    if x.dtype is None or x.shape is None:
        return None if x.dtype is None else TensorType(x.dtype)
    axis = axis_of(dim, len(x.shape), "dim")
    length = x.shape[axis]
    if isinstance(length, int) and size > length:
        raise ShapeError(f"size is {size}, axis {axis} has {length} elements")
    return TensorType(x.dtype, (*x.shape[:axis], _count(length, size, step), *x.shape[axis + 1 :], size))


@unfold_tensor.lower
def lower(x: prim.Tensor, /, *, size: int, dim: int, step: int) -> prim.Tensor:
    axis = axis_of(dim, x.rank, "dim")
    if not isinstance(x.shape[axis], int):
        raise prim.Refused("an axis that may be shorter than a slice")
    seen = prim.window(x, [axis], [size], [step], [1])
    order = [*range(x.rank), x.rank]
    return prim.permute(seen, order)


def _count(length: Dim | None, size: int, step: int) -> Dim | None:
    return None if length is None else maximum((length - size) // step + 1, 0)


def _check(size: int, step: int) -> None:
    if size < 1 or step < 1:
        raise CheckError(f"size is {size} and step is {step}, expected at least 1")
