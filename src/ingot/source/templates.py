"""Texts of a block's instances as one template: names that differ in numbers become f-strings of its parameters."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from ingot.source.literals import quoted

Vector = tuple[int, ...]

_NUMBER = re.compile(r"(\d+)")
_PARAMETERS = ("i", "j", "k", "place")
_MOST_CHOSEN = 3


class Templates:
    """How the names of a block follow from its parameters, of which each instance has a number each.

    Texts that follow no rule are looked up in a table, by the number of the instance among all of them.
    """

    def __init__(self, instances: int, table: str = "NAMES") -> None:
        self._instances = instances
        self._table = table
        self._seen: Counter[Vector] = Counter()
        self._bases: list[Vector] = []
        self.tables: dict[str, tuple[str, ...]] = {}

    def note(self, texts: Sequence[str]) -> None:
        """Take texts, one an instance, into account for the choice of parameters."""
        for vector in _vectors(texts) or ():
            if len(set(vector)) > 1:
                self._seen[vector] += 1

    def choose(self) -> None:
        """Choose the parameters: the numbers by which most of the texts differ."""
        place = tuple(range(self._instances))
        for vector, count in sorted(self._seen.items(), key=lambda item: (-item[1], item[0])):
            if len(self._bases) < _MOST_CHOSEN and (not self._bases or count > 2) and self._expressed(vector) is None:
                self._bases.append(vector)
        if not self._bases:
            self._bases.append(place)

    @property
    def parameters(self) -> list[tuple[str, Vector]]:
        """The parameters by name, with the number of each instance."""
        return list(zip(_PARAMETERS, self._bases, strict=False))

    def text(self, texts: Sequence[str], table: str) -> str:
        """An expression for the text of each instance; what follows no rule goes into a table, under that name."""
        if len(set(texts)) == 1:
            return quoted(texts[0])
        vectors = _vectors(texts)
        parts = None if vectors is None else [self._expressed(vector) for vector in vectors]
        if parts is None or None in parts:
            return self._looked_up(tuple(texts), table)
        pieces = _NUMBER.split(texts[0])
        fixed = [_escaped(piece) for piece in pieces[::2]]
        changing = [f"{{{part}}}" if not part.isdecimal() else part for part in parts if part is not None]
        body = fixed[0] + "".join(number + piece for number, piece in zip(changing, fixed[1:], strict=True))
        return f'f"{body}"'

    def _looked_up(self, texts: tuple[str, ...], name: str) -> str:
        natural = tuple(range(self._instances))
        if self._expressed(natural) is None:
            self._bases.append(natural)
        place = self._expressed(natural)
        known = next((key for key, table in self.tables.items() if table == texts), None)
        if known is None:
            known, count = name, 1
            while known in self.tables:
                count += 1
                known = f"{name}_{count}"
            self.tables[known] = texts
        return f"{self._table}[{quoted(known)}][{place}]"

    def _expressed(self, vector: Vector) -> str | None:
        """The numbers as a formula of the parameters; None if there is none."""
        if len(set(vector)) == 1:
            return str(vector[0])
        for name, base in zip(_PARAMETERS, self._bases, strict=False):
            formula = _affine(vector, base)
            if formula is not None:
                return _shown(name, *formula)
        return None


def _vectors(texts: Sequence[str]) -> list[Vector] | None:
    """The numbers in the texts, place by place; None where texts differ in more than their numbers."""
    split = [_NUMBER.split(text) for text in texts]
    if any(parts[::2] != split[0][::2] for parts in split) or not all(_is_plain(text) for text in texts[:1]):
        return None
    numbers = [parts[1::2] for parts in split]
    if any(part != str(int(part)) or len(part) > 15 for parts in numbers for part in parts):
        return None
    return [tuple(map(int, column)) for column in zip(*numbers, strict=True)]


def _affine(vector: Vector, base: Vector) -> tuple[int, int] | None:
    pairs = sorted(set(zip(base, vector, strict=True)))
    if len({x for x, _ in pairs}) != len(pairs) or len(pairs) < 2:
        return None
    (x0, y0), (x1, y1) = pairs[0], pairs[1]
    if (y1 - y0) % (x1 - x0):
        return None
    factor = (y1 - y0) // (x1 - x0)
    offset = y0 - factor * x0
    return (factor, offset) if all(y == factor * x + offset for x, y in pairs) else None


def _shown(name: str, factor: int, offset: int) -> str:
    product = name if factor == 1 else f"{factor} * {name}"
    if not offset:
        return product
    if offset < 0:
        return f"{product} - {-offset}"
    return f"{name} + {offset}" if factor == 1 else f"{offset} + {product}"


def _is_plain(text: str) -> bool:
    return text.isascii() and text.isprintable() and not set(text) & set('"\\')


def _escaped(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")
