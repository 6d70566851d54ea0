"""Numbers as text, and text as numbers."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from ingot.dtypes import Array, DType
from ingot.errors import InputError
from ingot.ops.tensor.float_texts import END, SMALLEST, float_texts
from ingot.ops.text.distinct import of_each

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*([eE][+-]?\d+)?|\.\d+([eE][+-]?\d+)?|inf|infinity|nan)", re.IGNORECASE)
_WHOLE = re.compile(r"[+-]?\d+")
_NO_NUMBERS = {"nan": "NaN", "inf": "INF", "-inf": "-INF"}
_TRUTH = {"true": 1, "false": 0}
_FEW = 64
"""Numbers that are written one by one."""

_PIECE = 4096
"""Numbers that are written at a time, all in the caches."""


def written(x: Array) -> Array:
    """Each number of a vector in plain digits, as few as identify it among its neighbours; `NaN`, `INF`.

    Truth values are 1 and 0, which every type of numbers reads; the standard leaves them open.
    """
    x = x.astype(np.uint8) if x.dtype.kind == "b" else x
    if x.dtype.kind != "f":
        return np.fromiter(map(str, x.tolist()), np.object_, x.size)
    if x.size > _FEW and x.dtype.itemsize == 4:
        return _many_written(x)
    return np.fromiter(_each_written(x), np.object_, x.size)


def _many_written(x: Array) -> Array:
    """The same of a vector of float32."""
    size = np.abs(x)
    others = np.flatnonzero(~((size >= SMALLEST) & (size < END) | (x == 0)))
    usual = x
    if others.size:
        usual = x.copy()
        usual[others] = 0
    texts = np.empty(x.size, np.object_)
    for start in range(0, x.size, _PIECE):
        texts[start : start + _PIECE] = float_texts(usual[start : start + _PIECE])
    texts[others] = _each_written(x[others])
    return texts


def _each_written(x: Array) -> list[str]:
    """The same of a vector of floats, one by one."""
    numbers: list[Any] = x.tolist() if x.dtype.itemsize == 8 else list(x)
    texts = [*map(str, numbers)]
    characters = "".join(texts)
    if "e" in characters or "n" in characters:  # of an exponent, or infinity, or what is no number
        return [*map(_plain, numbers, texts)]
    return texts


def parsed(x: Array, to: DType) -> Array:
    """The numbers that a vector of strings spells: float64 where `to` is a float, else uint64, negative ones wrapped.

    `True` and `False`, as a truth value is written, are 1 and 0 in every type.
    InputError for a string that spells none, or one no 64-bit integer holds.
    """
    texts: list[str] = x.tolist()
    if to.is_float:
        try:
            floats = of_each(float, x, np.float64)
            if "_" not in "".join(texts):  # which only Python reads
                return floats
        except ValueError:
            pass
        return of_each(_float, x, np.float64)
    try:
        whole = of_each(int, x, np.int64)
        if "_" not in "".join(texts):
            return whole.view(np.uint64)
    except (ValueError, OverflowError):  # written otherwise, or beyond 63 bits
        pass
    numbers = [_integer(text, to) for text in texts]
    if any(not -(2**63) <= number < 2**64 for number in numbers):
        raise InputError(f"a number of {len(numbers)} strings does not fit 64 bits")
    return np.array([number % 2**64 for number in numbers], np.uint64)


def _plain(number: Any, text: str) -> str:
    """A number, which Python or numpy writes as `text`, in plain digits."""
    if "e" in text:
        return np.format_float_positional(number, unique=True, trim="0")
    return _NO_NUMBERS.get(text, text)


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
