"""Tokens that are found in a text as they are, before it is split: `[MASK]`, `<|endoftext|>`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ingot.feeds.tokeniser.normalise import Normalise
from ingot.feeds.tokeniser.numbers import token_number


class AddedTokens:
    """Finds added tokens: some in the text as it was written, others after it was normalised."""

    def __init__(self, nodes: Sequence[Mapping[str, Any]], normalise: Normalise) -> None:
        raw = {str(node["content"]): node for node in nodes if not node.get("normalized")}
        later = {normalise(str(node["content"])): node for node in nodes if node.get("normalized")}
        self._raw, self._normalised = _Finder(raw), _Finder(later)

    def parts(self, text: str, normalise: Normalise) -> Iterator[tuple[str, int | None]]:
        """The parts of a text, normalised, in order; those that are tokens with their number."""
        for piece, token in self._raw.parts(text):
            if token is not None:
                yield piece, token
            else:
                yield from self._normalised.parts(normalise(piece))


class _Finder:
    def __init__(self, nodes: Mapping[str, Mapping[str, Any]]) -> None:
        self._numbers = {content: token_number(node["id"]) for content, node in nodes.items() if content}
        longest_first = sorted(self._numbers, key=len, reverse=True)
        alternatives = [_pattern(content, nodes[content]) for content in longest_first]
        self._contents = longest_first
        self._pattern = re.compile("|".join(f"({each})" for each in alternatives)) if alternatives else None

    def parts(self, text: str) -> Iterator[tuple[str, int | None]]:
        place = 0
        for match in self._pattern.finditer(text) if self._pattern is not None else ():
            if match.start() > place:
                yield text[place : match.start()], None
            assert match.lastindex is not None
            yield match[0], self._numbers[self._contents[match.lastindex - 1]]
            place = match.end()
        if place < len(text):
            yield text[place:], None


def _pattern(content: str, node: Mapping[str, Any]) -> str:
    before, after = (r"\s*" if node.get(side) else "" for side in ("lstrip", "rstrip"))
    edge = (r"(?<!\w)", r"(?!\w)") if node.get("single_word") else ("", "")
    return f"{before}{edge[0]}{re.escape(content)}{edge[1]}{after}"
