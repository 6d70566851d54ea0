"""Attention and QAttention: the projections of a hidden state to queries, keys and values, and attention among them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, TypeAlias

import numpy as np

from ingot import prim
from ingot.dims import Dim
from ingot.dtypes import Array
from ingot.errors import CheckError, ShapeError
from ingot.ir.types import TensorType
from ingot.ops.contrib.attended import attended
from ingot.ops.contrib.domain import BYTES, HALF, MICROSOFT, SMALL_FLOATS, last
from ingot.ops.contrib.heads import (
    MASKED,
    added,
    causal,
    check_heads,
    joined_heads,
    padding,
    refuse,
    scores_of,
    softmax,
    split_heads,
    with_past,
)
from ingot.ops.contrib.quantized_products import matmul_integer_to_float
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.linalg.matmul import product_in_primitives
from ingot.ops.nn.attending import by_head, side_by_side
from ingot.ops.shapes import require_rank
from ingot.ops.typesets import FLOAT32, INT32, types

T: TypeAlias = Annotated[Array, types("T", SMALL_FLOATS)]
M: TypeAlias = Annotated[Array, types("M", INT32)]
T1: TypeAlias = Annotated[Array, types("T1", BYTES)]
T2: TypeAlias = Annotated[Array, types("T2", BYTES)]
T3: TypeAlias = Annotated[Array, types("T3", FLOAT32 | HALF)]
T4: TypeAlias = Annotated[Array, types("T4", INT32)]


@operator("Attention", since=1, domain=MICROSOFT)
def attention(
    x: T,
    weights: T,
    bias: T | None = None,
    mask_index: M | None = None,
    past: T | None = None,
    attention_bias: T | None = None,
    past_sequence_length: M | None = None,
    /,
    *,
    num_heads: int,
    do_rotary: int | None = None,
    mask_filter_value: float | None = None,
    past_present_share_buffer: int | None = None,
    qkv_hidden_sizes: Sequence[int] | None = None,
    rotary_embedding_dim: int | None = None,
    scale: float | None = None,
    unidirectional: int = 0,
) -> tuple[T, T | None]:
    """`softmax(q kᵀ * scale + masks) v` for each head of `q`, `k` and `v`, the parts of `x @ weights + bias`.

    With it the keys and values of all tokens, those of the past first, in one tensor where they are of one size.
    """
    check_heads(num_heads)
    refuse(do_rotary=do_rotary, past_present_share_buffer=past_present_share_buffer)
    if x.ndim != 3 or weights.ndim != 2 or x.shape[2] != weights.shape[0]:
        raise ShapeError(f"x of shape {list(x.shape)} does not fit weights of shape {list(weights.shape)}")
    projected = x.astype(np.float32) @ weights.astype(np.float32)
    if bias is not None:
        if bias.shape != projected.shape[2:]:
            raise ShapeError(f"the bias has shape {list(bias.shape)}, expected [{projected.shape[2]}]")
        projected = projected + bias.astype(np.float32)
    filler = MASKED if mask_filter_value is None else mask_filter_value
    y, present = _attended(
        projected, qkv_hidden_sizes, num_heads, past, mask_index, filler, bool(unidirectional), attention_bias, scale
    )
    return y.astype(x.dtype), None if present is None else present.astype(x.dtype)


@attention.infer
def infer_attention(
    x: Fact,
    weights: Fact,
    bias: Fact | None = None,
    mask_index: Fact | None = None,
    past: Fact | None = None,
    /,
    *_: Fact,
    num_heads: int,
    qkv_hidden_sizes: Sequence[int] | None,
    **__: object,
) -> tuple[Inferred, Inferred]:
    return _inferred(x, weights, past, num_heads, qkv_hidden_sizes, x)


@attention.lower
def lower_attention(
    x: prim.Tensor,
    weights: prim.Tensor,
    bias: prim.Tensor | None = None,
    mask_index: prim.Tensor | None = None,
    past: prim.Tensor | None = None,
    attention_bias: prim.Tensor | None = None,
    past_sequence_length: prim.Tensor | None = None,
    /,
    *,
    num_heads: int,
    do_rotary: int | None,
    mask_filter_value: float | None,
    past_present_share_buffer: int | None,
    qkv_hidden_sizes: Sequence[int] | None,
    rotary_embedding_dim: int | None,
    scale: float | None,
    unidirectional: int,
) -> tuple[prim.Tensor, ...]:
    if do_rotary or past_present_share_buffer:
        raise prim.Refused("positions that turn, or a shared buffer")
    projected = product_in_primitives(x, weights)
    return attended_projections(
        projected if bias is None else projected + prim.assume_shape(bias, projected.shape[2:]),
        num_heads,
        qkv_hidden_sizes,
        past,
        mask=mask_index,
        filler=MASKED if mask_filter_value is None else mask_filter_value,
        unidirectional=bool(unidirectional),
        bias=attention_bias,
        scale=scale,
    )


@operator("QAttention", since=1, domain=MICROSOFT)
def qattention(
    x: T1,
    weight: T2,
    bias: T3,
    input_scale: T3,
    weight_scale: T3,
    mask_index: T4 | None = None,
    input_zero_point: T1 | None = None,
    weight_zero_point: T2 | None = None,
    past: T3 | None = None,
    /,
    *,
    num_heads: int,
    do_rotary: int | None = None,
    mask_filter_value: float | None = None,
    past_present_share_buffer: int | None = None,
    scale: float | None = None,
    unidirectional: int = 0,
) -> tuple[T3, T3 | None]:
    """The same, where input and weights are bytes that stand for real numbers: weights by tensor or by column."""
    check_heads(num_heads)
    refuse(do_rotary=do_rotary, past_present_share_buffer=past_present_share_buffer)
    if x.ndim != 3 or weight.ndim != 2:
        raise ShapeError(f"x has {x.ndim} axes and weight {weight.ndim}, expected 3 and 2")
    projected = matmul_integer_to_float.evaluate(
        x, weight, input_scale, weight_scale, input_zero_point, weight_zero_point, bias
    )
    filler = MASKED if mask_filter_value is None else mask_filter_value
    y, present = _attended(
        projected.astype(np.float32), None, num_heads, past, mask_index, filler, bool(unidirectional), None, scale
    )
    return y.astype(bias.dtype), None if present is None else present.astype(bias.dtype)


@qattention.infer
def infer_qattention(
    x: Fact,
    weight: Fact,
    bias: Fact,
    input_scale: Fact,
    weight_scale: Fact,
    mask_index: Fact | None = None,
    input_zero_point: Fact | None = None,
    weight_zero_point: Fact | None = None,
    past: Fact | None = None,
    /,
    *,
    num_heads: int,
    **__: object,
) -> tuple[Inferred, Inferred]:
    return _inferred(x, weight, past, num_heads, None, bias)


@qattention.lower
def lower_qattention(
    x: prim.Tensor,
    weight: prim.Tensor,
    bias: prim.Tensor,
    input_scale: prim.Tensor,
    weight_scale: prim.Tensor,
    mask_index: prim.Tensor | None = None,
    input_zero_point: prim.Tensor | None = None,
    weight_zero_point: prim.Tensor | None = None,
    past: prim.Tensor | None = None,
    /,
    *,
    num_heads: int,
    do_rotary: int | None,
    mask_filter_value: float | None,
    past_present_share_buffer: int | None,
    scale: float | None,
    unidirectional: int,
) -> tuple[prim.Tensor, ...]:
    if do_rotary or past_present_share_buffer:
        raise prim.Refused("positions that turn, or a shared buffer")
    projected = matmul_integer_to_float.rules["lower"](
        x, weight, input_scale, weight_scale, input_zero_point, weight_zero_point, bias
    )
    return attended_projections(
        projected,
        num_heads,
        None,
        past,
        mask=mask_index,
        filler=MASKED if mask_filter_value is None else mask_filter_value,
        unidirectional=bool(unidirectional),
        bias=None,
        scale=scale,
    )


def attended_projections(
    projected: prim.Tensor,
    heads: int,
    stated_sizes: Sequence[int] | None,
    past: prim.Tensor | None,
    *,
    mask: prim.Tensor | None,
    filler: float,
    unidirectional: bool,
    bias: prim.Tensor | None,
    scale: float | None,
) -> tuple[prim.Tensor, ...]:
    """The result and the present state, of projections to queries, keys and values beside each other."""
    width = projected.shape[2]
    if not isinstance(width, int):
        raise prim.Refused("projections of unknown size")
    sizes = _sizes(stated_sizes, width)
    starts = (0, sizes[0], sizes[0] + sizes[1])
    q, k, v = (
        by_head(prim.slice_(projected, [0, 0, start], [*projected.shape[:2], size]), heads)
        for start, size in zip(starts, sizes, strict=True)
    )
    before: Dim = 0
    if past is not None:
        if past.rank != 5:
            raise prim.Refused(f"a past of {past.rank} axes")
        past = prim.assume_shape(past, (2, *past.shape[1:]))
        before = past.shape[3]
        old = [prim.squeeze(prim.slice_(past, [i, 0, 0, 0, 0], [1, *past.shape[1:]]), [0]) for i in range(2)]
        k, v = prim.concat([old[0], k], 2), prim.concat([old[1], v], 2)
    y, _ = attended(
        q, k, v, past=before, mask=mask, filler=filler, unidirectional=unidirectional, bias=bias, scale=scale
    )
    result = side_by_side(y)
    if k.shape != v.shape:
        return (result,)
    return result, prim.concat([prim.unsqueeze(k, [0]), prim.unsqueeze(v, [0])], 0)


def _attended(
    projected: Array,
    sizes: Sequence[int] | None,
    heads: int,
    past: Array | None,
    mask: Array | None,
    filler: float,
    unidirectional: bool,
    bias: Array | None,
    scale: float | None,
) -> tuple[Array, Array | None]:
    """The result and the present state, of projections to queries, keys and values beside each other."""
    width = projected.shape[2]
    parts = _sizes(sizes, width)
    q, k, v = (
        split_heads(part, heads, name)
        for part, name in zip(np.split(projected, np.cumsum(parts)[:2], axis=2), ("q", "k", "v"), strict=True)
    )
    if past is not None and (past.ndim != 5 or past.shape[0] != 2):
        raise ShapeError(f"past has shape {list(past.shape)}, expected keys and values of 4 axes")
    before = 0 if past is None else past.shape[3]
    keys = with_past(None if past is None else past[0], k, "past")
    values = with_past(None if past is None else past[1], v, "past")
    scores = scores_of(q, keys, scale)
    shape = (scores.shape[0], scores.shape[2], scores.shape[3])
    hidden = padding(mask, shape, before, filler)
    if unidirectional:
        later = causal(shape[1], shape[2], before)
        hidden = later if hidden is None else np.where(later < 0, later, hidden)
    scores = added(scores if hidden is None else scores + hidden, bias)
    present = np.stack([keys, values]) if keys.shape == values.shape else None
    return joined_heads(softmax(scores) @ values), present


def _sizes(stated: Sequence[int] | None, width: int) -> tuple[int, int, int]:
    """The hidden sizes of queries, keys and values."""
    if stated:
        if len(stated) != 3 or min(stated) < 1 or sum(stated) != width or stated[0] != stated[1]:
            raise CheckError(f"qkv_hidden_sizes is {list(stated)}, the weights have {width} columns")
        return stated[0], stated[1], stated[2]
    if width % 3:
        raise ShapeError(f"the weights have {width} columns, no multiple of 3")
    return width // 3, width // 3, width // 3


def _inferred(
    x: Fact, weights: Fact, past: Fact | None, heads: int, sizes: Sequence[int] | None, typed: Fact
) -> tuple[Inferred, Inferred]:
    check_heads(heads)
    require_rank(x, 3, "x")
    require_rank(weights, 2, "weights")
    if typed.dtype is None:
        return None, None
    batch, length, width = last(x.shape, 0), last(x.shape, 1), last(weights.shape)
    value: Dim | None = sizes[2] if sizes and len(sizes) == 3 else None
    if isinstance(width, int):
        value = _sizes(sizes, width)[2]
    size = value // heads if isinstance(value, int) else None
    total: Dim | None = length
    if past is not None and past.present:
        before = last(past.shape, 3)
        total = None if before is None or length is None else before + length
    return TensorType(typed.dtype, (batch, length, value)), TensorType(typed.dtype, (2, batch, heads, total, size))
