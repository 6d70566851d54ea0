"""Operators that turn maps into tensors and tensors into maps."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, TypeAlias

import numpy as np

from ingot.dtypes import Array, DType
from ingot.errors import CheckError, InputError, ShapeError
from ingot.ir.types import MapType, SequenceType, TensorType
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.ml.element_types import Float32
from ingot.ops.ml.labels import either, label_type
from ingot.ops.ml.rows import affordable, as_rows, feature_count, row_count
from ingot.ops.typesets import FLOAT32, FLOAT64, INT64, STRING, sequences, types

CastMapInput: TypeAlias = Annotated[
    Mapping[int, Any], types("T1", frozenset({"map(int64, float)", "map(int64, string)"}))
]
CastMapOutput: TypeAlias = Annotated[Array, types("T2", FLOAT32 | INT64 | STRING)]
DictInput: TypeAlias = Annotated[
    Mapping[Any, Any],
    types(
        "T1",
        frozenset(
            {
                "map(int64, double)",
                "map(int64, float)",
                "map(int64, string)",
                "map(string, double)",
                "map(string, float)",
                "map(string, int64)",
            }
        ),
    ),
]
DictOutput: TypeAlias = Annotated[Array, types("T2", FLOAT32 | FLOAT64 | INT64 | STRING)]
Maps: TypeAlias = Annotated[
    list[dict[Any, float]], types("T", sequences(frozenset({"map(int64, float)", "map(string, float)"})))
]

_CASTS = {"TO_FLOAT": DType.FLOAT32, "TO_INT64": DType.INT64, "TO_STRING": DType.STRING}


@operator("CastMap", since=1, domain="ai.onnx.ml")
def cast_map(
    x: CastMapInput, /, *, cast_to: str = "TO_FLOAT", map_form: str = "DENSE", max_map: int = 1
) -> CastMapOutput:
    """The values of a map in the order of their keys, cast, in one row.

    SPARSE puts each at the place its key names in a row of `max_map`: InputError for a key outside. What is in
    between is zero; among strings it is "0.f", and floats are written with six decimals, as onnxruntime does.
    """
    dtype = _cast(cast_to, map_form, max_map)
    keys = sorted(x)
    values = [_cast_value(x[key], dtype) for key in keys]
    if map_form == "DENSE":
        dense = np.empty(len(keys), dtype.numpy)
        dense[:] = values
        return dense.reshape(1, -1)
    if keys and not 0 <= keys[0] <= keys[-1] < max_map:
        raise InputError(f"the keys lie between {keys[0]} and {keys[-1]}, outside 0 to {max_map - 1}")
    affordable(max_map, 8)
    sparse = np.full((1, max_map), "0.f" if dtype is DType.STRING else 0, dtype.numpy)
    for key, value in zip(keys, values, strict=True):
        sparse[0, key] = value
    return sparse


@cast_map.infer
def infer_cast_map(x: Fact, /, *, cast_to: str, map_form: str, max_map: int) -> Inferred:
    dtype = _cast(cast_to, map_form, max_map)
    return TensorType(dtype, (1, None if map_form == "DENSE" else max_map))


def _cast(cast_to: str, map_form: str, max_map: int) -> DType:
    if cast_to not in _CASTS:
        raise CheckError(f"cast_to is '{cast_to}'", hint=f"one of {', '.join(_CASTS)}")
    if map_form not in ("DENSE", "SPARSE"):
        raise CheckError(f"map_form is '{map_form}'", hint="one of DENSE, SPARSE")
    if map_form == "SPARSE" and max_map < 1:
        raise CheckError(f"max_map is {max_map}, expected at least 1")
    return _CASTS[cast_to]


def _cast_value(value: Any, dtype: DType) -> Any:
    if dtype is DType.STRING:
        return value if isinstance(value, str) else f"{float(value):f}"
    try:
        return np.float32(value) if dtype is DType.FLOAT32 else np.int64(int(value))
    except (ValueError, OverflowError):
        raise InputError(f"{value!r} cannot be cast to {dtype}") from None


@operator("DictVectorizer", since=1, domain="ai.onnx.ml")
def dict_vectorizer(
    x: DictInput,
    /,
    *,
    int64_vocabulary: Sequence[int] | None = None,
    string_vocabulary: Sequence[str] | None = None,
) -> DictOutput:
    """One row of the values of a map in the order of the vocabulary, zero (or an empty string) where it has none.

    A key that is not in the vocabulary is passed over: the standard does not say, and its evaluator and onnxruntime
    do so.
    """
    vocabulary = either("the vocabulary", int64_vocabulary, string_vocabulary)
    dtype = _value_type(list(x.values()))
    row = np.full((1, len(vocabulary)), "" if dtype is DType.STRING else 0, dtype.numpy)
    for column, word in enumerate(vocabulary):
        if word in x:
            row[0, column] = x[word]
    return row


@dict_vectorizer.infer
def infer_dict_vectorizer(
    x: Fact, /, *, int64_vocabulary: Sequence[int] | None, string_vocabulary: Sequence[str] | None
) -> Inferred:
    vocabulary = either("the vocabulary", int64_vocabulary, string_vocabulary)
    value = x.type.value if isinstance(x.type, MapType) else None
    return TensorType(value.dtype, (1, len(vocabulary))) if isinstance(value, TensorType) else None


def _value_type(values: Sequence[Any]) -> DType:
    """The element type of the values of a map; plain floats are float32 where that holds them exactly."""
    if any(isinstance(value, str) for value in values):
        return DType.STRING
    if any(isinstance(value, np.float64) for value in values):
        return DType.FLOAT64
    if values and all(isinstance(value, int | np.integer) for value in values):
        return DType.INT64
    exact = all(np.float32(value) == value or value != value for value in values)
    return DType.FLOAT32 if exact else DType.FLOAT64


@operator("ZipMap", since=1, domain="ai.onnx.ml")
def zip_map(
    x: Float32,
    /,
    *,
    classlabels_int64s: Sequence[int] | None = None,
    classlabels_strings: Sequence[str] | None = None,
) -> Maps:
    """For each row a map from the labels to its elements."""
    maps: Maps = bind_zip_map(classlabels_int64s=classlabels_int64s, classlabels_strings=classlabels_strings)(x)
    return maps


@zip_map.bind
def bind_zip_map(
    *, classlabels_int64s: Sequence[int] | None, classlabels_strings: Sequence[str] | None
) -> Callable[[Array], Maps]:
    labels = either("labels", classlabels_int64s, classlabels_strings)
    count = len(labels)

    def zipped(x: Array) -> Maps:
        rows = as_rows(x)
        if rows.shape[1] != count:
            raise ShapeError(f"there are {rows.shape[1]} columns and {count} labels")
        return [dict(zip(labels, row)) for row in rows.tolist()]  # noqa: B905 as many, and half as fast if checked

    return zipped


@zip_map.infer
def infer_zip_map(
    x: Fact, /, *, classlabels_int64s: Sequence[int] | None, classlabels_strings: Sequence[str] | None
) -> Inferred:
    labels = either("labels", classlabels_int64s, classlabels_strings)
    row_count(x)
    columns = feature_count(x)
    if isinstance(columns, int) and columns != len(labels):
        raise ShapeError(f"there are {columns} columns and {len(labels)} labels")
    key = label_type(classlabels_int64s, classlabels_strings)
    return SequenceType(MapType(key, TensorType(DType.FLOAT32, ())))
