"""Sizes from text, as exporters write them."""

from __future__ import annotations

from math import gcd

from ingot.dims.expr import Dim, symbol
from ingot.dims.ratio import Ratio, apply, whole
from ingot.dims.terms import LIMIT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TypeAlias

_Token: TypeAlias = "tuple[str, str, int]"
"""Its kind: "number", "name", "quoted", "end", or the operator; its text; its position."""

_PRIORITY = {"+": 1, "-": 1, "*": 2, "/": 2, "//": 2, "%": 2}

_LONGEST_PARAM = 256
"""Characters of a dim_param that may be an expression."""

_MAX_PARENTHESES = 64
"""Parentheses in each other; a call takes two at most."""


def parse(text: str) -> Dim:
    """The size that `text` denotes, written by `str` or by an exporter; ValueError with the position if it is none.

    Understood are numbers, names (`batch`, `input.1_dim_0`, or any text in backticks), `+ - * // % **`, parentheses,
    and `max`, `min`, `Mod`, `floor` and `ceiling` in sympy's and PyTorch's spellings. `/` is exact: `floor(h/2 - 1/2)`
    is `(h - 1)//2`, and what may come out fractional is refused.

    `parse(str(d)) == d`, except for a lone symbol whose name is no such name: `str` gives that name bare. So a
    dim_param that is refused here is the name of a symbol.
    """
    return _Parser(text).whole_text()


def from_param(text: str) -> Dim:
    """The size that a dim_param stands for: an expression where it reads as one, else a symbol of that name.

    A text longer than any exporter writes is a name: normalising one takes a while, and a file may hold many.
    """
    if text.isidentifier() or len(text) > _LONGEST_PARAM:
        return symbol(text)
    try:
        dim = parse(text)
    except ValueError:
        return symbol(text)
    return symbol(text) if isinstance(dim, int) else dim


class _Parser:
    """Reads one text from left to right, by operator precedence."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = self.scan()
        self.next: _Token = next(self.tokens)
        self.depth = 0

    def whole_text(self) -> Dim:
        value = self.expression()
        self.take("end")
        try:
            return whole(value)
        except ValueError as error:
            raise self.error(str(error), 0) from None

    def expression(self, above: int = 0) -> Ratio:
        """What follows, up to an operator that binds no tighter than `above`."""
        value = self.operand()
        while (priority := _PRIORITY.get(self.next[0], 0)) > above:
            op, _, at = self.take()
            value = self.apply(at, op, value, self.expression(priority))
        return value

    def operand(self) -> Ratio:
        negative = False
        while self.next[0] == "-":
            self.take()
            negative = not negative
        kind, word, at = self.take()
        if kind == "number":
            value = self.number(word, at)
        elif kind == "name" and self.next[0] == "(":
            value = self.apply(at, word, *self.bracketed(self.take()[2]))
        elif kind in ("name", "quoted"):
            value = symbol(word), 1
        elif kind == "(":
            value, *more = self.bracketed(at)
            if more:
                raise self.error("a comma outside a function", at)
        else:
            raise self.error(f"unexpected {word!r}", at)
        if self.next[0] == "**":
            at = self.take()[2]
            value = self.apply(at, "**", value, self.number(*self.take("number")[1:]))
        return self.apply(at, "-", (0, 1), value) if negative else value

    def bracketed(self, at: int) -> list[Ratio]:
        """The values from a parenthesis at this position, which has been taken, to its pair."""
        self.depth += 1
        if self.depth > _MAX_PARENTHESES:
            raise self.error(f"more than {_MAX_PARENTHESES} parentheses in each other", at)
        values = [self.expression()]
        while self.next[0] == ",":
            self.take()
            values.append(self.expression())
        self.take(")")
        self.depth -= 1
        return values

    def number(self, word: str, at: int) -> Ratio:
        digits, _, decimals = word.partition(".")
        if len(word) > LIMIT or "." in decimals or word[-1] == ".":
            raise self.error("a number that is malformed or too long", at)
        value, scale = int(digits + decimals), 10 ** len(decimals)
        value, scale = value // gcd(value, scale), scale // gcd(value, scale)
        if scale & (scale - 1):  # a rounded float: what the exporter floored may be another size
            raise self.error(f"{word} is not exact in binary", at)
        return value, scale

    def apply(self, at: int, op: str, *values: Ratio) -> Ratio:
        try:
            return apply(op, values)
        except (ValueError, ZeroDivisionError) as error:
            raise self.error(str(error), at) from None

    def take(self, kind: str = "") -> _Token:
        token = self.next
        if kind and token[0] != kind:
            raise self.error(f"unexpected {token[1]!r}", token[2])
        self.next = next(self.tokens, token)
        return token

    def scan(self) -> Iterator[_Token]:
        text, end = self.text, 0
        if len(text) > 4 * LIMIT:
            raise self.error(f"more than {4 * LIMIT} characters", 4 * LIMIT)
        while end < len(text):
            at, char = end, text[end]
            end += 1
            if char in "0123456789":
                while end < len(text) and text[end] in "0123456789.":
                    end += 1
                yield "number", text[at:end], at
            elif char.isidentifier():
                while end < len(text) and (text[end] == "." or ("_" + text[end]).isidentifier()):
                    end += 1
                yield "name", text[at:end], at
            elif char == "`":
                while (end := text.find("`", end) + 1) and text[end : end + 1] == "`":
                    end += 1  # two are one backtick in the name
                if end - at < 3:
                    raise self.error("a backtick without its pair, or with nothing between", at)
                yield "quoted", text[at + 1 : end - 1].replace("``", "`"), at
            elif not char.isspace():
                end += char in "*/" and text[end : end + 1] == char
                yield text[at:end], text[at:end], at
        yield "end", "end of text", end

    def error(self, why: str, at: int) -> ValueError:
        text = self.text if len(self.text) <= 80 else self.text[:77] + "..."
        return ValueError(f"{text!r} is not a size: {why} (position {at})")
