"""Text: documents split into words, words counted, counts weighed."""

from __future__ import annotations

import string
from typing import Any

import numpy as np

from ingot.builder import Var, op
from ingot.convert.sklearn.algebra import sum_rows
from ingot.convert.sklearn.conversion import Conversion, Rows
from ingot.convert.sklearn.rule import refusal, rule

_WORDS = (r"(?u)\b\w\w+\b", r"\b\w\w+\b", r"(?u)\b\w+\b", r"\b\w+\b", r"\w+")
DROPS_LETTERS = _WORDS[:2]
"""Patterns that words of one letter do not match."""
_SPACED = (r"\S+", r"[^\s]+", r"[^ ]+")
_MARKS = string.punctuation.replace("_", "") + "–—‘’“”…«»·¿¡€£"
"""What ends a word besides white space: ONNX splits by one mark at a time, and has no class of them."""


@refusal("CountVectorizer", "TfidfVectorizer")
def unknown_analysis(estimator: Any) -> str | None:
    for name in ("tokenizer", "preprocessor", "strip_accents"):
        if getattr(estimator, name) is not None:
            return f"its {name} is none that ONNX has an operator for"
    if estimator.analyzer != "word":
        return f"analyzer {estimator.analyzer!r} has no rule: ONNX splits text at marks, not between characters"
    if estimator.token_pattern not in (*_WORDS, *_SPACED):
        return f"token_pattern {estimator.token_pattern!r} has no rule: ONNX has no operator that finds a pattern"
    drops = estimator.stop_words is not None or estimator.token_pattern in DROPS_LETTERS
    if tuple(estimator.ngram_range) != (1, 1) and drops:
        return "n-grams of words some of which are left out: give token_pattern r'\\b\\w+\\b' and no stop words"
    return None


@rule("transform", "CountVectorizer")
def counts(c: Conversion, estimator: Any, x: Rows) -> Var:
    counted = c.cast(_counted(c, estimator, x), c.real)
    return op.Min(counted, c.number(1)) if estimator.binary else counted


@rule("transform", "TfidfVectorizer")
def weighed_counts(c: Conversion, estimator: Any, x: Rows) -> Var:
    return c.transform(estimator._tfidf, counts(c, estimator, x))


@rule("transform", "TfidfTransformer")
def weighed(c: Conversion, estimator: Any, x: Rows) -> Var:
    rows = c.matrix(x)
    if estimator.sublinear_tf:
        none = op.Equal(rows, c.number(0))
        rows = op.Where(none, c.number(0), op.Log(op.Where(none, c.number(1), rows)) + c.number(1))
    if estimator.use_idf:
        rows = rows * c.array(np.asarray(estimator.idf_)[None])
    if estimator.norm is None:
        return rows
    norms = sum_rows(op.Abs(rows)) if estimator.norm == "l1" else op.Sqrt(sum_rows(rows * rows))
    return rows / op.Where(op.Equal(norms, c.number(0)), c.number(1), norms)


def _counted(c: Conversion, estimator: Any, x: Rows) -> Var:
    """How often each entry of the vocabulary stands in each document."""
    words = split_words(c, estimator, x)
    low, high = estimator.ngram_range
    entries = sorted(estimator.vocabulary_.items(), key=lambda item: (item[0].count(" "), item[1]))
    grams = [(entry.split(" "), int(place)) for entry, place in entries]
    pool = [word for gram, _ in grams for word in gram]
    sizes = [sum(len(gram) for gram, _ in grams if len(gram) == size) for size in range(1, high + 1)]
    starts = np.cumsum([0, *sizes[:-1]]).tolist()
    return op.TfIdfVectorizer(
        words,
        mode="TF",
        min_gram_length=low,
        max_gram_length=high,
        max_skip_count=0,
        ngram_counts=starts,
        ngram_indexes=[place for _, place in grams],
        pool_strings=pool,
    )


def split_words(c: Conversion, estimator: Any, x: Rows) -> Var:
    """The words of each document in a row, with empty ones at its end: at least one."""
    documents = op.Reshape(x if isinstance(x, Var) else x.values[0], [-1])
    if estimator.lowercase:
        documents = op.StringNormalizer(documents, case_change_action="LOWER", is_case_sensitive=1)
    if estimator.token_pattern in _WORDS:
        for mark in _MARKS:
            documents = _with_spaces(documents, mark)
    words, _ = op.StringSplit(documents, outputs=2)
    return op.Concat(words, _blank_column(c, words), axis=1)  # a row of no words has no place to look in


def _with_spaces(documents: Var, mark: str) -> Var:
    """Documents with white space in place of a mark: split at it, and joined again."""
    parts, _ = op.StringSplit(documents, delimiter=mark, outputs=2)
    empty = op.Expand(np.array([""], object), op.Shape(documents))

    def body(total: Var, part: Var) -> Var:
        return op.StringConcat(op.StringConcat(total, np.array(" ", object)), part)

    spaced: Var = op.Scan([empty], [op.Transpose(parts, perm=[1, 0])], body=body)
    return spaced


def _blank_column(c: Conversion, words: Var) -> Var:
    return op.Expand(np.array([[""]], object), op.Concat(c.rows(words), np.array([1], np.int64), axis=0))
