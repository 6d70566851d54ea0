"""Rows with padding, in parts: what lies beside them is stored by itself, and no vector between asks for conditions."""

from __future__ import annotations

from dataclasses import replace

from ingot.loops.ir import For, Index, Inside, Kind, Literal, Load, Position, Statement, Store, Var
from ingot.loops.rewrite import parts, with_index
from ingot.loops.walk import Node, transform
from ingot.schedule.copies import kind_of_row
from ingot.schedule.target import Target

_FEWEST_VECTORS = 4
"""Vectors of a row from which on parts pay, where padding takes less than one."""


def in_parts(body: tuple[Statement, ...], across: Var, target: Target) -> tuple[Statement, ...] | None:
    """The loops over a row of which what is read is padded at its ends; None for any other row.

    All that is read along the row is padded at the same places, and lies contiguous.
    """
    if len(body) != 1 or not isinstance(body[0], Store) or not isinstance(across.extent, int):
        return None
    (store,) = body
    assert isinstance(store, Store)
    loads = [part for part in parts([store.value]) if isinstance(part, Load)]
    bounds = {_inside(load, across) for load in loads if _moves(load, across)}
    if len(bounds) != 1 or any(isinstance(part, Position) for part in parts([store.value])):
        return None
    (bound,) = bounds
    lanes = target.lanes(store.buffer.dtype.numpy.itemsize)
    if bound is None or not target.masks:
        return None
    first, end = bound
    before, length, after = first, end - first, across.extent - end
    if length < _FEWEST_VECTORS * lanes or max(before, after) > lanes or before + after == 0:
        return None

    def filled(node: Node) -> Node:
        return Literal(node.dtype, node.fill) if isinstance(node, Load) and _moves(node, across) else node

    def within(node: Node) -> Node:
        if not isinstance(node, Load):
            return node
        return replace(node, where=tuple(inside for inside in node.where if inside.index.factor(across) == 0))

    outside, between = transform(store, filled), transform(store, within)
    loops: list[Statement] = []
    for name, start, size, statement in (
        ("b", 0, before, outside),
        ("", first, length, between),
        ("e", end, after, outside),
    ):
        if size > 0:
            var = Var(f"{across.name}{name}", size)
            moved = with_index((statement,), across, Index(((var, 1),), start))
            loops.append(For(var, moved, kind_of_row(var, moved, target) if statement is between else Kind.VECTOR))
    return tuple(loops)


def _moves(load: Load, across: Var) -> bool:
    """Whether a load, or whether it is inside, depends on the place in a row."""
    return any(index.factor(across) != 0 for index in (load.index, *(inside.index for inside in load.where)))


def _inside(load: Load, across: Var) -> tuple[int, int] | None:
    """The places of a row where a load is inside of its padding; None if that is not known, or it is not contiguous."""
    along = [inside for inside in load.where if inside.index.factor(across) != 0]
    if load.index.factor(across) != 1 or len(along) != 1:
        return None
    return _interval(along[0], across)


def _interval(inside: Inside, across: Var) -> tuple[int, int] | None:
    terms, offset, size, extent = inside.index.terms, inside.index.offset, inside.size, across.extent
    if (
        terms != ((across, 1),)
        or not isinstance(offset, int)
        or not isinstance(size, int)
        or not isinstance(extent, int)
    ):
        return None
    return max(0, -offset), min(extent, size - offset)
