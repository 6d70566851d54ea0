"""MaxUnpool: elements go back to the places a MaxPool took them from."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Annotated, TypeAlias

import numpy as np

from ingot import prim
from ingot.dims import Dim, maximum
from ingot.dtypes import Array
from ingot.errors import InputError, ShapeError
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.nn.precision import refuse_huge
from ingot.ops.nn.results import tensor
from ingot.ops.nn.through import by_float32
from ingot.ops.nn.windows import spatial_rank, windows
from ingot.ops.shapes import require_rank
from ingot.ops.typesets import FLOATS, FLOATS_3, INT64, types

T: TypeAlias = Annotated[Array, types("T1", {9: FLOATS_3, 22: FLOATS})]
Index: TypeAlias = Annotated[Array, types("T2", INT64)]


@operator("MaxUnpool", since=(9, 11, 22))
def max_unpool(
    x: T,
    indices: Index,
    output_shape: Index | None = None,
    /,
    *,
    kernel_shape: Sequence[int],
    pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
) -> T:
    """Zeros, and each element of `x` at the place `indices` gives in the flattened tensor that windows of these
    attributes would pool to `x`; with `output_shape`, that tensor is the first corner of a larger one of zeros.
    """
    if indices.shape != x.shape:
        raise ShapeError(f"x has shape {list(x.shape)} and the indices have {list(indices.shape)}")
    unpooled = [int(size) for size in _unpooled(x.shape, kernel_shape, pads, strides) if isinstance(size, int)]
    refuse_huge(unpooled, x.dtype)
    total = prod(unpooled)
    if indices.size and not 0 <= int(indices.min()) <= int(indices.max()) < total:
        raise InputError(
            f"indices from {indices.min()} to {indices.max()} in a tensor of {total} elements ({unpooled})"
        )
    y = np.zeros(total, x.dtype)
    y[indices.reshape(-1)] = x.reshape(-1)
    y = y.reshape(unpooled)
    if output_shape is None:
        return y
    wanted = [int(size) for size in output_shape.reshape(-1)]
    if len(wanted) != x.ndim or any(size < least for size, least in zip(wanted, unpooled, strict=True)):
        raise InputError(f"output_shape is {wanted}, smaller than what is unpooled, {unpooled}")
    refuse_huge(wanted, x.dtype)
    larger = np.zeros(wanted, x.dtype)
    larger[tuple(slice(0, size) for size in unpooled)] = y
    return larger


@max_unpool.infer
def infer(
    x: Fact,
    indices: Fact,
    output_shape: Fact | None = None,
    /,
    *,
    kernel_shape: Sequence[int],
    pads: Sequence[int] | None,
    strides: Sequence[int] | None,
) -> Inferred:
    if x.rank is not None and indices.rank is not None and x.rank != indices.rank:
        raise ShapeError(f"x has {x.rank} axes and the indices have {indices.rank}")
    if output_shape is not None:
        require_rank(output_shape, 1, "output_shape")
        if output_shape.elements is not None:
            return tensor(x.dtype, output_shape.elements)
        return tensor(x.dtype, None if x.rank is None else (None,) * x.rank)
    return tensor(x.dtype, None if x.shape is None else _unpooled(x.shape, kernel_shape, pads, strides))


@max_unpool.lower
def lower(
    x: prim.Tensor,
    indices: prim.Tensor,
    output_shape: prim.Tensor | None = None,
    /,
    *,
    kernel_shape: Sequence[int],
    pads: Sequence[int] | None,
    strides: Sequence[int] | None,
    inferred: tuple[Fact, ...],
) -> prim.Tensor:
    sizes = tuple(size for size in _unpooled(x.shape, kernel_shape, pads, strides) if size is not None)
    whole = inferred[0].shape or ()
    more = [0 if size is None else maximum(size - own, 0) for size, own in zip(whole, sizes, strict=True)]
    total = prim.count(sizes)
    empty = prim.full(0, (total,), x.dtype)
    flat = (prim.count(x.shape),)
    y = prim.scatter(empty, prim.reshape(x, flat), [prim.reshape(prim.assume_shape(indices, x.shape), flat)])
    larger = prim.pad(prim.reshape(y, sizes), [0] * x.rank, more)
    return prim.assume_shape(
        larger, tuple(own if size is None else size for size, own in zip(whole, sizes, strict=True))
    )


max_unpool.sized_by("output_shape")
by_float32(max_unpool)


def _unpooled(
    shape: Sequence[Dim | None],
    kernel_shape: Sequence[int],
    pads: Sequence[int] | None,
    strides: Sequence[int] | None,
) -> list[Dim | None]:
    sliding = windows(spatial_rank("x", len(shape)), kernel_shape, pads=pads, strides=strides)
    sizes: list[Dim | None] = list(shape[:2])
    for size, kernel, stride, cut in zip(shape[2:], kernel_shape, sliding.strides, sliding.pads, strict=True):
        whole = None if size is None else (size - 1) * stride + (kernel - sum(cut))
        if isinstance(whole, int) and whole < 0:
            raise ShapeError(f"pads {list(cut)} leave nothing of windows of {kernel} over {size}")
        sizes.append(whole)
    return sizes
