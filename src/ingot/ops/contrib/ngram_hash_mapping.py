"""NGramHashMapping and VarlenNGramHashMapping: hashes of each token and those before it, to look embeddings up by."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, TypeAlias

import numpy as np

from ingot import prim
from ingot.dtypes import Array, DType
from ingot.errors import CheckError, InputError, ShapeError
from ingot.ir.types import TensorType
from ingot.ops.contrib.domain import MICROSOFT, last
from ingot.ops.contrib.ngram_hashes import Sequences, tables
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
    if input_ids.rank != 2:
        raise prim.Refused(f"tokens of {input_ids.rank} axes")
    (batch, length), history, dtype = input_ids.shape, max_ngram_size - 1, input_ids.dtype
    hashing = tables(
        multipliers,
        facts[2].integers,
        head_offsets,
        eos_token_id,
        dtype,
        most=max_ngram_size,
        heads=n_head_per_ngram,
        pad=pad_id,
        resets=bool(reset_on_eos),
    )
    past = prim.expand(prim.reshape(hashing.filler, (1, 1)), (batch, history))
    if past_ids is not None:
        past = prim.assume_shape(past_ids, (batch, history))
    joined = prim.concat([past, input_ids], 1)
    shape, place = (batch, length), prim.iota((batch, length), 1)

    def before(back: int) -> prim.Tensor:
        return prim.slice_(joined, [0, history - back], shape)

    def segment(back: int) -> prim.Tensor:
        segments = prim.assume_shape(segment_ids, shape) if segment_ids is not None else place
        return prim.gather(segments, [0, prim.apply("maximum", place - back, 0)], shape, in_range=True)

    hashes = hashing.hashes(input_ids, before, None if segment_ids is None else segment)
    return hashes, prim.slice_(joined, [0, length], (batch, history))


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


@varlen_ngram_hash_mapping.lower
def lower_varlen(
    input_ids: prim.Tensor,
    multipliers: prim.Tensor,
    vocab_sizes: prim.Tensor,
    cumulative_sequence_length: prim.Tensor,
    past_ids: prim.Tensor | None = None,
    head_offsets: prim.Tensor | None = None,
    eos_token_id: prim.Tensor | None = None,
    segment_ids: prim.Tensor | None = None,
    past_segment_ids: prim.Tensor | None = None,
    capture_count: prim.Tensor | None = None,
    /,
    *,
    max_ngram_size: int,
    n_head_per_ngram: int,
    pad_id: int,
    reset_on_eos: int,
    state_update_capacity: int,
    facts: tuple[Fact, ...],
) -> tuple[prim.Tensor, prim.Tensor, prim.Tensor, prim.Tensor]:
    """What is before each sequence and then all of them are one row, of which places are computed."""
    count = prim.count(cumulative_sequence_length.shape)
    (length,), history, dtype, batch = input_ids.shape, max_ngram_size - 1, input_ids.dtype, count - 1
    hashing = tables(
        multipliers,
        facts[2].integers,
        head_offsets,
        eos_token_id,
        dtype,
        most=max_ngram_size,
        heads=n_head_per_ngram,
        pad=pad_id,
        resets=bool(reset_on_eos),
    )
    ends = prim.cast(prim.reshape(cumulative_sequence_length, (count,)), DType.INT64)
    sequences = Sequences(ends, prim.size(length))
    past = prim.expand(prim.reshape(hashing.filler, (1, 1)), (batch, history))
    if past_ids is not None:
        past = prim.assume_shape(past_ids, (batch, history))
    joined = prim.concat([prim.reshape(past, (batch * history,)), input_ids], 0)
    where_in_row = prim.iota((length,), 0)
    own = sequences.of_places(where_in_row)
    place = where_in_row - prim.gather(sequences.starts(), [own], own.shape)

    def before(back: int) -> prim.Tensor:
        return sequences.read(joined, history, own, place - back)

    lines, columns = (prim.iota((batch, history), axis) for axis in (0, 1))
    last_places = prim.unsqueeze(sequences.lengths(), [1]) + (columns - history)
    present = sequences.read(joined, history, lines, last_places)
    segment: Callable[[int], prim.Tensor] | None = None
    segments_now = prim.full(0, (batch, history), DType.INT32)
    if segment_ids is not None:
        own_segments = prim.assume_shape(segment_ids, (length,))
        firsts = prim.gather(own_segments, [sequences.starts()], (batch,))
        before_them = prim.expand(prim.unsqueeze(firsts, [1]), (batch, history))
        if past_segment_ids is not None:
            before_them = prim.assume_shape(past_segment_ids, (batch, history))
        row = prim.concat([prim.reshape(before_them, (batch * history,)), own_segments], 0)
        segments_now = sequences.read(row, history, lines, last_places)

        def segment(back: int) -> prim.Tensor:
            return sequences.read(row, history, own, place - back)

    hashes = hashing.hashes(input_ids, before, segment)
    shape = (batch, state_update_capacity, history)
    if capture_count is None or not state_update_capacity:
        return hashes, present, segments_now, prim.full(pad_id, shape, dtype)
    wanted = prim.reshape(prim.assume_shape(capture_count, (batch,)), (batch, 1, 1))
    step, many = prim.iota(shape, 1), prim.reshape(sequences.lengths(), (batch, 1, 1))
    after = sequences.read(joined, history, prim.iota(shape, 0), step + prim.iota(shape, 2) + (1 - history))
    is_wanted = prim.apply("less", step, prim.apply("minimum", prim.cast(wanted, DType.INT64), many))
    return hashes, present, segments_now, prim.where(is_wanted, after, prim.scalar(pad_id, dtype))


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
