"""TensorScatter: new entries written into a cache, for each sequence of a batch at its own position."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

import numpy as np

from ingot import prim
from ingot.dtypes import Array, DType
from ingot.errors import CheckError, InputError, ShapeError
from ingot.ir.types import Shape
from ingot.ir.value import Value
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.older import rank_of
from ingot.ops.shapes import axis_of, require_rank, unify
from ingot.ops.tensor import places
from ingot.ops.tensor.moved import along, in_own_type, own_place
from ingot.ops.typesets import ALL_24, INT64, types

T: TypeAlias = Annotated[Array, types("T", ALL_24)]
Positions: TypeAlias = Annotated[Array, types("", INT64)]


@operator("TensorScatter", since=24)
def tensor_scatter(
    past_cache: T, update: T, write_indices: Positions | None = None, /, *, axis: int = -2, mode: str = "linear"
) -> T:
    """The cache with `update` written along `axis`, from the position each batch entry has in `write_indices`, else 0.

    In mode `circular` it goes on from the front at the end of the axis; in `linear` it must fit.
    """
    axis = _check(past_cache.shape, update.shape, axis, mode)
    batch, length, most = past_cache.shape[0], update.shape[axis], past_cache.shape[axis]
    if write_indices is None:
        write_indices = np.zeros(batch, np.int64)
    if write_indices.shape != (batch,):
        raise ShapeError(f"write_indices has shape {list(write_indices.shape)} for a batch of {batch}")
    if mode == "circular":
        at = (write_indices[:, None] % max(most, 1) + np.arange(length)) % max(most, 1)
    else:
        if batch and (write_indices.min() < 0 or int(write_indices.max()) + length > most):
            worst = write_indices.min() if write_indices.min() < 0 else write_indices.max()
            raise InputError(f"{length} entries do not fit at position {worst} of {most}")
        at = write_indices[:, None] + np.arange(length)
    result = past_cache.copy()
    np.moveaxis(result, axis, 1)[np.arange(batch)[:, None], at] = np.moveaxis(update, axis, 1)
    return result


@tensor_scatter.infer
def infer(past_cache: Fact, update: Fact, write_indices: Fact | None = None, /, *, axis: int, mode: str) -> Inferred:
    if past_cache.shape is not None and update.shape is not None:
        _check(past_cache.shape, update.shape, axis, mode)
    if write_indices is not None:
        require_rank(write_indices, 1, "write_indices")
        if write_indices.shape and past_cache.shape:
            unify(past_cache.shape[0], write_indices.shape[0], "the batch and the number of write_indices")
    return past_cache.type


@tensor_scatter.lower
def lower(
    past_cache: prim.Tensor,
    update: prim.Tensor,
    write_indices: prim.Tensor | None = None,
    /,
    *,
    axis: int,
    mode: str,
    inferred: tuple[Fact, ...],
) -> prim.Tensor:
    """What does not fit is outside the cache; an update that does goes on from its front once at most."""
    axis = _check(past_cache.shape, update.shape, axis, mode)
    most = prim.size(past_cache.shape[axis])
    at = steps = prim.iota(update.shape, axis)
    if write_indices is not None:
        start = prim.cast(write_indices, DType.INT64)
        if mode == "circular":
            start = prim.apply("remainder", start, most)
            start = prim.where(prim.apply("less", start, 0), start + most, start)
        at = at + along(start, update.rank - 1)
        if mode == "circular":
            at = prim.where(prim.apply("less_equal", most, at), at - most, at)
            at = prim.where(prim.apply("less", steps, most), at, -1)
    places = [own_place(update.shape, past_cache.shape, other) for other in range(update.rank)]
    places[axis] = at
    return prim.scatter(in_own_type(past_cache, inferred[0]), in_own_type(update, inferred[0]), places)


@tensor_scatter.downgrade
def downgrade(
    op: Any,
    past_cache: Value,
    update: Value,
    write_indices: Value | None = None,
    /,
    *,
    axis: int,
    mode: str,
    version: int,
) -> Any:
    rank = rank_of(past_cache)
    axis = axis_of(axis, rank)
    others = [each for each in range(rank) if each != axis]
    at: Any = places.spread(op, places.counted(op, update, axis, version), others, version)
    if write_indices is not None:
        most = places.size(op, past_cache, axis)
        most = np.array([max(most, 1)]) if isinstance(most, int) else op.Max(most, np.ones(1, np.int64))
        at = op.Add(at, op.Unsqueeze(write_indices, list(range(1, rank))))
        at = op.Mod(at, most) if mode == "circular" else at
    return op.ScatterElements(past_cache, op.Expand(at, op.Shape(update)), update, axis=axis)


def _check(cache: Shape, update: Shape, axis: int, mode: str) -> int:
    """The axis from the front; an error unless the update fits the cache."""
    if mode not in ("linear", "circular"):
        raise CheckError(f"mode is '{mode}', expected 'linear' or 'circular'")
    if len(cache) != len(update):
        raise ShapeError(f"the cache has {len(cache)} axes, the update {len(update)}")
    axis = axis_of(axis, len(cache))
    if axis == 0:
        raise CheckError("axis is 0, which is the batch")
    for index, (a, b) in enumerate(zip(cache, update, strict=True)):
        if index != axis:
            unify(a, b, f"sizes of axis {index} of cache and update")
        elif isinstance(a, int) and isinstance(b, int) and b > a:
            raise ShapeError(f"{b} entries for a cache of {a}")
    return axis
