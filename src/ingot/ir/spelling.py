"""Types of tensors as messages show them, read back: `float32[batch, 3, ?]`."""

from __future__ import annotations

import re

from ingot.dims import Dim, from_param
from ingot.dtypes import DType
from ingot.errors import InputError, nearest
from ingot.ir.types import TensorType

_SPELLED = re.compile(r"\s*(\w+)\s*(?:\[(.*)\])?\s*", re.DOTALL)


def tensor_type(text: str) -> TensorType:
    """The type that `str` of it shows as `text`; no brackets are a scalar, `[...]` an unknown rank.

    InputError if it is not one, with the name of an element type that may have been meant.
    """
    match = _SPELLED.fullmatch(text)
    if match is None:
        raise InputError(f"'{text}' is not the type of a tensor", hint="write float32[batch, 3, 224, 224]")
    names = {str(dtype): dtype for dtype in DType if dtype is not DType.UNDEFINED}
    if match[1] not in names:
        raise InputError(f"there is no element type '{match[1]}'", hint=nearest(match[1], names))
    inside = (match[2] or "").strip()
    if inside == "...":
        return TensorType(names[match[1]], None)
    return TensorType(names[match[1]], tuple(_size(part.strip()) for part in inside.split(",")) if inside else ())


def _size(text: str) -> Dim | None:
    if text in ("?", ""):
        return None
    if text.isdecimal() and text.isascii():
        return int(text)
    if text.lstrip("-").isdecimal():
        raise InputError(f"'{text}' is not a size")
    return from_param(text)
