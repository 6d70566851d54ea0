"""NGramRepeatBlock: tokens that would repeat a run of tokens are ruled out."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from ingot.dtypes import Array
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


def _check(ngram_size: int) -> None:
    if ngram_size < 1:
        raise CheckError(f"ngram_size is {ngram_size}, expected at least 1")
