"""BifurcationDetector and DynamicTimeWarping: where two sequences part, and how they are aligned."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import numpy as np

from ingot import prim
from ingot.dtypes import Array, DType
from ingot.errors import CheckError, InputError, ShapeError
from ingot.ir.types import TensorType
from ingot.ops.contrib.domain import MICROSOFT
from ingot.ops.contrib.warped import warping_path
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.shapes import fresh, require_rank
from ingot.ops.typesets import FLOAT32, INT32, INT64, types
from ingot.prim.tensor import SizeReader

T: TypeAlias = Annotated[Array, types("T", INT64)]
F: TypeAlias = Annotated[Array, types("F", FLOAT32)]
I: TypeAlias = Annotated[Array, types("I", INT32)]  # noqa: E741


@operator("BifurcationDetector", since=1, domain=MICROSOFT)
def bifurcation_detector(
    src_tokens: T,
    cur_tokens: T,
    prev_suffix_match_idx: T,
    pred_tokens: T | None = None,
    /,
    *,
    max_ngram_size: int = 3,
    min_ngram_size: int = 1,
) -> tuple[T, T]:
    """`cur_tokens` and of `pred_tokens` those that are as in `src_tokens` from an index on, and the first that is not.

    With it where, in `src_tokens`, the only occurrence of the last tokens ends, of so many as the n-gram sizes allow;
    -1 if there is none, or more than one.
    """
    if min_ngram_size < 1 or max_ngram_size < min_ngram_size:
        raise CheckError(f"n-grams of {min_ngram_size} to {max_ngram_size} tokens")
    if not (src_tokens.ndim == cur_tokens.ndim == 1 and (pred_tokens is None or pred_tokens.ndim == 1)):
        raise ShapeError("src_tokens, cur_tokens and pred_tokens have one axis each")
    if prev_suffix_match_idx.size != 1:
        raise InputError(f"prev_suffix_match_idx has {prev_suffix_match_idx.size} elements, expected 1")
    if pred_tokens is None:
        tokens = cur_tokens.copy()
    else:
        start = int(prev_suffix_match_idx.reshape(-1)[0])
        if not 0 <= start <= len(src_tokens) or len(pred_tokens) != len(src_tokens) + 1 - start:
            raise InputError(f"{len(pred_tokens)} predicted tokens do not go with {len(src_tokens)} from {start} on")
        differs = pred_tokens[:-1] != src_tokens[start:]
        accepted = int(differs.argmax()) if len(differs) else 0
        if accepted < len(differs) and not differs[accepted]:  # none does
            accepted = len(differs)
        tokens = np.concatenate([cur_tokens, pred_tokens[: accepted + 1]])
    match = _suffix_match(src_tokens, tokens, min_ngram_size, max_ngram_size)
    return tokens, np.asarray(match, np.int64).reshape(prev_suffix_match_idx.shape)


@bifurcation_detector.infer
def infer_bifurcation(
    src_tokens: Fact, cur_tokens: Fact, prev_suffix_match_idx: Fact, pred_tokens: Fact | None = None, /, **_: object
) -> tuple[Inferred, Inferred]:
    shape = cur_tokens.shape if pred_tokens is None or not pred_tokens.present else (fresh("tokens"),)
    return TensorType(DType.INT64, shape), TensorType(DType.INT64, prev_suffix_match_idx.shape)


def _suffix_match(source: Array, tokens: Array, least: int, most: int) -> int:
    """Where in the source the only occurrence of the last tokens ends, -1 if there is no such."""
    match = -1
    suffix = tokens[len(tokens) - min(most, len(tokens)) :].tolist()
    ends: Array | list[int] = []
    for size, token in enumerate(reversed(suffix), 1):
        if size == 1:
            ends = (source == token).nonzero()[0] + 1
        elif isinstance(ends, list):
            ends = [end for end in ends if end >= size and source[end - size] == token]
        else:
            ends = ends[ends >= size]
            ends = ends[source[ends - size] == token]
        if not isinstance(ends, list) and len(ends) <= _FEW:
            ends = ends.tolist()
        if size < least:
            continue
        if not len(ends):
            break
        match = int(ends[0])
        if match >= len(source):
            break
        if len(ends) > 1:
            match = -1
    return match


_FEW = 16
"""Occurrences that are looked at one by one."""


@operator("DynamicTimeWarping", since=1, domain=MICROSOFT)
def dynamic_time_warping(x: F, /) -> I:
    """The rows and columns of the path through the matrix of costs, from its first element to its last, that sums up to
    least; a step goes on by one row, one column or both.
    """
    costs = x[0] if x.ndim == 3 and len(x) == 1 else x
    if costs.ndim != 2:
        raise ShapeError(f"x has shape {list(x.shape)}, expected a matrix")
    rows, columns = costs.shape
    total = np.full((rows + 1, columns + 1), np.inf, np.float32)
    total[0, 0] = 0
    came = np.zeros((rows + 1, columns + 1), np.int8)
    for j in range(1, columns + 1):
        for i in range(1, rows + 1):
            before = total[i - 1, j - 1], total[i - 1, j], total[i, j - 1]
            way = 0 if before[0] < min(before[1:]) else 1 if before[1] < before[0] and before[1] < before[2] else 2
            total[i, j] = before[way] + costs[i - 1, j - 1]
            came[i, j] = way
    i, j = rows, columns
    path: list[tuple[int, int]] = []
    while i > 0 and j > 0:
        path.append((i - 1, j - 1))
        way = int(came[i, j])
        i, j = i - (way != 2), j - (way != 1)
    return np.asarray(path[::-1], np.int32).reshape(-1, 2).T


@dynamic_time_warping.infer
def infer_warping(x: Fact, /) -> Inferred:
    if x.rank not in (None, 2, 3):
        require_rank(x, 2, "x")
    return TensorType(DType.INT32, (2, fresh("path")))


@dynamic_time_warping.lower
def lower_warping(x: prim.Tensor, /, *, read: SizeReader) -> prim.Tensor:
    costs = prim.reshape(prim.assume_shape(x, (1, *x.shape[1:])), x.shape[1:]) if x.rank == 3 else x
    return warping_path(costs, read)
