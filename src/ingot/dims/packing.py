"""Sizes as plain data, for files."""

from __future__ import annotations

from ingot.dims.expr import Call, Expr

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any


class Packing:
    """Sizes as plain data, and back without being worked out again: numbers, names and lists, for files of our own.

    A size is a list of terms, each its coefficient and its factors: names, or places in `calls`, which go with it.
    """

    def __init__(self, calls: Iterable[list[Any]] = ()) -> None:
        """Ready to unpack what was packed with these calls; with none, to pack."""
        self.calls: list[list[Any]] = []
        self._places: dict[Call, int] = {}
        self._made: list[Call] = []
        for op, *args in calls:
            self._made.append(Call(op, *(arg if isinstance(arg, int) else self.unpacked(arg) for arg in args)))

    def packed(self, dim: Expr) -> list[list[Any]]:
        """A size as plain data."""
        return [[c, *(a if isinstance(a, str) else self._place(a) for a in m)] for m, c in dim._terms.items()]

    def unpacked(self, said: Iterable[list[Any]]) -> Expr:
        """The size that was packed."""
        made = self._made
        return Expr({tuple([a if isinstance(a, str) else made[a] for a in m]): c for c, *m in said})

    def _place(self, call: Call) -> int:
        if call not in self._places:
            said = [call.op, *(self.packed(arg) if isinstance(arg, Expr) else arg for arg in call.args)]
            self._places[call] = len(self.calls)
            self.calls.append(said)
        return self._places[call]
