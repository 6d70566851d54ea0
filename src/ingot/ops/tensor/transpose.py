"""Transpose: axes in another order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, TypeAlias

from ingot import prim
from ingot.dtypes import Array
from ingot.errors import ShapeError
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.shapes import axes_of
from ingot.ops.tensor.follow import cells, followed, tensor, through
from ingot.ops.tensor.moved import in_own_type
from ingot.ops.typesets import ALL, ALL_3, ALL_21, ALL_23, ALL_24, ALL_25, types

T: TypeAlias = Annotated[Array, types("T", {1: ALL_3, 13: ALL, 21: ALL_21, 23: ALL_23, 24: ALL_24, 25: ALL_25})]


@operator("Transpose", since=(1, 13, 21, 23, 24, 25))
def transpose(data: T, /, *, perm: Sequence[int] | None = None) -> T:
    """Axis `i` of the result is axis `perm[i]` of `data`; without `perm`, the axes are reversed."""
    return data.transpose(_order(perm, data.ndim))


@transpose.infer
def infer(data: Fact, /, *, perm: Sequence[int] | None) -> Inferred:
    if data.shape is None:
        return tensor(data.dtype, None if perm is None else (None,) * len(perm))
    order = _order(perm, len(data.shape))

    return followed(
        data.dtype, tuple(data.shape[axis] for axis in order), lambda: through(transpose, cells(data), perm=perm)
    )


@transpose.lower
def lower(data: prim.Tensor, /, *, perm: Sequence[int] | None, inferred: tuple[Fact, ...]) -> prim.Tensor:
    return prim.permute(in_own_type(data, inferred[0]), _order(perm, data.rank))


def _order(perm: Sequence[int] | None, rank: int) -> tuple[int, ...]:
    if perm is None:
        return tuple(reversed(range(rank)))
    if len(perm) != rank:
        raise ShapeError(f"perm {list(perm)} for a tensor of {rank} axes")
    return axes_of(perm, rank, "perm")
