"""Kernels as less code: tiles of few rows, and loops in place of rows that are jammed.

They compute the same to the bit, since each result is summed in the same order, and lie in memory as before.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypeAlias

from ingot.loops.ir import (
    Attention,
    Contraction,
    Cycle,
    For,
    Kernel,
    KernelNest,
    Kind,
    Recurrence,
    Statement,
    Tile,
    Winograd,
)

Step: TypeAlias = tuple[Statement, ...] | Contraction

_SUMS = 4
"""Vectors of sums that a tile has at least: as many as are added one after another in the time that one takes."""


def compacted(kernel: Kernel) -> Kernel:
    """A scheduled kernel as one of less code, with the same results, buffers, and layout of what is packed."""
    return replace(kernel, nests=tuple(map(_compacted, kernel.nests)))


def _compacted(nest: KernelNest) -> KernelNest:
    match nest:
        case Recurrence():
            return replace(nest, cycles=tuple(map(_compacted_cycle, nest.cycles)))
        case Winograd() | Attention() if nest.tile is not None:
            return replace(nest, tile=_lowered(nest.tile))
        case tuple() | Contraction():
            return _compacted_step(nest)
    return nest


def _compacted_cycle(cycle: Cycle) -> Cycle:
    return replace(cycle, nests=tuple(map(_compacted_step, cycle.nests)))


def _compacted_step(nest: Step) -> Step:
    if not isinstance(nest, Contraction):
        return tuple(map(_rolled, nest))
    if nest.tile is None or nest.tile.of_matrices or nest.codes is not None:
        return nest  # of codes, scratch memory is for the rows of the tile
    return replace(nest, tile=_lowered(nest.tile))


def _lowered(tile: Tile) -> Tile:
    return replace(tile, rows=min(tile.rows, max(1, _SUMS // tile.vectors)))


def _rolled(statement: Statement) -> Statement:
    """A statement in which rows that are jammed are gone through one after another."""
    if not isinstance(statement, For):
        return statement
    kind = Kind.SERIAL if statement.kind is Kind.JAM else statement.kind
    return For(statement.var, tuple(map(_rolled, statement.body)), kind)
