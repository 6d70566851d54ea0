"""The channels of values: where they lie, which of them go together, and which are known to be constant."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ingot.dataclass import dataclass
from ingot.dtypes import Array

UNKNOWN = np.nan
"""The constant of a channel that has none."""


@dataclass(frozen=True, slots=True)
class Channels:
    """The entries of a value along one of its axes: the channel that each is of, and the number that it always holds.

    `constants` are NaN where an entry is computed. Entries of one channel, as after a Flatten, share their number.
    """

    axis: int
    ids: Array
    constants: Array

    @property
    def width(self) -> int:
        return len(self.ids)

    def moved(self, axis: int) -> Channels:
        """The same channels along another axis."""
        return Channels(axis, self.ids, self.constants)

    def computed(self) -> Channels:
        """The same channels where no number but zero passes unchanged: a mean, or a maximum with padding."""
        return Channels(self.axis, self.ids, np.where(self.constants == 0, 0.0, UNKNOWN))


class Numbering:
    """Numbers for channels; those that can only be removed together are joined, and have one need."""

    def __init__(self) -> None:
        self._parents: list[int] = []
        self._needed: set[int] = set()
        self._stays: Array | None = None

    def fresh(self, count: int) -> Array:
        """Numbers of new channels."""
        start = len(self._parents)
        self._parents.extend(range(start, start + count))
        return np.arange(start, start + count)

    def join(self, one: Array, other: Array) -> None:
        """Have channels go or stay together, pair by pair."""
        for a, b in zip(one.tolist(), other.tolist(), strict=True):
            first, second = self._root(a), self._root(b)
            if first != second:
                self._parents[second] = first
        self._stays = None

    def need(self, ids: Iterable[int]) -> None:
        """Have channels stay."""
        self._needed.update(int(number) for number in ids)
        self._stays = None

    def stays(self, ids: Array) -> Array:
        """Which channels something depends on."""
        if self._stays is None:
            needed = {self._root(number) for number in self._needed}
            self._stays = np.array([self._root(number) in needed for number in range(len(self._parents))], bool)
        staying: Array = self._stays[ids]
        return staying

    def _root(self, number: int) -> int:
        parents = self._parents
        while parents[number] != number:
            parents[number] = parents[parents[number]]
            number = parents[number]
        return number
