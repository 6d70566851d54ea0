"""Source: what the converter of a framework returns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from ingot.dtypes import Array
from ingot.ir.model import Model

Feeds: TypeAlias = Mapping[str, Array]


@dataclass(frozen=True, slots=True)
class Tolerance:
    """How far a number may be from the original's: `absolute`, plus `relative` times the original.

    `scaled` times the largest of the original's values is added: sums over large values leave that much in small ones.
    An `absolute` of infinity is for what is drawn at random: shapes and element types are compared.
    """

    relative: float = 1e-5
    absolute: float = 1e-6
    scaled: float = 0.0


@dataclass(frozen=True, slots=True)
class Source:
    """A model in the newest operators, and all that is needed to compare it with the original.

    `original` runs the original on feeds named like the inputs of `model`, and gives the outputs in the order of the
    model's: arrays, or for sequences and maps lists and dicts. `examples` are feeds: the user's first, then variants.
    `inside` gives values of the original by the names that the same values have in `model`, as far as it knows them.
    `tolerances` are by output; integers, booleans and strings must be equal whatever they say.
    """

    model: Model
    original: Callable[[Feeds], list[Any]]
    examples: list[dict[str, Array]]
    inside: Callable[[Feeds], dict[str, Array]] | None = None
    tolerances: Mapping[str, Tolerance] = field(default_factory=dict)
    tolerance: Tolerance = Tolerance()
    """Of outputs that `tolerances` does not name."""
