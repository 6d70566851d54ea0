"""What a tokeniser does to a text before it is split: cases, accents, forms of Unicode."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeAlias

from ingot.errors import UnsupportedError
from ingot.feeds.tokeniser.byte_level import as_characters
from ingot.feeds.tokeniser.patterns import compiled

Normalise: TypeAlias = Callable[[str], str]


def normaliser(node: Mapping[str, Any] | None) -> Normalise:
    """The function of a part of the file; UnsupportedError for a kind that is not known here."""
    if node is None:
        return lambda text: text
    kind = node.get("type")
    match kind:
        case "Sequence":
            return _sequence([normaliser(each) for each in node["normalizers"]])
        case "NFC" | "NFD" | "NFKC" | "NFKD":
            form: Literal["NFC", "NFD", "NFKC", "NFKD"] = kind
            return lambda text: unicodedata.normalize(form, text)
        case "Lowercase":
            return str.lower
        case "StripAccents":
            return _without_marks
        case "Strip":
            return _strip(bool(node.get("strip_left", True)), bool(node.get("strip_right", True)))
        case "Replace":
            find, content = pattern_of(node["pattern"]), str(node["content"])
            return lambda text: find.sub(lambda _: content, text)
        case "Prepend":
            start = str(node["prepend"])
            return lambda text: start + text if text else text
        case "ByteLevel":
            return as_characters
        case "BertNormalizer":
            return _bert(node)
    raise UnsupportedError(f"a tokeniser with a normaliser '{kind}'")


def pattern_of(node: Mapping[str, Any]) -> re.Pattern[str]:
    """A pattern of the file: a text as it is, or a regular expression."""
    if "String" in node:
        return re.compile(re.escape(str(node["String"])))
    return compiled(str(node["Regex"]))


def is_punctuation(char: str) -> bool:
    """Whether BERT takes a character for punctuation: all signs of ASCII, and what Unicode calls so."""
    return char in _SIGNS or unicodedata.category(char).startswith("P")


_SIGNS = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")


def _sequence(steps: list[Normalise]) -> Normalise:
    def apply(text: str) -> str:
        for step in steps:
            text = step(text)
        return text

    return apply


def _strip(left: bool, right: bool) -> Normalise:
    def strip(text: str) -> str:
        text = text.lstrip() if left else text
        return text.rstrip() if right else text

    return strip


def _without_marks(text: str) -> str:
    return "".join(char for char in text if unicodedata.category(char) != "Mn")


def _bert(node: Mapping[str, Any]) -> Normalise:
    lowercase = bool(node.get("lowercase", True))
    strips = lowercase if node.get("strip_accents") is None else bool(node["strip_accents"])

    def normalise(text: str) -> str:
        if node.get("clean_text", True):
            text = "".join(" " if _is_space(char) else char for char in text if not _is_control(char))
        if node.get("handle_chinese_chars", True):
            text = "".join(f" {char} " if _is_chinese(ord(char)) else char for char in text)
        if strips:
            text = _without_marks(unicodedata.normalize("NFD", text))
        return text.lower() if lowercase else text

    return normalise


def _is_space(char: str) -> bool:
    return char in "\t\n\r" or char.isspace()


def _is_control(char: str) -> bool:
    if char in "\t\n\r":
        return False
    return char in "\0\ufffd" or unicodedata.category(char).startswith("C")


def _is_chinese(code: int) -> bool:
    return any(low <= code <= high for low, high in _CHINESE)


_CHINESE = (
    *((0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F), (0x2B740, 0x2B81F)),
    *((0x2B920, 0x2CEAF), (0xF900, 0xFAFF), (0x2F800, 0x2FA1F)),
)
