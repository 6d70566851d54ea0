"""Sizes as plain data, for files of our own."""

from __future__ import annotations

from ingot.dims.calls import call
from ingot.dims.expr import Expr
from ingot.dims.terms import Call, Terms

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any


class Packing:
    """Sizes as plain data, and back without being worked out again: numbers, names and lists.

    A size is a list of terms, each its coefficient and its factors: names, or places in `calls`, which go with it.
    """

    def __init__(self, calls: Iterable[list[Any]] = ()) -> None:
        """Ready to unpack what was packed with these calls; with none, to pack."""
        self.calls: list[list[Any]] = []
        self._places: dict[Call, int] = {}
        self._unpacked: list[Call] = []
        for op, *args in calls:
            self._unpacked.append(call(op, *map(self._terms, args)))

    def packed(self, dim: Expr) -> list[list[Any]]:
        """A size as plain data."""
        return self._data(dim.terms)

    def unpacked(self, data: Iterable[list[Any]]) -> Expr:
        """The size that was packed."""
        return Expr(self._terms(data))

    def _data(self, terms: Terms) -> list[list[Any]]:
        return [[c, *(atom if isinstance(atom, str) else self._place(atom) for atom in m)] for m, c in terms.items()]

    def _terms(self, data: Iterable[list[Any]]) -> Terms:
        calls = self._unpacked
        return {tuple([atom if isinstance(atom, str) else calls[atom] for atom in m]): c for c, *m in data}

    def _place(self, atom: Call) -> int:
        if atom not in self._places:
            data = [atom.op, *map(self._data, atom.args)]
            self._places[atom] = len(self.calls)
            self.calls.append(data)
        return self._places[atom]
