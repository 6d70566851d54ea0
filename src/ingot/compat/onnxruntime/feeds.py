"""What a program feeds, as a session takes it: OrtValues opened, strings made text, empty optionals filled in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ingot.compat.onnxruntime.arguments import type_name
from ingot.compat.onnxruntime.errors import InvalidArgument
from ingot.compat.onnxruntime.sparse import SparseTensor
from ingot.compat.onnxruntime.values import contents_of, type_of
from ingot.dtypes import DType
from ingot.ir.types import OptionalType, SequenceType, TensorType, Type


def opened(inputs: Mapping[str, Type | None], feed: Mapping[str, Any]) -> dict[str, Any]:
    """The feeds by name as arrays, lists and dictionaries.

    ValueError, in onnxruntime's words, if an input that is not optional is missing; InvalidArgument for None where no
    optional is.
    """
    missing = [name for name, type_ in inputs.items() if name not in feed and not isinstance(type_, OptionalType)]
    if missing:
        raise ValueError(f"Required inputs ({missing}) are missing from input feed ({list(feed)}).")
    values = {name: _opened(name, inputs.get(name), value) for name, value in feed.items()}
    for name, type_ in inputs.items():
        if isinstance(type_, OptionalType):
            values.setdefault(name, None)
    return values


def is_plain(type_: Type | None) -> bool:
    """Whether what is fed for an input can be an array as it is: numbers or truth values, and not left out."""
    return isinstance(type_, TensorType) and type_.dtype is not DType.STRING


def misfit(inputs: Mapping[str, Type | None], feeds: Mapping[str, Any]) -> str:
    """What does not fit an input, in onnxruntime's words; empty where they have none."""
    for name, value in feeds.items():
        if name not in inputs:
            return f"Invalid input name: {name}"
        type_ = inputs[name]
        if not isinstance(type_, TensorType) or not isinstance(value, np.ndarray):
            continue
        actual = type_of(value)
        if actual != type_name(type_):
            return _unexpected(actual, type_)
        if type_.shape is None:
            continue
        advice = "Please fix either the inputs/outputs or the model."
        if len(type_.shape) != value.ndim:
            return f"Invalid rank for input: {name} Got: {value.ndim} Expected: {len(type_.shape)} {advice}"
        sizes = zip(value.shape, type_.shape, strict=True)
        wrong = [
            f" index: {axis} Got: {got} Expected: {dim}"
            for axis, (got, dim) in enumerate(sizes)
            if isinstance(dim, int) and dim != got
        ]
        if wrong:
            listed = "\n".join(wrong)
            return f"Got invalid dimensions for input: {name} for the following indices\n{listed}\n {advice}"
    return ""


def _unexpected(actual: str, type_: TensorType) -> str:
    return f"Unexpected input data type. Actual: ({actual}) , expected: ({type_name(type_)})"


def _opened(name: str, type_: Type | None, value: Any) -> Any:
    if type(value) is np.ndarray and type(type_) is TensorType and type_.dtype is not DType.STRING:
        return value
    value = contents_of(value)
    if isinstance(value, SparseTensor):
        return value.dense()
    if value is None and type_ is not None and not isinstance(type_, OptionalType):
        raise InvalidArgument(f"input '{name}' is {type_}, got None")
    match type_:
        case SequenceType() if isinstance(value, list | tuple):
            return [_opened(name, type_.element, item) for item in value]
        case OptionalType() if value is not None:
            return _opened(name, type_.element, value)
        case TensorType(dtype=DType.STRING):
            return _texts(type_, value)
        case TensorType() if isinstance(value, list | tuple | bool | int | float):
            return _listed(name, type_, value)
        case TensorType() if not _has_array(value):
            raise RuntimeError(f"Unable to handle object of type {type(value)}")
        case _:
            return value


def _has_array(value: Any) -> bool:
    kinds = ("__array__", "__array_interface__", "__dlpack__")
    return isinstance(value, np.ndarray | np.generic | memoryview | bytes) or any(
        hasattr(value, kind) for kind in kinds
    )


def _listed(name: str, type_: TensorType, value: Any) -> Any:
    """A list as an array of the element type that the model asks for."""
    try:
        return np.array(value, type_.dtype.numpy)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidArgument(f"input '{name}' is {type_}, and what is given makes no such array: {error}") from None


def _texts(type_: TensorType, value: Any) -> Any:
    """An array of str: bytes are UTF-8, other objects what str() makes of them; InvalidArgument for arrays of numbers.

    Of lists and arrays of objects numbers are taken too, as in onnxruntime. Arrays of `np.void` are of bytes.
    """
    dtype = value.dtype if isinstance(value, np.ndarray | np.generic) else np.dtype(object)
    if dtype.kind in "?biufc" or (dtype.kind == "V" and dtype.type is not np.void):
        raise InvalidArgument(_unexpected(type_of(value), type_))
    array = np.asarray(value)
    texts = [item.decode() if isinstance(item, bytes) else str(item) for item in array.reshape(-1).tolist()]
    result = np.empty(len(texts), np.object_)
    result[:] = texts
    return result.reshape(array.shape)
