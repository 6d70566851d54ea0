"""Attention in older versions: windows and lengths as a mask, and before version 23 all of it in matrix products."""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np

from ingot.dtypes import DType
from ingot.errors import UnsupportedError
from ingot.ir.value import Value
from ingot.ops.nn.attention import attention
from ingot.ops.nn.attention_mask_older import Heads, Places, folded, masked
from ingot.ops.nn.through import again, cast, wide_of
from ingot.ops.older import dtype_of

_LENGTHS_SINCE = 24


@attention.downgrade
def downgrade(
    op: Any,
    q: Value,
    k: Value,
    v: Value,
    attn_mask: Value | None = None,
    past_key: Value | None = None,
    past_value: Value | None = None,
    nonpad_kv_seqlen: Value | None = None,
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
    version: int,
    outputs: int,
) -> Any:
    query, key, value = Heads(q, q_num_heads), Heads(k, kv_num_heads), Heads(v, kv_num_heads)
    places = Places(query, key, past_key, nonpad_kv_seqlen, bool(is_causal), left_window_size, right_window_size)
    if version >= attention.since[0]:
        attributes = dict.fromkeys(attention.keywords.values())
        attributes |= {"kv_num_heads": kv_num_heads, "q_num_heads": q_num_heads, "scale": scale, "softcap": softcap}
        attributes |= {"qk_matmul_output_mode": qk_matmul_output_mode, "softmax_precision": softmax_precision}
        lengths = nonpad_kv_seqlen if version >= _LENGTHS_SINCE else None
        mask = folded(op, attn_mask, places, dtype_of(q))
        inputs = (q, k, v, mask, past_key, past_value, lengths)
        return again(
            op, attention, inputs[: 7 if lengths is not None else 6], attributes, version=version, outputs=outputs
        )
    keys, values = _joined(op, past_key, key.split(op)), _joined(op, past_value, value.split(op))
    wide = wide_of(*(dtype_of(x) for x in (q, k, v)))
    factor = _scale(scale, query)
    half = np.asarray(sqrt(abs(factor)), wide.numpy)
    shared = _repeats(query, key)
    right = op.Mul(cast(op, keys, dtype_of(k), wide), half if factor >= 0 else -half)
    turned = op.Transpose(_repeated(op, right, shared), perm=[0, 1, 3, 2])
    raw = op.MatMul(op.Mul(cast(op, query.split(op), dtype_of(q), wide), half), turned)
    capped = raw
    if softcap > 0:
        bound = np.asarray(softcap, wide.numpy)
        capped = op.Mul(op.Tanh(op.Div(raw, bound)), bound)
    scores = masked(op, capped, attn_mask, places, wide)
    precision = wide if softmax_precision is None else DType(softmax_precision)
    may_be_blind = attn_mask is not None or places.may_be_blind
    weights = cast(op, _softmax(op, cast(op, scores, wide, precision), precision, may_be_blind), precision, wide)
    y = op.MatMul(weights, _repeated(op, cast(op, values, dtype_of(v), wide), shared))
    stage = (raw, capped, scores, weights)[qk_matmul_output_mode]
    results = [query.joined(op, cast(op, y, wide, dtype_of(q)), value), keys, values]
    return (*results, cast(op, stage, wide, dtype_of(q)))[:outputs] if outputs > 3 else results[:outputs]


def _joined(op: Any, past: Value | None, fresh: Any) -> Any:
    return fresh if past is None else op.Concat(past, fresh, axis=2)


def _scale(scale: float | None, query: Heads) -> float:
    size = query.sizes[1]
    if scale is None and size is None:
        raise UnsupportedError(f"the head size of '{query.x.name}' is not known, on which the scale depends")
    return scale if scale is not None else 1 / sqrt(size) if size else 1.0


def _repeats(query: Heads, key: Heads) -> Any:
    """For each head of queries the head of keys it reads; None for its own."""
    count, shared = query.sizes[0], key.sizes[0]
    if count is not None and count == shared:
        return None
    if not isinstance(count, int) or not isinstance(shared, int):
        raise UnsupportedError(f"how many heads '{query.x.name}' and '{key.x.name}' have is not known")
    return np.repeat(np.arange(shared), count // shared)


def _repeated(op: Any, x: Any, heads: Any) -> Any:
    return x if heads is None else op.Gather(x, heads, axis=1)


def _softmax(op: Any, scores: Any, dtype: DType, may_be_blind: bool) -> Any:
    weights = op.Softmax(scores, axis=3)
    if not may_be_blind:
        return weights
    blind = op.Equal(op.ReduceMax(scores, [3], keepdims=1), np.asarray(-np.inf, dtype.numpy))
    return op.Where(blind, np.asarray(0, dtype.numpy), weights)
