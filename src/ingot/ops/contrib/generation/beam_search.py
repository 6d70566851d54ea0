"""BeamSearch: the likeliest sequences, of which some are kept at each step."""

from __future__ import annotations

from dataclasses import field
from typing import Annotated, TypeAlias

import numpy as np

from ingot.dataclass import dataclass
from ingot.dtypes import Array, DType
from ingot.errors import CheckError, InputError
from ingot.ir import Graph
from ingot.ir.types import TensorType
from ingot.ops.contrib.domain import HALF, MICROSOFT, last, may_omit
from ingot.ops.contrib.generation.decoders import Decoder, OneGraph, WithEncoder, checked_ids, seen, started
from ingot.ops.contrib.generation.greedy_search import known_length, of_vocabulary
from ingot.ops.contrib.generation.scores import Processing, log_softmax, number
from ingot.ops.define import Runtime, operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.limit import affordable
from ingot.ops.typesets import FLOAT32, INT32, types

F: TypeAlias = Annotated[Array, types("F", FLOAT32 | HALF | INT32)]
I: TypeAlias = Annotated[Array, types("I", INT32)]  # noqa: E741
M: TypeAlias = Annotated[Array, types("M", INT32)]
T: TypeAlias = Annotated[Array, types("T", FLOAT32 | HALF)]

_MOST_TOKENS, _MOST_BEAMS = 4096, 128
"""What onnxruntime lets a sequence and a search become."""

_UNUSED = np.float32(-1e9)
"""The score of the beams beside the first at the beginning, when all are the same sequence."""


@operator("BeamSearch", since=1, domain=MICROSOFT)
def beam_search(
    input_ids: F,
    max_length: I,
    min_length: I | None,
    num_beams: I,
    num_return_sequences: I,
    length_penalty: T | None = None,
    repetition_penalty: T | None = None,
    vocab_mask: M | None = None,
    prefix_vocab_mask: M | None = None,
    attention_mask: I | None = None,
    decoder_input_ids: I | None = None,
    logits_processor: I | None = None,
    /,
    *,
    decoder: Graph,
    eos_token_id: int,
    pad_token_id: int,
    decoder_start_token_id: int = -1,
    early_stopping: int = 0,
    encoder: Graph | None = None,
    init_decoder: Graph | None = None,
    model_type: int = 0,
    no_repeat_ngram_size: int = 0,
    vocab_size: int = -1,
    runtime: Runtime,
) -> tuple[I, T | None, T | None]:
    """The best `num_return_sequences` of the sequences found when the `num_beams` likeliest go on at each step.

    A sequence that ends has its sum of logarithms over its length, raised to `length_penalty`, for a score. With the
    scores, and those of all tokens in each step, the steps not taken being zeros. `model_type` 0 is a decoder alone, 1
    one beside an encoder of tokens, 2 one beside an encoder of sounds.
    """
    beams = int(number(num_beams, "num_beams", 1))
    model: Decoder
    if model_type == 0:
        model = OneGraph(decoder, init_decoder, runtime, checked_ids(input_ids), attention_mask, pad_token_id, beams)
    elif model_type == 1 and encoder is not None:
        ids = checked_ids(input_ids)
        encoder_inputs = {"encoder_input_ids": ids, "encoder_attention_mask": seen(ids, attention_mask, pad_token_id)}
        model = WithEncoder(decoder, encoder, runtime, encoder_inputs, started(len(ids), decoder_start_token_id), beams)
    elif model_type == 2 and encoder is not None:
        start = started(len(input_ids), decoder_start_token_id) if decoder_input_ids is None else decoder_input_ids
        model = WithEncoder(decoder, encoder, runtime, {"encoder_input_ids": input_ids}, start, beams)
    else:
        raise CheckError(f"model_type is {model_type}, and there is {'no' if encoder is None else 'an'} encoder")
    rules = Processing(
        eos_token_id,
        number(repetition_penalty, "repetition_penalty", 1.0),
        no_repeat_ngram_size,
        vocab_mask,
        prefix_vocab_mask,
        number(min_length, "min_length", 0),
    )
    result = searched(
        model,
        rules,
        max_length=max_length,
        beams=beams,
        returned=int(number(num_return_sequences, "num_return_sequences", 1)),
        length_penalty=length_penalty,
        pad_token_id=pad_token_id,
        early_stopping=bool(early_stopping),
        vocab_size=vocab_size,
        batch=len(input_ids),
        every_step=any(runtime.wanted[2:3]),
    )
    return result.sequences, result.scores, result.steps


may_omit(beam_search, "min_length")


@beam_search.infer
def infer(
    input_ids: Fact,
    max_length: Fact,
    min_length: Fact,
    num_beams: Fact,
    num_return_sequences: Fact,
    length_penalty: Fact | None = None,
    /,
    *_: Fact,
    vocab_size: int,
    **__: object,
) -> tuple[Inferred, ...]:
    batch, returned = last(input_ids.shape, 0), known_length(num_return_sequences)
    dtype = DType.FLOAT32 if length_penalty is None or length_penalty.dtype is None else length_penalty.dtype
    vocabulary = vocab_size if vocab_size > 0 else None
    return (
        TensorType(DType.INT32, (batch, returned, known_length(max_length))),
        TensorType(dtype, (batch, returned)),
        TensorType(dtype, (None, batch, known_length(num_beams), vocabulary)),
    )


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The best sequences, their scores, those of all tokens in each step, and how likely each was to come first.

    `steps` is None unless it was asked for; `first` has the logarithms of probabilities: rows, tokens.
    """

    sequences: Array
    scores: Array
    steps: Array | None
    first: Array


def searched(
    model: Decoder,
    rules: Processing,
    *,
    max_length: Array,
    beams: int,
    returned: int,
    length_penalty: Array | None,
    pad_token_id: int,
    early_stopping: bool,
    vocab_size: int,
    batch: int,
    every_step: bool,
) -> SearchResult:
    """What a search finds, with the scores of each step if `every_step` is set."""
    if not 1 <= returned <= beams <= _MOST_BEAMS:
        raise InputError(f"{returned} of {beams} beams are to be returned, at most {_MOST_BEAMS} are possible")
    sequences = model.begin()
    start, most = sequences.shape[1], int(number(max_length, "max_length", _MOST_TOKENS))
    if not start < most <= _MOST_TOKENS:
        raise InputError(f"max_length is {most}, expected above {start} and at most {_MOST_TOKENS}")
    penalty = float(number(length_penalty, "length_penalty", 1.0))
    groups = [_Group(beams, penalty, early_stopping) for _ in range(batch)]
    totals = np.tile(np.concatenate([np.zeros(1, np.float32), np.full(beams - 1, _UNUSED)]), batch)
    steps: list[Array] = []
    first: Array | None = None
    new = start
    while sequences.shape[1] < most:
        likelihoods = log_softmax(of_vocabulary(model.scores(sequences, new), vocab_size))
        first = likelihoods[::beams] if first is None else first
        scores = rules.apply(likelihoods, sequences, sequences.shape[1] == start) + totals[:, None]
        if every_step:
            steps.append(scores.reshape(batch, beams, -1))
        rows, tokens, totals = _advanced(groups, scores, sequences, rules.eos_token_id, pad_token_id)
        sequences = np.concatenate([sequences[rows], tokens[:, None]], axis=1)
        if all(group.done for group in groups):
            break
        model.choose(rows)
        new = 1
    for place, group in enumerate(groups):
        for row in range(place * beams, (place + 1) * beams):
            if not group.done:
                group.add(sequences[row], float(totals[row]))
    affordable((batch, returned, most), np.int32)
    y = np.full((batch, returned, most), pad_token_id, np.int32)
    for place, group in enumerate(groups):
        for index, (_, sequence) in enumerate(group.best[:returned]):
            y[place, index, : len(sequence)] = sequence
    dtype = np.float32 if length_penalty is None else length_penalty.dtype
    finals = np.asarray([[score for score, _ in group.best[:returned]] for group in groups], dtype)
    assert first is not None, "there is a first step"
    every = _of_steps(steps, most - start, (batch, beams), dtype)
    return SearchResult(y, finals.reshape(batch, returned), every, first)


@dataclass(slots=True)
class _Group:
    """The beams of one sequence: those that have ended, the best first."""

    beams: int
    penalty: float
    early: bool
    best: list[tuple[np.float32, Array]] = field(default_factory=list)
    done: bool = False

    def score(self, total: float, length: int) -> np.float32:
        return np.float32(np.float32(total) / np.float32(np.power(np.float32(length), np.float32(self.penalty))))

    def add(self, sequence: Array, total: float) -> None:
        score = self.score(total, len(sequence))
        if len(self.best) == self.beams:
            if score <= self.best[-1][0]:
                return
            self.best.pop()
        place = next((i for i, (other, _) in enumerate(self.best) if score > other), len(self.best))
        self.best.insert(place, (score, sequence))


def _advanced(groups: list[_Group], scores: Array, sequences: Array, eos: int, pad: int) -> tuple[Array, Array, Array]:
    """The rows that go on, the tokens they go on with, and the sums of their scores; ended ones are put aside."""
    beams, vocabulary = groups[0].beams, scores.shape[1]
    flat = scores.reshape(len(groups), beams * vocabulary)
    count = 2 * beams
    if count > flat.shape[1]:
        raise CheckError(f"{vocabulary} tokens are too few for {beams} beams")
    order = np.stack([_greatest(row, count) for row in flat])
    candidates = np.take_along_axis(flat, order, axis=1)
    rows, tokens = np.zeros(len(scores), np.int64), np.full(len(scores), pad, np.int32)
    totals = np.zeros(len(scores), np.float32)
    length = sequences.shape[1]
    for place, group in enumerate(groups):
        if group.done:
            continue
        chosen = 0
        for rank, (index, total) in enumerate(zip(order[place].tolist(), candidates[place], strict=True)):
            row, token = place * beams + index // vocabulary, index % vocabulary
            if token == eos:
                if rank < beams:
                    group.add(sequences[row], float(total))
                continue
            at = place * beams + chosen
            rows[at], tokens[at], totals[at] = row, token, total
            chosen += 1
            if chosen == beams:
                break
        if len(group.best) == beams:
            # onnxruntime takes the candidates from `place * beams` of all on, though each sequence has twice as many
            best = candidates.reshape(-1)[place * beams : place * beams + count].max()
            group.done = group.early or bool(group.best[-1][0] >= group.score(float(best), length))
    return rows, tokens, totals


def _greatest(x: Array, count: int) -> Array:
    """The places of the `count` greatest, in their order, of equal ones the first first, and NaN behind all."""
    below = -x
    last = np.partition(below, count - 1)[count - 1]
    if np.isnan(last):
        return np.argsort(below, kind="stable")[:count]
    places = np.flatnonzero(below <= last)
    return places[np.argsort(below[places], kind="stable")[:count]]


def _of_steps(
    steps: list[Array], count: int, sizes: tuple[int, int], dtype: np.dtype[np.generic] | type
) -> Array | None:
    if not steps:
        return None
    affordable((count, *steps[0].shape), np.float32)
    y = np.zeros((count, *sizes, steps[0].shape[2]), dtype)
    y[: len(steps)] = steps
    return y
