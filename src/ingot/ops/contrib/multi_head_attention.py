"""MultiHeadAttention: attention of projected queries, keys and values, with a cache of past ones."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import numpy as np

from ingot import prim
from ingot.dims import Dim, divide_exactly
from ingot.dtypes import Array
from ingot.errors import CheckError, InputError, ShapeError
from ingot.ir.types import Shape, TensorType
from ingot.ops.contrib.attended import attended
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
from ingot.ops.nn.attending import behind, by_head, by_query_head, side_by_side
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
    `cache_indirection` names, for each beam of a search and each token of the past, the beam to read it from.
    """
    check_heads(num_heads)
    q, k, v = _heads(query, key, value, bias, num_heads)
    if (past_key is None) != (past_value is None):
        raise InputError("past_key and past_value are given only together")
    for cached, name in (past_key, "past_key"), (past_value, "past_value"):
        if cached is not None and cached.ndim != 4:
            raise ShapeError(f"{name} has {cached.ndim} axes, expected 4")
    past = 0 if past_key is None else past_key.shape[2]
    capacity = past
    if past_sequence_length is not None and past_key is not None and past_value is not None:
        past = int(past_sequence_length.reshape(-1)[0]) if past_sequence_length.size == 1 else -1
        if not 0 <= past <= capacity - k.shape[2]:
            raise InputError(f"past_sequence_length is {past}: {k.shape[2]} more do not fit a buffer of {capacity}")
    keys = with_past(None if past_key is None else past_key[:, :, :past], k, "past_key")
    values = with_past(None if past_value is None else past_value[:, :, :past], v, "past_value")
    present = (_buffer(past_key, keys, capacity, query), _buffer(past_value, values, capacity, query))
    if cache_indirection is not None:
        beams = _beams(cache_indirection, len(keys), past)
        keys, values = (_of_beams(each, beams, past) for each in (keys, values))
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
    _check_packing(query.rank, None if key is None else key.rank, bias is not None and bias.present)
    batch, length = last(query.shape, 0), last(query.shape, 1)
    fresh, size, width = _sizes(query, key, value, num_heads)
    held = past_sequence_length is not None and past_sequence_length.present
    before: Dim | None = 0
    if past_key is not None and past_key.present:
        before = last(past_key.shape, 2)
    total = None if before is None or fresh is None else before + fresh
    capacity = before if held and past_key is not None and past_key.present else total
    output: Shape = (batch, length, None if width is None else width * num_heads)
    return (
        TensorType(query.dtype, output),
        TensorType(query.dtype, (batch, num_heads, capacity, size)),
        TensorType(query.dtype, (batch, num_heads, capacity, width)),
        TensorType(query.dtype, (batch, num_heads, length, None if held else total)),
    )


def _sizes(query: Fact, key: Fact | None, value: Fact | None, heads: int) -> tuple[Dim | None, Dim | None, Dim | None]:
    """How many new keys there are, and the sizes of a head of keys and of values."""
    if query.rank == 5:
        return last(query.shape, 1), last(query.shape), last(query.shape)
    if key is None or key.shape is None:
        return None, None, None
    if key.rank == 5:
        return last(key.shape, 1), last(key.shape), last(key.shape)
    by_head = key.rank == 4
    sizes = []
    for tensor in (key, value):
        whole = last(None if tensor is None else tensor.shape)
        sizes.append(whole if by_head or whole is None else divide_exactly(whole, heads))
    return last(key.shape, 2 if by_head else 1), sizes[0], sizes[1]


@multi_head_attention.lower
def lower(
    query: prim.Tensor,
    key: prim.Tensor | None = None,
    value: prim.Tensor | None = None,
    bias: prim.Tensor | None = None,
    key_padding_mask: prim.Tensor | None = None,
    attention_bias: prim.Tensor | None = None,
    past_key: prim.Tensor | None = None,
    past_value: prim.Tensor | None = None,
    past_sequence_length: prim.Tensor | None = None,
    cache_indirection: prim.Tensor | None = None,
    /,
    *,
    num_heads: int,
    mask_filter_value: float | None,
    scale: float | None,
    unidirectional: int,
    facts: tuple[Fact, ...],
) -> tuple[prim.Tensor, ...]:
    if cache_indirection is not None or (past_sequence_length is not None and past_key is not None):
        raise prim.Refused("a past of statically unknown length")
    if (past_key is None) != (past_value is None):
        raise prim.Refused("past keys without past values, or the reverse")
    q, k, v = _by_head(query, key, value, bias, num_heads)
    cache_type = facts[0].dtype
    keys, values = behind(past_key, k, cache_type), behind(past_value, v, cache_type)
    y, scores = attended(
        q,
        prim.cast(keys, q.dtype),
        prim.cast(values, q.dtype),
        past=0 if past_key is None else past_key.shape[2],
        mask=key_padding_mask,
        filler=MASKED if mask_filter_value is None else mask_filter_value,
        unidirectional=bool(unidirectional),
        bias=attention_bias,
        scale=scale,
    )
    return side_by_side(y), keys, values, by_query_head(scores)


def _by_head(
    query: prim.Tensor,
    key: prim.Tensor | None,
    value: prim.Tensor | None,
    bias: prim.Tensor | None,
    heads: int,
) -> tuple[prim.Tensor, prim.Tensor, prim.Tensor]:
    """Queries, keys and values by head, with their biases, in primitives."""
    if query.rank == 5:
        q, k, v = _parts(query, heads, 3)
        return q, k, v
    if key is None or (value is None and key.rank != 5):
        raise prim.Refused("queries that are neither packed nor come with keys and values")
    hidden = query.shape[2]
    q = by_head(_with_bias(query, bias, 0), heads)
    if key.rank == 5:
        k, v = _parts(key, heads, 2)
        return q, k, v
    assert value is not None
    if key.rank == 4:
        return q, key, value
    return q, by_head(_with_bias(key, bias, hidden), heads), by_head(_with_bias(value, bias, hidden * 2), heads)


def _parts(x: prim.Tensor, heads: int, parts: int) -> list[prim.Tensor]:
    """The parts of (batch, length, heads, parts, size), by head."""
    x = prim.assume_shape(x, (*x.shape[:2], heads, parts, x.shape[4]))
    slices = [prim.slice_(x, [0, 0, 0, part, 0], [*x.shape[:3], 1, x.shape[4]]) for part in range(parts)]
    return [prim.permute(prim.squeeze(one, [3]), [0, 2, 1, 3]) for one in slices]


def _with_bias(x: prim.Tensor, bias: prim.Tensor | None, start: Dim) -> prim.Tensor:
    if bias is None:
        return x
    if bias.rank != 1:
        raise prim.Refused(f"a bias of {bias.rank} axes")
    return x + prim.slice_(bias, [start], [x.shape[2]])


def _heads(
    query: Array, key: Array | None, value: Array | None, bias: Array | None, heads: int
) -> tuple[Array, Array, Array]:
    """Queries, keys and values by head, with their biases."""
    if query.ndim not in (3, 5):
        raise ShapeError(f"query has {query.ndim} axes, expected 3 or 5")
    _check_packing(query.ndim, None if key is None else key.ndim, bias is not None)
    if query.ndim == 5:
        parts = _unpacked(query, heads, 3, "query")
        return parts[0], parts[1], parts[2]
    q = split_heads(_biased(query, bias, 0), heads, "query")
    if key is None:
        raise CheckError("there is no key, and the query is not packed with it")
    if key.ndim == 5:
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


def _check_packing(query: int | None, key: int | None, biased: bool) -> None:
    """CheckError for a bias of what is packed, of queries and keys with so many axes."""
    if biased and 5 in (query, key):
        raise CheckError("packed queries, keys or values take no bias", hint="add it before they are packed")


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


def _beams(indirection: Array, batch: int, past: int) -> Array:
    """The row of the batch that each row reads each token of the past from: [batch, past]."""
    if indirection.ndim != 3 or indirection.shape[0] * indirection.shape[1] != batch or indirection.shape[2] < past:
        shape = list(indirection.shape)
        raise ShapeError(f"cache_indirection has shape {shape}, for {batch} beams in all and a past of {past}")
    width = indirection.shape[1]
    named = indirection.reshape(batch, -1)[:, :past]
    if named.size and not 0 <= named.min() <= named.max() < width:
        raise InputError(f"cache_indirection goes from {named.min()} to {named.max()}, there are {width} beams")
    return np.asarray(np.arange(batch)[:, None] // max(width, 1) * width + named)


def _of_beams(whole: Array, beams: Array, past: int) -> Array:
    """Keys or values whose past is that of the beams."""
    old = whole[beams, :, np.arange(past)].swapaxes(1, 2)
    return np.concatenate([old, whole[:, :, past:]], axis=2)


def _buffer(past: Array | None, whole: Array, capacity: int, query: Array) -> Array:
    """What is present: all there is, put into the buffer of the past if that is longer."""
    present = whole.astype(query.dtype)
    if past is None or capacity <= whole.shape[2]:
        return present
    buffer = past.copy()
    buffer[:, :, : whole.shape[2]] = present
    return buffer
