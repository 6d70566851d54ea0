"""Vocabularies: words and integers as places in them, and back."""

from __future__ import annotations

from typing import Any

import numpy as np

from ingot.builder import Var, op
from ingot.convert.keras.conversion import Conversion, as_array, cast
from ingot.convert.keras.encoding import encoded
from ingot.convert.keras.rule import refusal, rule
from ingot.dtypes import DType

ml = op.domain("ai.onnx.ml")


@rule("StringLookup", "IntegerLookup")
def looked_up(c: Conversion, layer: Any, x: Var) -> Var:
    """The place of each word in the vocabulary, or with `invert` the word at each place."""
    if layer.invert:
        return _inverted(layer, x)
    places = places_in(layer, x)
    if layer.output_mode == "int":
        return places
    depth = layer.max_tokens if layer.pad_to_max_tokens else layer.vocabulary_size()
    mode = "count" if layer.output_mode == "tf_idf" else layer.output_mode
    encodings = encoded(c, places, mode, depth, c.results[0].dtype if c.results else "int64")
    if layer.output_mode == "tf_idf":
        weights = as_array(layer.idf_weights_const)
        encodings = cast(encodings, str(weights.dtype)) * c.constant(weights, "idf_weights")
    return encodings


def places_in(layer: Any, x: Var) -> Var:
    """The place of each word, as int64."""
    words = layer.get_vocabulary(include_special_tokens=False)
    start = layer._token_start_index()
    keys: list[Any] = [str(word) if x.dtype is DType.STRING else int(word) for word in words]
    values = list(range(start, start + len(keys)))
    mask = layer.mask_token
    if mask is not None:
        masked = 0 if layer.output_mode == "int" else -1
        keys.insert(0, str(mask) if x.dtype is DType.STRING else int(mask))
        values.insert(0, masked)
    several = layer.num_oov_indices > 1
    unknown = -2 if several else layer._oov_start_index() if layer.num_oov_indices else -1
    if x.dtype is DType.STRING:
        return ml.LabelEncoder(x, keys_strings=keys, values_int64s=values, default_int64=unknown)
    whole = cast(x, "int64")
    places = ml.LabelEncoder(whole, keys_int64s=keys, values_int64s=values, default_int64=unknown)
    if several:
        first = np.array(layer._oov_start_index(), np.int64)
        hashed = op.Mod(whole, np.array(layer.num_oov_indices, np.int64)) + first
        places = op.Where(op.Equal(places, np.array(-2, np.int64)), hashed, places)
    return places


def _inverted(layer: Any, x: Var) -> Var:
    """What stands at each place; places that nothing stands at are unknown words."""
    words = layer.get_vocabulary(include_special_tokens=True)
    places = cast(x, "int64")
    if isinstance(words[0] if words else "", str) or layer.vocabulary_dtype == "string":
        return ml.LabelEncoder(
            places,
            keys_int64s=list(range(len(words))),
            values_strings=[str(word) for word in words],
            default_string=str(layer.oov_token),
        )
    numbers = [int(word) for word in words]
    unknown = int(layer.oov_token)
    return ml.LabelEncoder(places, keys_int64s=list(range(len(numbers))), values_int64s=numbers, default_int64=unknown)


@refusal("StringLookup")
def hashed_words(layer: Any) -> str | None:
    if not layer.invert and layer.num_oov_indices > 1:
        return f"unknown words go to {layer.num_oov_indices} places by FarmHash, which ONNX has no operator for"
    return "its output is a sparse tensor" if layer.sparse else None


@refusal("IntegerLookup")
def hashed_numbers(layer: Any) -> str | None:
    if not layer.invert and layer.num_oov_indices > 1 and getattr(layer, "oov_method", "floormod") == "farmhash":
        return f"unknown numbers go to {layer.num_oov_indices} places by FarmHash, which ONNX has no operator for"
    return "its output is a sparse tensor" if layer.sparse else None


@refusal("HashedCrossing")
def crossed(layer: Any) -> str | None:
    return "crossed features go to bins by FarmHash, which ONNX has no operator for"


@refusal("Hashing")
def hashed(layer: Any) -> str | None:
    if layer.num_bins == 1:
        return None
    kind = "SipHash" if layer.strong_hash else "FarmHash"
    return f"words go to bins by {kind}, which ONNX has no operator for"


@rule("Hashing")
def one_bin(c: Conversion, layer: Any, x: Var) -> Var:
    """Everything in the one bin that there is."""
    if x.dtype is DType.STRING:
        places = ml.LabelEncoder(x, keys_strings=[""], values_int64s=[0], default_int64=0)
    else:
        places = op.Expand(np.array(0, np.int64), op.Shape(x))
    return encoded(c, places, layer.output_mode, 1, layer.dtype)
