"""Windows in primitives, channels last: what convolutions and pools are lowered to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import prod

from ingot import dims, prim
from ingot.dims import Dim
from ingot.dtypes import DType
from ingot.ops.nn.windows import Windows
from ingot.prim.evaluate import evaluate


def swept(x: prim.Tensor, moving: Windows, fill: float | int | prim.Tensor = 0) -> prim.Tensor:
    """Each window of `x` (batch, channels, sizes): shape (batch, counts, kernel, channels); outside of `x` is `fill`.

    That may be a number that a run computes. Refused if a size of the kernel is not known.
    """
    rank = x.rank - 2
    kernel = [size for size in moving.kernel if isinstance(size, int)]
    if len(kernel) != rank:
        raise prim.Refused("a kernel of unknown size")
    counts = [_count(moving, axis, size) for axis, size in enumerate(x.shape[2:])]
    if 0 in counts:
        return prim.full(0, (x.shape[0], *counts, *kernel, x.shape[1]), x.dtype)  # which has no elements
    last = channels_last(x)
    reached = [_reached(moving, axis, size, kernel[axis]) for axis, size in enumerate(x.shape[2:])]
    before, after = [lo for lo, _ in reached], [hi for _, hi in reached]
    padded = _padded(last, [0, *before, 0], [0, *after, 0], fill)
    axes = range(1, rank + 1)
    seen = prim.window(padded, axes, kernel, moving.strides, moving.dilations)
    seen = prim.slice_(
        seen, [0] * seen.rank, [x.shape[0], *counts, x.shape[1], *kernel], in_range=True
    )  # the same sizes, in the form that was inferred
    return prim.permute(seen, [*range(rank + 1), *range(rank + 2, 2 * rank + 2), rank + 1])


def _padded(
    x: prim.Tensor, before: Sequence[Dim], after: Sequence[Dim], fill: float | int | prim.Tensor
) -> prim.Tensor:
    if not isinstance(fill, prim.Tensor):
        return prim.pad(x, before, after, fill)
    inside = prim.pad(prim.full(True, x.shape, DType.BOOL), before, after, False)
    return prim.where(inside, prim.pad(x, before, after), fill) if inside.shape != x.shape else x


def pooled(
    x: prim.Tensor, moving: Windows, reduce: Callable[[prim.Tensor, Sequence[int]], prim.Tensor], fill: float | int
) -> prim.Tensor:
    """What `reduce`, which leaves axes with size one, makes of each window: shape (batch, counts, channels)."""
    seen = swept(x, moving, fill)
    kernel = range(x.rank - 1, 2 * x.rank - 3)
    return prim.squeeze(reduce(seen, kernel), kernel)


_LARGE = 16
"""Elements of a window from which on a pass along each of its axes takes less than one along all."""


def pooled_by_axes(x: prim.Tensor, moving: Windows, function: str, fill: float | int) -> prim.Tensor:
    """The reduction of each window by a function, along one axis after another where windows are large."""
    reduce = partial(prim.reduce_, function)
    known = [size for size in moving.kernel if isinstance(size, int)]
    if len(known) < len(moving.kernel) or prod(known) < _LARGE or max(known) == prod(known):
        return pooled(x, moving, reduce, fill)
    moved = [axis for axis in range(len(known)) if known[axis] > 1 or moving.strides[axis] > 1]
    for axis in moved[:0:-1]:
        x = channels_first(pooled(x, _along(moving, axis), reduce, fill))
        moving = _without(moving, axis)
    return pooled(x, moving, reduce, fill)


def _along(moving: Windows, axis: int) -> Windows:
    """The same windows along one axis, and of one element along others."""
    for other in range(len(moving.kernel)):
        if other != axis:
            moving = _without(moving, other)
    return moving


def _without(moving: Windows, axis: int) -> Windows:
    """The same windows, of one element along an axis."""
    kernel, strides, dilations, pads = (
        (*each[:axis], one, *each[axis + 1 :])
        for each, one in ((moving.kernel, 1), (moving.strides, 1), (moving.dilations, 1), (moving.pads, (0, 0)))
    )
    return Windows(kernel, strides, dilations, pads, moving.auto_pad, moving.ceil)


def channels_first(y: prim.Tensor) -> prim.Tensor:
    return prim.permute(y, [0, y.rank - 1, *range(1, y.rank - 1)])


def channels_last(y: prim.Tensor) -> prim.Tensor:
    return prim.permute(y, [0, *range(2, y.rank), 1])


def inside_counts(moving: Windows, sizes: Sequence[Dim], *, padding: bool) -> prim.Tensor | None:
    """How many elements of each window are no padding, or with `padding` not behind it: shape (counts, 1), int64.

    None if all of them are, for every window.
    """
    counts: prim.Tensor | None = None
    rank, whole = len(sizes), True
    for axis, size in enumerate(sizes):
        kernel, stride, dilation = moving.kernel[axis], moving.strides[axis], moving.dilations[axis]
        assert isinstance(kernel, int)
        before, after = padding_of(moving, axis, size, kernel)
        reaches = moving.ceil and moving.auto_pad == "NOTSET" and not _ends_with(moving, axis, before + size + after)
        whole = whole and not reaches and (padding or (before == 0 and after == 0))
        shape = tuple(_count(moving, each, sizes[each]) if each == axis else 1 for each in range(rank))
        starts = prim.iota((*shape, 1), axis) * stride
        ends = [before + size + after, 0] if padding else [before + size, before]  # counted from the padding on
        many = [_first_at(prim.size(end) - starts, dilation, kernel) for end in ends]
        inside = many[0] - many[1]
        if isinstance(size, int):
            inside = prim.constant(evaluate([inside], {}, {})[0])
        counts = inside if counts is None else counts * inside
    return None if whole else counts


def _ends_with(moving: Windows, axis: int, size: Dim) -> bool:
    """Whether the last window is known to end where its axis does, padding included."""
    kernel = moving.kernel[axis]
    assert isinstance(kernel, int)
    span = size - ((kernel - 1) * moving.dilations[axis] + 1)
    return isinstance(span, int) and span >= 0 and span % moving.strides[axis] == 0


def _first_at(distance: prim.Tensor, dilation: int, kernel: int) -> prim.Tensor:
    """Which element of a window is the first to lie that far or farther from its start; `kernel` for none."""
    steps = (distance + (dilation - 1)) / dilation
    return prim.apply("minimum", prim.apply("maximum", steps, 0), kernel)


def padding_of(moving: Windows, axis: int, size: Dim, kernel: int) -> tuple[Dim, Dim]:
    """How much padding there is before and after an axis."""
    before, after = moving.pads[axis]
    if not moving.auto_pad.startswith("SAME"):
        return before, after
    stride, extent = moving.strides[axis], (kernel - 1) * moving.dilations[axis] + 1
    total: Dim = extent - 1
    if stride != 1:
        total = dims.maximum((_count(moving, axis, size) - 1) * stride + extent - size, 0)
    half = total // 2
    return (half, total - half) if moving.auto_pad == "SAME_UPPER" else (total - half, half)


def _reached(moving: Windows, axis: int, size: Dim, kernel: int) -> tuple[Dim, Dim]:
    """How many elements windows see before the first and after the last of an axis."""
    before, after = padding_of(moving, axis, size, kernel)
    if moving.ceil and moving.auto_pad == "NOTSET":
        extent = (kernel - 1) * moving.dilations[axis] + 1
        end = (_count(moving, axis, size) - 1) * moving.strides[axis] + extent
        return before, dims.maximum(end - size - before, 0)
    return before, after


def _count(moving: Windows, axis: int, size: Dim) -> Dim:
    count = moving.count(axis, size)
    if count is None:
        raise prim.Refused("a size that cannot be followed")
    return count
