"""GroupQueryAttention: attention over a cache, where groups of query heads share a head of keys and values."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import numpy as np

from ingot.dims import Dim, maximum
from ingot.dtypes import Array, DType
from ingot.errors import CheckError, InputError, ShapeError
from ingot.ir.types import TensorType
from ingot.ops.contrib.domain import MICROSOFT, SMALL_FLOATS, last, may_omit
from ingot.ops.contrib.heads import added, check_heads, joined_heads, refuse, scores_of, split_heads
from ingot.ops.contrib.quantized_cache import cache_codes, cache_type, check_cache
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.nn.precision import refuse_huge
from ingot.ops.nn.rotary_embedding import rotary_embedding
from ingot.ops.typesets import FLOAT32, INT8, INT32, INT64, UINT8, tensors, types

T: TypeAlias = Annotated[Array, types("T", SMALL_FLOATS)]
Cache: TypeAlias = Annotated[Array, types("T_CACHE", SMALL_FLOATS | UINT8 | INT8 | tensors(DType.FLOAT8E4M3FN))]
KVScale: TypeAlias = Annotated[Array, types("T_KV_SCALE", FLOAT32)]
M: TypeAlias = Annotated[Array, types("M", INT32)]
Positions: TypeAlias = Annotated[Array, types("", INT64)]


@operator("GroupQueryAttention", since=1, domain=MICROSOFT)
def group_query_attention(
    query: T,
    key: T | None,
    value: T | None,
    past_key: Cache | None,
    past_value: Cache | None,
    seqlens_k: M,
    total_sequence_length: M,
    cos_cache: T | None = None,
    sin_cache: T | None = None,
    position_ids: Positions | None = None,
    attention_bias: T | None = None,
    head_sink: T | None = None,
    k_scale: KVScale | None = None,
    v_scale: KVScale | None = None,
    q_norm_weight: T | None = None,
    k_norm_weight: T | None = None,
    /,
    *,
    kv_num_heads: int,
    num_heads: int,
    causal: int = 1,
    do_rotary: int | None = None,
    k_quant_type: str = "NONE",
    kv_cache_bit_width: int | None = None,
    local_window_size: int = -1,
    qk_norm_epsilon: float = 9.999999974752427e-07,
    qk_output: int = 0,
    rotary_interleaved: int | None = None,
    scale: float | None = None,
    sliding_window_cache: int = 0,
    smooth_softmax: int = -1,
    softcap: float | None = None,
    v_quant_type: str = "NONE",
) -> tuple[T, Cache | None, Cache | None, T | None]:
    """Attention of each token to those before it in its sequence, new keys and values being put behind the past ones.

    `seqlens_k` is the length of each sequence less one. Queries and keys may be normalised by head and turned by
    position; scores are capped, then biased. A sink adds to what a softmax divides by. With the result come the
    caches, and the scores before (1) or after (2) the softmax. Caches may be integers of 4 or 8 bits times a scale, and
    all keys and values are read from them, the new ones too. Sliding caches are not supported.
    """
    _check(num_heads, kv_num_heads, causal, local_window_size)
    bits = kv_cache_bit_width or 0
    quantised = check_cache(k_quant_type, v_quant_type, bits)
    refuse(sliding_window_cache=sliding_window_cache)
    q, k, v = _heads(query, key, value, num_heads, kv_num_heads)
    batch, length = q.shape[0], q.shape[2]
    whole = _scalar(total_sequence_length)
    totals = _totals(seqlens_k, batch, whole)
    past = np.zeros(batch, np.int64) if length >= whole else np.maximum(totals - length, 0)
    if q_norm_weight is not None and k_norm_weight is not None:
        q, k = (_normalised(x, w, qk_norm_epsilon) for x, w in ((q, q_norm_weight), (k, k_norm_weight)))
    if do_rotary:
        if cos_cache is None or sin_cache is None:
            raise CheckError("do_rotary takes cos_cache and sin_cache")
        places = _positions(position_ids, past, totals, length, length >= whole)
        q, k = (_turned(x, cos_cache, sin_cache, places, bool(rotary_interleaved)) for x in (q, k))
    if quantised:
        formats = [
            cache_codes(scales, kind, bits, kv_num_heads, q.shape[3], name)
            for scales, kind, name in ((k_scale, k_quant_type, "k_scale"), (v_scale, v_quant_type, "v_scale"))
        ]
        present = [
            _cached(p, form.of(new), past, whole).astype(cache_type(bits).numpy)
            for p, new, form in zip((past_key, past_value), (k, v), formats, strict=True)
        ]
        keys, values = (form.meant(codes) for form, codes in zip(formats, present, strict=True))
    else:
        keys, values = (_cached(p, new, past, whole) for p, new in ((past_key, k), (past_value, v)))
        present = [keys.astype(query.dtype), values.astype(query.dtype)]
    groups = num_heads // kv_num_heads
    scores = scores_of(q, np.repeat(keys, groups, axis=1)[:, :, :whole], scale)
    if softcap:
        scores = np.float32(softcap) * np.tanh(scores / np.float32(softcap))
    if attention_bias is not None and attention_bias.ndim == 4:
        attention_bias = attention_bias[..., :whole]
    scores = added(scores, attention_bias)
    visible = _visible(past, totals, length, whole, bool(causal), local_window_size)
    if head_sink is not None and head_sink.shape != (num_heads,):
        raise ShapeError(f"head_sink has shape {list(head_sink.shape)}, expected [{num_heads}]")
    sink = head_sink.astype(np.float32) if head_sink is not None else np.zeros(1, np.float32)
    weights = _softmax(scores, visible, sink if smooth_softmax == 1 or head_sink is not None else None)
    y = joined_heads(weights @ np.repeat(values, groups, axis=1)[:, :, :whole])
    shown = weights if qk_output == 2 else np.where(visible, scores, 0)
    return y.astype(query.dtype), present[0], present[1], shown.astype(query.dtype)


may_omit(group_query_attention, "key", "value", "past_key", "past_value")


@group_query_attention.infer
def infer(
    query: Fact,
    key: Fact,
    value: Fact,
    past_key: Fact,
    past_value: Fact,
    seqlens_k: Fact,
    total_sequence_length: Fact,
    /,
    *_: Fact,
    kv_num_heads: int,
    num_heads: int,
    causal: int,
    local_window_size: int,
    k_quant_type: str,
    kv_cache_bit_width: int | None,
    v_quant_type: str,
    **__: object,
) -> tuple[Inferred, ...]:
    _check(num_heads, kv_num_heads, causal, local_window_size)
    bits = kv_cache_bit_width or 0
    quantised = check_cache(k_quant_type, v_quant_type, bits)
    if query.rank not in (None, 3):
        raise ShapeError(f"query has {query.rank} axes, expected 3")
    if query.dtype is None:
        return (None,) * 4
    batch, length, hidden = last(query.shape, 0), last(query.shape, 1), last(query.shape)
    size = None
    if isinstance(hidden, int):
        size = hidden // (num_heads if key.present else num_heads + 2 * kv_num_heads)
    width = hidden if key.present else None if size is None else size * num_heads
    total = total_sequence_length.elements
    whole = total[0] if total is not None and len(total) == 1 else None
    before: Dim | None = last(past_key.shape, 2) if past_key.present else 0
    capacity = None if whole is None or before is None else maximum(whole, before)
    width_held = size if not quantised or bits == 8 or size is None else size // 2
    dtype = cache_type(bits) if quantised else past_key.dtype or query.dtype
    present = TensorType(dtype, (batch, kv_num_heads, capacity, width_held))
    result = TensorType(query.dtype, (batch, length, width))
    return result, present, present, TensorType(query.dtype, (batch, num_heads, length, whole))


def _check(heads: int, shared: int, causal: int, window: int) -> None:
    check_heads(heads)
    check_heads(shared, "kv_num_heads")
    if heads % shared:
        raise CheckError(f"num_heads is {heads}, no multiple of kv_num_heads, {shared}")
    if not causal and window >= 0:
        raise CheckError(f"local_window_size is {window}, which takes causal attention")


def _heads(query: Array, key: Array | None, value: Array | None, heads: int, shared: int) -> tuple[Array, Array, Array]:
    """Queries, keys and values by head; without keys they are packed with the queries."""
    if key is not None and value is not None:
        q, k, v = (
            split_heads(query, heads, "query"),
            split_heads(key, shared, "key"),
            split_heads(value, shared, "value"),
        )
    else:
        whole = split_heads(query, heads + 2 * shared, "query")
        q, k, v = whole[:, :heads], whole[:, heads : heads + shared], whole[:, heads + shared :]
    if k.shape != v.shape or k.shape[0] != q.shape[0] or k.shape[3] != q.shape[3] or k.shape[2] != q.shape[2]:
        raise ShapeError(f"query, key and value by head do not fit: {list(q.shape)}, {list(k.shape)}, {list(v.shape)}")
    return q, k, v


def _scalar(x: Array) -> int:
    if x.size != 1 or int(x.reshape(-1)[0]) < 0:
        raise InputError(f"total_sequence_length is {x.tolist()}, expected one number")
    return int(x.reshape(-1)[0])


def _totals(seqlens_k: Array, batch: int, whole: int) -> Array:
    lengths = seqlens_k.reshape(-1).astype(np.int64) + 1
    if lengths.size != batch:
        raise ShapeError(f"seqlens_k has {lengths.size} elements for {batch} sequences")
    if batch and not 0 <= int(lengths.min()) <= int(lengths.max()) <= whole:
        raise InputError(f"the lengths of sequences go from {lengths.min()} to {lengths.max()}, outside 0 to {whole}")
    return lengths


def _normalised(x: Array, weight: Array, epsilon: float) -> Array:
    if weight.shape != x.shape[3:]:
        raise ShapeError(f"a norm weight has shape {list(weight.shape)}, expected [{x.shape[3]}]")
    root = np.sqrt(np.square(x).mean(axis=-1, keepdims=True) + np.float32(epsilon))
    return np.asarray(x / root * weight.astype(np.float32))


def _positions(stated: Array | None, past: Array, totals: Array, length: int, prompt: bool) -> Array:
    """The position of each new token; those behind the end of their sequence have any."""
    if stated is not None and stated.size:
        if prompt:
            return np.broadcast_to(stated.reshape(-1)[0] + np.arange(length), (len(past), length))
        if stated.shape != (len(past), length):
            raise ShapeError(f"position_ids has shape {list(stated.shape)}, expected {[len(past), length]}")
        return stated
    places = past[:, None] + np.arange(length)
    return places if prompt else np.where(places < totals[:, None], places, 1)


def _turned(x: Array, cos: Array, sin: Array, places: Array, interleaved: bool) -> Array:
    if cos.ndim != 2:
        raise ShapeError(f"cos_cache has {cos.ndim} axes, expected 2")
    return np.asarray(
        rotary_embedding.evaluate(
            x,
            cos.astype(np.float32),
            sin.astype(np.float32),
            places,
            interleaved=int(interleaved),
            rotary_embedding_dim=2 * cos.shape[1],
        )
    )


def _cached(past: Array | None, new: Array, before: Array, whole: int) -> Array:
    """The cache with new keys or values behind the first `before` of each sequence, zeros after them."""
    batch, heads, length, size = new.shape
    if past is not None and (past.ndim != 4 or past.shape[:2] != (batch, heads) or past.shape[3] != size):
        raise ShapeError(f"the past has shape {list(past.shape)}, the new keys and values {list(new.shape)}")
    capacity = max(whole, 0 if past is None else past.shape[2])
    refuse_huge((batch, heads, capacity, size), np.dtype(np.float32))
    cache = np.zeros((batch, heads, capacity, size), np.float32)
    for sequence in range(batch):
        start = int(before[sequence])
        if start and (past is None or past.shape[2] < start):
            raise InputError(f"{start} past keys are needed, there are {0 if past is None else past.shape[2]}")
        if past is not None:
            cache[sequence, :, :start] = past[sequence, :, :start]
        stop = min(capacity, start + length)
        cache[sequence, :, start:stop] = new[sequence, :, : stop - start]
    return cache


def _visible(past: Array, totals: Array, length: int, whole: int, causal: bool, window: int) -> Array:
    """Which keys each query may see, shape [batch, 1, queries, keys]."""
    ends = np.minimum(past[:, None] + np.arange(length) + 1, totals[:, None]) if causal else totals[:, None]
    ends = np.broadcast_to(ends, (len(totals), length))[..., None]
    keys = np.arange(whole)
    seen = keys < ends
    if window >= 0:
        seen &= keys >= ends - window
    return seen[:, None]


def _softmax(scores: Array, visible: Array, sink: Array | None) -> Array:
    """Over what is visible; zero where nothing is. A sink is one more score, by head, that nobody reads."""
    hidden = np.where(visible, scores, -np.inf)
    peak = hidden.max(axis=-1, keepdims=True, initial=-np.inf)
    if sink is not None:
        sink = np.broadcast_to(sink, scores.shape[1:2])[:, None, None]
        peak = np.maximum(peak, sink)
    peak = np.where(np.isneginf(peak), 0, peak)
    exponentials = np.exp(hidden - peak)
    total = exponentials.sum(axis=-1, keepdims=True) + (0 if sink is None else np.exp(sink - peak))
    return np.asarray(exponentials / np.where(total == 0, 1, total), np.float32)
