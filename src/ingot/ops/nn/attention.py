"""Attention: each query reads a mean of the values, weighted by how its scores with the keys compare."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import Annotated, TypeAlias

import numpy as np

from ingot import prim
from ingot.dims import Dim, divide_exactly
from ingot.dtypes import Array, DType
from ingot.errors import CheckError, InputError, ShapeError
from ingot.ir.types import Shape
from ingot.ops.define import Since, operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.nn.attending import (
    added,
    ahead_of,
    behind,
    below,
    both,
    by_head,
    by_query_head,
    capped,
    grouped_like,
    longer,
    read,
    scores_of,
    shares_of,
    side_by_side,
    within,
)
from ingot.ops.nn.attention_mask import Visible, masked
from ingot.ops.nn.moments import alike, staged
from ingot.ops.nn.precision import refuse_huge, wide, widened
from ingot.ops.nn.results import dim, require_size, tensor
from ingot.ops.shapes import require_rank, unify
from ingot.ops.typesets import BOOL, FLOATS, INT64, NUMERIC, types

T1: TypeAlias = Annotated[Array, types("T1", FLOATS)]
T2: TypeAlias = Annotated[Array, types("T2", FLOATS)]
Mask: TypeAlias = Annotated[Array, types("U", NUMERIC | BOOL)]
Lengths: TypeAlias = Annotated[Array, types("", INT64)]

PRECISIONS = (DType.FLOAT32, DType.FLOAT16, DType.FLOAT64, DType.BFLOAT16)


@operator("Attention", since=(23, 24, 25))
def attention(
    q: T1,
    k: T1,
    v: T2,
    attn_mask: Mask | None = None,
    past_key: T1 | None = None,
    past_value: T2 | None = None,
    nonpad_kv_seqlen: Annotated[Lengths | None, Since(24)] = None,
    /,
    *,
    is_causal: int = 0,
    kv_num_heads: int | None = None,
    left_window_size: Annotated[int, Since(25)] = -1,
    q_num_heads: int | None = None,
    qk_matmul_output_mode: int = 0,
    right_window_size: Annotated[int, Since(25)] = -1,
    scale: float | None = None,
    softcap: float = 0.0,
    softmax_precision: int | None = None,
) -> tuple[T1, T1 | None, T2 | None, T1 | None]:
    """`softmax(q kᵀ * scale + mask) v` for each head, several heads of queries sharing one of keys; with all keys and
    values, those of the past first, and the scores at the stage that `qk_matmul_output_mode` names.

    A query that may see no key reads zero.
    """
    _checked(qk_matmul_output_mode, softmax_precision, left_window_size, right_window_size)
    heads = [_heads(q, q_num_heads, "q"), _heads(k, kv_num_heads, "k"), _heads(v, kv_num_heads, "v")]
    keys, values = _joined(past_key, heads[1], "key"), _joined(past_value, heads[2], "value")
    past = _past(past_key, past_value, nonpad_kv_seqlen)
    query, keys_seen, values_seen = widened(heads[0], keys, values)
    _fit(query.shape, keys.shape, values.shape)
    batch, count, length, _ = query.shape
    shared, total = keys.shape[1], keys.shape[2]
    refuse_huge((batch, count, length, total), query.dtype)
    raw = _scores(query, keys_seen, scale)
    capped = np.tanh(raw / raw.dtype.type(softcap)) * raw.dtype.type(softcap) if softcap > 0 else raw
    visible = Visible(past, nonpad_kv_seqlen, bool(is_causal), left_window_size, right_window_size)
    scores, blind = masked(capped, attn_mask, visible)
    weights = _weights(scores, blind, softmax_precision)
    spread = weights.reshape(batch, shared, count // shared, length, total)
    y = np.matmul(spread, values_seen[:, :, None]).reshape(batch, count, length, values.shape[3])
    if q.ndim == 3:
        y = y.swapaxes(1, 2).reshape(batch, length, count * values.shape[3])
    stages = (raw, capped, scores, weights)
    return np.asarray(y, q.dtype), keys, values, np.asarray(stages[qk_matmul_output_mode], q.dtype)


@attention.infer
def infer(
    q: Fact,
    k: Fact,
    v: Fact,
    attn_mask: Fact | None = None,
    past_key: Fact | None = None,
    past_value: Fact | None = None,
    nonpad_kv_seqlen: Fact | None = None,
    /,
    *,
    is_causal: int,
    kv_num_heads: int | None,
    left_window_size: int,
    q_num_heads: int | None,
    qk_matmul_output_mode: int,
    right_window_size: int,
    scale: float | None,
    softcap: float,
    softmax_precision: int | None,
) -> tuple[Inferred, ...]:
    _checked(qk_matmul_output_mode, softmax_precision, left_window_size, right_window_size)
    if nonpad_kv_seqlen is not None:
        past_key = past_value = None
    query = _split(q.shape, q_num_heads, "q")
    keys, values = _split(k.shape, kv_num_heads, "k"), _split(v.shape, kv_num_heads, "v")
    if query and keys and values:
        _fit(query, keys, values)
    require_size(nonpad_kv_seqlen, 0, dim(query, 0), "nonpad_kv_seqlen")
    batch = unify(dim(query, 0), dim(keys, 0), "batch sizes of q and k")
    fresh, shared = unify(dim(keys, 2), dim(values, 2), "lengths of k and v"), dim(keys, 1)
    size, width = dim(keys, 3), dim(values, 3)
    _check_past(past_key, (batch, shared, None, size), past_value, (batch, shared, None, width))
    total = _total(fresh, past_key, past_value)
    count, length = dim(query, 1), dim(query, 2)
    y: Sequence[Dim | None] | None = (batch, count, length, width)
    if q.rank == 3:
        y = (batch, length, None if count is None or width is None else count * width)
    elif q.rank is None:
        y = None
    return (
        tensor(q.dtype, y),
        tensor(k.dtype or q.dtype, (batch, shared, total, size)),
        tensor(v.dtype, (batch, shared, total, width)),
        tensor(q.dtype, (batch, count, length, total)),
    )


@attention.lower
def lower(
    q: prim.Tensor,
    k: prim.Tensor,
    v: prim.Tensor,
    attn_mask: prim.Tensor | None = None,
    past_key: prim.Tensor | None = None,
    past_value: prim.Tensor | None = None,
    nonpad_kv_seqlen: prim.Tensor | None = None,
    /,
    *,
    is_causal: int,
    kv_num_heads: int | None,
    left_window_size: int,
    q_num_heads: int | None,
    qk_matmul_output_mode: int,
    right_window_size: int,
    scale: float | None,
    softcap: float,
    softmax_precision: int | None,
    facts: tuple[Fact, ...],
) -> tuple[prim.Tensor, ...]:
    if past_key is not None and nonpad_kv_seqlen is not None:
        raise prim.Refused("a past beside a cache outside")
    queries, fresh, values = (
        x if x.rank == 4 else by_head(x, heads or 1)
        for x, heads in ((q, q_num_heads), (k, kv_num_heads), (v, kv_num_heads))
    )
    keys, values = behind(past_key, fresh, facts[1].dtype), behind(past_value, values, facts[2].dtype)
    wide_q, wide_k, wide_v = alike(queries, keys, values)
    size = queries.shape[3]
    if scale is None and not isinstance(size, int):
        raise prim.Refused("heads of unknown size")
    factor = scale if scale is not None else 1 / sqrt(size) if isinstance(size, int) and size else 1.0
    raw = scores_of(wide_q, wide_k, factor)
    bent = capped(raw, softcap)
    past: Dim = 0 if past_key is None else past_key.shape[2]
    scores = _seen_scores(bent, attn_mask, past, nonpad_kv_seqlen, bool(is_causal), left_window_size, right_window_size)
    stage = raw.dtype if softmax_precision is None else DType(softmax_precision)
    shares = prim.cast(staged(shares_of(staged(scores, stage)), stage), raw.dtype)
    # Rounded as the standard has it where that makes products of bfloat16, which are faster than those of float32.
    y = read(staged(shares, DType.BFLOAT16) if facts[2].dtype is DType.BFLOAT16 else shares, wide_v)
    shown = by_query_head((raw, bent, scores, shares)[qk_matmul_output_mode])
    return side_by_side(y) if q.rank == 3 else by_query_head(y), keys, values, shown


def _seen_scores(
    scores: prim.Tensor,
    mask: prim.Tensor | None,
    past: Dim,
    lengths: prim.Tensor | None,
    causal: bool,
    left: int,
    right: int,
) -> prim.Tensor:
    """Scores with the mask added, and minus infinity where a query may not look."""
    queries, keys = scores.shape[3:]
    seen: prim.Tensor | None = None
    offset = prim.size(past)
    if lengths is not None:
        lengths = prim.reshape(within(lengths, keys), (*lengths.shape, 1, 1, 1, 1))
        seen = prim.apply("less", prim.iota((1, 1, 1, 1, keys), 4), lengths)
        offset = lengths - prim.size(queries)
    ahead = ahead_of(queries, keys, offset)
    seen = both(
        seen,
        below(ahead, 0) if causal else None,
        below(prim.scalar(-left, DType.INT64), ahead) if left >= 0 else None,
        below(ahead, right) if right >= 0 else None,
    )
    if mask is not None and mask.dtype is DType.BOOL:
        seen = both(seen, grouped_like(longer(mask, keys, False) if mask.rank else mask, scores))
    elif mask is not None:
        bias = prim.cast(mask, scores.dtype)
        scores = added(scores, grouped_like(longer(bias, keys, -np.inf) if mask.rank else bias, scores))
    return scores if seen is None else prim.where(seen, scores, -np.inf)


def _checked(mode: int, precision: int | None, left: int, right: int) -> None:
    if not 0 <= mode <= 3:
        raise CheckError(f"qk_matmul_output_mode is {mode}, it must be 0 to 3")
    if precision is not None and precision not in PRECISIONS:
        names = ", ".join(f"{int(dtype)} ({dtype})" for dtype in PRECISIONS)
        raise CheckError(f"softmax_precision is {precision}", hint=f"one of {names}")
    for name, size in (("left_window_size", left), ("right_window_size", right)):
        if size < -1:
            raise CheckError(f"{name} is {size}, it must be -1 or more")


def _split(shape: Shape | None, count: int | None, name: str) -> Shape | None:
    """The shape with heads on an axis of their own: (batch, heads, length, size)."""
    if shape is None:
        return None
    if len(shape) == 4:
        if count is not None and isinstance(shape[1], int) and shape[1] != count:
            raise ShapeError(f"{name} has {shape[1]} heads, and the attribute says {count}")
        return shape
    if len(shape) != 3:
        raise ShapeError(f"{name} has {len(shape)} axes, expected 3 or 4")
    if count is None or count < 1:
        raise CheckError(f"{name} has 3 axes: the number of its heads must be given, and it is {count}")
    hidden = shape[2]
    size = None if hidden is None else divide_exactly(hidden, count)
    if isinstance(hidden, int) and size is None:
        raise ShapeError(f"{name} has a hidden size of {hidden}, which {count} heads do not divide")
    return shape[0], count, shape[1], size


def _heads(x: Array, count: int | None, name: str) -> Array:
    shape = _split(x.shape, count, name)
    if x.ndim == 4:
        return x
    assert shape is not None
    batch, heads, length, size = (int(n) for n in shape if isinstance(n, int))
    return x.reshape(batch, length, heads, size).swapaxes(1, 2)


def _fit(q: Shape, k: Shape, v: Shape) -> None:
    """ShapeError unless queries, keys and values of these shapes, heads split, go together."""
    pairs = [("batch sizes of q and k", q[0], k[0]), ("batch sizes of q and v", q[0], v[0])]
    pairs += [("heads of k and v", k[1], v[1]), ("lengths of k and v", k[2], v[2])]
    pairs += [("head sizes of q and k", q[3], k[3])]
    for what, a, b in pairs:
        unify(a, b, what)
    if isinstance(q[1], int) and isinstance(k[1], int) and (k[1] == 0 or q[1] % k[1]):
        raise ShapeError(f"{q[1]} heads of queries cannot share {k[1]} heads of keys")


def _joined(past: Array | None, fresh: Array, name: str) -> Array:
    if past is None:
        return fresh
    others = [axis for axis in range(4) if axis != 2]
    if past.ndim != 4 or any(past.shape[axis] != fresh.shape[axis] for axis in others):
        raise ShapeError(f"past_{name} has shape {list(past.shape)}, which {list(fresh.shape)} cannot follow")
    return np.concatenate((past, fresh.astype(past.dtype, copy=False)), axis=2)


def _past(past_key: Array | None, past_value: Array | None, lengths: Array | None) -> int:
    if (past_key is None) != (past_value is None):
        raise InputError("past_key and past_value must be given together")
    if past_key is not None and lengths is not None:
        raise InputError("nonpad_kv_seqlen is for a cache outside: past_key cannot be given with it")
    return 0 if past_key is None else past_key.shape[2]


def _check_past(past_key: Fact | None, keys: Shape, past_value: Fact | None, values: Shape) -> None:
    """CheckError if only one of the two is given, ShapeError if one does not go with what is new."""
    if (past_key is None or not past_key.present) != (past_value is None or not past_value.present):
        raise CheckError("past_key and past_value must be given together")
    for name, past, expected in (("past_key", past_key, keys), ("past_value", past_value, values)):
        if past is not None:
            require_rank(past, 4, name)
            for axis, size in enumerate(expected):
                require_size(past, axis, size, name)
    if past_key is not None and past_value is not None:
        unify(dim(past_key.shape, 2), dim(past_value.shape, 2), "lengths of past_key and past_value")


def _total(fresh: Dim | None, past_key: Fact | None, past_value: Fact | None) -> Dim | None:
    if past_key is None or not past_key.present:
        return fresh
    past = unify(dim(past_key.shape, 2), dim(None if past_value is None else past_value.shape, 2))
    return None if past is None or fresh is None else past + fresh


def _scores(query: Array, keys: Array, scale: float | None) -> Array:
    """The product of each query with each key; both take half of the scale, so that the product does not overflow."""
    batch, count, length, size = query.shape
    shared, total = keys.shape[1:3]
    factor = scale if scale is not None else 1 / sqrt(size) if size else 1.0
    half = query.dtype.type(sqrt(abs(factor)))
    left = (query * half).reshape(batch, shared, count // shared, length, size)
    right = keys * (half if factor >= 0 else -half)
    product: Array = np.matmul(left, right[:, :, None].swapaxes(-1, -2))
    return product.reshape(batch, count, length, total)


def _weights(scores: Array, blind: Array, precision: int | None) -> Array:
    """The softmax of each row in the precision asked for; zero for a query that sees nothing."""
    dtype = scores.dtype if precision is None else DType(precision).numpy
    values = scores.astype(dtype).astype(wide(dtype))
    if not values.size:
        return scores
    greatest = values.max(axis=-1, keepdims=True)
    shares = np.exp(values - np.where(np.isneginf(greatest), 0, greatest))
    total = shares.sum(axis=-1, keepdims=True)
    weights = np.where(blind, 0, shares / np.where(total == 0, 1, total))
    return weights.astype(dtype).astype(scores.dtype)
