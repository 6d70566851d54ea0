"""MaxpoolWithMask: the greatest element of each window, whose rows end where a mask is zero."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, TypeAlias

import numpy as np

from ingot.dtypes import Array
from ingot.errors import ShapeError
from ingot.ops.contrib.domain import MICROSOFT
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.nn.pooling import max_pool
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
