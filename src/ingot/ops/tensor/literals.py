"""Numbers as text, and text as numbers."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from ingot.dtypes import Array, DType
from ingot.errors import InputError
from ingot.ops.text.distinct import of_each

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*([eE][+-]?\d+)?|\.\d+([eE][+-]?\d+)?|inf|infinity|nan)", re.IGNORECASE)
_WHOLE = re.compile(r"[+-]?\d+")
_TRUTH = {"true": 1, "false": 0}
_LARGE, _SMALL = {2: 1e3, 4: 1e4, 8: 1e4}, 1e-3
"""Between these, numpy writes numbers of so many bytes without an exponent."""


def written(x: Array) -> Array:
    """Each number of a vector in plain digits, as few as identify it among its neighbours; `NaN`, `INF`.

    Truth values are 1 and 0, which every type of numbers reads; the standard leaves them open.
    """
    x = x.astype(np.uint8) if x.dtype.kind == "b" else x
    if x.dtype.kind != "f":
        return np.fromiter(map(str, x.tolist()), np.object_, x.size)
    if x.dtype.itemsize == 8:
        texts = np.fromiter(map(str, x.tolist()), np.object_, x.size)
    else:
        texts = x.astype(np.str_).astype(np.object_)  # plain digits but for large and small numbers
    size = np.abs(x)
    for place in np.flatnonzero(~((size >= _SMALL) & (size < _LARGE[x.itemsize]) | (x == 0))):
        texts[place] = _float_text(x[place])
    return texts


def parsed(x: Array, to: DType) -> Array:
    """The numbers that a vector of strings spells: float64 where `to` is a float, else uint64, negative ones wrapped.

    `True` and `False`, as a truth value is written, are 1 and 0 in every type.
    InputError for a string that spells none, or one no 64-bit integer holds.
    """
    texts = x.tolist()
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
