"""Attention in primitives as onnxruntime's operators have it: masks add numbers, and every row has a sum."""

from __future__ import annotations

from math import sqrt

import numpy as np

from ingot import prim
from ingot.dims import Dim, lower_bound
from ingot.dtypes import DType
from ingot.ops.nn.attending import grouped_like, read, scores_of
from ingot.ops.nn.softmax import shares


def attended(
    q: prim.Tensor,
    k: prim.Tensor,
    v: prim.Tensor,
    *,
    past: Dim,
    mask: prim.Tensor | None,
    filler: float,
    unidirectional: bool,
    bias: prim.Tensor | None,
    scale: float | None,
) -> tuple[prim.Tensor, prim.Tensor]:
    """What queries (batch, heads, length, size) read of the values, and their scores before the softmax; grouped."""
    scores = scores_of(q, k, factor_of(scale, q.shape[3]))
    queries, keys = scores.shape[3:]
    added = None if mask is None else _padding(mask, scores, past, filler)
    if unidirectional:
        later = prim.iota((1, 1, 1, 1, keys), 4) - prim.iota((1, 1, 1, queries, 1), 3)
        hidden = prim.apply("less", prim.size(past), later)
        lowest = float(np.finfo(np.float32).min)
        added = prim.where(hidden, lowest, prim.scalar(0.0, DType.FLOAT32) if added is None else added)
    if added is not None:
        scores = scores + added
    if bias is not None:
        if bias.rank != 4:
            raise prim.Refused(f"an attention_bias of {bias.rank} axes")
        scores = scores + grouped_like(bias, scores)
    exponentials = prim.apply("exp_nonpositive", scores - prim.reduce_("maximum", scores, [4]))
    return read(shares(exponentials, prim.reduce_("add", exponentials, [4])), v), scores


def factor_of(scale: float | None, size: Dim) -> float:
    """What scores are multiplied with: by default one over the root of the size of a head."""
    if scale:
        return scale
    if not isinstance(size, int):
        raise prim.Refused("heads of unknown size")
    return 1 / sqrt(max(1, size))


def _padding(mask: prim.Tensor, scores: prim.Tensor, past: Dim, filler: float) -> prim.Tensor:
    """What a mask adds to grouped scores: `filler` where it hides, else zero."""
    batch, queries, keys = scores.shape[0], *scores.shape[3:]
    if mask.rank == 1:
        place, both = prim.iota((1, keys), 1), mask.shape == (2 * batch,)
        whole = both or mask.shape == (3 * batch + 2,)
        lengths = prim.cast(mask if whole else prim.assume_shape(mask, (batch,)), DType.INT64)
        seen = prim.apply("less", place, prim.unsqueeze(prim.slice_(lengths, [0], [batch]), [1]))
        if both:
            starts = prim.unsqueeze(prim.slice_(lengths, [batch], [batch]), [1])
            seen = prim.apply("and", seen, prim.apply("less_equal", starts, place))
        return _shown(seen, (batch, 1, 1, 1, keys), filler)
    if mask.rank == 2:
        return _shown(_positive(prim.assume_shape(mask, (batch, keys))), (batch, 1, 1, 1, keys), filler)
    if mask.rank == 3:
        return _shown(_positive(prim.assume_shape(mask, (batch, queries, keys))), (batch, 1, 1, queries, keys), filler)
    if mask.rank == 4 and mask.shape[1] == 1:
        mask = prim.assume_shape(mask, (batch, *mask.shape[1:]))
        slack = [lower_bound(mask.shape[2] - (past + queries)), lower_bound(mask.shape[3] - keys)]
        if all(each is not None and each >= 0 for each in slack):
            part = prim.slice_(mask, [0, 0, past, 0], [batch, 1, queries, keys])
            return _shown(_positive(part), (batch, 1, 1, queries, keys), filler)
    raise prim.Refused(f"a mask of shape {list(map(str, mask.shape))}")


def _positive(mask: prim.Tensor) -> prim.Tensor:
    return prim.apply("less", prim.scalar(0, mask.dtype), mask)


def _shown(seen: prim.Tensor, shape: tuple[Dim, ...], filler: float) -> prim.Tensor:
    return prim.where(prim.reshape(seen, shape), prim.scalar(0.0, DType.FLOAT32), filler)
