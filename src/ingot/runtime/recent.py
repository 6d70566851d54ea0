"""Tables of what was computed lately, which many threads read and add to."""

from __future__ import annotations

from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")


def remember(table: dict[K, V], key: K, value: V, most: int) -> None:
    """Enter a value into a table of at most so many, of which those entered first are forgotten.

    Threads that do so at once need no lock, which a fork could leave held for ever: each step is one of the dict alone.
    """
    if key not in table:
        for oldest in list(table)[: max(0, len(table) - most + 1)]:
            table.pop(oldest, None)
    table[key] = value
