"""Views and rearrangements: sizes, axes, slices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ingot.builder import Var, op
from ingot.convert.operands import positive, rank
from ingot.convert.torch.operands import axes_of, known_shape, reshape
from ingot.convert.torch.rule import Site, rule
from ingot.convert.torch.sizes import Extent, Size, as_row, as_scalar, as_vector
from ingot.errors import UnsupportedError

_END = np.iinfo(np.int64).max


@rule(
    "aten.view.default", "aten.reshape.default", "aten._unsafe_view.default", "aten.view_copy.default",
    "aten._reshape_alias.default",
)  # fmt: skip
def view(site: Site, x: Var, sizes: Sequence[Extent], *_: Any) -> Var:
    return reshape(x, sizes)


@rule("aten.flatten.using_ints")
def flatten(site: Site, x: Var, start: int = 0, end: int = -1) -> Var:
    count = rank(x)
    if count == 0:
        return op.Reshape(x, [1])
    first, last = positive(start, count), positive(end, count)
    if first == last:
        return op.Identity(x)
    if any(size == 0 for size in known_shape(x)):
        raise UnsupportedError("a flattened tensor without elements")
    return op.Reshape(x, [0] * first + [-1]) if last == count - 1 else _joined_axes(x, first, last)


def _joined_axes(x: Var, first: int, last: int) -> Var:
    sizes = op.Shape(x)
    parts: list[Any] = [np.array([-1])]
    if first:
        parts.insert(0, np.zeros(first, np.int64))
    parts.append(op.Slice(sizes, [last + 1], [_END]))
    return op.Reshape(x, op.Concat(*parts, axis=0))


@rule("aten.unflatten.int")
def unflatten(site: Site, x: Var, dim: int, sizes: Sequence[Extent]) -> Var:
    count = rank(x)
    at = positive(dim, count)
    target: list[Any] = [0] * at + list(sizes)
    if any(isinstance(size, Size) for size in sizes):
        parts: list[Any] = [np.zeros(at, np.int64)] if at else []
        parts += [as_vector(sizes), op.Slice(op.Shape(x), [at + 1], [_END])]
        return op.Reshape(x, op.Concat(*parts, axis=0))
    if at == count - 1:
        return op.Reshape(x, target)
    return op.Reshape(x, op.Concat(np.array(target, np.int64), op.Slice(op.Shape(x), [at + 1], [_END]), axis=0))


@rule("aten.permute.default", "aten.permute_copy.default")
def permute(site: Site, x: Var, axes: Sequence[int]) -> Var:
    return op.Identity(x) if rank(x) == 0 else op.Transpose(x, perm=axes_of(axes, rank(x)))


@rule("aten.transpose.int", "aten.transpose_copy.int")
def transpose(site: Site, x: Var, a: int, b: int) -> Var:
    return _turned(x, a, b)


def _turned(x: Var, a: int, b: int) -> Var:
    count = rank(x)
    if count == 0:
        return op.Identity(x)
    order = list(range(count))
    order[a], order[b] = order[b], order[a]
    return op.Transpose(x, perm=order)


@rule("aten.t.default", "aten.numpy_T.default")
def t(site: Site, x: Var) -> Var:
    return op.Transpose(x) if rank(x) > 1 else op.Identity(x)


@rule("aten.mT.default")
def matrix_transpose(site: Site, x: Var) -> Var:
    return _turned(x, -2, -1)


@rule("aten.unsqueeze.default", "aten.unsqueeze_copy.default")
def unsqueeze(site: Site, x: Var, dim: int) -> Var:
    return op.Unsqueeze(x, [dim])


@rule("aten.squeeze.dim", "aten.squeeze.dims", "aten.squeeze_copy.dim", "aten.squeeze_copy.dims")
def squeeze(site: Site, x: Var, dims: int | Sequence[int]) -> Var:
    """Takes out those of the axes whose size is one."""
    count = rank(x)
    named_axes = [dims] if isinstance(dims, int) else list(dims)
    shape = site.argument(0).shape
    axes = [positive(axis, count) for axis in named_axes] if count else []
    single = [axis for axis in axes if isinstance(shape[axis], int) and shape[axis] == 1]
    return op.Squeeze(x, single) if single else op.Identity(x)


@rule("aten.squeeze.default", "aten.squeeze_copy.default")
def squeeze_all(site: Site, x: Var) -> Var:
    shape = site.argument(0).shape
    single = [axis for axis, size in enumerate(shape) if isinstance(size, int) and size == 1]
    return op.Squeeze(x, single) if single else op.Identity(x)


@rule("aten.expand.default", "aten.expand_copy.default")
def expand(site: Site, x: Var, sizes: Sequence[Extent], **_: Any) -> Var:
    return _expanded(x, sizes)


def _expanded(x: Var, sizes: Sequence[Extent]) -> Var:
    """To larger sizes where they are one; -1 leaves a size as it is."""
    own = known_shape(x)
    front = len(sizes) - len(own)
    wanted: list[Extent] = []
    for at, size in enumerate(sizes):
        same = at >= front and (
            size == -1 or (isinstance(size, Size) and size.dim is not None and size.dim == own[at - front])
        )
        wanted.append(1 if same else size)
    if (
        front == 0
        and all(size == 1 for size in wanted if isinstance(size, int))
        and not any(isinstance(size, Size) for size in wanted)
    ):
        return op.Identity(x)
    return op.Expand(x, as_vector(wanted))


@rule("aten.expand_as.default")
def expand_as(site: Site, x: Var, other: Var) -> Var:
    return op.Expand(x, op.Shape(other))


@rule("aten.broadcast_to.default")
def broadcast_to(site: Site, x: Var, sizes: Sequence[Extent]) -> Var:
    return _expanded(x, sizes)


@rule("aten.repeat.default", "aten.tile.default")
def repeat(site: Site, x: Var, times: Sequence[Extent]) -> Var:
    times = [1] * (rank(x) - len(times)) + list(times)
    if rank(x) < len(times):
        x = op.Unsqueeze(x, list(range(len(times) - rank(x))))
    if not times:
        return op.Identity(x)
    return op.Tile(x, as_vector(times))


@rule("aten.slice.Tensor", "aten.slice_copy.Tensor")
def slice_(
    site: Site, x: Var, dim: int = 0, start: Extent | None = None, end: Extent | None = None, step: Extent = 1
) -> Var:
    first = 0 if start is None else start
    last = _END if end is None else end
    if first == 0 and last == _END and step == 1:
        return x
    return op.Slice(x, as_row(first), as_row(last), [dim], as_row(step))


@rule("aten.select.int", "aten.select_copy.int")
def select(site: Site, x: Var, dim: int, index: Extent) -> Var:
    return op.Gather(x, as_scalar(index), axis=dim)


@rule("aten.narrow.default")
def narrow(site: Site, x: Var, dim: int, start: Extent, length: Extent) -> Var:
    last = op.Add(as_row(start), as_row(length))
    return op.Slice(x, as_row(start), last, [dim])


@rule("aten.flip.default")
def flip(site: Site, x: Var, axes: Sequence[int]) -> Var:
    axes = [positive(axis, rank(x)) for axis in axes]
    if not axes or rank(x) == 0:
        return op.Identity(x)
    many = len(axes)
    return op.Slice(x, np.full(many, -1), np.full(many, -_END), np.array(axes), np.full(many, -1))


@rule("aten.roll.default")
def roll(site: Site, x: Var, shifts: Any, dims: Any = ()) -> Var:
    """What leaves at one end of an axis comes in at the other."""
    shifts, dims = _listed(shifts), _listed(dims)
    if not dims:
        return op.Reshape(_rolled(op.Reshape(x, [-1]), shifts[0], 0), op.Shape(x))
    shape = site.argument(0).shape
    for shift, dim in zip(shifts, dims, strict=True):
        if any(isinstance(size, int) and size == 0 for size in shape):
            return op.Identity(x)
        x = _rolled(x, _within(shift, shape[dim]), dim)
    return x


def _within(shift: Any, size: Any) -> Any:
    return shift % size if isinstance(shift, int) and isinstance(size, int) and size else shift


def _rolled(x: Var, shift: Any, dim: int) -> Var:
    if isinstance(shift, int) and shift == 0:
        return x
    cut = op.Neg(as_row(shift)) if isinstance(shift, Size) else np.array([-shift], np.int64)
    size = op.Shape(x, start=dim, end=dim + 1 or None)
    cut = op.Mod(cut, op.Max(size, np.array([1])))
    return op.Concat(op.Slice(x, cut, [_END], [dim]), op.Slice(x, [0], cut, [dim]), axis=dim)


@rule("aten.movedim.intlist", "aten.movedim.int")
def movedim(site: Site, x: Var, source: Any, target: Any) -> Var:
    count = rank(x)
    sources, targets = ([positive(axis, count) for axis in _listed(axes)] for axes in (source, target))
    order = [-1] * count
    for origin, place in zip(sources, targets, strict=True):
        order[place] = origin
    rest = iter(axis for axis in range(count) if axis not in sources)
    return op.Transpose(x, perm=[next(rest) if axis < 0 else axis for axis in order])


def _listed(items: Any) -> list[Any]:
    return list(items) if isinstance(items, list | tuple) else [items]
