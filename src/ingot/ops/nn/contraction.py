"""The sum that a convolution is: windows times filters, group by group, as products of matrices."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

import numpy as np

from ingot.dims import Dim
from ingot.dtypes import Array
from ingot.errors import CheckError, ShapeError
from ingot.ops.nn.precision import refuse_huge

BLOCK_BYTES = 2**27
"""Windows are copied side by side in blocks of about this size, for the products to be large and memory small."""


def contracted(columns: Array, w: Array, group: int) -> Array:
    """Windows (batch, channels, counts, kernel) times filters (outputs, channels of a group, kernel)."""
    rank = w.ndim - 2
    batch, _, *counts = columns.shape[: 2 + rank]
    outputs, seen = w.shape[0], prod(w.shape[1:])
    refuse_huge((batch, outputs, *counts), columns.dtype)
    y = np.zeros((batch, outputs, *counts), columns.dtype)
    filters = w.reshape(group, outputs // group, seen)
    kernel_first = (0, 1, *range(2 + rank, 2 + 2 * rank), *range(2, 2 + rank))
    for images, rows in _blocks(columns, rank):
        block = columns[images, :, rows]
        side_by_side = block.transpose(kernel_first).reshape(
            block.shape[0], group, seen, prod(block.shape[2 : 2 + rank])
        )
        product = np.matmul(filters, side_by_side)
        y[images, :, rows] = product.reshape(block.shape[0], outputs, *block.shape[2 : 2 + rank])
    return y


def fitting(x: Sequence[Dim | None], w: Sequence[Dim | None], group: int) -> None:
    """ShapeError unless filters of shape `w` in groups may slide over an input of shape `x`."""
    if group < 1:
        raise CheckError(f"group is {group}")
    if len(w) != len(x):
        raise ShapeError(f"x has {len(x)} axes and the filters have {len(w)}")
    channels, outputs, seen = x[1], w[0], w[1]
    if isinstance(channels, int) and isinstance(seen, int) and channels != seen * group:
        raise ShapeError(f"x has {channels} channels, the filters take {seen * group} ({seen} in {group} groups)")
    if isinstance(outputs, int) and outputs % group:
        raise ShapeError(f"{outputs} filters cannot be dealt out to {group} groups")


def kernel_of(w: Sequence[Dim | None], kernel_shape: Sequence[int] | None) -> Sequence[Dim | None]:
    """The spatial sizes of the filters; ShapeError if the attribute says otherwise."""
    kernel = w[2:]
    if not kernel_shape:
        return kernel
    if len(kernel_shape) != len(kernel):
        raise ShapeError(f"kernel_shape is {list(kernel_shape)}, the filters have {len(kernel)} spatial axes")
    for stated, size in zip(kernel_shape, kernel, strict=True):
        if isinstance(size, int) and size != stated:
            raise ShapeError(f"kernel_shape is {list(kernel_shape)}, the filters are {list(kernel)}")
    return kernel_shape


def _blocks(columns: Array, rank: int) -> Iterator[tuple[slice, slice]]:
    """Parts of the batch and of the first spatial axis that together make blocks of a good size."""
    batch, rows = columns.shape[0], columns.shape[2]
    if not columns.size or not rows:
        return
    row_bytes = columns[:1, :, :1].size * columns.itemsize
    step = max(1, BLOCK_BYTES // row_bytes)
    images = max(1, step // rows)
    for image in range(0, batch, images):
        for row in range(0, rows, step):
            yield slice(image, image + images), slice(row, row + step)
