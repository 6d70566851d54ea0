"""Col2Im: blocks that a window cut out of an image are put back, and summed where they overlap."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from itertools import product
from math import prod
from operator import add
from typing import Annotated, Any, TypeAlias

import numpy as np

from ingot import prim
from ingot.dims import Dim, divide_exactly
from ingot.dtypes import Array, DType
from ingot.errors import InputError, ShapeError, UnsupportedError
from ingot.ir.value import Value
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.nn.precision import refuse_huge, widened
from ingot.ops.nn.results import dim, tensor
from ingot.ops.nn.through import cast
from ingot.ops.nn.windows import Sweep, elements, spatially, windows
from ingot.ops.older import dtype_of, integers_of, shape_of
from ingot.ops.shapes import require_rank, unify
from ingot.ops.typesets import ALL, INT64, types
from ingot.prim.functions import ELEMENTS

T: TypeAlias = Annotated[Array, types("T", ALL)]
Sizes: TypeAlias = Annotated[Array, types("", INT64)]


@operator("Col2Im", since=18)
def col2im(
    x: T,
    image_shape: Sizes,
    block_shape: Sizes,
    /,
    *,
    dilations: Sequence[int] | None = None,
    pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
) -> T:
    """The image (batch, channels, `image_shape`) whose blocks are the columns of `x` (batch, channels times elements
    of a block, blocks); elements that several blocks hold are summed, and padding is dropped.
    """
    image, block = _sizes(image_shape, "image_shape"), _sizes(block_shape, "block_shape")
    if x.ndim != 3:
        raise ShapeError(f"the input has {x.ndim} axes, expected 3")
    if len(image) != len(block):
        raise InputError(f"image_shape is {image} and block_shape is {block}: one has more axes")
    if x.dtype == np.object_:
        raise InputError("strings cannot be summed")
    sweeps = windows(len(image), block, strides=strides, dilations=dilations, pads=pads).over(image)
    counts = [sweep.count for sweep in sweeps]
    batch, rows, columns = x.shape
    if rows % prod(block) or columns != prod(counts):
        raise ShapeError(
            f"the input has {rows} rows and {columns} columns, expected a multiple of {prod(block)} rows and "
            f"{prod(counts)} columns ({counts} blocks of {block} in an image of {image})"
        )
    channels = rows // prod(block)
    padded = [max(sweep.covered, sweep.before + sweep.size) for sweep in sweeps]
    wide = widened(x)[0] if x.dtype.kind in "fV" and x.dtype.itemsize < 4 else x
    refuse_huge((batch, channels, *padded), wide.dtype)
    summed = np.zeros((batch, channels, *padded), wide.dtype)
    blocks = wide.reshape(batch, channels, *block, *counts)
    whole = (slice(None),) * len(counts)
    for offsets, places in elements(sweeps):
        summed[spatially(places)] += blocks[spatially((*offsets, *whole))]
    inner = (slice(sweep.before, sweep.before + sweep.size) for sweep in sweeps)
    return np.asarray(summed[spatially(inner)], x.dtype)


@col2im.infer
def infer(
    x: Fact,
    image_shape: Fact,
    block_shape: Fact,
    /,
    *,
    dilations: Sequence[int] | None,
    pads: Sequence[int] | None,
    strides: Sequence[int] | None,
) -> Inferred:
    require_rank(x, 3, "the input")
    block, image = block_shape.integers, image_shape.elements
    for name, fact in (("image_shape", image_shape), ("block_shape", block_shape)):
        require_rank(fact, 1, name)
    axes = unify(dim(image_shape.shape, 0), dim(block_shape.shape, 0), "the axes that image_shape and block_shape name")
    if not isinstance(axes, int):
        return tensor(x.dtype, None)
    batch = x.shape[0] if x.shape is not None else None
    rows = x.shape[1] if x.shape is not None else None
    channels = divide_exactly(rows, prod(block)) if rows is not None and block else None
    if block is not None and isinstance(rows, int) and channels is None:
        raise ShapeError(f"the input has {rows} rows, which blocks of {block} do not divide")
    windows(axes, block, strides=strides, dilations=dilations, pads=pads)
    return tensor(x.dtype, (batch, channels, *(image or (None,) * axes)))


col2im.sized_by("image_shape", "block_shape")


@col2im.lower
def lower(
    x: prim.Tensor,
    image_shape: prim.Tensor,
    block_shape: prim.Tensor,
    /,
    *,
    dilations: Sequence[int] | None,
    pads: Sequence[int] | None,
    strides: Sequence[int] | None,
    facts: tuple[Fact, ...],
) -> prim.Tensor:
    """Each element is added to its place in a padded image of zeros."""
    image, block = facts[1].integers, facts[2].integers
    if x.dtype is DType.BOOL or x.dtype not in ELEMENTS:
        raise prim.Refused(f"blocks of {x.dtype}")
    if image is None or block is None:
        return _of_computed_sizes(x, facts[1].elements, facts[2].elements, dilations, pads, strides)
    sweeps = windows(len(image), block, strides=strides, dilations=dilations, pads=pads).over(image)
    counts = [sweep.count for sweep in sweeps]
    rank, channels = len(image), divide_exactly(x.shape[1], prod(block))
    if channels is None:
        raise prim.Refused(f"{x.shape[1]} rows for blocks of {prod(block)}")
    x = prim.assume_shape(x, (*x.shape[:2], prod(counts)))
    padded = [max(sweep.covered, sweep.before + sweep.size) for sweep in sweeps]
    blocks = prim.reshape(x, (x.shape[0], channels, *block, *counts))
    if prod(block) <= _MOST_ADDED and all(sweep.stride == 1 for sweep in sweeps):
        summed = _added(blocks, block, [sweep.dilation for sweep in sweeps], padded)
        return prim.slice_(summed, [0, 0, *(sweep.before for sweep in sweeps)], [x.shape[0], channels, *image])
    places: list[prim.Tensor | int] = [0, 1]
    for axis, sweep in enumerate(sweeps):
        inner = prim.iota((*(1,) * (2 + axis), sweep.kernel, *(1,) * (2 * rank - axis - 1)), 2 + axis)
        start = prim.iota((*(1,) * (2 + rank + axis), sweep.count, *(1,) * (rank - axis - 1)), 2 + rank + axis)
        places.append(inner * sweep.dilation + start * sweep.stride)
    summed = prim.scatter(prim.full(0, (x.shape[0], channels, *padded), x.dtype), blocks, places, "add")
    return prim.slice_(summed, [0, 0, *(sweep.before for sweep in sweeps)], [x.shape[0], channels, *image])


_MOST_ADDED = 16
"""Elements of a block up to which images of one element of every block are added, instead of scattered."""


def _added(blocks: prim.Tensor, block: Sequence[int], dilations: Sequence[int], sizes: Sequence[int]) -> prim.Tensor:
    """The sum of what each element of blocks one apart adds to an image of these sizes."""
    rank = len(block)
    outside, counts = blocks.shape[:2], blocks.shape[2 + rank :]
    parts = []
    for place in product(*map(range, block)):
        part = prim.slice_(blocks, [0, 0, *place, *(0,) * rank], [*outside, *(1,) * rank, *counts])
        before = [at * dilation for at, dilation in zip(place, dilations, strict=True)]
        after = [size - count - start for size, count, start in zip(sizes, counts, before, strict=True)]
        parts.append(prim.pad(prim.reshape(part, (*outside, *counts)), [0, 0, *before], [0, 0, *after]))
    return reduce(add, parts)


def _of_computed_sizes(
    x: prim.Tensor,
    image: tuple[Dim | None, ...] | None,
    block: tuple[Dim | None, ...] | None,
    dilations: Sequence[int] | None,
    pads: Sequence[int] | None,
    strides: Sequence[int] | None,
) -> prim.Tensor:
    """The same for sizes that a run computes."""
    if image is None or block is None or len(image) != len(block):
        raise prim.Refused("blocks of a statically unknown number of axes")
    rank = len(image)
    steps, gaps = strides or [1] * rank, dilations or [1] * rank
    before, after = (pads[:rank], pads[rank:]) if pads else ([0] * rank, [0] * rank)
    sizes: list[Dim] = []
    kernels: list[Dim] = []
    counts: list[Dim] = []
    padded: list[Dim] = []
    for axis in range(rank):
        size, kernel = image[axis], block[axis]
        if size is None or kernel is None or before[axis] < 0 or after[axis] < 0:
            raise prim.Refused("blocks of statically unknown shape")
        reach = (kernel - 1) * gaps[axis] + 1
        whole = size + before[axis] + after[axis]
        sizes.append(size)
        kernels.append(kernel)
        counts.append((whole - reach) // steps[axis] + 1)
        padded.append(whole)
    channels = x.shape[1] // prim.count(kernels)
    x = prim.assume_shape(x, (x.shape[0], channels * prim.count(kernels), prim.count(counts)))
    blocks = prim.reshape(x, (x.shape[0], channels, *kernels, *counts))
    places: list[prim.Tensor | int] = [0, 1]
    for axis in range(rank):
        inner = prim.iota((*(1,) * (2 + axis), kernels[axis], *(1,) * (2 * rank - axis - 1)), 2 + axis)
        start = prim.iota((*(1,) * (2 + rank + axis), counts[axis], *(1,) * (rank - axis - 1)), 2 + rank + axis)
        places.append(inner * gaps[axis] + start * steps[axis])
    summed = prim.scatter(prim.full(0, (x.shape[0], channels, *padded), x.dtype), blocks, places, "add")
    return prim.slice_(summed, [0, 0, *before], [x.shape[0], channels, *sizes], in_range=True)


@col2im.downgrade
def downgrade(
    op: Any,
    x: Value,
    image_shape: Value,
    block_shape: Value,
    /,
    *,
    dilations: Sequence[int] | None,
    pads: Sequence[int] | None,
    strides: Sequence[int] | None,
) -> Any:
    """Each element is added to its place in a padded image of zeros, (places, batch, channels)."""
    image, block = integers_of(image_shape), integers_of(block_shape)
    dtype, rows = dtype_of(x), shape_of(x)[1]
    if not isinstance(rows, int) or dtype in (DType.BOOL, DType.STRING):
        raise UnsupportedError(f"{dtype}s of '{x.name}' in {rows} rows are not summed")
    channels = rows // prod(block)
    sweeps = windows(len(image), block, strides=strides, dilations=dilations, pads=pads).over(image)
    padded = [max(sweep.covered, sweep.before + sweep.size) for sweep in sweeps]
    places = _places(sweeps, padded)
    wide = DType.FLOAT32 if dtype in (DType.FLOAT16, DType.BFLOAT16) else dtype
    values = op.Reshape(cast(op, x, dtype, wide), [0, channels, places.size])
    empty = op.Concat([prod(padded)], op.Shape(x, start=0, end=1), [channels], axis=0)
    zeros = op.Expand(np.zeros((), wide.numpy), empty)
    how = "add" if len(np.unique(places)) < places.size else None
    summed = op.ScatterND(zeros, places.reshape(-1, 1), op.Transpose(values, perm=[2, 0, 1]), reduction=how)
    whole = op.Reshape(op.Transpose(summed, perm=[1, 2, 0]), [0, 0, *padded])
    starts, axes = [sweep.before for sweep in sweeps], [2 + axis for axis in range(len(sweeps))]
    if padded != image:
        whole = op.Slice(whole, starts, [start + size for start, size in zip(starts, image, strict=True)], axes)
    return cast(op, whole, wide, dtype)


def _places(sweeps: Sequence[Sweep], padded: Sequence[int]) -> Array:
    """Where each element of each block lies in the flattened padded image, blocks running fastest."""
    rank = len(sweeps)
    place = np.zeros((), np.int64)
    for axis, sweep in enumerate(sweeps):
        shape = [1] * 2 * rank
        shape[axis], shape[rank + axis] = sweep.kernel, sweep.count
        place = place * padded[axis] + (sweep.positions + sweep.before).T.reshape(shape)
    return np.asarray(np.broadcast_to(place, [s.kernel for s in sweeps] + [s.count for s in sweeps])).reshape(-1)


def _sizes(tensor: Array, name: str) -> list[int]:
    sizes = [int(size) for size in tensor.reshape(-1)]
    if not sizes or min(sizes) < 1:
        raise InputError(f"{name} is {sizes}: each size must be 1 or more")
    return sizes
