"""Token numbers as the inputs of a model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ingot.errors import InputError
from ingot.feeds.tokeniser.tokeniser import Encoded
from ingot.ir import TensorType, Value


def token_feeds(inputs: Sequence[Value], encoded: Encoded) -> dict[str, Any]:
    """Arrays for the inputs of a model that a text is given by: token numbers, their mask, parts and positions.

    Which input is which follows from its name; it has one axis, or a batch of one before it. A text shorter than an
    input is filled up with zeros, which the mask leaves out. InputError if no input takes tokens, or it has too few.
    """
    feeds = {value.name: _fitted(value, row) for value in inputs if (row := _row(value, encoded)) is not None}
    if not any(_role(value) == "ids" for value in inputs if value.name in feeds):
        raise InputError(
            "no input of the model takes token numbers", hint="one is an array of integers of one axis or two"
        )
    return feeds


def _row(value: Value, encoded: Encoded) -> list[int] | None:
    count = len(encoded.ids)
    match _role(value):
        case "ids":
            return list(encoded.ids)
        case "mask":
            return [1] * count
        case "types":
            return list(encoded.types)
        case "positions":
            return list(range(count))
    return None


def _role(value: Value) -> str | None:
    type_, name = value.type, value.name.lower()
    if not isinstance(type_, TensorType) or type_.shape is None or len(type_.shape) not in (1, 2):
        return None
    if not type_.dtype.is_integer and not (type_.dtype.is_float and "mask" in name):
        return None
    for part, role in (("mask", "mask"), ("type", "types"), ("segment", "types"), ("position", "positions")):
        if part in name:
            return role
    return "ids" if any(part in name for part in ("id", "token", "input", "text")) else None


def _fitted(value: Value, row: list[int]) -> Any:
    type_ = value.type
    assert isinstance(type_, TensorType)
    assert type_.shape is not None
    length = type_.shape[-1]
    if isinstance(length, int) and length >= 0:
        if len(row) > length:
            raise InputError(f"the text has {len(row)} tokens, input '{value.name}' takes {length}")
        row = [*row, *[0] * (length - len(row))]
    if type_.dtype.is_integer and max(row, default=0) > type_.dtype.limits[1]:
        raise InputError(f"input '{value.name}' is {type_}, and the text has token {max(row)}")
    array = np.asarray(row, type_.dtype.numpy)
    return array if len(type_.shape) == 1 else array[None]
