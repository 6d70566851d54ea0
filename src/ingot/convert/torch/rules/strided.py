"""Elements by how far they lie apart: diagonals, windows, places in memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ingot.builder import Var, op
from ingot.convert.operands import number, positive, rank
from ingot.convert.torch.operands import reshape
from ingot.convert.torch.rule import Site, rule
from ingot.convert.torch.sizes import Extent, as_scalar
from ingot.errors import UnsupportedError


@rule("aten.diagonal.default", "aten.diagonal_copy.default")
def diagonal(site: Site, x: Var, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Var:
    """The elements whose places along two axes differ by `offset`, along a last axis."""
    count = rank(x)
    first, second = positive(dim1, count), positive(dim2, count)
    order = [axis for axis in range(count) if axis not in (first, second)] + [first, second]
    x = op.Transpose(x, perm=order)
    rows, columns = (op.Shape(x, start=axis, end=axis + 1 or None) for axis in (-2, -1))
    down, across = max(-offset, 0), max(offset, 0)
    length = op.Max(op.Min(op.Sub(rows, np.array([down])), op.Sub(columns, np.array([across]))), np.array([0]))
    places = op.Range(np.array(0), op.Squeeze(length, [0]), np.array(1))
    flat = op.Reshape(x, op.Concat(op.Slice(op.Shape(x), [0], [-2]), op.Mul(rows, columns), axis=0), allowzero=1)
    where = op.Add(op.Mul(op.Add(places, np.array(down)), columns), op.Add(places, np.array(across)))
    return op.Gather(flat, where, axis=-1)


@rule("aten.diag_embed.default")
def diag_embed(site: Site, x: Var, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Var:
    count = rank(x) + 1
    size = abs(offset)
    length = op.Add(op.Shape(x, start=-1), np.array([size]))
    places = op.Range(np.array(0), op.Squeeze(length, [0]), np.array(1))
    on = op.Equal(op.Add(op.Unsqueeze(places, [1]), np.array(offset)), op.Unsqueeze(places, [0]))
    before, after = (size, 0) if offset >= 0 else (0, size)
    pads = np.array([0] * (rank(x) - 1) + [before] + [0] * (rank(x) - 1) + [after])
    row = op.Unsqueeze(op.Pad(x, pads), [-2])
    matrix = op.Where(on, row, number(0, site.dtype))
    first, second = positive(dim1, count), positive(dim2, count)
    rest = iter(range(count - 2))
    order = [count - 2 if axis == first else count - 1 if axis == second else next(rest) for axis in range(count)]
    return op.Transpose(matrix, perm=order)


@rule("aten.unfold.default", "aten.unfold_copy.default")
def unfold(site: Site, x: Var, dim: int, size: int, step: int) -> Var:
    """Every window of `size` along an axis, `step` apart, as a last axis."""
    count = rank(x)
    if count == 0:
        return op.Unsqueeze(x, [0])
    axis = positive(dim, count)
    length = op.Squeeze(op.Shape(x, start=axis, end=axis + 1), [0])
    starts = op.Range(np.array(0), op.Sub(length, np.array(size - 1)), np.array(step))
    where = op.Add(op.Unsqueeze(starts, [1]), np.arange(size)[None])
    windows = op.Gather(x, where, axis=axis)
    order = [a for a in range(count + 1) if a != axis + 1] + [axis + 1]
    return op.Transpose(windows, perm=order)


@rule("aten.as_strided.default", "aten.as_strided_copy.default")
def as_strided(
    site: Site, x: Var, sizes: Sequence[Extent], strides: Sequence[Extent], offset: Extent | None = None
) -> Var:
    """Elements by their place in memory, which is that of a contiguous tensor."""
    tensor = site.argument(0)
    if not tensor.is_contiguous():
        raise UnsupportedError("as_strided of a tensor that is not contiguous")
    begins = tensor.storage_offset()
    if offset is not None and site.node.args[0].op == "placeholder" and not (isinstance(begins, int) and begins == 0):
        raise UnsupportedError("as_strided of an input that is a part of another tensor")
    first = 0 if offset is None else offset
    if isinstance(first, int) and offset is not None and isinstance(begins, int):
        first -= begins
    if isinstance(first, int) and 0 not in sizes:
        pairs = zip(sizes, strides, strict=True)
        steps = [(n - 1) * stride for n, stride in pairs if isinstance(n, int) and isinstance(stride, int)]
        count = tensor.numel()
        if first < 0 or (len(steps) == len(sizes) and isinstance(count, int) and first + sum(steps) >= count):
            raise UnsupportedError("as_strided beyond the elements of the tensor it is of")
    places: Any = as_scalar(first)
    for at, (size, stride) in enumerate(zip(sizes, strides, strict=True)):
        along = op.Mul(op.Range(np.array(0), as_scalar(size), np.array(1)), as_scalar(stride))
        behind = len(sizes) - at - 1
        places = op.Add(places, op.Unsqueeze(along, list(range(1, behind + 1))) if behind else along)
    return op.Gather(op.Reshape(x, [-1]), places)


@rule("aten.resize.default")
def resize(site: Site, x: Var, sizes: Sequence[Extent], **_: Any) -> Var:
    """The first elements in other sizes; there are none to add to a tensor that grows."""
    tensor = site.argument(0)
    if not tensor.is_contiguous():
        raise UnsupportedError("resize of a tensor that is not contiguous")
    wanted = site.result.numel()
    if not isinstance(wanted, int) or not isinstance(tensor.numel(), int) or wanted > tensor.numel():
        raise UnsupportedError("resize to more elements than there are")
    return reshape(op.Slice(op.Reshape(x, [-1]), [0], [wanted]), sizes)


@rule("aten.diagonal_scatter.default")
def diagonal_scatter(site: Site, x: Var, source: Var, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Var:
    """`x` with `source` on a diagonal: put over the numbers of its places, and those taken."""
    sizes = op.Shape(x)
    flat = op.Reshape(x, [-1])
    numbers = op.Reshape(op.Range(np.array(0), op.Size(x), np.array(1)), sizes, allowzero=1)
    places = op.Reshape(diagonal(site, numbers, offset, dim1, dim2), [-1])
    scattered = op.ScatterElements(flat, places, op.Reshape(source, [-1]), axis=0)
    return op.Reshape(scattered, sizes, allowzero=1)
