"""What a program feeds, as a session takes it: OrtValues opened, strings made text, empty optionals filled in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ingot.compat.onnxruntime.arguments import dim_name
from ingot.compat.onnxruntime.errors import InvalidArgument, Unsupported
from ingot.compat.onnxruntime.sparse import SparseTensor
from ingot.compat.onnxruntime.values import OrtValue
from ingot.dims import Expr
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


SharedSizes = Mapping[str, Sequence[tuple[str, int]]]
"""The inputs and axes of each size that more than one axis has."""


def shared_sizes(inputs: Mapping[str, Type | None]) -> SharedSizes:
    axes: dict[str, list[tuple[str, int]]] = {}
    for name, type_ in inputs.items():
        for axis, dim in enumerate(type_.shape or () if isinstance(type_, TensorType) else ()):
            if isinstance(dim, Expr):
                axes.setdefault(dim_name(dim), []).append((name, axis))
    return {size: places for size, places in axes.items() if len(places) > 1}


def names_agree(shared: SharedSizes, feeds: Mapping[str, Any]) -> bool:
    """Whether every size of one name is the same in all feeds: onnxruntime does not ask for it."""
    for places in shared.values():
        arrays = [(feeds.get(name), axis) for name, axis in places]
        sizes = {array.shape[axis] for array, axis in arrays if isinstance(array, np.ndarray) and axis < array.ndim}
        if len(sizes) > 1:
            return False
    return True


def _opened(name: str, type_: Type | None, value: Any) -> Any:
    if type(value) is np.ndarray and type(type_) is TensorType and type_.dtype is not DType.STRING:
        return value
    if isinstance(value, OrtValue):
        value = value.to_object()
    if isinstance(value, SparseTensor):
        raise Unsupported(f"input '{name}' is a sparse tensor: these cannot be fed")
    if value is None and type_ is not None and not isinstance(type_, OptionalType):
        raise InvalidArgument(f"input '{name}' is {type_}, got None")
    match type_:
        case SequenceType() if isinstance(value, list | tuple):
            return [_opened(name, type_.element, item) for item in value]
        case OptionalType() if value is not None:
            return _opened(name, type_.element, value)
        case TensorType(dtype=DType.STRING):
            return _texts(value)
        case TensorType() if isinstance(value, list | tuple | bool | int | float):
            return _listed(name, type_, value)
        case _:
            return value


def _listed(name: str, type_: TensorType, value: Any) -> Any:
    """A list as an array of the element type that the model asks for."""
    try:
        return np.array(value, type_.dtype.numpy)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidArgument(f"input '{name}' is {type_}, and what is given makes no such array: {error}") from None


def _texts(value: Any) -> Any:
    """An array of str: bytes are UTF-8, anything else is what str() makes of it."""
    array = np.asarray(value)
    texts = [item.decode() if isinstance(item, bytes) else str(item) for item in array.reshape(-1).tolist()]
    result = np.empty(len(texts), np.object_)
    result[:] = texts
    return result.reshape(array.shape)
