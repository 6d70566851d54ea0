"""The syntax of RE2's regular expressions, read into a tree.

What only matters to where a part matched (captures, laziness) is read and forgotten: here a text matches or not.
"""

from __future__ import annotations

import unicodedata
from typing import TypeAlias

from ingot.dataclass import dataclass
from ingot.errors import CheckError, UnsupportedError

MOST_REPEATS = 1000
"""What RE2 itself allows in `x{n,m}`."""

_MOST_NESTED = 100
_CATEGORIES = frozenset(
    major + minor
    for major, minors in {
        "L": "ultmo",
        "M": "nce",
        "N": "dlo",
        "P": "cdseifo",
        "S": "mcko",
        "Z": "slp",
        "C": "cfson",
    }.items()
    for minor in ("", *minors)
)


@dataclass(frozen=True, slots=True)
class CharSet:
    """Characters: in a range, of a Unicode category, or in another set; or, if negated, all others."""

    ranges: tuple[tuple[int, int], ...] = ()
    categories: tuple[str, ...] = ()
    sets: tuple[CharSet, ...] = ()
    negated: bool = False
    folded: bool = False

    def __contains__(self, char: str) -> bool:
        candidates = _cases(char) if self.folded else (char,)
        return any(self._holds(candidate) for candidate in candidates) != self.negated

    def _holds(self, char: str) -> bool:
        code = ord(char)
        if any(low <= code <= high for low, high in self.ranges) or any(char in inner for inner in self.sets):
            return True
        return bool(self.categories) and unicodedata.category(char).startswith(self.categories)


@dataclass(frozen=True, slots=True)
class Chars:
    """One character of a set."""

    chars: CharSet


@dataclass(frozen=True, slots=True)
class Place:
    """No character, at a place of a kind: `text start`, `text end`, `line start`, `line end`, `edge`, `no edge`."""

    kind: str


@dataclass(frozen=True, slots=True)
class Row:
    """One part after another; none at all matches the empty text."""

    parts: tuple[Tree, ...] = ()


@dataclass(frozen=True, slots=True)
class Choice:
    """Any one of the parts."""

    parts: tuple[Tree, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """A part again and again, at least and at most so often; None is for ever."""

    part: Tree
    least: int
    most: int | None


Tree: TypeAlias = Chars | Place | Row | Choice | Repeat


def parse(pattern: str) -> Tree:
    """The tree of a pattern; CheckError with the position where it is not one of RE2's."""
    return _Reader(pattern).whole()


def _span(text: str) -> tuple[tuple[int, int], ...]:
    """Pairs of characters as ranges: `azAZ` is a to z and A to Z."""
    return tuple((ord(a), ord(b)) for a, b in zip(text[::2], text[1::2], strict=True))


_PERL = {"d": CharSet(_span("09")), "s": CharSet(_span("\t\n\f\r  ")), "w": CharSet(_span("09AZaz__"))}
_POSIX = {
    "alnum": _span("09AZaz"),
    "alpha": _span("AZaz"),
    "ascii": _span("\x00\x7f"),
    "blank": _span("\t\t  "),
    "cntrl": _span("\x00\x1f\x7f\x7f"),
    "digit": _span("09"),
    "graph": _span("!~"),
    "lower": _span("az"),
    "print": _span(" ~"),
    "punct": _span("!/:@[`{~"),
    "space": _span("\t\r  "),
    "upper": _span("AZ"),
    "word": _span("09AZaz__"),
    "xdigit": _span("09AFaf"),
}
_CONTROLS = {"a": "\a", "f": "\f", "t": "\t", "n": "\n", "r": "\r", "v": "\v"}
_PLACES = {"A": "text start", "z": "text end", "b": "edge", "B": "no edge"}


class _Reader:
    """Reads one pattern from left to right; `flags` are those in force."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.at = 0
        self.flags: frozenset[str] = frozenset()
        self.depth = 0

    def whole(self) -> Tree:
        tree = self.choice()
        if self.at < len(self.pattern):
            raise self.error("a closing parenthesis without its pair")
        return tree

    def choice(self) -> Tree:
        parts = [self.row()]
        while self.took("|"):
            parts.append(self.row())
        return parts[0] if len(parts) == 1 else Choice(tuple(parts))

    def row(self) -> Tree:
        parts: list[Tree] = []
        while self.at < len(self.pattern) and self.peek() not in "|)":
            if self.took("\\Q"):
                end = self.pattern.find("\\E", self.at)
                text = self.pattern[self.at :] if end < 0 else self.pattern[self.at : end]
                self.at += len(text) + (2 if end >= 0 else 0)
                parts.extend(self.literal(char) for char in text)
                if text and end >= 0:
                    parts[-1] = self.repeated(parts[-1])
                continue
            atom = self.atom()
            if atom is not None:
                parts.append(self.repeated(atom))
        return parts[0] if len(parts) == 1 else Row(tuple(parts))

    def repeated(self, atom: Tree) -> Tree:
        bounds = self.bounds()
        if bounds is None:
            return atom
        self.took("?")
        if self.bounds() is not None:
            raise self.error("a repetition of a repetition")
        return Repeat(atom, *bounds)

    def bounds(self) -> tuple[int, int | None] | None:
        """How often, if a repetition comes next; braces that hold none are plain characters."""
        for sign, least, most in (("*", 0, None), ("+", 1, None), ("?", 0, 1)):
            if self.took(sign):
                return least, most
        end = self.pattern.find("}", self.at)
        if self.peek() != "{" or end < 0:
            return None
        low, comma, high = self.pattern[self.at + 1 : end].partition(",")
        if not _is_number(low) or (high and not _is_number(high)):
            return None
        least, most = int(low), int(high) if high else None if comma else int(low)
        if max(least, most or 0) > MOST_REPEATS or (most is not None and most < least):
            raise self.error(f"a repetition {{{low}{comma}{high}}}, at most {MOST_REPEATS} are possible")
        self.at = end + 1
        return least, most

    def atom(self) -> Tree | None:
        """The next part; None where only flags were set."""
        char = self.take()
        if char == "(":
            return self.group()
        if char == "[":
            return Chars(self.char_class())
        if char == ".":
            return Chars(CharSet(() if "s" in self.flags else _span("\n\n"), negated=True))
        if char == "^":
            return Place("line start" if "m" in self.flags else "text start")
        if char == "$":
            return Place("line end" if "m" in self.flags else "text end")
        if char in "*+?":
            self.at -= 1
            raise self.error("a repetition of nothing")
        if char != "\\":
            return self.literal(char)
        if self.peek() in _PLACES and self.peek():
            return Place(_PLACES[self.take()])
        escaped = self.escape()
        return Chars(escaped) if isinstance(escaped, CharSet) else self.literal(escaped)

    def group(self) -> Tree | None:
        self.depth += 1
        if self.depth > _MOST_NESTED:
            raise self.error(f"more than {_MOST_NESTED} parentheses in each other")
        outer = self.flags
        if self.took("?"):
            if self.took("P<") or self.took("<"):
                name = self.until(">")
                if not name.replace("_", "a").isalnum():
                    raise self.error(f"a group named {name!r}")
            elif self.read_flags():
                self.depth -= 1
                return None
        tree = self.choice()
        if not self.took(")"):
            raise self.error("a parenthesis without its pair")
        self.flags = outer
        self.depth -= 1
        return tree

    def read_flags(self) -> bool:
        """Read `flags)` or `flags:`; whether it was the former, which holds to the end of the group around."""
        value = True
        while True:
            char = self.take()
            if char in (":", ")"):
                return char == ")"
            if char == "-" and value:
                value = False
            elif char and char in "imsU":
                self.flags = self.flags | {char} if value else self.flags - {char}
            else:
                raise self.error("a group that RE2 does not have", hint="RE2 has no look-around and no conditions")

    def char_class(self) -> CharSet:
        negated = self.took("^")
        ranges: list[tuple[int, int]] = []
        sets: list[CharSet] = []
        first = True
        while first or self.peek() != "]":
            first = False
            low = self.class_item()
            if isinstance(low, CharSet):
                sets.append(low)
                continue
            high: str | CharSet = low
            if self.peek() == "-" and self.pattern[self.at + 1 : self.at + 2] not in ("]", ""):
                self.at += 1
                high = self.class_item()
            if isinstance(high, CharSet) or high < low:
                raise self.error("a range that goes nowhere")
            ranges.append((ord(low), ord(high)))
        self.at += 1
        return CharSet(tuple(ranges), sets=tuple(sets), negated=negated, folded="i" in self.flags)

    def class_item(self) -> str | CharSet:
        if self.took("[:"):
            name = self.until(":]")
            negated = name.startswith("^")
            if name.removeprefix("^") not in _POSIX:
                raise self.error(f"no class [:{name}:]")
            return CharSet(_POSIX[name.removeprefix("^")], negated=negated)
        char = self.take()
        if not char:
            raise self.error("a bracket without its pair")
        return self.escape() if char == "\\" else char

    def escape(self) -> str | CharSet:
        """What a backslash and what follows it stand for: a character, or a set of them."""
        char = self.take()
        if char.lower() in _PERL:
            chars = _PERL[char.lower()]
            return chars if char.islower() else CharSet(chars.ranges, negated=True)
        if char in ("p", "P"):
            return self.category(negated=char == "P")
        if char in _CONTROLS:
            return _CONTROLS[char]
        if char == "x":
            digits = self.until("}") if self.took("{") else self.take() + self.take()
            return self.character(digits, 16)
        if char and char in "01234567":
            digits = char
            while len(digits) < 3 and self.peek() and self.peek() in "01234567":
                digits += self.take()
            if char != "0" and len(digits) == 1:
                raise self.error("a reference to a group", hint="RE2 has none: it could take for ever")
            return self.character(digits, 8)
        if char == "C":
            raise UnsupportedError(r"\C in a pattern: ingot matches characters, not bytes")
        if not char or char.isalnum() or ord(char) > 127:
            raise self.error(f"an escape \\{char}")
        return char

    def character(self, digits: str, base: int) -> str:
        try:
            return chr(int(digits, base)) if digits.isalnum() else chr(-1)
        except (ValueError, OverflowError):
            raise self.error(f"a character of number {digits!r}") from None

    def category(self, *, negated: bool) -> CharSet:
        name = self.until("}") if self.took("{") else self.take()
        negated ^= name.startswith("^")
        name = name.removeprefix("^")
        if name == "Any":
            return CharSet((), negated=not negated)
        if name not in _CATEGORIES:
            raise UnsupportedError(
                f"\\p{{{name}}} in a pattern: ingot knows the general categories of Unicode, not the scripts",
                hint="write the range of its letters: [\\x{370}-\\x{3ff}]",
            )
        return CharSet(categories=(name,), negated=negated, folded="i" in self.flags)

    def literal(self, char: str) -> Tree:
        if "i" in self.flags:
            return Chars(CharSet(tuple((ord(c), ord(c)) for c in _cases(char)), folded=True))
        return Chars(CharSet(((ord(char), ord(char)),)))

    def peek(self) -> str:
        return self.pattern[self.at : self.at + 1]

    def take(self) -> str:
        self.at += 1
        return self.pattern[self.at - 1 : self.at]

    def took(self, text: str) -> bool:
        if not self.pattern.startswith(text, self.at):
            return False
        self.at += len(text)
        return True

    def until(self, end: str) -> str:
        """What comes before `end`, which is read too."""
        stop = self.pattern.find(end, self.at)
        if stop < 0:
            raise self.error(f"no '{end}'")
        text = self.pattern[self.at : stop]
        self.at = stop + len(end)
        return text

    def error(self, why: str, *, hint: str | None = None) -> CheckError:
        at = min(self.at, len(self.pattern))
        return CheckError(f"the pattern is not in RE2's syntax: {why} (position {at})", hint=hint)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 9


def _cases(char: str) -> tuple[str, ...]:
    """A character in upper and in lower case, where each is one character."""
    cases = {char, char.lower(), char.upper(), char.lower().upper(), char.upper().lower()}
    return tuple(sorted(c for c in cases if len(c) == 1))
