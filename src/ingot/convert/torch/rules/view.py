"""Views and rearrangements: sizes, axes, slices, joins."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ingot.builder import Var, op
from ingot.convert.torch.operands import axes_of, cast, known_shape, number, positive, rank, reshape
from ingot.convert.torch.rule import Site, refuse, rule
from ingot.convert.torch.sizes import Extent, Size, as_row, as_scalar, as_vector

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
        raise refuse("a flattened tensor without elements")
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
    kept: list[Any] = [0] * at + list(sizes)
    if any(isinstance(size, Size) for size in sizes):
        parts: list[Any] = [np.zeros(at, np.int64)] if at else []
        parts += [as_vector(sizes), op.Slice(op.Shape(x), [at + 1], [_END])]
        return op.Reshape(x, op.Concat(*parts, axis=0))
    if at == count - 1:
        return op.Reshape(x, kept)
    return op.Reshape(x, op.Concat(np.array(kept, np.int64), op.Slice(op.Shape(x), [at + 1], [_END]), axis=0))


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
    given = [dims] if isinstance(dims, int) else list(dims)
    shape = site.given(0).shape
    axes = [positive(axis, count) for axis in given] if count else []
    single = [axis for axis in axes if isinstance(shape[axis], int) and shape[axis] == 1]
    return op.Squeeze(x, single) if single else op.Identity(x)


@rule("aten.squeeze.default", "aten.squeeze_copy.default")
def squeeze_all(site: Site, x: Var) -> Var:
    shape = site.given(0).shape
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


@rule("aten.cat.default", "aten.concat.default", "aten.concatenate.default")
def cat(site: Site, tensors: Sequence[Var], dim: int = 0) -> Var:
    """Joined along an axis; torch leaves out what is an empty vector among others of more axes."""
    fakes = [node.meta["val"] for node in site.node.args[0]]
    axes = len(site.result.shape)
    parts = [
        cast(tensor, site.dtype)
        for tensor, fake in zip(tensors, fakes, strict=True)
        if not (len(fake.shape) == 1 and axes > 1)
    ]
    if not parts:
        return cast(tensors[0], site.dtype)
    return op.Concat(*parts, axis=dim) if len(parts) > 1 else op.Identity(parts[0])


@rule("aten.stack.default")
def stack(site: Site, tensors: Sequence[Var], dim: int = 0) -> Var:
    parts = [op.Unsqueeze(cast(tensor, site.dtype), [dim]) for tensor in tensors]
    return op.Concat(*parts, axis=dim)


@rule("aten.split_with_sizes.default", "aten.split_with_sizes_copy.default", "aten.split.sizes")
def split_with_sizes(site: Site, x: Var, sizes: Sequence[Extent], dim: int = 0) -> Any:
    return _split(x, as_vector(sizes), dim, len(sizes))


@rule("aten.split.Tensor", "aten.split_copy.Tensor")
def split(site: Site, x: Var, size: Extent, dim: int = 0) -> Any:
    return _into(site, x, dim)


@rule("aten.chunk.default")
def chunk(site: Site, x: Var, count: int, dim: int = 0) -> Any:
    return _into(site, x, dim)


@rule("aten.tensor_split.sections")
def tensor_split(site: Site, x: Var, sections: int, dim: int = 0) -> Any:
    return _into(site, x, dim)


@rule("aten.unbind.int", "aten.unbind_copy.int")
def unbind(site: Site, x: Var, dim: int = 0) -> Any:
    return tuple(op.Gather(x, np.array(index, np.int64), axis=dim) for index in range(len(site.result)))


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
    shape = site.given(0).shape
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
    made = op.Where(on, row, number(0, site.dtype))
    first, second = positive(dim1, count), positive(dim2, count)
    rest = iter(range(count - 2))
    order = [count - 2 if axis == first else count - 1 if axis == second else next(rest) for axis in range(count)]
    return op.Transpose(made, perm=order)


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
    taken = op.Gather(x, where, axis=axis)
    order = [a for a in range(count + 1) if a != axis + 1] + [axis + 1]
    return op.Transpose(taken, perm=order)


@rule("aten.as_strided.default", "aten.as_strided_copy.default")
def as_strided(
    site: Site, x: Var, sizes: Sequence[Extent], strides: Sequence[Extent], offset: Extent | None = None
) -> Var:
    """Elements by their place in memory, which is that of a contiguous tensor."""
    given = site.given(0)
    if not given.is_contiguous():
        raise refuse("as_strided of a tensor that is not contiguous")
    begins = given.storage_offset()
    if offset is not None and site.node.args[0].op == "placeholder" and not (isinstance(begins, int) and begins == 0):
        raise refuse("as_strided of an input that is a part of another tensor")
    first = 0 if offset is None else offset
    if isinstance(first, int) and offset is not None and isinstance(begins, int):
        first -= begins
    if isinstance(first, int) and 0 not in sizes:
        pairs = zip(sizes, strides, strict=True)
        steps = [(n - 1) * stride for n, stride in pairs if isinstance(n, int) and isinstance(stride, int)]
        count = given.numel()
        if first < 0 or (len(steps) == len(sizes) and isinstance(count, int) and first + sum(steps) >= count):
            raise refuse("as_strided beyond the elements of the tensor it is of")
    places: Any = as_scalar(first)
    for at, (size, stride) in enumerate(zip(sizes, strides, strict=True)):
        along = op.Mul(op.Range(np.array(0), as_scalar(size), np.array(1)), as_scalar(stride))
        behind = len(sizes) - at - 1
        places = op.Add(places, op.Unsqueeze(along, list(range(1, behind + 1))) if behind else along)
    return op.Gather(op.Reshape(x, [-1]), places)


@rule("aten.resize.default")
def resize(site: Site, x: Var, sizes: Sequence[Extent], **_: Any) -> Var:
    """The first elements in other sizes; there are none to add to a tensor that grows."""
    given = site.given(0)
    if not given.is_contiguous():
        raise refuse("resize of a tensor that is not contiguous")
    wanted = site.result.numel()
    if not isinstance(wanted, int) or not isinstance(given.numel(), int) or wanted > given.numel():
        raise refuse("resize to more elements than there are")
    return reshape(op.Slice(op.Reshape(x, [-1]), [0], [wanted]), sizes)


def _into(site: Site, x: Var, dim: int) -> Any:
    """As many parts as torch found, of the sizes it found."""
    sizes = [part.shape[dim] for part in site.result]
    if not all(isinstance(size, int) for size in sizes):
        if isinstance(sizes[0], int):
            whole = op.Shape(x, start=dim, end=dim + 1 or None)
            known = np.array(sizes[:-1], np.int64)
            rest = op.Sub(whole, np.array([known.sum()]))
            return _split(x, op.Concat(known, rest, axis=0), dim, len(sizes)) if len(sizes) > 1 else (x,)
        if len({str(size) for size in sizes}) == 1:
            many = len(sizes)
            made: Any = op.Split(x, axis=dim, num_outputs=many, outputs=many)
            return made
        raise refuse("parts whose sizes are not known")
    return _split(x, np.array(sizes, np.int64), dim, len(sizes))


def _split(x: Var, sizes: Any, dim: int, count: int) -> Any:
    if count == 1:
        return (op.Identity(x),)
    return op.Split(x, sizes, axis=dim, outputs=count)


def _listed(items: Any) -> list[Any]:
    return list(items) if isinstance(items, list | tuple) else [items]
