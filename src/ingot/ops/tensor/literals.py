"""Numbers as text, and text as numbers."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from ingot.dtypes import Array, DType
from ingot.errors import InputError

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*([eE][+-]?\d+)?|\.\d+([eE][+-]?\d+)?|inf|infinity|nan)", re.IGNORECASE)
_WHOLE = re.compile(r"[+-]?\d+")
_TRUTH = {"true": 1, "false": 0}


def written(x: Array) -> Array:
    """Each number of a vector in plain digits, as few as identify it among its neighbours; `NaN`, `INF`.

    Truth values are 1 and 0, which every type of numbers reads; the standard leaves them open.
    """
    x = x.astype(np.uint8) if x.dtype.kind == "b" else x
    texts = [_float_text(number) for number in x] if x.dtype.kind == "f" else [str(number) for number in x.tolist()]
    return np.array(texts, np.object_)


def parsed(x: Array, to: DType) -> Array:
    """The numbers that a vector of strings spells: float64 where `to` is a float, else uint64, negative ones wrapped.

    `True` and `False`, as a truth value is written, are 1 and 0 in every type.
    InputError for a string that spells none, or one no 64-bit integer holds.
    """
    if to.is_float:
        return np.array([_float(text) for text in x.tolist()], np.float64)
    numbers = [_integer(text, to) for text in x.tolist()]
    if any(not -(2**63) <= number < 2**64 for number in numbers):
        raise InputError(f"a number of {len(numbers)} strings does not fit 64 bits")
    return np.array([number % 2**64 for number in numbers], np.uint64)


def _float_text(number: np.floating[Any]) -> str:
    if np.isnan(number):
        return "NaN"
    if np.isinf(number):
        return "INF" if number > 0 else "-INF"
    return np.format_float_positional(number, unique=True, trim="0")


def _float(text: object) -> float:
    word = str(text).strip()
    if word.lower() in _TRUTH:
        return _TRUTH[word.lower()]
    if not _NUMBER.fullmatch(word):
        raise InputError(f"{_shown(word)} is not a number")
    return float(word)


def _integer(text: object, to: DType) -> int:
    word = str(text).strip()
    if _WHOLE.fullmatch(word) and len(word) < 40:
        return int(word)
    number = _float(word)
    if to is DType.BOOL:
        return int(number != 0)
    if not np.isfinite(number):
        raise InputError(f"{_shown(word)} is not an integer")
    return int(number)


def _shown(word: str) -> str:
    return repr(word if len(word) <= 40 else word[:37] + "...")
