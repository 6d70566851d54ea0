"""TfIdfVectorizer: how often each n-gram of a pool occurs in rows of words, plain or weighted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Annotated, Any, TypeAlias

import numpy as np

from ingot import prim
from ingot.dims import maximum
from ingot.dtypes import Array, DType
from ingot.errors import CheckError, InputError, ShapeError
from ingot.ir.types import TensorType
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.typesets import FLOAT32, INDICES, STRING, types

T: TypeAlias = Annotated[Array, types("T", INDICES | STRING)]
T1: TypeAlias = Annotated[Array, types("T1", FLOAT32)]

_MOST_CELLS = 2**31  # of 8 bytes while they are counted

_WIDEST = 1 << 16
"""How far numbers that stand for words may be apart to be places in a table."""

_MOST_STEPS = 1 << 20
"""Elements of a table of what words lead to."""

_MOST_STRIDES = 16
"""Distances of words whose n-grams are counted one after the other."""


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
    result: Array = bind(
        max_gram_length=max_gram_length,
        max_skip_count=max_skip_count,
        min_gram_length=min_gram_length,
        mode=mode,
        ngram_counts=ngram_counts,
        ngram_indexes=ngram_indexes,
        pool_int64s=pool_int64s,
        pool_strings=pool_strings,
        weights=weights,
    )(x)
    return result


@tf_idf_vectorizer.bind
def bind(
    *,
    max_gram_length: int,
    max_skip_count: int,
    min_gram_length: int,
    mode: str,
    ngram_counts: Sequence[int],
    ngram_indexes: Sequence[int],
    pool_int64s: Sequence[int] | None,
    pool_strings: Sequence[str] | None,
    weights: Sequence[float] | None,
) -> Callable[[Array], Array]:
    if min_gram_length < 1 or max_gram_length < min_gram_length or max_skip_count < 0:
        raise CheckError(f"n-grams of {min_gram_length} to {max_gram_length} words, {max_skip_count} skipped")
    if (pool_int64s is None) == (pool_strings is None):
        raise CheckError("one of pool_int64s and pool_strings must be given, and only one")
    dtype = DType.INT64 if pool_strings is None else DType.STRING
    pool: Sequence[int] | Sequence[str] = (pool_int64s if pool_strings is None else pool_strings) or ()
    grams = _grams(pool, ngram_counts, len(ngram_indexes))
    width = _width(ngram_indexes)
    scale = _scale(mode, weights, len(ngram_indexes))
    places = np.asarray(ngram_indexes, np.int64)

    def vectorize(x: Array) -> Array:
        if x.ndim not in (1, 2):
            raise ShapeError(f"the input has {x.ndim} axes, expected 1 or 2")
        if (x.dtype == np.object_) != (dtype is DType.STRING):
            raise InputError(f"the input is {DType.of(x.dtype)}, the pool {dtype}")
        rows = x.reshape(-1, x.shape[-1]) if x.size else x.reshape(x.shape[0] if x.ndim == 2 else 1, 0)
        if max(rows.shape[0], 1) * width > _MOST_CELLS:
            raise InputError(f"{rows.shape[0]:,} rows of {width:,} numbers are too many for one tensor")
        result = np.zeros((rows.shape[0], width), np.float64)
        for size in range(min_gram_length, min(max_gram_length, len(grams), rows.shape[1]) + 1):
            widest = min(max_skip_count + 1, (rows.shape[1] - 1) // (size - 1)) if size > 1 else 1
            strides = range(1, widest + 1) if grams[size - 1] else ()
            row, gram = _occurrences(rows.tolist(), grams[size - 1], size, strides, mode == "IDF")
            np.add.at(result, (row, places[gram]), scale[gram])
        return result.astype(np.float32).reshape((*x.shape[:-1], width))

    return vectorize


@tf_idf_vectorizer.infer
def infer(x: Fact, /, *, ngram_indexes: Sequence[int], **_: object) -> Inferred:
    if x.shape is None:
        return TensorType(DType.FLOAT32)
    if len(x.shape) not in (1, 2):
        raise ShapeError(f"the input has {len(x.shape)} axes, expected 1 or 2")
    return TensorType(DType.FLOAT32, (*x.shape[:-1], _width(ngram_indexes)))


@tf_idf_vectorizer.lower
def lower(
    x: prim.Tensor,
    /,
    *,
    max_gram_length: int,
    max_skip_count: int,
    min_gram_length: int,
    mode: str,
    ngram_counts: Sequence[int],
    ngram_indexes: Sequence[int],
    pool_int64s: Sequence[int] | None,
    pool_strings: Sequence[str] | None,
    weights: Sequence[float] | None,
) -> prim.Tensor:
    """Each n-gram of a row is followed word by word through tables, and counted where it is one of the pool."""
    grams = _grams(pool_int64s or (), ngram_counts, len(ngram_indexes))
    many, width = len(ngram_indexes), _width(ngram_indexes)
    if len(set(ngram_indexes)) < many:
        raise prim.Refused("n-grams that are counted in one place")
    words = np.unique(np.asarray(pool_int64s, np.int64))
    code = _codes(x if x.rank == 2 else prim.unsqueeze(x, [0]), words)
    counts = prim.full(0, (code.shape[0], many + 2), DType.FLOAT32)  # of the last but one what is no n-gram of the pool
    for size in range(min_gram_length, min(max_gram_length, len(grams)) + 1):
        if grams[size - 1]:
            tables = _tables(grams[size - 1], size, words, many)
            for stride in range(1, max_skip_count + 2 if size > 1 else 2):
                if stride > _MOST_STRIDES:
                    raise prim.Refused(f"n-grams with up to {max_skip_count} words skipped")
                counts = _counted(counts, code, tables, stride, "maximum" if mode == "IDF" else "add")
    gram_at = np.full(width, many + 1)
    gram_at[list(ngram_indexes)] = np.arange(many)
    scale = np.append(_scale(mode, weights, many), [0, 0]).astype(np.float32)[gram_at]
    column = prim.constant(gram_at.reshape(1, -1))
    result = prim.gather(counts, [0, column], (code.shape[0], width), in_range=True) * prim.constant(scale)
    return result if x.rank == 2 else prim.squeeze(result, [0])


def _codes(x: prim.Tensor, words: Array) -> prim.Tensor:
    """The place of each word among those of the pool, or how many these are."""
    low, high = int(words[0]), int(words[-1])
    if high - low >= _WIDEST:
        raise prim.Refused(f"words from {low} to {high}, a range of more than {_WIDEST}")
    table = np.full(high - low + 2, words.size)
    table[words - low] = np.arange(words.size)
    x = prim.cast(x, DType.INT64)
    inside = prim.apply("and", prim.apply("less_equal", low, x), prim.apply("less_equal", x, high))
    place = prim.where(inside, x - low, high - low + 1)
    return prim.gather(prim.constant(table), [place], x.shape, in_range=True)


def _tables(grams: Mapping[tuple[Any, ...], int], size: int, words: Array, none: int) -> list[Array]:
    """For each word of an n-gram, by what the words before it lead to and its code, what it leads to.

    The last leads to the place of the n-gram in the pool, or to `none`. Refused for tables that are too large.
    """
    coded = {tuple(np.searchsorted(words, gram).tolist()): place for gram, place in grams.items()}
    before: dict[tuple[int, ...], int] = {(): 0}
    tables = []
    for length in range(1, size + 1):
        is_last = length == size
        after = coded if is_last else {}
        if not is_last:
            for gram in coded:
                after.setdefault(gram[:length], len(after))
        if (len(before) + 1) * (words.size + 1) > _MOST_STEPS:
            raise prim.Refused(f"{len(before)} beginnings of n-grams of {words.size} words")
        table = np.full((len(before) + 1, words.size + 1), none if is_last else len(after))
        for gram, place in after.items():
            table[before[gram[:-1]], gram[-1]] = place
        tables.append(table)
        before = after
    return tables


def _counted(
    counts: prim.Tensor, code: prim.Tensor, tables: Sequence[Array], stride: int, function: str
) -> prim.Tensor:
    """The counts with those of n-grams whose words are `stride` apart."""
    rows, length = code.shape
    windows = maximum(length - (len(tables) - 1) * stride, 0)
    if windows == 0:
        return counts
    shape = (rows, windows)
    state: prim.Tensor | int = prim.full(0, shape, DType.INT64)
    for place, table in enumerate(tables):
        word = prim.slice_(code, [0, place * stride], shape, in_range=True)
        state = prim.gather(prim.constant(table), [state, word], shape, in_range=True)
    return prim.scatter(counts, prim.full(1, shape, DType.FLOAT32), [prim.iota(shape, 0), state], function)


def _grams(
    pool: Sequence[int] | Sequence[str], starts: Sequence[int], count: int
) -> list[dict[tuple[int | str, ...], int]]:
    """For each size the place of its n-grams in the pool; CheckError if there are not as many as places for them."""
    edges = [*starts, len(pool)]
    if edges[0] != 0 or edges != sorted(edges):
        raise CheckError(f"ngram_counts {list(starts)[:16]} do not divide a pool of {len(pool)}")
    grams: list[dict[tuple[int | str, ...], int]] = []
    before = 0
    for size, (a, b) in enumerate(pairwise(edges), 1):
        if (b - a) % size:
            raise CheckError(f"the pool has {b - a} words of {size}-grams")
        words = iter(pool[a:b])
        own = {gram: before + place for place, gram in enumerate(zip(*[words] * size, strict=True))}
        if len(own) < (b - a) // size:
            raise CheckError(f"the pool has one of its {size}-grams twice")
        grams.append(own)
        before += len(own)
    if before != count:
        raise CheckError(f"the pool has {before} n-grams, ngram_indexes has {count} numbers")
    return grams


def _occurrences(
    rows: list[list[Any]], grams: dict[tuple[int | str, ...], int], size: int, strides: Iterable[int], once: bool
) -> tuple[Array, Array]:
    """The row and the place in the pool of each n-gram in it, in each row at most `once`."""
    counts: list[int] = []
    places: list[int] = []
    for words in rows:
        hits: list[int] = []
        for stride in strides:
            windows = zip(*(words[k * stride :] for k in range(size)), strict=False)
            hits += [grams[gram] for gram in windows if gram in grams]
        if once:
            hits = list(dict.fromkeys(hits))
        counts.append(len(hits))
        places += hits
    return np.repeat(np.arange(len(rows)), counts), np.asarray(places, np.int64)


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
