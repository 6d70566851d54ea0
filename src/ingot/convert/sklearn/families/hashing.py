"""Hashing: words and features counted at the places that their hashes name."""

from __future__ import annotations

from typing import Any

import numpy as np

from ingot.builder import Var, op
from ingot.convert.sklearn.algebra import sum_rows
from ingot.convert.sklearn.conversion import Conversion, Rows
from ingot.convert.sklearn.families.text import DROPS_LETTERS, split_words, unknown_analysis
from ingot.convert.sklearn.rule import refusal, rule

_LONGER_THAN_ONE = "(?s)..+"


@refusal("FeatureHasher")
def not_strings(estimator: Any) -> str | None:
    if estimator.input_type == "string":
        return None
    return f"rows of input_type {estimator.input_type!r} have names and numbers side by side, which no tensor holds"


@rule("transform", "FeatureHasher")
def hashed_features(c: Conversion, estimator: Any, x: Rows) -> Var:
    """Rows of as many names each."""
    names = x if isinstance(x, Var) else op.Concat(*x.values, axis=1)
    return _scattered(c, estimator, names, None)[0]


@refusal("HashingVectorizer")
def unknown_words(estimator: Any) -> str | None:
    return unknown_analysis(estimator)


@rule("transform", "HashingVectorizer")
def hashed_words(c: Conversion, estimator: Any, x: Rows) -> Var:
    words = split_words(c, estimator, x)
    counted = op.Not(op.Equal(words, np.array("", object)))
    if estimator.token_pattern in DROPS_LETTERS:
        counted = op.RegexFullMatch(words, pattern=_LONGER_THAN_ONE)
    stops = sorted(estimator.get_stop_words() or ())
    if stops:
        attributes: dict[str, Any] = {"keys_strings": stops, "values_int64s": [0] * len(stops), "default_int64": 1}
        counted = op.And(counted, op.Cast(op.domain("ai.onnx.ml").LabelEncoder(words, **attributes), to=9))
    low, high = estimator.ngram_range
    parts = [_grams(words, counted, size) for size in range(low, high + 1)]
    grams = parts[0][0] if len(parts) == 1 else op.Concat(*(each for each, _ in parts), axis=1)
    there = parts[0][1] if len(parts) == 1 else op.Concat(*(mask for _, mask in parts), axis=1)
    counts, touched = _scattered(c, estimator, grams, there)
    if estimator.binary:  # also where words of both signs cancel
        counts = c.cast(op.Greater(touched, c.number(0)), c.real)
    if estimator.norm is None:
        return counts
    norms = sum_rows(op.Abs(counts)) if estimator.norm == "l1" else op.Sqrt(sum_rows(counts * counts))
    return counts / op.Where(op.Equal(norms, c.number(0)), c.number(1), norms)


def _grams(words: Var, counted: Var, size: int) -> tuple[Var, Var]:
    """Runs of as many words, joined by spaces, and which of them have no gap."""
    if size == 1:
        return words, counted
    ends = np.array([1], np.int64)
    grams, there = _slice(words, 0, size, ends), _slice(counted, 0, size, ends)
    for place in range(1, size):
        grams = op.StringConcat(op.StringConcat(grams, np.array(" ", object)), _slice(words, place, size, ends))
        there = op.And(there, _slice(counted, place, size, ends))
    return grams, there


def _slice(words: Var, place: int, size: int, axis: Any) -> Var:
    last = place - size + 1
    return op.Slice(words, np.array([place]), np.array([last if last < 0 else np.iinfo(np.int64).max]), axis)


def _scattered(c: Conversion, estimator: Any, names: Var, counted: Var | None) -> tuple[Var, Var]:
    """How often the names of each row come to each place, with signs, and without them."""
    hashes = op.Cast(op.domain("com.microsoft").MurmurHash3(names, positive=0, seed=0), to=7)
    width = np.array([estimator.n_features], np.int64)
    places = op.Mod(op.Abs(hashes), width)
    one = c.number(1)
    signs = op.Where(hashes < np.int64(0), -one, one) if estimator.alternate_sign else op.Expand(one, op.Shape(names))
    present = op.Expand(one, op.Shape(names))
    if counted is not None:
        there = c.cast(counted, c.real)
        signs, present = signs * there, present * there
    nothing = op.Expand(c.number(0), op.Concat(c.rows(names), width, axis=0))
    return (
        op.ScatterElements(nothing, places, signs, axis=1, reduction="add"),
        op.ScatterElements(nothing, places, present, axis=1, reduction="add"),
    )
