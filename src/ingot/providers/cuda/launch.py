"""The grid that a kernel gets for the sizes of a run."""

from __future__ import annotations

from ingot.codegen.nvptx.kernel import MOST_GROUP, THREADS, Shape
from ingot.codegen.nvptx.rows import HELD

_WAVES = 8
"""Blocks for each multiprocessor that run at once, about; and so often as many are launched at most."""

_VECTORS_A_THREAD = HELD
"""Vectors of a row that each thread of a group has, if there are not too many: as many as it holds."""


def grid_of(shape: Shape, extents: list[int], multiprocessors: int) -> tuple[int, tuple[int, int]] | None:
    """The blocks of a grid, and the threads of a block; None if there is nothing to do."""
    most = multiprocessors * _WAVES * _WAVES
    if 0 in extents[:1]:
        return None
    if shape is Shape.THREADS:
        (count,) = extents
        return min(-(-count // THREADS), most), (THREADS, 1)
    rows, length = extents
    group = 1
    while group * _VECTORS_A_THREAD < length and group < MOST_GROUP:
        group *= 2
    groups = max(1, THREADS // group)
    return min(-(-rows // groups), most), (group, groups)
