"""Numbers as text, and text as numbers."""

from __future__ import annotations

import re
from functools import cache
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

_SMALL = 10_000
"""Whole numbers below it, and their negatives, have texts that are looked up."""


def written(x: Array) -> Array:
    """Each number of a vector in plain digits, as few as identify it among its neighbours; `NaN`, `INF`.

    Truth values are 1 and 0, which every type of numbers reads; the standard leaves them open.
    """
    x = x.astype(np.uint8) if x.dtype.kind == "b" else x
    if x.dtype.kind != "f":
        if x.size > _FEW and x.min() > -_SMALL and x.max() < _SMALL:
            return np.asarray(_small_texts().take(x.astype(np.int64), mode="wrap"))
        return np.fromiter(map(str, x.tolist()), np.object_, x.size)
    if x.size > _FEW and x.dtype.itemsize == 4:
        return _many_written(x)
    return np.fromiter(_each_written(x), np.object_, x.size)


@cache
def _small_texts() -> Array:
    """The texts of whole numbers, negative ones counted from the end."""
    numbers = (*range(_SMALL), *range(1 - _SMALL, 0))
    return np.fromiter(map(str, numbers), np.object_, len(numbers))


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
    joined = ",".join(texts)
    if to.is_float:
        try:
            floats = of_each(float, x, np.float64)
            if "_" not in joined:  # which only Python reads
                return floats
        except ValueError:
            pass
        return of_each(_float, x, np.float64)
    plain = _whole_numbers(joined, len(texts)) if len(texts) > _FEW else None
    if plain is not None:
        return plain.view(np.uint64)
    try:
        whole = of_each(int, x, np.int64)
        if "_" not in joined:
            return whole.view(np.uint64)
    except (ValueError, OverflowError):  # written otherwise, or beyond 63 bits
        pass
    numbers = [_integer(text, to) for text in texts]
    if any(not -(2**63) <= number < 2**64 for number in numbers):
        raise InputError(f"a number of {len(numbers)} strings does not fit 64 bits")
    return np.array([number % 2**64 for number in numbers], np.uint64)


def _whole_numbers(joined: str, count: int) -> Array | None:
    """So many whole numbers between commas; None where they are written otherwise, or some may not fit 64 bits."""
    characters = joined.encode("ascii", "replace")
    signs = characters.count(b"-")
    if (
        characters.translate(None, b"0123456789-,")
        or characters.count(b",") != count - 1
        or b",," in characters
        or b"-," in characters
        or characters[:1] == b","
        or characters[-1:] in b",-"
        or (signs and signs != characters.count(b",-") + characters.startswith(b"-"))
    ):
        return None
    numbers = np.fromstring(joined, np.int64, sep=",")
    ends = np.iinfo(np.int64)
    return None if numbers.min() == ends.min or numbers.max() == ends.max else numbers


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
