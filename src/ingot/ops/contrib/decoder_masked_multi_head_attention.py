"""DecoderMaskedMultiHeadAttention: attention of one new token to those before it, or to those of another sequence."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

from ingot import prim
from ingot.dtypes import Array
from ingot.errors import CheckError, InputError, ShapeError
from ingot.ir.types import Shape
from ingot.ops.contrib.domain import MICROSOFT, SMALL_FLOATS
from ingot.ops.contrib.multi_head_attention import multi_head_attention
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.typesets import INT32, types

T: TypeAlias = Annotated[Array, types("T", SMALL_FLOATS)]
QK: TypeAlias = Annotated[Array, types("QK", SMALL_FLOATS)]
M: TypeAlias = Annotated[Array, types("M", INT32)]


@operator("DecoderMaskedMultiHeadAttention", since=1, domain=MICROSOFT)
def decoder_masked_multi_head_attention(
    query: T,
    key: T | None = None,
    value: T | None = None,
    mask_index: M | None = None,
    attention_bias: T | None = None,
    past_key: T | None = None,
    past_value: T | None = None,
    past_sequence_length: M | None = None,
    beam_width: M | None = None,
    cache_indirection: M | None = None,
    bias: T | None = None,
    /,
    *,
    num_heads: int,
    mask_filter_value: float | None = None,
    output_qk: int | None = None,
    past_present_share_buffer: int | None = None,
    scale: float | None = None,
) -> tuple[T, T | None, T | None, QK | None]:
    """MultiHeadAttention with queries of one token each.

    The past is a buffer that holds `past_sequence_length` tokens, and the present the same with the new one put in.
    Without a past, keys and values by head are those of another sequence, and none are new.
    """
    _check(query.shape, past_key is not None, past_present_share_buffer)
    if beam_width is not None and int(beam_width.reshape(-1)[0]) > 1 and cache_indirection is None:
        raise InputError("beam_width is above 1, and there is no cache_indirection")
    inputs, named = _rearranged(
        query,
        key,
        value,
        mask_index,
        attention_bias,
        past_key,
        past_value,
        past_sequence_length,
        beam_width,
        cache_indirection,
        bias,
        num_heads=num_heads,
        mask_filter_value=mask_filter_value,
        scale=scale,
    )
    y, keys, values, scores = multi_head_attention.evaluate(*inputs, **named)
    return y, keys, values, scores


def _rearranged(
    query: Any,
    key: Any = None,
    value: Any = None,
    mask_index: Any = None,
    attention_bias: Any = None,
    past_key: Any = None,
    past_value: Any = None,
    past_sequence_length: Any = None,
    beam_width: Any = None,
    cache_indirection: Any = None,
    bias: Any = None,
    **attributes: Any,
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    attribute_names = ("num_heads", "mask_filter_value", "scale")
    inputs = (query, key, value, bias, mask_index, attention_bias, past_key, past_value, past_sequence_length)
    named = {name: attributes[name] for name in attribute_names}
    return (*inputs, cache_indirection), {**named, "unidirectional": 0}


@decoder_masked_multi_head_attention.infer
def infer(*inputs: Fact, past_present_share_buffer: int | None, **attributes: Any) -> tuple[Inferred, ...]:
    arguments, named = _rearranged(*inputs, **attributes)
    past_key = arguments[6]
    _check(inputs[0].shape, past_key is not None and past_key.present, past_present_share_buffer)
    inferred: tuple[Inferred, ...] = multi_head_attention.rules["infer"](*arguments, **named)
    return inferred


@decoder_masked_multi_head_attention.lower
def lower(
    *inputs: prim.Tensor | None, facts: tuple[Fact, ...], inferred: tuple[Fact, ...], **attributes: Any
) -> tuple[prim.Tensor, ...]:
    query, *others = inputs
    if query is None or query.rank != 3:
        raise prim.Refused("queries that are not (batch, 1, hidden)")
    beam_width, cache_indirection = ([*inputs, *[None] * 11][place] for place in (8, 9))
    if beam_width is not None and cache_indirection is None and facts[8].integers not in ([0], [1]):
        raise prim.Refused("beams of unknown number")
    query = prim.assume_shape(query, (query.shape[0], 1, query.shape[2]))
    arguments, named = _rearranged(query, *others, **attributes)
    known, _ = _rearranged(*facts, **attributes)
    return tuple(multi_head_attention.apply("lower", arguments, named, facts=known, inferred=inferred))


def _check(query: Shape | None, has_past: bool, shares_buffer: int | None) -> None:
    """ShapeError or CheckError unless queries may be of one token, and a past is in a buffer with the present."""
    if query is not None and (len(query) != 3 or (isinstance(query[1], int) and query[1] != 1)):
        raise ShapeError(f"query has shape {list(map(str, query))}, expected one token a sequence")
    if has_past and not shares_buffer:
        raise CheckError("there is a past, and past_present_share_buffer is 0", hint="set it to 1")
