"""Guards: what a compilation assumes of sizes, which each run makes sure of before it relies on it."""

from __future__ import annotations

from dataclasses import dataclass

from ingot.dims import Dim


@dataclass(frozen=True, slots=True)
class Guard:
    """Two sizes that are equal wherever what was compiled is right; `assumed` says so, and why, in words."""

    left: Dim
    right: Dim
    assumed: str


def sizes_equal(left: Dim, right: Dim) -> Guard:
    """The guard that two sizes are equal."""
    if isinstance(left, int):
        left, right = right, left
    if isinstance(right, int):
        return Guard(left, right, f"size {left} was assumed to be {right}")
    return Guard(left, right, f"sizes {left} and {right} were assumed to be equal")
