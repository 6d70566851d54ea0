"""Assumptions: what a plan was compiled with besides what the model says of itself, as runs have shown it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from ingot.dataclass import dataclass
from ingot.ir.types import Shape
from ingot.runtime.observed_types import ObservedTypes


@dataclass(frozen=True, slots=True)
class Assumptions:
    """The shapes of inputs, in whose place the model's own count for nothing; choices; types of values."""

    shapes: Mapping[str, Shape] | None = None
    reversed_choices: frozenset[str] = frozenset()
    """Choices by sizes, as guards name them, that are made the other way than at first."""
    types: ObservedTypes = field(default_factory=dict)
    """Those of values whose rank is unknown."""

    @property
    def are_of_the_model(self) -> bool:
        """Whether nothing but types of values is assumed, as for the first plan of a session."""
        return self.shapes is None and not self.reversed_choices
