"""WhisperBeamSearch: BeamSearch over speech, with tokens for the times of words."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import numpy as np

from ingot.dtypes import Array, DType
from ingot.errors import CheckError, UnsupportedError
from ingot.ir import Graph
from ingot.ir.types import TensorType
from ingot.ops.contrib.domain import HALF, MICROSOFT, last, may_omit
from ingot.ops.contrib.generation.beam_search import SearchResult, beam_search, searched
from ingot.ops.contrib.generation.decoders import WithEncoder, started
from ingot.ops.contrib.generation.scores import Processing, Timestamps, number
from ingot.ops.define import Runtime, operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.typesets import FLOAT32, INT32, types

F: TypeAlias = Annotated[Array, types("F", FLOAT32 | HALF | INT32)]
I: TypeAlias = Annotated[Array, types("I", INT32)]  # noqa: E741
M: TypeAlias = Annotated[Array, types("M", INT32)]
T: TypeAlias = Annotated[Array, types("T", FLOAT32 | HALF)]
V: TypeAlias = Annotated[Array, types("V", FLOAT32)]

_WITH_TIMES = 1
"""The `logits_processor` that has rules for tokens of times."""


@operator("WhisperBeamSearch", since=1, domain=MICROSOFT)
def whisper_beam_search(
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
    cross_qk_layer_head: I | None = None,
    extra_decoding_ids: I | None = None,
    temperature: T | None = None,
    /,
    *,
    decoder: Graph,
    eos_token_id: int,
    pad_token_id: int,
    beginning_timestamp_token_id: int | None = None,
    decoder_output_cross_qk: int | None = None,
    decoder_start_token_id: int = -1,
    early_stopping: int = 0,
    encoder: Graph | None = None,
    init_decoder: Graph | None = None,
    model_type: int = 2,
    no_repeat_ngram_size: int = 0,
    no_speech_token_id: int | None = None,
    no_timestamps_token_id: int | None = None,
    start_of_lm_token_id: int | None = None,
    transcribe_token_id: int | None = None,
    translate_token_id: int | None = None,
    vocab_size: int = -1,
    runtime: Runtime,
) -> tuple[I, T | None, T | None, V | None, T | None]:
    """BeamSearch with `model_type` 2; `logits_processor` 1 has times come in pairs that never go back.

    With it how probable `no_speech_token_id` is as the first token. What decoders read of the sounds is given by CUDA
    only.
    """
    if encoder is None or model_type != 2:
        raise CheckError(f"model_type is {model_type}, expected 2 and an encoder")
    extra = extra_decoding_ids is not None and extra_decoding_ids.size
    if any(runtime.wanted[3:4]) or decoder_output_cross_qk or extra:
        raise UnsupportedError("cross_qk and extra_decoding_ids are for CUDA", hint="export the model without them")
    times = None
    if int(number(logits_processor, "logits_processor", 0)) == _WITH_TIMES:
        times = Timestamps(
            beginning_timestamp_token_id or -1,
            _tokens(no_timestamps_token_id, start_of_lm_token_id),
            _tokens(decoder_start_token_id, translate_token_id, transcribe_token_id),
        )
    rules = Processing(
        eos_token_id,
        number(repetition_penalty, "repetition_penalty", 1.0),
        no_repeat_ngram_size,
        vocab_mask,
        prefix_vocab_mask,
        number(min_length, "min_length", 0),
        number(temperature, "temperature", 1.0),
        times=times,
    )
    beams = int(number(num_beams, "num_beams", 1))
    start = started(len(input_ids), decoder_start_token_id) if decoder_input_ids is None else decoder_input_ids
    model = WithEncoder(decoder, encoder, runtime, {"encoder_input_ids": input_ids}, start, beams)
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
    silent = _probability(result, no_speech_token_id) if any(runtime.wanted[4:]) else None
    return result.sequences, result.scores, result.steps, None, silent


may_omit(whisper_beam_search, "min_length")


@whisper_beam_search.infer
def infer(
    input_ids: Fact,
    max_length: Fact,
    min_length: Fact,
    num_beams: Fact,
    num_return_sequences: Fact,
    length_penalty: Fact | None = None,
    /,
    *others: Fact,
    vocab_size: int,
    **_: object,
) -> tuple[Inferred, ...]:
    inputs = (input_ids, max_length, min_length, num_beams, num_return_sequences, length_penalty)
    sequences, finals, steps = beam_search.rules["infer"](*inputs, vocab_size=vocab_size)
    dtype = DType.FLOAT32 if length_penalty is None or length_penalty.dtype is None else length_penalty.dtype
    return sequences, finals, steps, TensorType(DType.FLOAT32), TensorType(dtype, (last(input_ids.shape, 0),))


def _probability(result: SearchResult, token: int | None) -> Array:
    """How probable a token is as the first of each sequence."""
    tokens = result.first.shape[1]
    if token is None or not 0 <= token < tokens:
        raise CheckError(f"no_speech_token_id is {token}, there are {tokens} tokens")
    return np.exp(result.first[:, token]).astype(result.scores.dtype)


def _tokens(*numbers: int | None) -> tuple[int, ...]:
    return tuple(token for token in numbers if token is not None)
