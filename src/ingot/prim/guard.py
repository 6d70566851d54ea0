"""Guards: what a compilation assumes of sizes, checked by each run before it relies on it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias

from ingot.dataclass import dataclass
from ingot.dims import Dim, evaluate, symbols

BROADCASTS = "broadcasting"
"""The choice that sizes along one axis are equal where only a run can compare them, for all of a model together."""


@dataclass(frozen=True, slots=True)
class Guard:
    """Two sizes that a compilation assumes to be equal; `otherwise` is the message where they differ."""

    left: Dim
    right: Dim
    otherwise: str = "sizes that were assumed to be equal are not"
    choice: str = ""
    """The choice that rests on it, by name, where the model can be compiled with the other one; else empty."""

    @property
    def names(self) -> frozenset[str]:
        """The named sizes that it depends on."""
        return symbols(self.left) | symbols(self.right)

    def failure(self, sizes: Mapping[str, int]) -> str:
        """The message of a failed guard, with the values of its sizes."""
        return f"{self.otherwise}: {_shown(self.left, sizes)}, {_shown(self.right, sizes)}"


Guards: TypeAlias = tuple[Guard, ...]


def assumed_equal(own: Iterable[Dim], assumed: Iterable[Dim]) -> Iterator[Guard]:
    """The guards of a shape that is assumed to be another, axis by axis."""
    for one, other in zip(own, assumed, strict=True):
        if one != other:
            yield Guard(one, other, choice=BROADCASTS)


def _shown(dim: Dim, sizes: Mapping[str, int]) -> str:
    if isinstance(dim, int) or not symbols(dim) <= sizes.keys():
        return str(dim)
    try:
        return f"{dim} = {evaluate(dim, sizes)}"
    except (ValueError, ZeroDivisionError):
        return f"{dim}, which has no value"
