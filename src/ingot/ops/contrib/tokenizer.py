"""Tokenizer: texts cut into tokens, the tokens of each in a row."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Annotated, Any, TypeAlias

import numpy as np

from ingot.dtypes import Array, DType
from ingot.errors import CheckError, InputError, ShapeError
from ingot.ir.types import TensorType
from ingot.ops.contrib.domain import MICROSOFT
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.shapes import fresh
from ingot.ops.text.distinct import numbered, texts_of
from ingot.ops.text.re2_match import Pattern
from ingot.ops.text.split import filled_rows
from ingot.ops.typesets import STRING, types

T: TypeAlias = Annotated[Array, types("T", STRING)]

_START, _END = "\x02", "\x03"
_LITERAL = re.compile(r"[\w \t\n,;:/@#%&=<>'\"!~`-]+", re.ASCII)
"""Patterns that match themselves."""

_MOST_TOKENS = 2**31  # a reference to each takes 8 bytes, and all may take 2**34


@operator("Tokenizer", since=1, domain=MICROSOFT)
def tokenizer(
    x: T,
    /,
    *,
    mark: int,
    mincharnum: int,
    pad_value: str,
    separators: Sequence[str] | None = None,
    tokenexp: str | None = None,
) -> T:
    """The tokens of each text along a new last axis, short rows filled with `pad_value`.

    Tokens are what matches the pattern `tokenexp`, or what lies between matches of the patterns `separators`, cut by
    one after the other; those of fewer than `mincharnum` characters are dropped. One empty separator, or the pattern
    `.`, makes every character a token. With `mark`, each row begins with U+0002 and ends with U+0003.
    """
    if x.ndim not in (1, 2):
        raise ShapeError(f"x has {x.ndim} axes, expected 1 or 2")
    cut = _cutter(mincharnum, None if separators is None else tuple(separators), tokenexp)
    texts, which = numbered(texts_of(x))
    rows: list[Any] = texts if cut.by_character else [list(cut(text)) for text in texts]
    longest = max(map(len, rows), default=0)
    if longest and mark:
        rows = [f"{_START}{row}{_END}" if cut.by_character else [_START, *row, _END] for row in rows]
        longest += 2
    if x.size * longest > _MOST_TOKENS:
        raise InputError(f"{x.size:,} rows of up to {longest:,} tokens are too many for one tensor")
    if cut.by_character and len(pad_value) == 1:
        characters = "".join([row.ljust(longest, pad_value) for row in rows])
        tokens = np.fromiter(characters, np.object_, len(characters)).reshape(len(rows), longest)
    else:
        tokens = filled_rows(list(map(list, rows)) if longest else [[]] * len(rows), longest, pad_value)
    return (tokens if which is None else tokens.take(which, axis=0)).reshape((*x.shape, longest))


@tokenizer.infer
def infer(
    x: Fact, /, *, mincharnum: int, separators: Sequence[str] | None, tokenexp: str | None, **_: object
) -> Inferred:
    _cutter(mincharnum, None if separators is None else tuple(separators), tokenexp)
    if x.rank not in (None, 1, 2):
        raise ShapeError(f"x has {x.rank} axes, expected 1 or 2")
    return TensorType(DType.STRING, None if x.shape is None else (*x.shape, fresh("tokens")))


class _Cutter:
    """Cuts texts as the attributes say."""

    def __init__(self, least: int, separators: tuple[str, ...] | None, expression: str | None) -> None:
        if least < 1:
            raise CheckError(f"mincharnum is {least}, expected at least 1")
        if separators is None and not expression:
            raise CheckError("neither separators nor tokenexp says what a token is", hint="set one of them")
        if separators == ():
            raise CheckError("separators is empty")
        self.by_character = expression == "." if separators is None else separators == ("",)
        """Whether every character is a token."""
        if self.by_character and least > 1:
            raise CheckError(f"mincharnum is {least}, but every character is a token")
        self._least = least
        self._separators: tuple[Pattern | str, ...] = ()
        self._expression: Pattern | None = None
        if separators is not None and not self.by_character:
            self._separators = tuple(text if _LITERAL.fullmatch(text) else Pattern(text) for text in separators)
        elif not self.by_character:
            assert expression is not None
            self._expression = Pattern(expression)

    def __call__(self, text: str) -> Iterator[str]:
        if self.by_character:
            return iter(text)
        if self._expression is not None:
            return self._matching(self._expression, text)
        pieces = [text]
        for separator in self._separators:
            pieces = [part for piece in pieces for part in self._between(separator, piece)]
        return iter(pieces)

    def _matching(self, pattern: Pattern, text: str) -> Iterator[str]:
        start = 0
        while len(text) >= self._least and start <= len(text) and (place := pattern.find(text, start)) is not None:
            first, end = place
            if end - first >= self._least:
                yield text[first:end]
                start = end
            else:
                start = first + 1

    def _between(self, separator: Pattern | str, text: str) -> Iterable[str]:
        if isinstance(separator, str):
            return [piece for piece in text.split(separator) if len(piece) >= self._least]
        return self._between_matches(separator, text)

    def _between_matches(self, separator: Pattern, text: str) -> Iterator[str]:
        start = 0
        while start <= len(text):
            first, end = separator.find(text, start) or (len(text), len(text) + 1)
            if first - start >= self._least:
                yield text[start:first]
            start = end if end > first else first + 1


_cutter = lru_cache(maxsize=32)(_Cutter)
