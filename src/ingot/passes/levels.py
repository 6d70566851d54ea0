"""The levels of optimisation: how far a model may be changed."""

from __future__ import annotations

from ingot.errors import InputError

LEVELS = (0, 1, 2)
"""Level 1 leaves every result as it is, bit for bit; level 2 changes results by rounding."""


def refuse_level(level: int) -> None:
    """InputError if there is no such level."""
    if level not in LEVELS:
        raise InputError(f"there is no level {level}", hint=f"the levels are {', '.join(map(str, LEVELS))}")
