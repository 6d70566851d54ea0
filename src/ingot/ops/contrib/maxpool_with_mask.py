"""MaxpoolWithMask: the greatest element of each window, whose rows end where a mask is zero."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, TypeAlias

import numpy as np

from ingot import prim
from ingot.dtypes import Array, DType
from ingot.errors import ShapeError
from ingot.ops.contrib.domain import MICROSOFT
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.nn.pooling import max_pool
from ingot.ops.nn.sweeps import channels_first, padding_of, swept
from ingot.ops.nn.windows import slide, windows
from ingot.ops.typesets import FLOAT32, INT32, types

T: TypeAlias = Annotated[Array, types("T", FLOAT32)]
Mask: TypeAlias = Annotated[Array, types("", INT32)]


@operator("MaxpoolWithMask", since=1, domain=MICROSOFT)
def maxpool_with_mask(
    x: T,
    m: Mask,
    /,
    *,
    auto_pad: str = "NOTSET",
    kernel_shape: Sequence[int] | None = None,
    pads: Sequence[int] | None = None,
    storage_order: int = 0,
    strides: Sequence[int] | None = None,
) -> T:
    """MaxPool, where each row of a window, along the last axis, ends before the first element whose mask is zero.

    The mask of batch and channel is taken again and again where it has fewer than `x`. Of more than one spatial axis,
    the first element of a channel is never masked; a window of which nothing is left is the lowest number there is.
    """
    if x.ndim < 3 or m.ndim != x.ndim or m.shape[2:] != x.shape[2:] or not m.shape[0] * m.shape[1]:
        raise ShapeError(f"a mask of shape {list(m.shape)} does not fit an input of shape {list(x.shape)}")
    rank = x.ndim - 2
    kernel = list(x.shape[2:]) if kernel_shape is None else kernel_shape
    moving = windows(rank, kernel, strides=strides, pads=pads, auto_pad=auto_pad)
    rows = m.reshape(-1, *m.shape[2:])
    shown = np.resize(rows, (x.shape[0] * x.shape[1], *m.shape[2:])).reshape(x.shape) != 0
    if rank > 1:
        shown[(slice(None), slice(None), *(slice(0, 1),) * rank)] = True
    lowest = np.finfo(np.float32).min
    sweeps = moving.over(x.shape[2:])
    values, seen = slide(x, sweeps, lowest), slide(shown, sweeps, True)
    visible = np.logical_and.accumulate(seen, axis=-1)
    return np.asarray(np.where(visible, values, lowest).max(axis=tuple(range(-rank, 0))), np.float32)


@maxpool_with_mask.infer
def infer(x: Fact, m: Fact, /, *, kernel_shape: Sequence[int] | None, **attributes: Any) -> Inferred:
    kernel = kernel_shape or [size for size in (x.shape or ())[2:] if isinstance(size, int)]
    named = {"kernel_shape": kernel, "ceil_mode": 0, "dilations": None, **attributes}
    result: Inferred = max_pool.rules["infer"](x, **named)[0]
    return result


@maxpool_with_mask.lower
def lower(
    x: prim.Tensor,
    m: prim.Tensor,
    /,
    *,
    auto_pad: str,
    kernel_shape: Sequence[int] | None,
    pads: Sequence[int] | None,
    storage_order: int,
    strides: Sequence[int] | None,
) -> prim.Tensor:
    """An element is seen by windows that begin behind the last masked one up to it, along the last axis."""
    if m.rank != x.rank or x.rank < 3:
        raise prim.Refused(f"a mask of {m.rank} axes")
    rank, sizes = x.rank - 2, x.shape[2:]
    kernel = sizes if kernel_shape is None else kernel_shape
    moving = windows(rank, kernel, strides=strides, pads=pads, auto_pad=auto_pad)
    width = moving.kernel[-1]
    if not isinstance(width, int):
        raise prim.Refused("a kernel of unknown size")
    mask = _for_each_channel(prim.assume_shape(m, (*m.shape[:2], *sizes)), x)
    is_masked = prim.apply("equal", mask, 0)
    if rank > 1:
        after_first = [prim.apply("less", 0, prim.iota(x.shape, axis)) for axis in range(2, x.rank)]
        for each in after_first[1:]:
            after_first[0] = prim.apply("or", after_first[0], each)
        is_masked = prim.apply("and", is_masked, after_first[0])
    at = prim.cast(prim.iota(x.shape, x.rank - 1), DType.INT32)
    last = prim.scan("maximum", prim.where(is_masked, at, _NOWHERE), x.rank - 1)
    lowest = float(np.finfo(np.float32).min)
    values, hidden = swept(x, moving, lowest), swept(last, moving, _NOWHERE)
    before, _ = padding_of(moving, rank - 1, sizes[-1], width)
    starts = prim.iota((1, *(values.shape[axis] if axis == rank else 1 for axis in range(1, values.rank))), rank)
    starts = prim.cast(starts * moving.strides[-1] - prim.size(before), DType.INT32)
    shown = prim.where(prim.apply("less", hidden, starts), values, lowest)
    inside = range(rank + 1, 2 * rank + 1)
    return channels_first(prim.squeeze(prim.reduce_("maximum", shown, inside), inside))


_NOWHERE = -(2**31)
"""Where the last masked element is, if there is none."""


def _for_each_channel(m: prim.Tensor, x: prim.Tensor) -> prim.Tensor:
    """The masks of all channels of `x`: those there are, again and again."""
    if m.shape[:2] == x.shape[:2]:
        return m
    rows = prim.reshape(m, (m.shape[0] * m.shape[1], *m.shape[2:]))
    whole = (*x.shape[:2], *(1 for _ in x.shape[2:]))
    number = prim.iota(whole, 0) * prim.size(x.shape[1]) + prim.iota(whole, 1)
    number = prim.apply("remainder", number, prim.size(rows.shape[0]))
    return prim.gather(rows, [number, *range(2, x.rank)], x.shape)
