"""MultiHeadAttention: attention of projected queries, keys and values, with a cache of past ones."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import numpy as np

from ingot.dtypes import Array
from ingot.errors import CheckError, InputError, ShapeError, UnsupportedError
from ingot.ir.types import Shape, TensorType
from ingot.ops.contrib.domain import MICROSOFT, SMALL_FLOATS, last
from ingot.ops.contrib.heads import (
    MASKED,
    added,
    causal,
    check_heads,
    joined_heads,
    padding,
    scores_of,
    softmax,
    split_heads,
    with_past,
)
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.typesets import INT32, types

T: TypeAlias = Annotated[Array, types("T", SMALL_FLOATS)]
QK: TypeAlias = Annotated[Array, types("QK", SMALL_FLOATS)]
M: TypeAlias = Annotated[Array, types("M", INT32)]


@operator("MultiHeadAttention", since=1, domain=MICROSOFT)
def multi_head_attention(
    query: T,
    key: T | None = None,
    value: T | None = None,
    bias: T | None = None,
    key_padding_mask: M | None = None,
    attention_bias: T | None = None,
    past_key: T | None = None,
    past_value: T | None = None,
    past_sequence_length: M | None = None,
    cache_indirection: M | None = None,
    /,
    *,
    num_heads: int,
    mask_filter_value: float | None = None,
    scale: float | None = None,
    unidirectional: int = 0,
) -> tuple[T, T | None, T | None, QK | None]:
    """`softmax(q kᵀ * scale + masks) v` for each head, with all keys and values and the scores before the softmax.

    Keys and values may come packed with the queries, packed together, or by head (then without a bias). With
    `past_sequence_length` the past is a buffer that holds so many, and the present the same with the new ones put in.
    """
    check_heads(num_heads)
    if cache_indirection is not None:
        raise UnsupportedError("cache_indirection, which beams a decoder reads from, is not supported")
    q, k, v = _heads(query, key, value, bias, num_heads)
    if (past_key is None) != (past_value is None):
        raise InputError("past_key and past_value are given only together")
    for given, name in (past_key, "past_key"), (past_value, "past_value"):
        if given is not None and given.ndim != 4:
            raise ShapeError(f"{name} has {given.ndim} axes, expected 4")
    past = 0 if past_key is None else past_key.shape[2]
    room = past
    if past_sequence_length is not None and past_key is not None and past_value is not None:
        past = int(past_sequence_length.reshape(-1)[0]) if past_sequence_length.size == 1 else -1
        if not 0 <= past <= room - k.shape[2]:
            raise InputError(f"past_sequence_length is {past}: {k.shape[2]} more do not fit a buffer of {room}")
    keys = with_past(None if past_key is None else past_key[:, :, :past], k, "past_key")
    values = with_past(None if past_value is None else past_value[:, :, :past], v, "past_value")
    if keys.shape[:3] != values.shape[:3]:
        raise ShapeError(f"keys of shape {list(keys.shape)} do not fit values of shape {list(values.shape)}")
    scores = scores_of(q, keys, scale)
    shape = (scores.shape[0], scores.shape[2], scores.shape[3])
    mask = padding(key_padding_mask, shape, past, MASKED if mask_filter_value is None else mask_filter_value)
    if unidirectional:
        hidden = causal(shape[1], shape[2], past)
        mask = hidden if mask is None else np.where(hidden < 0, hidden, mask)
    scores = added(scores if mask is None else scores + mask, attention_bias)
    y = joined_heads(softmax(scores) @ values).astype(query.dtype)
    present = (_buffer(past_key, keys, room, query), _buffer(past_value, values, room, query))
    return y, *present, scores.astype(query.dtype)


@multi_head_attention.infer
def infer(
    query: Fact,
    key: Fact | None = None,
    value: Fact | None = None,
    bias: Fact | None = None,
    key_padding_mask: Fact | None = None,
    attention_bias: Fact | None = None,
    past_key: Fact | None = None,
    past_value: Fact | None = None,
    past_sequence_length: Fact | None = None,
    cache_indirection: Fact | None = None,
    /,
    *,
    num_heads: int,
    **_: object,
) -> tuple[Inferred, ...]:
    check_heads(num_heads)
    if query.dtype is None:
        return (None,) * 4
    if query.rank not in (None, 3, 5):
        raise ShapeError(f"query has {query.rank} axes, expected 3 or 5")
    batch, length = last(query.shape, 0), last(query.shape, 1)
    width = None
    if query.rank == 5:
        size = last(query.shape)
        width = None if size is None else size * num_heads
    elif value is not None and value.rank == 3:
        width = last(value.shape)
    output: Shape = (batch, length, width)
    return TensorType(query.dtype, output), *(TensorType(query.dtype, (batch, num_heads, None, None)),) * 2, None


def _heads(
    query: Array, key: Array | None, value: Array | None, bias: Array | None, heads: int
) -> tuple[Array, Array, Array]:
    """Queries, keys and values by head, with their biases."""
    if query.ndim not in (3, 5):
        raise ShapeError(f"query has {query.ndim} axes, expected 3 or 5")
    if query.ndim == 5:
        parts = _unpacked(query, heads, 3, "query")
        return parts[0], parts[1], parts[2]
    q = split_heads(_biased(query, bias, 0), heads, "query")
    if key is None:
        raise CheckError("there is no key, and the query is not packed with it")
    if key.ndim == 5:
        if bias is not None:
            raise CheckError("packed keys and values take no bias")
        k, v = _unpacked(key, heads, 2, "key")
        return q, k, v
    if value is None:
        raise CheckError("there is no value, and the key is not packed with it")
    if key.ndim == 4:
        return q, key.astype(np.float32), value.astype(np.float32)
    hidden = query.shape[-1]
    k = split_heads(_biased(key, bias, hidden), heads, "key")
    v = split_heads(_biased(value, bias, 2 * hidden), heads, "value")
    return q, k, v


def _unpacked(x: Array, heads: int, parts: int, name: str) -> tuple[Array, ...]:
    """[batch, length, heads, parts, size] as each part by head."""
    if x.shape[2:4] != (heads, parts):
        raise ShapeError(f"{name} has shape {list(x.shape)}, expected {heads} heads of {parts} parts")
    return tuple(x[:, :, :, part].swapaxes(1, 2).astype(np.float32) for part in range(parts))


def _biased(x: Array, bias: Array | None, start: int) -> Array:
    """A projection with its part of the bias, in float32."""
    wide = x.astype(np.float32)
    if bias is None or x.ndim != 3:
        return wide
    stop = start + x.shape[-1]
    if bias.ndim != 1 or len(bias) < stop:
        raise ShapeError(f"the bias has shape {list(bias.shape)}, expected at least {stop} elements")
    return wide + bias[start:stop].astype(np.float32)


def _buffer(past: Array | None, whole: Array, room: int, query: Array) -> Array:
    """What is present: all there is, put into the buffer of the past if that is longer."""
    present = whole.astype(query.dtype)
    if past is None or room <= whole.shape[2]:
        return present
    buffer = past.copy()
    buffer[:, :, : whole.shape[2]] = present
    return buffer
