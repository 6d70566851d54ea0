"""Many numbers of float32 as text: the fewest digits that identify each, by arithmetic on whole vectors.

A number of 24 bits times a power of ten up to 10**12 has no more than the 53 bits of float64: such products are exact,
and rounded once. Seven digits identify some numbers, nine all, and no number of the range has two texts of seven.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from ingot.dataclass import dataclass
from ingot.dtypes import Array

SMALLEST, END = 1e-3, 1e4
"""Numbers from the first up to the second have such texts, and so has zero."""

_POWERS = 10.0 ** np.arange(-2, 4)
_MOST, _FEWEST = 9, 7
_FRACTION = 12
"""Digits after the point, in groups of four: the ninth digit of the smallest number is the eleventh."""

_GROUP = 10**4
_ROW = np.dtype([("whole", np.uint64), ("first", np.uint32), ("second", np.uint32), ("third", np.uint32)])


def float_texts(x: Array) -> list[str]:
    """The texts of a vector of float32 whose magnitudes lie in the range above, or are zero."""
    size = np.abs(x)
    wide = size.astype(np.float64)
    before = np.searchsorted(_POWERS, wide, "right")  # how far the point is behind that of the smallest number
    number = np.zeros(len(x), np.int64)  # in units of the last digit of the fraction
    for digits in range(_MOST, _FEWEST - 1, -1):
        exponents = digits + 2 - np.arange(len(_POWERS) + 1)
        scale = (10.0**exponents).take(before)
        rounded = np.rint(wide * scale)
        units = rounded.astype(np.int64) * (10 ** (_FRACTION - exponents)).take(before)
        if digits == _MOST:
            number = units
        else:
            np.copyto(number, units, where=(rounded / scale).astype(np.float32) == size)
    whole = number // 10**_FRACTION
    fraction = number - whole * 10**_FRACTION
    first = fraction // _GROUP**2
    rest = fraction - first * _GROUP**2
    second = rest // _GROUP
    third = rest - second * _GROUP
    tables, rows = _tables(), np.empty(len(x), _ROW)
    rows["whole"] = tables.whole.take(whole + _GROUP * np.signbit(x))
    rows["first"] = tables.first.take(first + _GROUP * (rest == 0))
    rows["second"] = tables.following.take(second + _GROUP * (third == 0))
    rows["third"] = tables.following.take(third + _GROUP)
    return rows.tobytes().decode("ascii").split()


@dataclass(frozen=True, slots=True)
class _Tables:
    """The characters of numbers of four digits; what is left out is blank."""

    whole: Array
    """Before the point, and it: without zeros in front, then the same with a sign."""
    first: Array
    """After the point: all digits, then without zeros behind, but for one."""
    following: Array
    """After these: all digits, then without zeros behind."""


@cache
def _tables() -> _Tables:
    powers = 10 ** np.arange(3, -1, -1)
    numbers = np.arange(_GROUP)[:, None]
    digits = (numbers // powers % 10 + ord("0")).astype(np.uint8)
    blank, is_last = np.uint8(ord(" ")), np.arange(4) == 3
    cut = np.where((numbers % (10 * powers) == 0), blank, digits)
    one = cut.copy()
    one[0, 0] = ord("0")
    whole = np.full((2, _GROUP, 8), blank)
    whole[:, :, 3:7] = np.where((numbers >= powers) | is_last, digits, blank)
    whole[:, :, 7] = ord(".")
    starts = 6 - np.searchsorted([10, 100, 1000], np.arange(_GROUP), "right")
    whole[1, np.arange(_GROUP), starts - 1] = ord("-")
    return _Tables(
        whole.reshape(-1, 8).view(np.uint64).reshape(-1),
        np.concatenate([digits, one]).view(np.uint32).reshape(-1),
        np.concatenate([digits, cut]).view(np.uint32).reshape(-1),
    )
