"""GreedySearch and Sampling: after each token comes the likeliest one, or one drawn from the likeliest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, TypeAlias

import numpy as np

from ingot.dtypes import Array, DType
from ingot.errors import CheckError, InputError, UnsupportedError
from ingot.ir import Graph
from ingot.ir.types import TensorType
from ingot.ops.contrib.domain import HALF, MICROSOFT, last
from ingot.ops.contrib.generation.decoders import OneGraph, checked_ids
from ingot.ops.contrib.generation.scores import LOWEST, Processing, number
from ingot.ops.define import Runtime, operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.limit import affordable
from ingot.ops.typesets import FLOAT32, INT32, types

I: TypeAlias = Annotated[Array, types("I", INT32)]  # noqa: E741
T: TypeAlias = Annotated[Array, types("T", FLOAT32 | HALF)]

MOST_TOKENS = 16384
"""How long onnxruntime lets a sequence become."""


@operator("GreedySearch", since=1, domain=MICROSOFT)
def greedy_search(
    input_ids: I,
    max_length: I,
    min_length: I | None = None,
    repetition_penalty: T | None = None,
    vocab_mask: I | None = None,
    prefix_vocab_mask: I | None = None,
    attention_mask: I | None = None,
    /,
    *,
    decoder: Graph,
    eos_token_id: int,
    pad_token_id: int,
    decoder_start_token_id: int = -1,
    encoder: Graph | None = None,
    init_decoder: Graph | None = None,
    model_type: int = 0,
    no_repeat_ngram_size: int = 0,
    vocab_size: int = -1,
    runtime: Runtime,
) -> I:
    """The sequences `input_ids` with the likeliest token appended again and again, up to `max_length` or an end token.

    `decoder` gives the scores of tokens, which penalties and masks change first; `init_decoder` those of the first.
    Rows are filled up with `pad_token_id`.
    """
    _check_model(model_type, encoder)
    rules = Processing(
        eos_token_id,
        number(repetition_penalty, "repetition_penalty", 1.0),
        no_repeat_ngram_size,
        vocab_mask,
        prefix_vocab_mask,
        number(min_length, "min_length", 0),
    )
    model = OneGraph(decoder, init_decoder, runtime, checked_ids(input_ids), attention_mask, pad_token_id, 1)
    most = _length(max_length, input_ids)
    sequences, _ = _written(model, rules, most, vocab_size, eos_token_id, pad_token_id, _likeliest)
    return sequences


@operator("Sampling", since=1, domain=MICROSOFT)
def sampling(
    input_ids: I,
    max_length: I,
    min_length: I | None = None,
    repetition_penalty: T | None = None,
    vocab_mask: I | None = None,
    prefix_vocab_mask: I | None = None,
    attention_mask: I | None = None,
    presence_mask: I | None = None,
    seed: I | None = None,
    /,
    *,
    decoder: Graph,
    eos_token_id: int,
    pad_token_id: int,
    custom: int = 0,
    decoder_start_token_id: int = -1,
    encoder: Graph | None = None,
    filter_value: float = -1e20,
    init_decoder: Graph | None = None,
    min_tokens_to_keep: int = 0,
    model_type: int = 0,
    no_repeat_ngram_size: int = 0,
    presence_penalty: float = 0.0,
    temperature: float = 1.0,
    top_p: float = 0.0,
    vocab_size: int = -1,
    runtime: Runtime,
) -> tuple[I, T | None]:
    """GreedySearch, but each token is drawn by its probability from the likeliest that make up `top_p` of it all.

    Other tokens are drawn than by onnxruntime, whose generator is that of its compiler's library. With it the scores of
    the last step, those of tokens that could not be drawn being `filter_value`.
    """
    _check_model(model_type, encoder)
    rules = Processing(
        eos_token_id,
        number(repetition_penalty, "repetition_penalty", 1.0),
        no_repeat_ngram_size,
        vocab_mask,
        prefix_vocab_mask,
        number(min_length, "min_length", 0),
        temperature,
        presence_mask,
        presence_penalty,
    )
    model = OneGraph(decoder, init_decoder, runtime, checked_ids(input_ids), attention_mask, pad_token_id, 1)
    source = runtime.generator(None if seed is None else float(number(seed, "seed", 0)))

    def drawn(scores: Array) -> tuple[Array, Array]:
        likely = _likely(scores, top_p, min_tokens_to_keep, bool(custom), np.float32(filter_value))
        shares = np.exp((likely - likely.max(axis=1, keepdims=True)).astype(np.float64))
        below = np.cumsum(shares, axis=1)
        at = source.random(len(likely)) * below[:, -1]
        return np.minimum((below <= at[:, None]).sum(axis=1), likely.shape[1] - 1), likely

    most = _length(max_length, input_ids)
    return _written(model, rules, most, vocab_size, eos_token_id, pad_token_id, drawn)


@greedy_search.infer
def infer_greedy(input_ids: Fact, max_length: Fact, /, *_: Fact, **__: object) -> Inferred:
    return TensorType(DType.INT32, (last(input_ids.shape, 0), known_length(max_length)))


@sampling.infer
def infer_sampling(
    input_ids: Fact, max_length: Fact, /, *_: Fact, vocab_size: int, **__: object
) -> tuple[Inferred, ...]:
    batch = last(input_ids.shape, 0)
    scores = TensorType(DType.FLOAT32, (batch, vocab_size if vocab_size > 0 else None))
    return TensorType(DType.INT32, (batch, known_length(max_length))), scores


def known_length(max_length: Fact) -> int | None:
    """What a constant of one element holds."""
    constant = max_length.constant
    return (
        int(constant.numpy().reshape(-1)[0])
        if constant is not None and constant.is_loaded and constant.size == 1
        else None
    )


def _written(
    model: OneGraph,
    rules: Processing,
    most: int,
    vocab_size: int,
    eos_token_id: int,
    pad_token_id: int,
    choose: Callable[[Array], tuple[Array, Array]],
) -> tuple[Array, Array]:
    """The sequences, and what the last tokens were chosen from."""
    sequences = model.begin()
    start = sequences.shape[1]
    ended = np.zeros(len(sequences), np.bool_)
    new, distributions = start, np.zeros((len(sequences), max(vocab_size, 0)), np.float32)
    while sequences.shape[1] < most and not ended.all():
        scores = of_vocabulary(model.scores(sequences, new), vocab_size)
        tokens, distributions = choose(rules.apply(scores, sequences, sequences.shape[1] == start))
        ended = ended | (tokens == eos_token_id)
        following = np.where(ended, pad_token_id, tokens).astype(np.int32)[:, None]
        sequences, new = np.concatenate([sequences, following], axis=1), 1
    missing = most - sequences.shape[1]
    return np.pad(sequences, ((0, 0), (0, missing)), constant_values=pad_token_id), distributions


def of_vocabulary(scores: Array, size: int) -> Array:
    """The scores of the first `size` tokens, of all if that is not positive."""
    if size > scores.shape[1]:
        raise CheckError(f"vocab_size is {size}, the decoder gives {scores.shape[1]} scores")
    return scores[:, :size] if size > 0 else scores


def _likeliest(scores: Array) -> tuple[Array, Array]:
    return scores.argmax(axis=1), scores


def _likely(scores: Array, top_p: float, least: int, custom: bool, filler: np.float32) -> Array:
    """Scores with `filler` for the tokens outside of those that make up `top_p`."""
    order = np.argsort(-scores if custom else scores, axis=1, kind="stable")
    ordered = np.take_along_axis(scores, order, axis=1)
    shares = np.exp(ordered - ordered.max(axis=1, keepdims=True))
    below = np.cumsum(shares / shares.sum(axis=1, keepdims=True), axis=1)
    dropped = np.zeros(scores.shape, np.bool_)
    if custom:  # the likeliest first: what comes behind the first that exceeds it
        dropped[:, 1:] = below[:, :-1] > top_p
    else:  # the likeliest last: what lies below the rest
        dropped = below <= 1 - top_p
        dropped[:, scores.shape[1] - max(least, 1) :] = False
    result = scores.copy()
    np.put_along_axis(result, order, np.where(dropped, filler, ordered), axis=1)
    return np.maximum(result, LOWEST)


def _length(max_length: Array, input_ids: Array) -> int:
    most = int(number(max_length, "max_length", 0))
    if not input_ids.shape[1] < most <= MOST_TOKENS:
        raise InputError(f"max_length is {most}, expected above {input_ids.shape[1]} and at most {MOST_TOKENS}")
    affordable((len(input_ids), most), np.int32)
    return most


def _check_model(model_type: int, encoder: Graph | None) -> None:
    if model_type != 0 or encoder is not None:
        raise UnsupportedError(
            f"model_type is {model_type}, only decoders without an encoder are searched so",
            hint="use BeamSearch with one beam",
        )
