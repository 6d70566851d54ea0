"""Regular expressions of tokeniser files as Python's `re` has them, which knows no classes of Unicode."""

from __future__ import annotations

import re
import sys
import unicodedata
from functools import cache

from ingot.errors import UnsupportedError

_OF_SETS = ("&&", "--", "||", "~~")
"""What Python may take for operations on classes of characters one day, and others do already."""

_CLASS = re.compile(r"\\([pP])\{(\^?)(\w+)\}|\\([pP])(\w)")


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    """A pattern, with classes of Unicode spelled out; UnsupportedError if Python's `re` has no such thing."""
    try:
        return re.compile(_translated(pattern))
    except (re.error, OverflowError, RecursionError) as error:
        raise UnsupportedError(f"the pattern {pattern!r} of a tokeniser: {error}") from None


def _translated(pattern: str) -> str:
    result: list[str] = []
    is_inside = False
    place = 0
    while place < len(pattern):
        match = _CLASS.match(pattern, place)
        char = pattern[place]
        if match is not None:
            is_negated = (match[1] or match[4]) == "P" or bool(match[2])
            ranges = _ranges(match[3] or match[5], is_negated)
            result.append(ranges if is_inside else f"[{ranges}]")
            place = match.end()
            continue
        if char == "\\":
            result.append(pattern[place : place + 2])
            place += 2
            continue
        if is_inside and (char == "[" or pattern[place : place + 2] in _OF_SETS):
            raise UnsupportedError(f"the pattern {pattern!r} of a tokeniser: a class of characters inside of another")
        if char == "[":
            is_inside = True
        elif char == "]" and is_inside:
            is_inside = False
        result.append(char)
        place += 1
    return "".join(result)


@cache
def _ranges(category: str, is_negated: bool) -> str:
    """The characters of a general category, or of all that begin with its letter, as ranges of a class."""
    if not any(category == each[: len(category)] for each in _CATEGORIES):
        raise UnsupportedError(f"the class of characters '{category}' of a tokeniser is not a general category")
    parts: list[str] = []
    start: int | None = None
    for code in range(sys.maxunicode + 2):
        is_member = code <= sys.maxunicode and (unicodedata.category(chr(code)).startswith(category) is not is_negated)
        if is_member and start is None:
            start = code
        elif not is_member and start is not None:
            parts.append(f"\\U{start:08x}-\\U{code - 1:08x}")
            start = None
    return "".join(parts)


_CATEGORIES = (
    *("Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me", "Nd", "Nl", "No", "Pc", "Pd", "Ps", "Pe", "Pi", "Pf", "Po"),
    *("Sm", "Sc", "Sk", "So", "Zs", "Zl", "Zp", "Cc", "Cf", "Cs", "Co", "Cn"),
)
