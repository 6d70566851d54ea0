"""How a tokeniser splits a text into words, which are looked up one by one."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from ingot.errors import UnsupportedError
from ingot.feeds.tokeniser.byte_level import as_characters
from ingot.feeds.tokeniser.normalise import is_punctuation, pattern_of
from ingot.feeds.tokeniser.patterns import compiled

Split: TypeAlias = Callable[[list[str], bool], list[str]]
"""From pieces to smaller pieces; whether the first of them is the beginning of the text."""

_BYTE_LEVEL = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"

_LETTERS = r"\p{L}\p{M}\p{Nd}\p{Nl}\p{Pc}\u200c\u200d"
"""What words are made of: Python's own `\\w` has other numbers too."""


def splitter(node: Mapping[str, Any] | None) -> Split:
    """The function of a part of the file; UnsupportedError for a kind that is not known here."""
    if node is None:
        return lambda pieces, _: pieces
    match node.get("type"):
        case "Sequence":
            return _sequence([splitter(each) for each in node["pretokenizers"]])
        case "BertPreTokenizer":
            return _each(lambda text: [part for word in text.split() for part in _isolated(word, is_punctuation)])
        case "Whitespace":
            return _each(compiled(rf"[{_LETTERS}]+|[^\s{_LETTERS}]+").findall)
        case "WhitespaceSplit":
            return _each(str.split)
        case "Punctuation":
            return _each(lambda text: _behaved(text, _PUNCTUATION, _behaviour(node, "Isolated"), False))
        case "Digits":
            digits = compiled(r"\p{N}" if node.get("individual_digits") else r"\p{N}+")
            return _each(lambda text: _behaved(text, digits, "Isolated", False))
        case "Split":
            pattern, behaviour = pattern_of(node["pattern"]), _behaviour(node, "Removed")
            inverts = bool(node.get("invert"))
            return _each(lambda text: _behaved(text, pattern, behaviour, inverts))
        case "ByteLevel":
            return _byte_level(bool(node.get("add_prefix_space")), bool(node.get("use_regex", True)))
        case "Metaspace":
            return _metaspace(node)
    raise UnsupportedError(f"a tokeniser with a splitter '{node.get('type')}'")


class _Punctuation:
    """Finds single signs of punctuation, as a pattern does."""

    def spans(self, text: str) -> list[tuple[int, int]]:
        return [(place, place + 1) for place, char in enumerate(text) if is_punctuation(char)]


_PUNCTUATION = _Punctuation()


def _spans(text: str, pattern: re.Pattern[str] | _Punctuation) -> list[tuple[int, int]]:
    if isinstance(pattern, _Punctuation):
        return pattern.spans(text)
    return [match.span() for match in pattern.finditer(text) if match.end() > match.start()]


def _behaviour(node: Mapping[str, Any], default: str) -> str:
    return str(node.get("behavior", default))


def _sequence(steps: Sequence[Split]) -> Split:
    def apply(pieces: list[str], at_start: bool) -> list[str]:
        for step in steps:
            pieces = step(pieces, at_start)
        return pieces

    return apply


def _each(split: Callable[[str], list[str]]) -> Split:
    return lambda pieces, _: [part for piece in pieces for part in split(piece) if part]


def _isolated(text: str, is_single: Callable[[str], bool]) -> list[str]:
    parts: list[str] = []
    word = ""
    for char in text:
        if is_single(char):
            parts += [word, char] if word else [char]
            word = ""
        else:
            word += char
    return [*parts, word] if word else parts


def _behaved(text: str, pattern: re.Pattern[str] | _Punctuation, behaviour: str, inverts: bool) -> list[str]:
    """A text split at what a pattern matches, or at the rest, and what becomes of the parts it was split at."""
    parts: list[tuple[str, bool]] = []
    place = 0
    for start, end in _spans(text, pattern):
        parts += [(text[place:start], inverts), (text[start:end], not inverts)]
        place = end
    parts = [part for part in (*parts, (text[place:], inverts)) if part[0]]
    match behaviour:
        case "Removed":
            return [part for part, is_cut in parts if not is_cut]
        case "Isolated":
            return [part for part, _ in parts]
        case "Contiguous":
            return _joined(parts, lambda before, now: before == now)
        case "MergedWithPrevious":
            return _joined(parts, lambda before, now: now and not before)
        case "MergedWithNext":
            return _joined(parts, lambda before, now: before and not now)
    raise UnsupportedError(f"a tokeniser that splits with '{behaviour}'")


def _joined(parts: Sequence[tuple[str, bool]], joins: Callable[[bool, bool], bool]) -> list[str]:
    result: list[str] = []
    before: bool | None = None
    for part, is_cut in parts:
        if before is not None and joins(before, is_cut):
            result[-1] += part
        else:
            result.append(part)
        before = is_cut
    return result


def _byte_level(adds_space: bool, splits: bool) -> Split:
    words = compiled(_BYTE_LEVEL)

    def apply(pieces: list[str], _: bool) -> list[str]:
        result: list[str] = []
        for piece in pieces:
            text = f" {piece}" if adds_space and not piece.startswith(" ") else piece
            result += [as_characters(word) for word in (words.findall(text) if splits else [text]) if word]
        return result

    return apply


def _metaspace(node: Mapping[str, Any]) -> Split:
    mark = str(node.get("replacement", "▁"))
    if len(mark) != 1:
        raise ValueError(f"'{mark:.20}' in the place of spaces is not one character")
    scheme = node.get("prepend_scheme") or ("always" if node.get("add_prefix_space", True) else "never")
    splits = bool(node.get("split", True))
    words = re.compile(f"{re.escape(mark)}?[^{re.escape(mark)}]+|{re.escape(mark)}")

    def apply(pieces: list[str], at_start: bool) -> list[str]:
        result: list[str] = []
        for place, piece in enumerate(pieces):
            text = piece.replace(" ", mark)
            prepends = scheme == "always" or (scheme == "first" and at_start and place == 0)
            if prepends and not text.startswith(mark):
                text = mark + text
            result += words.findall(text) if splits else [text]
        return [part for part in result if part]

    return apply
