"""What is done to the scores of next tokens before one is chosen."""

from __future__ import annotations

from typing import Any

import numpy as np

from ingot.dataclass import dataclass
from ingot.dtypes import Array
from ingot.errors import CheckError, InputError, ShapeError

LOWEST = np.finfo(np.float32).min
"""The score of a token that must not come."""


@dataclass(frozen=True, slots=True)
class Timestamps:
    """Whisper's rules for tokens of times, all from `beginning` on: they come in pairs and never go back."""

    beginning: int
    never: tuple[int, ...]
    only_first: tuple[int, ...]
    most_at_first: int = 50

    def apply(self, scores: Array, sequence: Array, end: int) -> None:
        """Change the scores of what may follow a sequence."""
        tokens = len(scores)
        if not 0 < self.beginning < tokens:
            raise CheckError(f"beginning_timestamp_token_id is {self.beginning}, there are {tokens} tokens")
        times = np.flatnonzero(sequence >= self.beginning)
        length = len(sequence)
        first = int(times[0]) + 1 if len(times) else length
        suppressed = [*self.never, *(self.only_first if length > first else ())]
        scores[[token for token in suppressed if 0 <= token < tokens]] = LOWEST
        last = length > 0 and sequence[-1] >= self.beginning
        before = length <= first or sequence[-2] >= self.beginning
        if last and before:
            scores[self.beginning :] = LOWEST
        elif last:
            scores[: max(end, 0)] = LOWEST
        if len(times):
            latest = int(sequence[times[-1]])
            scores[self.beginning : latest + (0 if last and not before else 1)] = LOWEST
        if length == first:
            scores[self.beginning + self.most_at_first + 1 :] = LOWEST
        of_times, of_text = scores[self.beginning :], scores[: self.beginning]
        allowed = of_times[of_times > LOWEST]
        if len(allowed) and np.log(np.exp(allowed - allowed.max()).sum()) + allowed.max() > of_text.max():
            scores[: self.beginning] = LOWEST


@dataclass(frozen=True, slots=True)
class Processing:
    """Rules for scores, in the order in which they apply."""

    eos_token_id: int
    repetition_penalty: float = 1.0
    no_repeat_ngram_size: int = 0
    vocab_mask: Array | None = None
    prefix_vocab_mask: Array | None = None
    min_length: int = 0
    temperature: float = 1.0
    presence_mask: Array | None = None
    presence_penalty: float = 0.0
    times: Timestamps | None = None

    def apply(self, scores: Array, sequences: Array, first: bool) -> Array:
        """The scores (rows, tokens) of what may follow sequences (rows, length); `first` in the first step."""
        rows, tokens = scores.shape
        scores = scores.copy()
        if self.repetition_penalty != 1:
            penalty = np.float32(self.repetition_penalty)
            places = np.nonzero((sequences >= 0) & (sequences < tokens))
            seen = (places[0], sequences[places])
            scores[seen] = np.where(scores[seen] < 0, scores[seen] * penalty, scores[seen] / penalty)
        if self.no_repeat_ngram_size:
            for row, sequence in zip(scores, sequences, strict=True):
                row[_repeating(sequence.tolist(), self.no_repeat_ngram_size, tokens)] = LOWEST
        if self.vocab_mask is not None:
            scores[:, _shaped(self.vocab_mask, (tokens,), "vocab_mask") == 0] = LOWEST
        if self.prefix_vocab_mask is not None and first:
            batch = len(self.prefix_vocab_mask)
            mask = _shaped(self.prefix_vocab_mask, (batch, tokens), "prefix_vocab_mask")
            scores[np.repeat(mask == 0, rows // max(batch, 1), axis=0)] = LOWEST
        if sequences.shape[1] < self.min_length and 0 <= self.eos_token_id < tokens:
            scores[:, self.eos_token_id] = LOWEST
        if self.temperature > 0 and self.temperature != 1:
            scores = scores / np.float32(self.temperature)
        if self.presence_mask is not None and self.presence_penalty:
            mask = _shaped(self.presence_mask, (rows, tokens), "presence_mask")
            scores = scores - mask.astype(np.float32) * np.float32(self.presence_penalty)
        if self.times is not None:
            for row, sequence in zip(scores, sequences, strict=True):
                self.times.apply(row, sequence, self.eos_token_id)
        return scores


def number(x: Array | None, name: str, default: Any) -> Any:
    """The only element of an input, or what it is taken for when it is omitted."""
    if x is None:
        return default
    if x.size != 1:
        raise InputError(f"{name} has {x.size} elements, expected 1")
    return x.reshape(-1)[0].item()


def log_softmax(x: Array) -> Array:
    shifted = x - x.max(axis=-1, keepdims=True)
    return np.asarray(shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True)))


def _repeating(sequence: list[int], size: int, tokens: int) -> list[int]:
    """The tokens that would end a run of `size` tokens that a sequence has already."""
    if size > len(sequence):
        return []
    before = sequence[len(sequence) - size + 1 :]
    ends = range(size - 1, len(sequence))
    blocked = {sequence[end] for end in ends if sequence[end - size + 1 : end] == before}
    return [token for token in blocked if 0 <= token < tokens]


def _shaped(mask: Array, shape: tuple[int, ...], name: str) -> Array:
    if mask.shape != shape:
        raise ShapeError(f"{name} has shape {list(mask.shape)}, expected {list(shape)}")
    return mask
