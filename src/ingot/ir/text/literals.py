"""Numbers: integers within limits, and floats that read back exactly."""

from __future__ import annotations

import math
import re
from decimal import Decimal

import numpy as np

from ingot.dtypes import Array

_LARGEST_FLOAT32 = float.fromhex("0x1.ffffffp127")
"""What this or more rounds to infinity."""

_DIGITS = 40
"""More than any number of 64 bits has."""

_BLANK = "[ \\t\\n\\v\\f\\r]*+"
_INTEGER = "-?[0-9]++"
_REAL = r"-?(?:[0-9]++(?:\.[0-9]*+)?(?:[eE][+-]?[0-9]++)?|(?i:infinity|inf|nan))"
_INTEGERS = re.compile(f"{_BLANK}{_INTEGER}{_BLANK}(?:,{_BLANK}{_INTEGER}{_BLANK})*+")
_REALS = re.compile(f"{_BLANK}{_REAL}{_BLANK}(?:,{_BLANK}{_REAL}{_BLANK})*+")


def integer(text: str, low: int, high: int) -> int | None:
    """The integer `text` writes; None if it writes none from `low` to `high`."""
    sign, digits = text[:1].strip("0123456789"), text.lstrip("-")
    digits = digits.lstrip("0") or digits[-1:]
    if len(digits) > _DIGITS or not (digits.isascii() and digits.isdigit()):
        return None
    value = int(sign + digits)
    return value if low <= value <= high else None


def real(text: str, *, single: bool) -> float | None:
    """The float `text` writes, of 32 bits if `single`, else of 64; None if it writes none or one too large."""
    try:
        value = float(text)
    except ValueError:
        return None
    if math.isnan(value) or (math.isinf(value) and "n" in text.lower()):
        return value
    if abs(value) >= (_LARGEST_FLOAT32 if single else math.inf):
        return None
    return float(_nearest(np.array([value]), text)[0]) if single else value


def integers(text: str, low: int, high: int) -> Array | None:
    """A list of integers between commas; None where `integer` would give None for one, or something else is there."""
    if _INTEGERS.fullmatch(text) is None:
        return None
    try:
        values = list(map(int, text.split(",")))
    except ValueError:  # more digits than int() takes
        return None
    fit = low <= min(values) and max(values) <= high
    return np.array(values, np.uint64 if low == 0 else np.int64) if fit else None


def reals(text: str, *, single: bool) -> Array | None:
    """A list of floats between commas; None where `real` would give None for one, or something else is there."""
    if _REALS.fullmatch(text) is None or "n" in text.lower():
        return None
    values = np.array(list(map(float, text.split(","))))
    if np.abs(values).max() >= (_LARGEST_FLOAT32 if single else math.inf):
        return None
    return _nearest(values, text) if single else values


def float_texts(values: Array) -> list[str]:
    """The shortest texts that read back as `values`, in their own width."""
    texts = list(map(str, values)) if values.dtype.itemsize == 4 else list(map(repr, values.tolist()))
    for index in np.flatnonzero(np.isnan(values) & np.signbit(values)):
        texts[index] = "-nan"
    return texts


def float32_text(value: float) -> str:
    """The shortest text that reads back as `value` in 32 bits."""
    with np.errstate(over="ignore"):
        return float_texts(np.array([value]).astype(np.float32))[0]


def _nearest(values: Array, text: str) -> Array:
    """The doubles nearest to the numbers in `text` as the float32 nearest to those numbers.

    Where a double is half-way between two float32 and its text is not, the text decides.
    """
    near = values.astype(np.float32)
    errors = values - near
    with np.errstate(over="ignore"):
        others = np.nextafter(near, np.where(errors > 0, np.float32(math.inf), np.float32(-math.inf)))
    halfway = np.flatnonzero((others - values == errors) & (errors != 0))
    if halfway.size:
        texts = text.split(",")
        for index in halfway.tolist():
            value = float(values[index])
            side = int(Decimal(texts[index].strip()).compare(Decimal(value)))
            if side:
                near[index] = math.nextafter(value, math.inf * side)
    return near
