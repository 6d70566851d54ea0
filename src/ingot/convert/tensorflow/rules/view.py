"""Views: the same elements in other shapes and orders, cut, joined, repeated."""

from __future__ import annotations

from typing import Any

import numpy as np

from ingot.builder import Var, op
from ingot.convert.operands import cast, number, positive, rank, shape
from ingot.convert.tensorflow.operands import axes_of, joined, known, reshape, size_of, transposed, vector
from ingot.convert.tensorflow.rule import Site, rule
from ingot.dtypes import DType
from ingot.errors import UnsupportedError

_END = np.iinfo(np.int64).max
_BEFORE = -_END


@rule("Reshape")
def reshape_(site: Site, x: Var, sizes: Var) -> Var:
    return reshape(site, x, sizes)


@rule("Squeeze")
def squeeze(site: Site, x: Var, *, squeeze_dims: list[int]) -> Var:
    if squeeze_dims:
        return op.Squeeze(x, sorted(positive(axis, rank(x)) for axis in squeeze_dims))
    ones = [axis for axis, size in enumerate(shape(x)) if size == 1]
    if len(ones) != rank(x) - len(site.shape() or ()) and site.shape() is None:
        raise UnsupportedError("which axes have size 1 is not known")
    return op.Squeeze(x, ones) if ones else x


@rule("ExpandDims")
def expand_dims(site: Site, x: Var, axis: Var) -> Var:
    return op.Unsqueeze(x, axes_of(axis, None))


@rule("Transpose", "ConjugateTranspose")
def transpose(site: Site, x: Var, order: Var) -> Var:
    return transposed(x, [int(axis) for axis in known(order, "the order of axes")])


@rule("StridedSlice")
def strided_slice(
    site: Site,
    x: Var,
    begin: Var,
    end: Var,
    strides: Var,
    *,
    begin_mask: int = 0,
    end_mask: int = 0,
    ellipsis_mask: int = 0,
    new_axis_mask: int = 0,
    shrink_axis_mask: int = 0,
) -> Var:
    """Numpy's basic indexing: cut all axes at once, take one of those that go, then put in the new ones."""
    steps = [int(step) for step in known(strides, "the stride")]
    firsts, lasts = _bounds(site, begin), _bounds(site, end)
    indexed = sum(1 for at in range(len(steps)) if not (ellipsis_mask | new_axis_mask) >> at & 1)
    starts: list[Any] = []
    ends: list[Any] = []
    by: list[int] = []
    axes: list[int] = []
    single: list[tuple[int, Any]] = []
    new: list[int] = []
    axis = result_axis = 0
    for at, step in enumerate(steps):
        bit = 1 << at
        if ellipsis_mask & bit:
            skipped = rank(x) - indexed
            axis, result_axis = axis + skipped, result_axis + skipped
        elif new_axis_mask & bit:
            new.append(result_axis)
            result_axis += 1
        elif shrink_axis_mask & bit:
            single.append((axis, firsts[at]))
            axis += 1
        else:
            first = (0 if step > 0 else _END) if begin_mask & bit else firsts[at]
            last = (_END if step > 0 else _BEFORE) if end_mask & bit else lasts[at]
            if not (step == 1 and _is(first, 0) and _is(last, _END)):
                starts, ends, by, axes = [*starts, first], [*ends, last], [*by, step], [*axes, axis]
            axis, result_axis = axis + 1, result_axis + 1
    if axes:
        x = op.Slice(x, _joined(starts), _joined(ends), axes, by)
    for place, index in reversed(single):
        x = op.Gather(x, np.array(index, np.int64) if isinstance(index, int) else op.Squeeze(index, [0]), axis=place)
    return op.Unsqueeze(x, new) if new else x


@rule("Slice")
def slice_(site: Site, x: Var, begin: Var, size: Var) -> Var:
    firsts, sizes = _bounds(site, begin), _bounds(site, size)
    starts: list[Any] = []
    ends: list[Any] = []
    axes: list[int] = []
    for axis, (first, count) in enumerate(zip(firsts, sizes, strict=True)):
        if isinstance(count, int):
            last: Any = (
                _END if count == -1 else first + count if isinstance(first, int) else op.Add(first, np.array([count]))
            )
        else:
            ended = op.Add(count, first if not isinstance(first, int) else np.array([first], np.int64))
            last = op.Where(op.Equal(count, np.array([-1])), np.array([_END]), ended)
        if not (_is(first, 0) and _is(last, _END)):
            starts, ends, axes = [*starts, first], [*ends, last], [*axes, axis]
    return op.Slice(x, _joined(starts), _joined(ends), axes) if axes else x


@rule("Pack")
def pack(site: Site, *parts: Var, axis: int = 0) -> Var:
    rows = [op.Unsqueeze(part, [axis]) for part in parts]
    return rows[0] if len(rows) == 1 else op.Concat(*rows, axis=axis)


@rule("ParallelConcat")
def parallel_concat(site: Site, *parts: Var) -> Var:
    return op.Concat(*parts, axis=0)


@rule("Unpack")
def unpack(site: Site, x: Var, *, axis: int = 0) -> list[Var]:
    return [op.Gather(x, np.array(at, np.int64), axis=axis) for at in range(site.count)]


@rule("ConcatV2")
def concat_v2(site: Site, *inputs: Var) -> Var:
    return _concat(inputs[:-1], inputs[-1])


@rule("Concat")
def concat(site: Site, axis: Var, *parts: Var) -> Var:
    return _concat(parts, axis)


@rule("Split")
def split(site: Site, axis: Var, x: Var) -> Any:
    along = axes_of(axis, x.rank)[0]
    if site.count == 1:
        return x
    return op.Split(x, axis=along, num_outputs=site.count, outputs=site.count)


@rule("SplitV")
def split_v(site: Site, x: Var, sizes: Var, axis: Var) -> Any:
    along = axes_of(axis, x.rank)[0]
    if site.count == 1:
        return x
    parts = [int(size) for size in known(sizes, "the size of a part")]
    if -1 not in parts:
        return op.Split(x, np.array(parts, np.int64), axis=along, outputs=site.count)
    at = parts.index(-1)
    slices: list[Var] = []
    for place, size in enumerate(parts):
        first = sum(parts[:place]) if place <= at else -sum(parts[place:])
        last = first + size if place < at else -sum(parts[place + 1 :]) or _END
        slices.append(op.Slice(x, [first], [last], [along]))
    return slices


@rule("Tile")
def tile(site: Site, x: Var, repeats: Var) -> Var:
    return op.Tile(x, vector(site, repeats))


@rule("BroadcastTo")
def broadcast_to(site: Site, x: Var, sizes: Var) -> Var:
    return op.Expand(x, vector(site, sizes))


@rule("BroadcastArgs")
def broadcast_args(site: Site, x: Var, y: Var) -> Var:
    """The sizes that two shapes broadcast to: of each axis, the one that is not 1."""
    have, other = shape(x)[0], shape(y)[0]
    if not isinstance(have, int) or not isinstance(other, int):
        raise UnsupportedError("the number of axes is not known")
    most, one = max(have, other), number(1, site.dtype)
    first, second = (
        op.Concat(np.ones(most - count, site.dtype.numpy), sizes, axis=0) if count < most else sizes
        for count, sizes in ((have, x), (other, y))
    )
    return op.Where(op.Equal(first, one), second, first)


@rule("ReverseV2")
def reverse_v2(site: Site, x: Var, axes: Var) -> Var:
    return reversed_along(x, axes_of(axes, rank(x)))


@rule("Reverse")
def reverse(site: Site, x: Var, flags: Var) -> Var:
    return reversed_along(x, [axis for axis, flag in enumerate(known(flags, "which axes are reversed")) if flag])


@rule("ReverseSequence")
def reverse_sequence(site: Site, x: Var, lengths: Var, *, seq_dim: int, batch_dim: int = 0) -> Var:
    others = [axis for axis in range(rank(x)) if axis not in (seq_dim, batch_dim)]
    order = [batch_dim, seq_dim, *others]
    reversed_ = op.ReverseSequence(transposed(x, order), cast(lengths, DType.INT64), batch_axis=0, time_axis=1)
    return transposed(reversed_, [int(axis) for axis in np.argsort(order)])


@rule("Roll")
def roll(site: Site, x: Var, shift: Var, axis: Var) -> Var:
    axes = axes_of(axis, rank(x))
    shifts = op.Reshape(cast(shift, DType.INT64), np.array([-1]))
    for at, along in enumerate(axes):
        size = size_of(x, along)
        places = op.Range(np.array(0, np.int64), op.Squeeze(size, [0]), np.array(1, np.int64))
        moved = op.Mod(op.Sub(places, op.Slice(shifts, [at], [at + 1])), size)
        x = op.Gather(x, moved, axis=along)
    return x


@rule("Shape")
def shape_(site: Site, x: Var) -> Var:
    return cast(op.Shape(x), site.dtype)


@rule("ShapeN")
def shape_n(site: Site, *values: Var) -> list[Var]:
    return [cast(op.Shape(x), site.dtype) for x in values]


@rule("Size")
def size_(site: Site, x: Var) -> Var:
    return cast(op.Size(x), site.dtype)


@rule("Rank")
def rank_(site: Site, x: Var) -> Any:
    if x.rank is not None:
        return np.array(x.rank, np.int32)
    return op.Squeeze(cast(op.Shape(op.Shape(x)), DType.INT32), [0])


@rule("InvertPermutation")
def invert_permutation(site: Site, x: Var) -> Var:
    count = op.Squeeze(size_of(x, 0), [0])
    places = op.Range(np.array(0, np.int64), count, np.array(1, np.int64))
    return op.ScatterElements(x, cast(x, DType.INT64), cast(places, site.dtype), axis=0)


@rule("SpaceToDepth")
def space_to_depth(site: Site, x: Var, *, block_size: int, data_format: str = "NHWC") -> Var:
    first = op.SpaceToDepth(channels_first(x, data_format), blocksize=block_size)
    return channels_back(first, data_format)


@rule("DepthToSpace")
def depth_to_space(site: Site, x: Var, *, block_size: int, data_format: str = "NHWC") -> Var:
    first = op.DepthToSpace(channels_first(x, data_format), blocksize=block_size, mode="DCR")
    return channels_back(first, data_format)


@rule("SpaceToBatchND")
def space_to_batch_nd(site: Site, x: Var, block: Var, paddings: Var) -> Var:
    return _to_batch(x, known(block, "the block").tolist(), known(paddings, "the padding"))


@rule("SpaceToBatch")
def space_to_batch(site: Site, x: Var, paddings: Var, *, block_size: int) -> Var:
    return _to_batch(x, [block_size] * 2, known(paddings, "the padding"))


@rule("BatchToSpaceND")
def batch_to_space_nd(site: Site, x: Var, block: Var, crops: Var) -> Var:
    return _from_batch(x, known(block, "the block").tolist(), known(crops, "the crop"))


@rule("BatchToSpace")
def batch_to_space(site: Site, x: Var, crops: Var, *, block_size: int) -> Var:
    return _from_batch(x, [block_size] * 2, known(crops, "the crop"))


def channels_first(x: Var, data_format: str) -> Var:
    """`x` with its channels second; NHWC and NDHWC have them last."""
    count = rank(x)
    return x if data_format.startswith("NC") else op.Transpose(x, perm=[0, count - 1, *range(1, count - 1)])


def channels_back(x: Var, data_format: str) -> Var:
    """What `channels_first` was applied for, in the format it is to have."""
    count = rank(x)
    return x if data_format.startswith("NC") else op.Transpose(x, perm=[0, *range(2, count), 1])


def reversed_along(x: Var, axes: list[int]) -> Var:
    """`x` from back to front along some axes."""
    if not axes:
        return x
    return op.Slice(x, [-1] * len(axes), [_BEFORE] * len(axes), axes, [-1] * len(axes))


def _to_batch(x: Var, block: list[int], paddings: Any) -> Var:
    """Blocks of the spatial axes moved into the batch."""
    spatial, count = len(block), rank(x)
    pads = np.zeros((2, count), np.int64)
    pads[:, 1 : 1 + spatial] = np.asarray(paddings, np.int64).T
    if pads.any():
        x = op.Pad(x, pads.ravel())
    sizes = [size_of(x, axis) for axis in range(count)]
    cut = [_divided(sizes[1 + at], block[at]) for at in range(spatial)]
    rest = sizes[1 + spatial :]
    blocks = [np.array([each], np.int64) for each in block]
    within = [part for pair in zip(cut, blocks, strict=True) for part in pair]
    apart = op.Reshape(x, joined(sizes[0], *within, *rest))
    places = [2 + 2 * at for at in range(spatial)]
    order = [*places, 0, *(1 + 2 * at for at in range(spatial)), *range(1 + 2 * spatial, count + spatial)]
    batch = _times(sizes[0], int(np.prod(block)))
    return op.Reshape(op.Transpose(apart, perm=order), joined(batch, *cut, *rest))


def _from_batch(x: Var, block: list[int], crops: Any) -> Var:
    """Blocks that lie in the batch moved back into the spatial axes."""
    spatial, count = len(block), rank(x)
    sizes = [size_of(x, axis) for axis in range(count)]
    blocks = [np.array([each], np.int64) for each in block]
    batch = _divided(sizes[0], int(np.prod(block)))
    apart = op.Reshape(x, joined(*blocks, batch, *sizes[1:]))
    order = [spatial]
    for at in range(spatial):
        order += [spatial + 1 + at, at]
    order += list(range(2 * spatial + 1, count + spatial))
    grown = [_times(sizes[1 + at], block[at]) for at in range(spatial)]
    spread = op.Reshape(op.Transpose(apart, perm=order), joined(batch, *grown, *sizes[1 + spatial :]))
    if not np.any(crops):
        return spread
    starts = [int(low) for low, _ in crops]
    ends = [-int(high) or _END for _, high in crops]
    return op.Slice(spread, starts, ends, list(range(1, 1 + spatial)))


def _divided(size: Any, by: int) -> Any:
    return size // by if isinstance(size, np.ndarray) else op.Div(size, np.array([by], np.int64))


def _times(size: Any, by: int) -> Any:
    return size * by if isinstance(size, np.ndarray) else op.Mul(size, np.array([by], np.int64))


def _concat(parts: tuple[Var, ...], axis: Any) -> Var:
    along = axes_of(axis, None)[0]
    return parts[0] if len(parts) == 1 else op.Concat(*parts, axis=along)


def _bounds(site: Site, x: Var) -> list[Any]:
    """The integers of a vector: numbers, or values that hold one, as vectors."""
    held = site.elements(x)
    count = (site.input_shape(1) or (None,))[0] if held is None else len(held)  # all bounds are as many
    if count is None:
        raise UnsupportedError("the number of axes that are cut is not known")
    wide = None
    bounds: list[Any] = []
    for at in range(count):
        if held is not None and isinstance(held[at], int):
            bounds.append(held[at])
            continue
        read = None if held is None else site.sized(held[at])
        if read is None:
            wide = cast(x, DType.INT64) if wide is None else wide
            read = op.Slice(wide, [at], [at + 1])
        bounds.append(read)
    return bounds


def _joined(bounds: list[Any]) -> Any:
    return joined(*(np.array([bound], np.int64) if isinstance(bound, int) else bound for bound in bounds))


def _is(bound: Any, number: int) -> bool:
    return isinstance(bound, int) and bound == number
