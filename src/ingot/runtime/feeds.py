"""Feeds: what a caller passes as inputs, converted to the arrays of a run, or refused with what was expected."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

import numpy as np

from ingot.dims import Expr
from ingot.dtypes import Array, DType
from ingot.errors import InputError, nearest
from ingot.ir.types import OptionalType, SequenceType, TensorType
from ingot.ir.value import Value


def checked_feeds(
    inputs: Iterable[Value], feeds: Mapping[str, Any], spared: Collection[str] = (), *, strict: bool = True
) -> dict[str, Any]:
    """The feeds of inputs by name; an optional that is not given is empty, those `spared` may be left out.

    InputError if one is missing, unknown or does not fit, or, if `strict`, where one named size would have two values.
    """
    known = {value.name: value for value in inputs}
    for name in feeds:
        if name not in known:
            hint = nearest(name, known) or f"the inputs are {', '.join(known) or 'none'}"
            raise InputError(f"the model has no input '{name}'", hint=hint)
    feeds = {value.name: None for value in known.values() if isinstance(value.type, OptionalType)} | dict(feeds)
    missing = [value for value in known.values() if value.name not in feeds and value.name not in spared]
    if missing:
        shown = ", ".join(f"'{value.name}': {value.type or '?'}" for value in missing)
        raise InputError(f"missing input {shown}")
    sizes: dict[str, tuple[int, str]] | None = {} if strict else None
    return {name: _feed(known[name], value, sizes) for name, value in feeds.items()}


def strings_of(array: Array) -> Array | None:
    """An array of `str` for one of Python's or numpy's strings; None if there is anything else in it."""
    if array.dtype.kind == "U":
        return array.astype(np.object_)
    texts = array.tolist() if array.ndim == 1 else array.reshape(-1).tolist()
    return array if list(map(type, texts)).count(str) == len(texts) else None


def _feed(value: Value, feed: Any, sizes: dict[str, tuple[int, str]] | None) -> Any:
    """The feed of an input as an array; InputError, with what was expected, if it does not fit.

    Named sizes are held to those in `sizes`, with the input that has them, and are noted there; to nothing for None.
    """
    type_ = value.type
    if isinstance(type_, SequenceType):
        if not isinstance(feed, list | tuple):
            raise InputError(f"input '{value.name}' is {type_}, got a {type(feed).__name__}", hint="give a list")
        element = Value(f"{value.name}[...]", type_.element)
        return [_feed(element, item, None if sizes is None else {}) for item in feed]
    if not isinstance(type_, TensorType):
        return feed
    array = _array(value.name, feed, type_)
    if type_.shape is not None:
        if array.ndim != len(type_.shape):
            raise InputError(f"input '{value.name}' is {type_}, got {DType.of(array.dtype)}{list(array.shape)}")
        for dim, size in zip(type_.shape, array.shape, strict=True):
            if isinstance(dim, int) and dim != size:
                raise InputError(f"input '{value.name}' is {type_}, got {DType.of(array.dtype)}{list(array.shape)}")
            if isinstance(dim, Expr) and sizes is not None:
                before = sizes.setdefault(str(dim), (size, value.name))
                if before[0] != size:
                    raise InputError(
                        f"size '{dim}' is {before[0]} in input '{before[1]}' and {size} in input '{value.name}'"
                    )
    return array


def _array(name: str, feed: Any, type_: TensorType) -> Array:
    wanted = type_.dtype
    if feed is None:
        raise InputError(f"input '{name}' is {type_}, got None")
    if not isinstance(feed, np.ndarray | np.generic) and hasattr(feed, "__dlpack__"):
        feed = _from_dlpack(name, feed, type_)
    if isinstance(feed, np.ndarray | np.generic) or hasattr(feed, "__array__"):
        array = _from_numpy(name, feed, type_)
        if array.dtype.kind in "USTO":
            array = _strings(name, array)
        if not array.dtype.isnative:
            array = array.astype(array.dtype.newbyteorder("="))
        if wanted and DType.of(array.dtype) is not wanted:
            raise InputError(
                f"input '{name}' is {type_}, got {DType.of(array.dtype)}{list(array.shape)}",
                hint=f"convert it: x.astype('{wanted.numpy}')",
            )
        return array
    try:
        array = np.asarray(feed, wanted.numpy if wanted else None)
        return _strings(name, array) if wanted is DType.STRING else array
    except (OverflowError, TypeError, ValueError):
        raise InputError(f"input '{name}' is {type_}, and a {type(feed).__name__} makes no such array") from None


def _from_numpy(name: str, feed: Any, type_: TensorType) -> Array:
    """The array of a feed that says by itself what that is."""
    try:
        return np.asarray(feed)
    except (RuntimeError, TypeError, ValueError) as error:  # of another library, which says what to do
        raise InputError(f"input '{name}' is {type_}, and numpy cannot take what is given: {error}") from None


def _from_dlpack(name: str, feed: Any, type_: TensorType) -> Any:
    """The array that shares the memory of a feed; the feed itself where numpy can make an array of it otherwise."""
    try:
        return np.from_dlpack(feed)
    except (BufferError, RuntimeError, TypeError) as error:  # an element type that numpy does not know, another device
        if hasattr(feed, "__array__"):
            return feed
        raise InputError(f"input '{name}' is {type_}, and numpy cannot take the memory given: {error}") from None


def _strings(name: str, array: Array) -> Array:
    """An array of `str`, bytes decoded; InputError for anything else in it."""
    plain = strings_of(array) if array.dtype.kind in "OU" else None
    if plain is not None:
        return plain
    strings = np.empty(array.shape, np.object_)
    for index, item in enumerate(array.reshape(-1).tolist()):
        if not isinstance(item, str | bytes):
            raise InputError(f"input '{name}' holds strings, got a {type(item).__name__}")
        strings.reshape(-1)[index] = item.decode("utf-8", "replace") if isinstance(item, bytes) else item
    return strings
