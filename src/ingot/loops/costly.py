"""Functions of one element that take long."""

from __future__ import annotations

COSTLY = frozenset(
    {"exp", "log", "expm1", "log1p", "tanh", "erf", "sin", "cos", "tan", "power", "sigmoid", "sinh", "cosh"}
)
"""Functions that take longer than a store and a load."""
