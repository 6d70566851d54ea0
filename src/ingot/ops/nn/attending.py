"""Attention in primitives: scores, who sees what, shares and what they read, heads of queries in groups.

Scores have axes (batch, heads of keys, heads of queries that share one, queries, keys), so that no key is repeated.
"""

from __future__ import annotations

import numpy as np

from ingot import prim
from ingot.dims import Dim, divide_exactly, lower_bound
from ingot.dtypes import DType
from ingot.ops.nn.softmax import shares


def by_head(x: prim.Tensor, heads: int) -> prim.Tensor:
    """(batch, length, hidden) as (batch, heads, length, size)."""
    size = divide_exactly(x.shape[2], heads)
    if size is None:
        raise prim.Refused(f"a hidden size of {x.shape[2]} for {heads} heads")
    return prim.permute(prim.reshape(x, (*x.shape[:2], heads, size)), [0, 2, 1, 3])


def scores_of(q: prim.Tensor, k: prim.Tensor, factor: float) -> prim.Tensor:
    """The products of queries (batch, heads, length, size) with keys, times a factor."""
    groups = divide_exactly(q.shape[1], k.shape[1])
    if groups is None:
        raise prim.Refused(f"{q.shape[1]} heads of queries for {k.shape[1]} of keys")
    grouped = prim.reshape(q, (q.shape[0], k.shape[1], groups, *q.shape[2:]))
    scores = prim.contract(grouped, k, "bgrle,bgte->bgrlt")
    return scores if factor == 1 else scores * factor


def capped(scores: prim.Tensor, softcap: float) -> prim.Tensor:
    """Scores bent so that none is beyond the cap; as they are without one."""
    return scores if softcap <= 0 else prim.apply("tanh", scores / softcap) * softcap


def grouped_like(x: prim.Tensor, scores: prim.Tensor) -> prim.Tensor:
    """What meets scores of axes (batch, heads, queries, keys), or fewer of them, so that it meets grouped ones."""
    x = prim.unsqueeze(x, range(4 - x.rank))
    heads = (1, 1) if x.shape[1] == 1 else scores.shape[1:3]
    return prim.reshape(x, (x.shape[0], *heads, *x.shape[2:]))


def by_query_head(scores: prim.Tensor) -> prim.Tensor:
    """Grouped scores, or what is read with them, as (batch, heads of queries, queries, keys)."""
    return prim.reshape(scores, (scores.shape[0], scores.shape[1] * scores.shape[2], *scores.shape[3:]))


def added(scores: prim.Tensor, bias: prim.Tensor) -> prim.Tensor:
    """Scores plus a bias, where minus infinity hides whatever the score is."""
    hidden = prim.apply("equal", bias, -np.inf)
    return prim.where(hidden, -np.inf, scores + bias)


def shares_of(scores: prim.Tensor) -> prim.Tensor:
    """The softmax along the last axis; zero where nothing is seen."""
    last = [scores.rank - 1]
    scores = prim.before_zero(scores)
    greatest = prim.reduce_("maximum", scores, last)
    exponentials = prim.apply(
        "exp_nonpositive", scores - prim.where(prim.apply("equal", greatest, -np.inf), 0, greatest)
    )
    total = prim.reduce_("add", exponentials, last)
    return shares(exponentials, prim.where(prim.apply("equal", total, 0), 1, total))


def read(shares: prim.Tensor, values: prim.Tensor) -> prim.Tensor:
    """The means of values (batch, heads, keys, size) by grouped shares: (batch, heads, groups, queries, size)."""
    return prim.contract(shares, values, "bgrlt,bgtw->bgrlw")


def side_by_side(y: prim.Tensor) -> prim.Tensor:
    """(batch, heads, groups, length, size) as (batch, length, hidden)."""
    moved = prim.permute(y, [0, 3, 1, 2, 4])
    return prim.reshape(moved, (y.shape[0], y.shape[3], y.shape[1] * y.shape[2] * y.shape[4]))


def ahead_of(queries: Dim, keys: Dim, offset: prim.Tensor) -> prim.Tensor:
    """How far key j is ahead of query i, the first of which is at `offset`, which meets grouped scores."""
    place = prim.iota((1, 1, 1, queries, 1), 3) + offset
    return prim.iota((1, 1, 1, 1, keys), 4) - place


def below(x: prim.Tensor, y: prim.Tensor | int) -> prim.Tensor:
    """Whether `x` is `y` or less."""
    return prim.apply("less_equal", x, y)


def both(*conditions: prim.Tensor | None) -> prim.Tensor | None:
    """Where all conditions that are given hold; None if none is."""
    joint: prim.Tensor | None = None
    for each in conditions:
        if each is not None:
            joint = each if joint is None else prim.apply("and", joint, each)
    return joint


def within(x: prim.Tensor, most: Dim) -> prim.Tensor:
    """`x` as int64: numbers from 0 to `most`, any other of which a run reports."""
    return prim.gather(prim.iota((most + 1,), 0), [x], x.shape)


def longer(x: prim.Tensor, size: Dim, fill: float | bool) -> prim.Tensor:
    """`x` with `fill` after the last axis up to a size, assumed to be its own unless it is known to be shorter."""
    more = size - x.shape[-1]
    least = lower_bound(more)
    if least is None or least < 0:
        return prim.assume_shape(x, (*x.shape[:-1], size))
    return prim.pad(x, [0] * x.rank, [*[0] * (x.rank - 1), more], fill)


def behind(past: prim.Tensor | None, fresh: prim.Tensor, dtype: DType | None) -> prim.Tensor:
    """Keys or values behind those of the past, in the type they are kept in."""
    cached = fresh if dtype is None else prim.cast(fresh, dtype)
    return cached if past is None else prim.concat([prim.cast(past, cached.dtype), cached], 2)
