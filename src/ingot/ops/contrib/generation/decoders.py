"""Decoders as graphs: what they are given, and what they remember from token to token.

A decoder of one graph, as GPT's, takes token ids, positions, a mask and the past of each layer: [2, rows, heads,
length, size]. One beside an encoder, as T5's, takes token ids, the encoder's ids (maybe), their mask, its hidden states
(maybe), keys and values of each layer and those of the encoder's tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Any, Protocol

import numpy as np

from ingot.dataclass import dataclass
from ingot.dtypes import Array, DType
from ingot.errors import CheckError, ShapeError, UnsupportedError
from ingot.ir import Graph
from ingot.ir.types import TensorType
from ingot.ir.value import Value
from ingot.ops.define import Runtime


class Decoder(Protocol):
    """A decoder in the middle of its sequences."""

    def begin(self) -> Array:
        """The sequences to begin with: a row for each beam."""

    def scores(self, sequences: Array, new: int) -> Array:
        """The scores of what follows sequences (rows, length), the last `new` tokens of which were not there before."""

    def choose(self, rows: Array) -> None:
        """Go on with these of the rows instead of all, in this order; a row may come more than once."""


@dataclass(slots=True)
class OneGraph:
    """A decoder of one graph."""

    graph: Graph
    first: Graph | None
    runtime: Runtime
    input_ids: Array
    attention_mask: Array | None
    pad_token_id: int
    beams: int
    past: list[Array] = field(default_factory=list)
    mask: Array = field(default_factory=lambda: np.zeros((0, 0), np.int32))
    positions: Array = field(default_factory=lambda: np.zeros((0, 0), np.int32))
    steps: int = 0

    def begin(self) -> Array:
        inputs = self.graph.inputs
        if len(inputs) != len(self.graph.outputs) + 2:
            raise UnsupportedError(
                f"the decoder has {len(inputs)} inputs and {len(self.graph.outputs)} outputs: buffers that past and "
                "present share are for CUDA",
                hint="export the decoder without them",
            )
        ids = self.input_ids
        words = ids != self.pad_token_id
        mask = words.astype(np.int32) if self.attention_mask is None else self.attention_mask
        if mask.shape != ids.shape:
            raise ShapeError(f"attention_mask has shape {list(mask.shape)}, input_ids {list(ids.shape)}")
        positions = np.where(words, np.cumsum(words, axis=1) - 1, 0).astype(np.int32)
        ids, self.mask, self.positions = (np.repeat(x, self.beams, axis=0) for x in (ids, mask, positions))
        self.past = [_empty(value, len(ids)) for value in inputs[3:]]
        return ids

    def scores(self, sequences: Array, new: int) -> Array:
        rows, tokens = len(sequences), sequences[:, sequences.shape[1] - new :]
        if self.steps:
            last = self.positions[:, -1:] + 1 if self.steps > 1 else self._counts()
            self.positions = last.astype(np.int32)
            self.mask = np.concatenate([self.mask, np.ones((rows, 1), np.int32)], axis=1)
        graph = self.graph if self.steps or self.first is None else self.first
        self.steps += 1
        logits, *self.past = self.runtime.run(graph, [tokens, self.positions, self.mask, *self.past])
        return _last(logits)

    def choose(self, rows: Array) -> None:
        self.past = [past[:, rows] for past in self.past]

    def _counts(self) -> Array:
        words = self.input_ids != self.pad_token_id
        return np.repeat(words.sum(axis=1), self.beams)[:, None]


@dataclass(slots=True)
class WithEncoder:
    """A decoder beside an encoder, which reads all of its input at once.

    `given` are the inputs of both that have a name of their own, `start` the tokens that a sequence begins with.
    """

    graph: Graph
    encoder: Graph
    runtime: Runtime
    encoder_inputs: dict[str, Array]
    start: Array
    beams: int
    fixed: list[Array] = field(default_factory=list)
    past: list[Array] = field(default_factory=list)
    across: list[Array] = field(default_factory=list)
    waiting: Array | None = None

    def begin(self) -> Array:
        """Run the encoder, which may give the scores of the first token, too."""
        known = {**self.encoder_inputs, "decoder_input_ids": self.start}
        unknown = [value.name for value in self.encoder.inputs if value.name not in known]
        if unknown:
            raise CheckError(f"the encoder has an input '{unknown[0]}'", hint=f"it may have {', '.join(known)}")
        results = self.runtime.run(self.encoder, [known[value.name] for value in self.encoder.inputs])
        count = len(self.graph.outputs) - 1
        first = len(results) > count
        if first:
            known["encoder_hidden_states"] = results[1]
        names = [value.name for value in self.graph.inputs[1:]]
        self.fixed = [self._spread(known[name]) for name in names if name in known]
        expected = len(self.fixed) + 2 * count
        if len(names) != expected:
            raise UnsupportedError(
                f"the decoder has {len(names)} inputs behind its tokens, expected {expected}: buffers that past and "
                "present share are for CUDA",
                hint="export the decoder without them",
            )
        states = [self._spread(each) for each in (results[2:] if first else results)]
        if first:
            self.past, self.across = states[:count], states[count:]
            self.waiting = self._spread(_last(results[0]))
        else:
            self.past, self.across = [each[:, :, :0] for each in states], states
        return self._spread(self.start)

    def scores(self, sequences: Array, new: int) -> Array:
        """Whole sequences are read at each step by a decoder whose input is not declared to be of one token."""
        if self.waiting is not None:
            first, self.waiting = self.waiting, None
            return first
        type_ = self.graph.inputs[0].type
        single = isinstance(type_, TensorType) and type_.shape is not None and type_.shape[1:] == (1,)
        tokens = sequences[:, sequences.shape[1] - new :] if single else sequences
        logits, *self.past = self.runtime.run(self.graph, [tokens, *self.fixed, *self.past, *self.across])
        return _last(logits)

    def choose(self, rows: Array) -> None:
        self.past = [past[rows] for past in self.past]

    def _spread(self, x: Array) -> Array:
        return np.repeat(x, self.beams, axis=0)


def seen(input_ids: Array, mask: Array | None, pad_token_id: int) -> Array:
    """Which tokens are words: those of a mask, or all but padding on the left; one behind a word ends a text."""
    if mask is None:
        return np.maximum.accumulate(input_ids != pad_token_id, axis=1).astype(np.int32)
    if mask.shape != input_ids.shape:
        raise ShapeError(f"attention_mask has shape {list(mask.shape)}, input_ids {list(input_ids.shape)}")
    return mask


def started(batch: int, token: int) -> Array:
    """Sequences that begin with one token; CheckError if there is no such."""
    if token < 0:
        raise CheckError("decoder_start_token_id is not set")
    return np.full((batch, 1), token, np.int32)


def checked_ids(input_ids: Array) -> Array:
    if input_ids.ndim != 2:
        raise ShapeError(f"input_ids has {input_ids.ndim} axes, expected 2")
    return input_ids.astype(np.int32)


def _empty(value: Value, rows: int) -> Array:
    """The past of a layer before anything has passed."""
    type_ = value.type
    shape: Sequence[Any] = () if not isinstance(type_, TensorType) or type_.shape is None else type_.shape
    if len(shape) != 5 or not isinstance(shape[2], int) or not isinstance(shape[4], int):
        raise CheckError(
            f"decoder input '{value.name}' is of no known shape: 2, rows, heads, length and size are needed"
        )
    assert isinstance(type_, TensorType)
    dtype = type_.dtype if type_.dtype is not DType.UNDEFINED else DType.FLOAT32
    return np.zeros((2, rows, shape[2], 0, shape[4]), dtype.numpy)


def _last(logits: Array) -> Array:
    if logits.ndim != 3 or not logits.shape[1]:
        raise ShapeError(f"logits have shape {list(logits.shape)}, expected rows, tokens and scores")
    return np.asarray(logits[:, -1], np.float32)
