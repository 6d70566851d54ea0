"""A tokeniser: from a text to token numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from ingot.dataclass import dataclass
from ingot.errors import InputError
from ingot.feeds.tokeniser.added import AddedTokens
from ingot.feeds.tokeniser.normalise import Normalise
from ingot.feeds.tokeniser.split import Split
from ingot.feeds.tokeniser.template import Template


@dataclass(frozen=True, slots=True)
class Encoded:
    """The tokens of a text: their numbers, and which of the parts of a pair each belongs to."""

    ids: tuple[int, ...]
    types: tuple[int, ...]


class Tokeniser(Protocol):
    """Turns texts into tokens."""

    @property
    def kind(self) -> str:
        """What it is, for people."""

    def encode(self, text: str) -> Encoded:
        """The tokens of a text."""


@dataclass(frozen=True, slots=True)
class FileTokeniser:
    """A tokeniser as its file describes it, step by step."""

    kind: str
    added: AddedTokens
    normalise: Normalise
    split: Split
    look_up: Callable[[str], list[int]]
    surround: Template
    longest: int | None = None

    def encode(self, text: str) -> Encoded:
        """The tokens of a text, cut off where the file says how many there may be."""
        try:
            return self._encode(text)
        except RecursionError:
            raise InputError("the steps of the tokeniser are nested too deep") from None

    def _encode(self, text: str) -> Encoded:
        numbers: list[int] = []
        at_start = True
        for piece, token in self.added.parts(text, self.normalise):
            if token is not None:
                numbers.append(token)
            else:
                for word in self.split([piece], at_start):
                    numbers += self.look_up(word)
            at_start = False
        marks = len(self.surround([]))
        if self.longest is not None:
            numbers = numbers[: max(0, self.longest - marks)]
        tokens = self.surround([(number, 0) for number in numbers])
        return Encoded(tuple(number for number, _ in tokens), tuple(part for _, part in tokens))
