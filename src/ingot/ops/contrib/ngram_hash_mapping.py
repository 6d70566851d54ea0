"""NGramHashMapping and VarlenNGramHashMapping: hashes of each token and those before it, to look embeddings up by."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import numpy as np

from ingot import prim
from ingot.dtypes import Array, DType
from ingot.errors import CheckError, InputError, ShapeError
from ingot.ir.types import TensorType
from ingot.ops.contrib.domain import MICROSOFT, last
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.nn.precision import refuse_huge
from ingot.ops.shapes import require_rank
from ingot.ops.typesets import INDICES, INT32, types

M: TypeAlias = Annotated[Array, types("M", INDICES)]
S: TypeAlias = Annotated[Array, types("S", INT32)]
Segments: TypeAlias = Annotated[Array, types("", INT32)]

_MOST_STATES = 8


@operator("NGramHashMapping", since=1, domain=MICROSOFT)
def ngram_hash_mapping(
    input_ids: M,
    multipliers: M,
    vocab_sizes: M,
    past_ids: M | None = None,
    head_offsets: M | None = None,
    eos_token_id: M | None = None,
    segment_ids: Segments | None = None,
    /,
    *,
    max_ngram_size: int,
    n_head_per_ngram: int,
    pad_id: int,
    reset_on_eos: int = 0,
) -> tuple[M, M | None]:
    """For each token and each n up to `max_ngram_size`, the exclusive or of the last n tokens times their multipliers,
    modulo the size of each head's vocabulary, plus the head's offset; and the last tokens, for the next call.

    Before the first token come `past_ids`, or `pad_id`. With `reset_on_eos`, and where segments change, what lies
    before is the end token.
    """
    _check(max_ngram_size, n_head_per_ngram)
    if input_ids.ndim != 2 or (segment_ids is not None and segment_ids.shape != input_ids.shape):
        raise ShapeError(f"input_ids has shape {list(input_ids.shape)}, expected batch and length, as the segments")
    history = max_ngram_size - 1
    hashing = _Hashing(multipliers, vocab_sizes, head_offsets, eos_token_id, max_ngram_size, n_head_per_ngram, pad_id)
    refuse_huge((*input_ids.shape, history * n_head_per_ngram), np.dtype(np.int64))
    past = hashing.history(past_ids, len(input_ids))
    hashes = np.zeros((*input_ids.shape, history * n_head_per_ngram), input_ids.dtype)
    for row, tokens in enumerate(input_ids):
        segments = None if segment_ids is None else _from_one(segment_ids[row], history)
        hashes[row] = hashing.of(tokens, past[row], segments, bool(reset_on_eos))
    present = np.concatenate([past, input_ids], axis=1)[:, input_ids.shape[1] :]
    return hashes, present


@ngram_hash_mapping.infer
def infer(
    input_ids: Fact, /, *_: Fact, max_ngram_size: int, n_head_per_ngram: int, **__: object
) -> tuple[Inferred, Inferred]:
    _check(max_ngram_size, n_head_per_ngram)
    require_rank(input_ids, 2, "input_ids")
    if input_ids.dtype is None:
        return None, None
    history = max_ngram_size - 1
    shape = (last(input_ids.shape, 0), last(input_ids.shape, 1), history * n_head_per_ngram)
    return TensorType(input_ids.dtype, shape), TensorType(input_ids.dtype, (last(input_ids.shape, 0), history))


@ngram_hash_mapping.lower
def lower(
    input_ids: prim.Tensor,
    multipliers: prim.Tensor,
    vocab_sizes: prim.Tensor,
    past_ids: prim.Tensor | None = None,
    head_offsets: prim.Tensor | None = None,
    eos_token_id: prim.Tensor | None = None,
    segment_ids: prim.Tensor | None = None,
    /,
    *,
    max_ngram_size: int,
    n_head_per_ngram: int,
    pad_id: int,
    reset_on_eos: int,
    facts: tuple[Fact, ...],
) -> tuple[prim.Tensor, prim.Tensor]:
    """Of each token the n-th before it, the filler where an end or another segment lies between."""
    sizes, count = facts[2].integers, (max_ngram_size - 1) * n_head_per_ngram
    if input_ids.rank != 2 or sizes is None or len(sizes) != count or min(sizes) < 1:
        raise prim.Refused("vocabularies of unknown sizes")
    for x, least, most in ((multipliers, max_ngram_size, None), (head_offsets, count, count), (eos_token_id, 1, 1)):
        many = None if x is None else prim.count(x.shape)
        if x is not None and (not isinstance(many, int) or many < least or (most is not None and many > most)):
            raise prim.Refused(f"{many} elements, expected {least}")
    (batch, length), history, dtype = input_ids.shape, max_ngram_size - 1, input_ids.dtype
    filler = prim.scalar(pad_id, dtype) if eos_token_id is None else prim.reshape(eos_token_id, (1, 1))
    past = prim.expand(prim.reshape(filler, (1, 1)), (batch, history))
    if past_ids is not None:
        past = prim.assume_shape(past_ids, (batch, history))
    joined = prim.concat([past, input_ids], 1)
    factors = prim.reshape(multipliers, (prim.count(multipliers.shape),))
    shape, place = (batch, length), prim.iota((batch, length), 1)
    mixed = input_ids * _element(factors, 0)
    is_cut: prim.Tensor | None = None
    by_size = []
    for back in range(1, max_ngram_size):
        before = prim.slice_(joined, [0, history - back], shape)
        cuts: list[prim.Tensor] = []
        if reset_on_eos and eos_token_id is not None:
            cuts.append(prim.apply("equal", before, filler))
        if segment_ids is not None:
            segments = prim.assume_shape(segment_ids, shape)
            now, then = (
                prim.gather(segments, [0, prim.apply("maximum", place - each, 0)], shape, in_range=True)
                for each in (back - 1, back)
            )
            cuts.append(prim.apply("not_equal", now, then))
        for cut in cuts:
            is_cut = cut if is_cut is None else prim.apply("or", is_cut, cut)
        before = before if is_cut is None else prim.where(is_cut, filler, before)
        mixed = prim.apply("xor", mixed, before * _element(factors, back))
        own_sizes = np.array(sizes[(back - 1) * n_head_per_ngram : back * n_head_per_ngram], dtype.numpy)
        own = prim.apply("remainder", prim.unsqueeze(mixed, [2]), prim.constant(own_sizes))
        by_size.append(prim.where(prim.apply("less", own, 0), own + prim.constant(own_sizes), own))
    hashes = prim.concat(by_size, 2)
    if head_offsets is not None:
        hashes = hashes + prim.reshape(head_offsets, (count,))
    return hashes, prim.slice_(joined, [0, length], (batch, history))


def _element(x: prim.Tensor, place: int) -> prim.Tensor:
    """An element of a row, to be broadcast."""
    return prim.reshape(prim.slice_(x, [place], [1]), (1, 1))


@operator("VarlenNGramHashMapping", since=1, domain=MICROSOFT)
def varlen_ngram_hash_mapping(
    input_ids: M,
    multipliers: M,
    vocab_sizes: M,
    cumulative_sequence_length: S,
    past_ids: M | None = None,
    head_offsets: M | None = None,
    eos_token_id: M | None = None,
    segment_ids: Segments | None = None,
    past_segment_ids: S | None = None,
    capture_count: S | None = None,
    /,
    *,
    max_ngram_size: int,
    n_head_per_ngram: int,
    pad_id: int,
    reset_on_eos: int = 0,
    state_update_capacity: int = 0,
) -> tuple[M, M | None, S | None, M | None]:
    """NGramHashMapping of sequences one after another in one row, which end where `cumulative_sequence_length` says.

    With the last tokens and segments of each, and its last tokens after each of its first `capture_count` ones.
    """
    _check(max_ngram_size, n_head_per_ngram)
    if input_ids.ndim != 1 or (segment_ids is not None and segment_ids.shape != input_ids.shape):
        raise ShapeError(f"input_ids has shape {list(input_ids.shape)}, expected one axis, as the segments")
    ends = cumulative_sequence_length.reshape(-1).tolist()
    if not ends or ends[0] != 0 or ends[-1] != len(input_ids) or min(np.diff(ends), default=1) < 1:
        raise InputError(f"cumulative_sequence_length is {ends}, for {len(input_ids)} tokens")
    if not 0 <= state_update_capacity <= _MOST_STATES or (capture_count is None) != (state_update_capacity == 0):
        raise CheckError(
            f"state_update_capacity is {state_update_capacity}, expected 0 to {_MOST_STATES}, with counts if not 0"
        )
    batch, history = len(ends) - 1, max_ngram_size - 1
    hashing = _Hashing(multipliers, vocab_sizes, head_offsets, eos_token_id, max_ngram_size, n_head_per_ngram, pad_id)
    refuse_huge((len(input_ids), history * n_head_per_ngram), np.dtype(np.int64))
    past = hashing.history(past_ids, batch)
    hashes = np.zeros((len(input_ids), history * n_head_per_ngram), input_ids.dtype)
    present, segments_now = past.copy(), np.zeros((batch, history), np.int32)
    states = np.full((batch, state_update_capacity, history), pad_id, input_ids.dtype)
    for row in range(batch):
        tokens = input_ids[ends[row] : ends[row + 1]]
        segments = None
        if segment_ids is not None:
            own = segment_ids[ends[row] : ends[row + 1]]
            segments = (
                _from_one(own, history) if past_segment_ids is None else np.concatenate([past_segment_ids[row], own])
            )
            segments_now[row] = segments[len(tokens) :]
        hashes[ends[row] : ends[row + 1]] = hashing.of(tokens, past[row], segments, bool(reset_on_eos))
        joined = np.concatenate([past[row], tokens])
        present[row] = joined[len(tokens) :]
        wanted = 0 if capture_count is None else int(capture_count.reshape(-1)[row])
        for step in range(min(max(wanted, 0), len(tokens), state_update_capacity)):
            states[row, step] = joined[step + 1 : step + 1 + history]
    return hashes, present, segments_now, states


@varlen_ngram_hash_mapping.infer
def infer_varlen(
    input_ids: Fact,
    multipliers: Fact,
    vocab_sizes: Fact,
    cumulative_sequence_length: Fact,
    /,
    *_: Fact,
    max_ngram_size: int,
    n_head_per_ngram: int,
    state_update_capacity: int,
    **__: object,
) -> tuple[Inferred, ...]:
    _check(max_ngram_size, n_head_per_ngram)
    require_rank(input_ids, 1, "input_ids")
    if input_ids.dtype is None:
        return (None,) * 4
    history, ends = max_ngram_size - 1, last(cumulative_sequence_length.shape, 0)
    batch = None if ends is None else ends - 1
    return (
        TensorType(input_ids.dtype, (last(input_ids.shape, 0), history * n_head_per_ngram)),
        TensorType(input_ids.dtype, (batch, history)),
        TensorType(DType.INT32, (batch, history)),
        TensorType(input_ids.dtype, (batch, state_update_capacity, history)),
    )


class _Hashing:
    """What makes hashes of tokens and those before them."""

    def __init__(
        self,
        multipliers: Array,
        sizes: Array,
        offsets: Array | None,
        eos: Array | None,
        most: int,
        heads: int,
        pad: int,
    ) -> None:
        count = (most - 1) * heads
        if multipliers.size < most or sizes.size != count or (offsets is not None and offsets.size != count):
            raise ShapeError(f"{multipliers.size} multipliers and {sizes.size} sizes, expected {most} and {count}")
        if sizes.size and sizes.min() < 1:
            raise InputError(f"a vocabulary has {sizes.min()} entries")
        if eos is not None and eos.size != 1:
            raise InputError(f"eos_token_id has {eos.size} elements, expected 1")
        self._multipliers, self._sizes = multipliers.reshape(-1), sizes.reshape(most - 1, heads)
        self._offsets = None if offsets is None else offsets.reshape(-1)
        self._most = most
        self._eos = None if eos is None else eos.reshape(-1)[0]
        self._filler = sizes.dtype.type(pad) if self._eos is None else self._eos

    def history(self, past: Array | None, batch: int) -> Array:
        """The tokens before those of each sequence."""
        shape = (batch, self._most - 1)
        if past is None:
            return np.full(shape, self._filler, self._sizes.dtype)
        if past.shape != shape:
            raise ShapeError(f"past_ids has shape {list(past.shape)}, expected {list(shape)}")
        return past

    def of(self, tokens: Array, past: Array, segments: Array | None, reset: bool) -> Array:
        """The hashes of each token: (tokens, heads of all n)."""
        history = self._most - 1
        joined = np.concatenate([past, tokens])
        first = np.zeros(len(joined), np.int64)  # the first place that a token at each place may look back to
        if reset and self._eos is not None:
            ended = np.flatnonzero(joined[:-1] == self._eos) + 1
            first[ended] = ended
        if segments is not None:
            changed = np.flatnonzero(np.diff(segments)) + 1
            first[changed] = np.maximum(first[changed], changed)
        first = np.maximum.accumulate(first)
        place = np.arange(history, len(joined))
        mixed = joined[place] * self._multipliers[0]
        by_size = []
        for back in range(1, self._most):
            at = place - back
            before = np.where(at < first[place], self._filler, joined[at])
            mixed = mixed ^ (before * self._multipliers[back])
            by_size.append(np.mod(mixed[:, None], self._sizes[back - 1]))
        hashes = np.concatenate(by_size, axis=1)
        return np.asarray(hashes if self._offsets is None else hashes + self._offsets)


def _from_one(segments: Array, history: int) -> Array:
    """Segments with those of the past before them, which continue the first."""
    front = np.full(history, segments[0] if len(segments) else 0, segments.dtype)
    return np.concatenate([front, segments])


def _check(most: int, heads: int) -> None:
    if most < 2 or heads < 1:
        raise CheckError(f"max_ngram_size is {most} and n_head_per_ngram {heads}, expected at least 2 and 1")
