"""Sizes computed together: one function from the named sizes that they depend on to the values of all of them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from operator import itemgetter
from typing import Any

from ingot.dims import Dim, formula, lower_bound

Values = tuple[Any, ...]
"""The values of all expressions of a formula, in order; None where there is none, as it divides by zero."""

Picker = Callable[[Values], tuple[Any, ...]]
"""Picks the values of one list of expressions out of the values of all."""


class Formula:
    """Expressions over named sizes, each distinct one computed once, by one function that the first use compiles.

    The function is Python text built from `Dim`s alone: integers, `+ * // min max`, and arguments named a0, a1 and so
    on. No name or text of a model or a file gets into it, and it can call no other builtin.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self._arguments = {name: f"a{place}" for place, name in enumerate(names)}
        self._places: dict[Hashable, int] = {}
        self._texts: list[str] = []
        self._compute: Callable[..., Values] | None = None

    def sizes(self, dims: Sequence[Dim]) -> Picker:
        """Add sizes, and take these out of the values."""
        return _picker([self._place(dim, dim) for dim in dims])

    def bytes(self, arrays: Sequence[tuple[int, tuple[Dim, ...]]]) -> Picker:
        """Add the bytes of arrays, given by the width of an element and the shape; an axis below zero has none."""
        return _picker([self._place(array, *array) for array in arrays])

    def values(self, sizes: Sequence[int]) -> Values:
        """The values of all expressions for the named sizes, in the order of the names."""
        if self._compute is None:
            self._compute = self._compiled(self._texts)
        try:
            return self._compute(*sizes)
        except ZeroDivisionError:
            return tuple([self._value(text, sizes) for text in self._texts])

    def _value(self, text: str, sizes: Sequence[int]) -> int | None:
        try:
            value: int = self._compiled([text])(*sizes)[0]
        except ZeroDivisionError:
            return None
        return value

    def _place(self, key: Hashable, width: Dim, shape: tuple[Dim, ...] = ()) -> int:
        place = self._places.get(key)
        if place is None:
            place = self._places[key] = len(self._texts)
            self._texts.append("*".join([f"({formula(width, self._arguments)})", *map(self._extent, shape)]))
        return place

    def _extent(self, dim: Dim) -> str:
        least = lower_bound(dim)
        text = formula(dim, self._arguments)
        return f"({text})" if least is not None and least >= 0 else f"max(0, {text})"

    def _compiled(self, texts: Sequence[str]) -> Callable[..., Values]:
        arguments = ", ".join(self._arguments.values())
        allowed = {"min": min, "max": max, "__builtins__": {}}
        function: Callable[..., Values] = eval(f"lambda {arguments}: ({''.join(f'{t}, ' for t in texts)})", allowed)
        return function


def _picker(places: Sequence[int]) -> Picker:
    if not places:
        return lambda _: ()
    if len(places) == 1:
        (place,) = places
        return lambda values: (values[place],)
    return itemgetter(*places)
