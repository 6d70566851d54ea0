"""Text: lower case, without punctuation, split into words, words looked up."""

from __future__ import annotations

from typing import Any

import numpy as np

from ingot.builder import Var, op
from ingot.convert.keras.conversion import Conversion, as_array, cast
from ingot.convert.keras.encoding import hot
from ingot.convert.keras.layers.lookup import places_in
from ingot.convert.keras.rule import refusal, rule
from ingot.convert.operands import rank, shape

_MARKS = "!\"#$%&()*+,-./:;<=>?@[\\]^_`{|}~'"
"""What Keras takes for punctuation."""


@refusal("TextVectorization")
def unknown_text(layer: Any) -> str | None:
    if callable(layer._standardize) or callable(layer._split):
        return "it standardises or splits by a Python function"
    if layer._split == "character":
        return "ONNX has no operator that splits text into characters"
    if layer._ngrams is not None and layer._ngrams != (1,):
        return "its words are joined to n-grams"
    if layer._ragged:
        return "its output is a ragged tensor"
    return "its output is a sparse tensor" if layer._lookup_layer.sparse else None


@rule("TextVectorization")
def vectorised(c: Conversion, layer: Any, x: Var) -> Var:
    text = op.Reshape(x, [-1]) if rank(x) > 1 and layer._split is not None else x
    if layer._standardize in ("lower", "lower_and_strip_punctuation"):
        text = _flat(
            text, lambda flat: op.StringNormalizer(flat, case_change_action="LOWER", is_case_sensitive=1, locale="C")
        )
    if layer._standardize in ("strip_punctuation", "lower_and_strip_punctuation"):
        text = _flat(text, _without_punctuation)
    words = text
    if layer._split is not None:
        words, _ = op.StringSplit(text, outputs=2)
    lookup = layer._lookup_layer
    places = places_in(lookup, words)
    if layer._output_mode == "int":
        return _of_length(places, layer._output_sequence_length) if layer._split is not None else places
    return _weighed(c, lookup, layer, places, words)


def _weighed(c: Conversion, lookup: Any, layer: Any, places: Var, words: Var) -> Var:
    """Words as counts: those that only fill a row up count nothing."""
    depth = lookup.max_tokens if lookup.pad_to_max_tokens else lookup.vocabulary_size()
    filled = op.Where(op.Equal(words, np.array("", object)), np.array(-1, np.int64), places)
    dtype = c.results[0].dtype if c.results else "int64"
    rows = hot(filled, depth, dtype)
    blank = op.Expand(c.operand(0, dtype), op.Concat(op.Shape(rows, start=0, end=1), [1, depth], axis=0))
    rows = op.Concat(rows, blank, axis=1)  # a row of no words has no largest
    if layer._output_mode in ("multi_hot", "one_hot"):
        return op.ReduceMax(rows, [1], keepdims=0)
    counted = op.ReduceSum(rows, [1], keepdims=0)
    if layer._output_mode == "count":
        return counted
    weights = as_array(lookup.idf_weights_const)
    return cast(counted, str(weights.dtype)) * c.constant(weights, "idf_weights")


def _of_length(places: Var, length: int | None) -> Var:
    """Rows of one length: cut, or filled with zeros."""
    if length is None:
        return places
    fill = op.Expand(np.array([[0]], np.int64), op.Concat(op.Shape(places, start=0, end=1), [length], axis=0))
    return op.Slice(op.Concat(places, fill, axis=1), [0], [length], [1])


def _flat(text: Var, change: Any) -> Var:
    """Text changed in one row, as some operators take no other, and put back."""
    if rank(text) == 1:
        changed: Var = change(text)
        return changed
    sizes = shape(text)
    target = op.Shape(text) if any(not isinstance(size, int) for size in sizes) else list(sizes)
    return op.Reshape(change(op.Reshape(text, [-1])), target)


def _without_punctuation(text: Var) -> Var:
    """Text split at each mark, and joined again without it."""
    for mark in _MARKS:
        parts, _ = op.StringSplit(text, delimiter=mark, outputs=2)
        empty = op.Expand(np.array([""], object), op.Shape(text))

        def joined(total: Var, part: Var) -> Var:
            return op.StringConcat(total, part)

        text = op.Scan([empty], [parts], body=joined, scan_input_axes=[1])
        text.value.type = empty.value.type
    return text
