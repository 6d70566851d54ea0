"""Rows that are repeated, and repeated again as parts of longer ones: the longer ones are stored, and copied whole."""

from __future__ import annotations

from collections.abc import Iterator

from ingot.fuse.uses import Uses
from ingot.prim.make import count
from ingot.prim.tensor import Expand, Reshape, Tensor

_SHORT = 128
"""Elements of a row below which copying it takes longer to begin than to end."""


def repeated_rows(uses: Uses) -> Iterator[Tensor]:
    """What results repeat, where that is itself made of short rows that are repeated."""
    for result in uses.results:
        outer = result.x if isinstance(result, Reshape) else result
        if isinstance(outer, Expand) and isinstance(outer.x, Reshape):
            inner = outer.x.x
            if isinstance(inner, Expand) and _repeats_short_rows(inner) and not inner.is_constant:
                yield outer.x


def _repeats_short_rows(tensor: Expand) -> bool:
    last = max(axis for axis, size in enumerate(tensor.shape) if tensor.x.shape[axis] != size)
    row = count(tensor.shape[last + 1 :])
    return isinstance(row, int) and row < _SHORT
