"""NGramRepeatBlock: tokens that would repeat a run of tokens are ruled out."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from ingot import prim
from ingot.dtypes import Array, DType
from ingot.errors import CheckError, InputError, ShapeError
from ingot.ops.contrib.domain import MICROSOFT, last
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.shapes import require_rank, unify
from ingot.ops.typesets import FLOAT32, INT64, types

Ids: TypeAlias = Annotated[Array, types("Tid", INT64)]
T: TypeAlias = Annotated[Array, types("T", FLOAT32)]


@operator("NGramRepeatBlock", since=1, domain=MICROSOFT)
def ngram_repeat_block(input_ids: Ids, scores: T, /, *, ngram_size: int) -> T:
    """The scores with minus infinity for each token that would end a run of `ngram_size` tokens seen before."""
    _check(ngram_size)
    if input_ids.ndim != 2 or scores.ndim != 2 or len(input_ids) != len(scores):
        raise ShapeError(f"ids and scores have shapes {list(input_ids.shape)} and {list(scores.shape)}")
    result = scores.copy()
    if input_ids.shape[1] < ngram_size:
        return result
    runs = sliding_window_view(input_ids, ngram_size, axis=1)
    ending = input_ids[:, input_ids.shape[1] - ngram_size + 1 :]
    rows, places = np.nonzero((runs[..., :-1] == ending[:, None]).all(axis=2))
    blocked = runs[rows, places, -1]
    outside = blocked[(blocked < 0) | (blocked >= scores.shape[1])]
    if outside.size:
        raise InputError(f"token {outside[0]} has no score, there are {scores.shape[1]}")
    result[rows, blocked] = -np.inf
    return result


@ngram_repeat_block.infer
def infer(input_ids: Fact, scores: Fact, /, *, ngram_size: int) -> Inferred:
    _check(ngram_size)
    require_rank(input_ids, 2, "input_ids")
    require_rank(scores, 2, "scores")
    unify(last(input_ids.shape, 0), last(scores.shape, 0), "batches")
    return scores.type


@ngram_repeat_block.lower
def lower(input_ids: prim.Tensor, scores: prim.Tensor, /, *, ngram_size: int) -> prim.Tensor:
    """Where a run begins as the ids end, its last token is marked; the scores of marked tokens are replaced."""
    batch, many = input_ids.shape
    if isinstance(many, int) and many < ngram_size:
        return scores
    runs, ending = many - (ngram_size - 1), ngram_size - 1
    shape = (batch, runs)
    is_seen: prim.Tensor = prim.full(True, shape, DType.BOOL)
    if ending:
        beginnings = prim.window(input_ids, [1], [ending], [1], [1])
        beginnings = prim.slice_(beginnings, [0, 0, 0], [batch, runs, ending])
        last = prim.unsqueeze(prim.slice_(input_ids, [0, runs], [batch, ending]), [1])
        is_seen = prim.squeeze(prim.reduce_("and", prim.apply("equal", beginnings, last), [2]), [2])
    tokens = prim.slice_(input_ids, [0, ending], shape)
    marks = prim.full(0, (batch, scores.shape[1]), DType.UINT8)
    places = [prim.iota(shape, 0), prim.where(is_seen, tokens, 0)]
    marks = prim.scatter(marks, prim.cast(is_seen, DType.UINT8), places, "maximum")
    return prim.where(prim.apply("not_equal", marks, 0), -np.inf, scores)


def _check(ngram_size: int) -> None:
    if ngram_size < 1:
        raise CheckError(f"ngram_size is {ngram_size}, expected at least 1")
