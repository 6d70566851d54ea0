"""Kernels as less code: tiles of few rows, and loops in place of rows that are jammed.

They compute the same to the bit, since each result is summed in the same order, and lie in memory as before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeAlias

from ingot.codegen.llvm.vectors import invariants
from ingot.loops.ir import (
    Apply,
    Attention,
    Contraction,
    Cycle,
    For,
    Kernel,
    KernelNest,
    Kind,
    Let,
    Local,
    Recurrence,
    Scalar,
    Statement,
    Store,
    Tile,
    Var,
    Winograd,
)
from ingot.loops.rewrite import Reindexed, parts, within

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
    if statement.kind is not Kind.JAM:
        return For(statement.var, tuple(map(_rolled, statement.body)), statement.kind)
    rows = {inner.var for inner in within((statement,)) if isinstance(inner, For) and inner.kind is Kind.JAM}
    return _serial(For(statement.var, _with_gates(statement.body, rows, set()), Kind.SERIAL))


def _serial(loop: For) -> For:
    """A loop, and those in it, that go through jammed rows one after another."""
    body = tuple(_serial(inner) if isinstance(inner, For) else inner for inner in loop.body)
    return For(loop.var, body, Kind.SERIAL if loop.kind is Kind.JAM else loop.kind)


def _with_gates(statements: Sequence[Statement], rows: set[Var], names: set[str]) -> tuple[Statement, ...]:
    """Statements of jammed rows, with locals for the sigmoids that are factors and the same in all rows.

    Jammed rows compute such a sigmoid once, and multiply by it. One that is computed where it is a factor makes a
    quotient, which is rounded differently. `names` are the locals that are set before, to which these are added.
    """
    result: list[Statement] = []
    for statement in statements:
        if isinstance(statement, For):
            result.append(For(statement.var, _with_gates(statement.body, rows, names), statement.kind))
            continue
        own = set() if isinstance(statement, Store) else {statement.name}
        replaced = Reindexed(lambda index: index)
        for gate in _gates(invariants((statement.value,), Apply, rows, names | own), statement.value):
            name = f"gate{len(names)}"
            names.add(name)
            result.append(Let(name, gate))
            replaced.replace(gate, Local(gate.dtype, name))
        names |= own
        result.append(replaced.statement(statement))
    return tuple(result)


def _gates(among: Sequence[Scalar], value: Scalar) -> list[Scalar]:
    """The sigmoids among parts of an expression that are factors in it."""
    products = [part for part in parts([value]) if isinstance(part, Apply) and part.function == "multiply"]
    factors = {id(factor) for product in products for factor in product.arguments}
    return [part for part in among if isinstance(part, Apply) and part.function == "sigmoid" and id(part) in factors]
