"""Text to tokens, read one at a time, and errors that show the place."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias, TypeVar

from ingot.dims import Dim
from ingot.errors import ParseError, nearest
from ingot.ir.tensor import External

MOST_NESTED = 64
"""Graphs in graphs and types in types; more than the codec reads."""

Fetch: TypeAlias = Callable[[External, int], memoryview | None]
"""Finds external data: the bytes, as many as the number says, or None to look for them no earlier than needed."""

_Word = TypeVar("_Word")

_BLANK = re.compile(r"(?:[ \t\n\v\f\r]++|#[^\n]*+)*+")
_TOKEN = re.compile(
    r"""(?P<name>[A-Za-z_][A-Za-z0-9_]*+)
    |(?P<number>-?[0-9]++(?:\.[0-9]*+)?(?:[eE][+-]?[0-9]*+)?|-(?i:infinity|inf|nan)(?![A-Za-z0-9_]))
    |(?P<string>"(?:[^"\\]++|\\.)*+")
    |(?P<mark>=>|\.\.\.|[<>()\[\]{},:=@?.])""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_SHOWN = 120
"""Characters of a line that an error shows."""


class Reader:
    """A cursor over the tokens of a text.

    `kind` is `name`, `number`, `string` or `end`, or the mark itself; `value` is the token's text, without quotes and
    escapes for a string; `start` is where it begins.
    """

    __slots__ = ("_depth", "_stop", "external", "kind", "sizes", "start", "text", "value")

    def __init__(self, text: str, external: Fetch | None = None) -> None:
        """A cursor on the first token, with what finds external data for those who read on."""
        self.text = text
        self.external = external
        self.sizes: dict[str, Dim | None] = {}
        self.kind = self.value = ""
        self.start = self._stop = self._depth = 0
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise self.error("half of a surrogate pair is not text", error.start) from None
        self.advance()

    def advance(self) -> None:
        """Go to the next token."""
        self.kind, self.value, self.start, self._stop = self._scan(self._stop)

    def jump(self, position: int) -> None:
        """Go to the token at or after a position."""
        self._stop = position
        self.advance()

    @property
    def following(self) -> str:
        """The kind of the token after this one; `end` where there is none that can be read."""
        blank = _BLANK.match(self.text, self._stop)
        token = _TOKEN.match(self.text, blank.end() if blank else self._stop)
        if token is None:
            return "end"
        return token.group() if token.lastgroup == "mark" else str(token.lastgroup)

    def accept(self, mark: str) -> bool:
        """Whether the token is `mark`; it is then passed."""
        if self.kind != mark:
            return False
        self.advance()
        return True

    def expect(self, mark: str, *, where: str) -> None:
        """Pass `mark`; `where` says what it stands after or before."""
        if not self.accept(mark):
            raise self.unexpected(f"'{mark}' {where}")

    def take(self, *kinds: str, what: str) -> str:
        """The text of a token of one of these kinds, which is passed; `what` says what it would have been."""
        if self.kind not in kinds:
            raise self.unexpected(what)
        value = self.value
        self.advance()
        return value

    def quotable(self, what: str) -> str:
        """An identifier, or a name in quotes."""
        return self.take("name", "string", what=what)

    def word(self, words: dict[str, _Word], what: str) -> _Word:
        """What one of `words` stands for."""
        at = self.start
        name = self.take("name", what=what)
        if name not in words:
            raise self.error(f"'{name}' is not {what}", at, hint=nearest(name, words) or f"one of {', '.join(words)}")
        return words[name]

    @contextmanager
    def nested(self) -> Iterator[None]:
        """One level down; ParseError past the limit."""
        self._depth += 1
        if self._depth > MOST_NESTED:
            raise self.error(f"graphs or types are nested more than {MOST_NESTED} deep", self.start)
        yield
        self._depth -= 1

    def unexpected(self, expected: str) -> ParseError:
        """The error that the token is not what is `expected`."""
        if self.kind == "...":
            return self.error(
                "the value is left out here",
                self.start,
                hint="print the whole model: to_text(model, elide=None)",
            )
        actual = {"end": "the text ends", "string": "found a string"}.get(self.kind, f"found '{self.value[:40]}'")
        return self.error(f"expected {expected}, {actual}", self.start)

    def error(self, message: str, at: int, *, hint: str | None = None) -> ParseError:
        """An error at character `at` that shows its line, or as much of a long one as is near."""
        begin = self.text.rfind("\n", 0, at) + 1
        end = self.text.find("\n", at)
        source = self.text[begin : len(self.text) if end < 0 else end]
        line, column = self.text.count("\n", 0, at) + 1, at - begin + 1
        if len(source) <= _SHOWN:
            return ParseError(message, line=line, column=column, source=_printable(source), hint=hint)
        first = max(0, min(column - 1 - _SHOWN // 2, len(source) - _SHOWN))
        error = ParseError(message, line=line, column=column, hint=hint)
        error.where += (f"| {_printable(source[first : first + _SHOWN])}", "| " + " " * (column - 1 - first) + "^")
        return error

    def _scan(self, position: int) -> tuple[str, str, int, int]:
        text = self.text
        blank = _BLANK.match(text, position)
        start = blank.end() if blank else position
        token = _TOKEN.match(text, start)
        if token is None:
            if start == len(text):
                return "end", "", start, start
            raise self._not_a_token(start)
        kind, value = token.lastgroup, token.group()
        if kind == "mark":
            return value, value, start, token.end()
        if kind == "string":
            value = value[1:-1]
            if "\\" in value:
                value = _ESCAPE.sub(r"\1", value)
        return str(kind), value, start, token.end()

    def _not_a_token(self, at: int) -> ParseError:
        character = self.text[at]
        if character == '"':
            return self.error("the string that begins here has no end", at)
        if character == "-":
            return self.error("expected a number after '-'", at)
        hint = "names with other characters than letters, digits and _ stand in quotes"
        return self.error(f"nothing begins with {character!r}", at, hint=hint)


def _printable(line: str) -> str:
    return "".join(character if character.isprintable() else " " for character in line)
