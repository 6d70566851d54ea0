"""TfIdfVectorizer: how often each n-gram of a pool occurs in rows of words, plain or weighted."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Annotated, Any, TypeAlias

import numpy as np

from ingot.dataclass import dataclass
from ingot.dtypes import Array, DType
from ingot.errors import CheckError, InputError, ShapeError
from ingot.ir.types import TensorType
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.typesets import FLOAT32, INDICES, STRING, types

T: TypeAlias = Annotated[Array, types("T", INDICES | STRING)]
T1: TypeAlias = Annotated[Array, types("T1", FLOAT32)]

_MOST_CELLS = 2**31  # of 8 bytes while they are counted


@operator("TfIdfVectorizer", since=9)
def tf_idf_vectorizer(
    x: T,
    /,
    *,
    max_gram_length: int,
    max_skip_count: int,
    min_gram_length: int,
    mode: str,
    ngram_counts: Sequence[int],
    ngram_indexes: Sequence[int],
    pool_int64s: Sequence[int] | None = None,
    pool_strings: Sequence[str] | None = None,
    weights: Sequence[float] | None = None,
) -> T1:
    """For each row, at `ngram_indexes[i]`, the occurrences of the i-th n-gram of the pool.

    The words of an n-gram may be up to `max_skip_count` words apart, always as many. Mode `TF` counts, `IDF` gives
    the n-gram's weight if it occurs at all, `TFIDF` its weight times the count.
    """
    if x.ndim not in (1, 2):
        raise ShapeError(f"the input has {x.ndim} axes, expected 1 or 2")
    if min_gram_length < 1 or max_gram_length < min_gram_length or max_skip_count < 0:
        raise CheckError(f"n-grams of {min_gram_length} to {max_gram_length} words, {max_skip_count} skipped")
    pool = _Pool.of(pool_int64s, pool_strings, ngram_counts, len(ngram_indexes))
    width = _width(ngram_indexes)
    scale = _scale(mode, weights, len(ngram_indexes))
    rows = x.reshape(-1, x.shape[-1]) if x.size else x.reshape(x.shape[0] if x.ndim == 2 else 1, 0)
    if max(rows.shape[0], 1) * width > _MOST_CELLS:
        raise InputError(f"{rows.shape[0]:,} rows of {width:,} numbers are too many for one tensor")
    words = pool.numbered(rows)
    result = np.zeros((rows.shape[0], width), np.float64)
    places = np.asarray(ngram_indexes, np.int64)
    for size in range(min_gram_length, min(max_gram_length, len(ngram_counts), rows.shape[1]) + 1):
        occurrences = _occurrences(words, pool, size, max_skip_count)
        if mode == "IDF":
            occurrences = np.unique(occurrences, axis=0)
        np.add.at(result, (occurrences[:, 0], places[occurrences[:, 1]]), scale[occurrences[:, 1]])
    return result.astype(np.float32).reshape((*x.shape[:-1], width))


@tf_idf_vectorizer.infer
def infer(x: Fact, /, *, ngram_indexes: Sequence[int], **_: object) -> Inferred:
    if x.shape is None:
        return TensorType(DType.FLOAT32)
    if len(x.shape) not in (1, 2):
        raise ShapeError(f"the input has {len(x.shape)} axes, expected 1 or 2")
    return TensorType(DType.FLOAT32, (*x.shape[:-1], _width(ngram_indexes)))


@dataclass(frozen=True, slots=True)
class _Pool:
    """The n-grams, their words as numbers; `first` is the place of the first of each size, `words` the vocabulary."""

    words: Array
    grams: list[Array]
    first: list[int]

    @classmethod
    def of(
        cls, integers: Sequence[int] | None, strings: Sequence[str] | None, starts: Sequence[int], count: int
    ) -> _Pool:
        """CheckError if there are not as many n-grams as places for them."""
        if (integers is None) == (strings is None):
            raise CheckError("one of pool_int64s and pool_strings must be given, and only one")
        flat = np.asarray(strings, np.object_) if integers is None else np.asarray(integers, np.int64)
        words, numbers = np.unique(flat, return_inverse=True)
        edges = [*starts, len(flat)]
        if edges[0] != 0 or edges != sorted(edges):
            raise CheckError(f"ngram_counts {list(starts)[:16]} do not divide a pool of {len(flat)}")
        grams, first, so_far = [], [], 0
        for size, (a, b) in enumerate(pairwise(edges), 1):
            if (b - a) % size:
                raise CheckError(f"the pool has {b - a} words of {size}-grams")
            grams.append(numbers[a:b].reshape(-1, size))
            if len(np.unique(grams[-1], axis=0)) < len(grams[-1]):
                raise CheckError(f"the pool has one of its {size}-grams twice")
            first.append(so_far)
            so_far += (b - a) // size
        if so_far != count:
            raise CheckError(f"the pool has {so_far} n-grams, ngram_indexes has {count} numbers")
        return cls(words, grams, first)

    def numbered(self, rows: Array) -> Array:
        """Each word by its place in the vocabulary; -1 for one that is not there."""
        if (rows.dtype == np.object_) != (self.words.dtype == np.object_):
            raise InputError(f"the input is {DType.of(rows.dtype)}, the pool {DType.of(self.words.dtype)}")
        if not self.words.size or not rows.size:
            return np.full(rows.shape, -1, np.int64)
        places = np.minimum(np.searchsorted(self.words, rows.reshape(-1)), self.words.size - 1).reshape(rows.shape)
        return np.where(self.words[places] == rows, places, -1)


def _occurrences(words: Array, pool: _Pool, size: int, most_skipped: int) -> Array:
    """A pair for each n-gram of `size` found: the row, the place of the n-gram in the pool."""
    grams = pool.grams[size - 1]
    occurrences: list[Any] = [np.empty((0, 2), np.int64)]
    length = words.shape[1]
    strides = range(1, most_skipped + 2) if size > 1 else range(1, 2)
    for stride in strides:
        windows = length - (size - 1) * stride
        if windows <= 0 or not len(grams):
            break
        row, start = (part.reshape(-1) for part in np.indices((words.shape[0], windows)))
        have = np.zeros(len(row), np.int64)
        wanted = np.zeros(len(grams), np.int64)
        for k in range(size):  # what begins alike gets one number, a word at a time
            own, theirs = words[row, start + k * stride], grams[:, k]
            pairs = np.concatenate([wanted, have]) * (pool.words.size + 1) + np.concatenate([theirs, own]) + 1
            _, numbers = np.unique(pairs, return_inverse=True)
            wanted, have = numbers[: len(grams)], numbers[len(grams) :]
        order = np.argsort(wanted, kind="stable")
        place = np.minimum(np.searchsorted(wanted[order], have), len(grams) - 1)
        hit = wanted[order][place] == have
        occurrences.append(np.stack([row[hit], order[place[hit]] + pool.first[size - 1]], axis=1))
    return np.concatenate(occurrences)


def _width(indexes: Sequence[int]) -> int:
    if not indexes or min(indexes) < 0:
        raise CheckError("ngram_indexes is empty or has a negative number")
    return max(indexes) + 1


def _scale(mode: str, weights: Sequence[float] | None, count: int) -> Array:
    if mode not in ("TF", "IDF", "TFIDF"):
        raise CheckError(f"mode is '{mode}'", hint="one of TF, IDF, TFIDF")
    if weights is not None and len(weights) != count:
        raise CheckError(f"{len(weights)} weights for {count} n-grams")
    return np.ones(count) if weights is None or mode == "TF" else np.asarray(weights, np.float64)
