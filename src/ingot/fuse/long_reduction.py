"""Reductions of few long rows: they are stored by themselves, so that threads may share each row."""

from __future__ import annotations

from ingot.dims import Dim

_MOST_ROWS = 8
"""Rows that are few: with more of them, threads share rows."""

_LONG = 1 << 15
"""Elements of a row that are worth dividing."""


def is_few_and_long(rows: Dim, length: Dim) -> bool:
    """Whether rows are too few for threads to share them, and each is worth sharing, or may be."""
    return isinstance(rows, int) and rows <= _MOST_ROWS and (not isinstance(length, int) or length >= _LONG)
