"""Elementwise functions some of whose arguments are numbers: their result where it is one, or an argument as it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from ingot.prim.functions import FUNCTIONS

Number: TypeAlias = Any
"""An element of an array: it has the type of a tensor's elements."""

_EXACT = {
    "negate", "absolute", "not", "invert", "floor", "ceil", "round", "truncate", "add", "subtract", "multiply",
    "maximum", "minimum", "and", "or", "xor", "less", "less_equal", "equal", "not_equal", "is_nan",
}  # fmt: skip
"""Functions whose results every kernel has to the last bit, and that cannot fail."""


def settled(function: str, numbers: Sequence[Number | None]) -> Number | None:
    """The number that a function is, of arguments that are numbers, None for those that are not."""
    if function in _EXACT and all(number is not None for number in numbers):
        with np.errstate(all="ignore"):
            result = FUNCTIONS[function].compute(*(np.asarray(number).reshape(1) for number in numbers))
        return result.reshape(-1)[0]
    if function == "and" and any(number is not None and _is(number, False) for number in numbers):
        return np.bool_(False)
    if function == "or" and any(number is not None and _is(number, True) for number in numbers):
        return np.bool_(True)
    return None


def unchanged(function: str, numbers: Sequence[Number | None]) -> int | None:
    """The place of the argument that a function returns as it is, bit for bit, beside these numbers."""
    if function == "where":
        return None if numbers[0] is None else 1 if numbers[0] else 2
    for place, number in enumerate(numbers):
        if number is not None and _is_neutral(function, number, place):
            return 1 - place
    return None


def _is_neutral(function: str, number: Number, place: int) -> bool:
    """Whether the other argument of a function of two stays as it is; zero is added to floats as -0.0."""
    is_float = number.dtype.kind not in "biu"
    match function:
        case "add":
            return bool(number == 0 and (not is_float or np.signbit(number)))
        case "subtract":
            return bool(place == 1 and number == 0 and not (is_float and np.signbit(number)))
        case "multiply":
            return bool(number == 1)
        case "divide":
            return bool(place == 1 and number == 1)
        case "and":
            return _is(number, True)
        case "or" | "xor":
            return _is(number, False)
    return False


def _is(number: Number, truth: bool) -> bool:
    return isinstance(number, np.bool_) and bool(number) is truth
