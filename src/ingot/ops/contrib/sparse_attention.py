"""SparseAttention: attention of tokens to those before them, of which a pattern of blocks shows some."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import numpy as np

from ingot.dtypes import Array
from ingot.errors import CheckError, InputError, ShapeError
from ingot.ir.types import TensorType
from ingot.ops.contrib.domain import MICROSOFT, SMALL_FLOATS, last, may_omit
from ingot.ops.contrib.heads import check_heads, joined_heads, softmax
from ingot.ops.contrib.rotary_embedding import rotary_embedding
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.nn.precision import refuse_huge
from ingot.ops.typesets import INT32, types

T: TypeAlias = Annotated[Array, types("T", SMALL_FLOATS)]
M: TypeAlias = Annotated[Array, types("M", INT32)]


@operator("SparseAttention", since=1, domain=MICROSOFT)
def sparse_attention(
    query: T,
    key: T | None,
    value: T | None,
    past_key: T,
    past_value: T,
    block_row_indices: M,
    block_col_indices: M,
    total_sequence_length: M,
    key_total_sequence_lengths: M,
    cos_cache: T | None = None,
    sin_cache: T | None = None,
    /,
    *,
    kv_num_heads: int,
    num_heads: int,
    sparse_block_size: int,
    do_rotary: int | None = None,
    rotary_interleaved: int | None = None,
    scale: float | None = None,
) -> tuple[T, T, T]:
    """GroupQueryAttention in which each block of queries sees some blocks of keys only, none of them later.

    Row i of a pattern has the columns `block_col_indices[block_row_indices[i]:block_row_indices[i + 1]]`; heads take
    the patterns in turn. Past and present are buffers of one size, into which the new keys and values are put.
    """
    check_heads(num_heads)
    check_heads(kv_num_heads, "kv_num_heads")
    if num_heads % kv_num_heads or sparse_block_size < 1:
        raise CheckError(f"there are {num_heads} heads, {kv_num_heads} of keys, and blocks of {sparse_block_size}")
    q, k, v = _by_head(query, key, value, num_heads, kv_num_heads)
    batch, _, length, size = q.shape
    capacity = past_key.shape[2] if past_key.ndim == 4 else 0
    if past_key.shape != (batch, kv_num_heads, capacity, size) or past_value.shape != past_key.shape:
        raise ShapeError(f"past_key has shape {list(past_key.shape)} and past_value {list(past_value.shape)}")
    totals = key_total_sequence_lengths.reshape(-1).astype(np.int64)
    if totals.shape != (batch,) or total_sequence_length.size != 1:
        raise ShapeError(f"there are {totals.size} lengths for {batch} sequences")
    whole = int(total_sequence_length.reshape(-1)[0])
    prompt = whole == length
    pasts = np.zeros(batch, np.int64) if prompt else totals - length
    if totals.size and not (0 < totals.min() <= totals.max() <= whole <= capacity and pasts.min() >= 0):
        raise InputError(f"lengths are {totals.tolist()}, at most {whole}, for {length} new in buffers of {capacity}")
    if do_rotary:
        if cos_cache is None or sin_cache is None:
            raise InputError("do_rotary needs cos_cache and sin_cache")
        places = pasts[:, None] + np.arange(length)
        named = {"interleaved": rotary_interleaved or 0}
        q, k = (rotary_embedding.evaluate(x, places, cos_cache, sin_cache, **named) for x in (q, k))
    shown = _shown(block_row_indices, block_col_indices, sparse_block_size, whole)
    keys, values = past_key.copy(), past_value.copy()
    refuse_huge((batch, num_heads, length, whole), np.dtype(np.float32))
    y = np.zeros((batch, num_heads, length, size), np.float32)
    factor = np.float32(scale or 1 / np.sqrt(max(1, size)))
    for row, past in enumerate(pasts.tolist()):
        keys[row, :, past : past + length], values[row, :, past : past + length] = k[row], v[row]
        total = past + length
        wide_k, wide_v = (
            np.repeat(x[row, :, :total].astype(np.float32), num_heads // kv_num_heads, axis=0) for x in (keys, values)
        )
        scores = q[row].astype(np.float32) @ wide_k.swapaxes(1, 2) * factor
        seen = shown[np.arange(num_heads) % len(shown), past:total, :total] & (
            np.arange(total) <= np.arange(past, total)[:, None]
        )
        y[row] = softmax(np.where(seen, scores, np.finfo(np.float32).min)) @ wide_v
    return joined_heads(y).astype(query.dtype), keys, values


may_omit(sparse_attention, "key", "value")


@sparse_attention.infer
def infer(
    query: Fact, key: Fact, value: Fact, past_key: Fact, past_value: Fact, /, *_: Fact, num_heads: int, **__: object
) -> tuple[Inferred, ...]:
    check_heads(num_heads)
    size = last(past_key.shape)
    shape = (last(query.shape, 0), last(query.shape, 1), None if size is None else size * num_heads)
    y = None if query.dtype is None else TensorType(query.dtype, shape)
    return y, past_key.type, past_value.type


def _by_head(query: Array, key: Array | None, value: Array | None, heads: int, kv: int) -> tuple[Array, Array, Array]:
    """Queries, keys and values as (batch, heads, length, size); keys and values may be packed behind the queries."""
    if query.ndim != 3 or (key is None) != (value is None):
        raise ShapeError(f"query has {query.ndim} axes, expected 3, and key and value come together")
    if key is None or value is None:
        if query.shape[2] % (heads + 2 * kv):
            raise ShapeError(f"query has a hidden size of {query.shape[2]}, for {heads} and twice {kv} heads")
        size = query.shape[2] // (heads + 2 * kv)
        query, key, value = np.split(query, [heads * size, (heads + kv) * size], axis=2)
    parts = []
    for x, count, name in ((query, heads, "query"), (key, kv, "key"), (value, kv, "value")):
        if x.ndim != 3 or x.shape[:2] != query.shape[:2] or x.shape[2] * heads != query.shape[2] * count:
            raise ShapeError(f"{name} has shape {list(x.shape)}, for {count} heads of {query.shape[2] // heads}")
        parts.append(x.reshape(*x.shape[:2], count, -1).swapaxes(1, 2))
    return parts[0], parts[1], parts[2]


def _shown(rows: Array, columns: Array, block: int, length: int) -> Array:
    """For each pattern, which keys each query is shown: (patterns, length, length)."""
    if rows.ndim != 2 or columns.ndim != 2 or len(rows) != len(columns):
        raise ShapeError(f"block_row_indices has shape {list(rows.shape)}, block_col_indices {list(columns.shape)}")
    count = rows.shape[1] - 1
    if count * block < length:
        raise InputError(f"a pattern has {count} blocks of {block}, and there are {length} tokens")
    if (rows[:, 0] != 0).any() or (np.diff(rows, axis=1) < 0).any() or rows.max(initial=0) > columns.shape[1]:
        raise InputError("block_row_indices do not go up from 0 to the number of columns")
    shown = np.zeros((len(rows), count, count), np.bool_)
    for pattern, (ends, places) in enumerate(zip(rows.tolist(), columns, strict=True)):
        for row in range(count):
            blocks = places[ends[row] : ends[row + 1]]
            if blocks.size and not 0 <= blocks.min() <= blocks.max() < count:
                raise InputError(
                    f"block_col_indices go from {blocks.min()} to {blocks.max()}, there are {count} blocks"
                )
            shown[pattern, row, blocks] = True
    return np.repeat(np.repeat(shown, block, axis=1), block, axis=2)
