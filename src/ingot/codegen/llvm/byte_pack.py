"""Panels of bytes: units of several terms of a column side by side, after a row of what each sum starts with."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ingot.dtypes import Array, DType
from ingot.loops.ir import (
    Apply,
    Buffer,
    ByteDot,
    Contraction,
    For,
    Index,
    Inside,
    Kind,
    Let,
    Literal,
    Load,
    Local,
    Scalar,
    Statement,
    Store,
    Update,
    Var,
)
from ingot.loops.rewrite import Reindexed

_UNITS = {4: np.int8, 2: np.int16, 1: np.int32}
"""The type of a term, by how many there are in a unit."""


def byte_panels(panels: Array, dot: ByteDot, inner: int) -> Array:
    """Panels [batch, panel, k, column] of signed bytes, as units: [batch, panel, row, column] of int32s.

    `inner` is the length of the innermost axis of `k`, each of which begins with a unit of its own.
    """
    batch, count, depth, columns = panels.shape
    units = -(-inner // dot.terms)
    outer = depth // inner if inner else 0
    terms = np.zeros((batch, count, outer, units * dot.terms, columns), _UNITS[dot.terms])
    terms[:, :, :, :inner] = panels.reshape(batch, count, outer, inner, columns)
    split = terms.reshape(batch, count, outer * units, dot.terms, columns)
    joined = np.ascontiguousarray(split.swapaxes(3, 4)).view(np.int32)[..., 0]
    if dot.units > 1:
        return in_matrices(joined, dot.units)
    result = np.empty((batch, count, outer * units + 1, columns), np.int32)
    result[:, :, 0] = panels.sum(axis=2, dtype=np.int32) * np.int32(_start_factor(dot))
    result[:, :, 1:] = joined
    return result


def in_matrices(panels: Array, units: int) -> Array:
    """Panels [batch, panel, row, column] with rows of zeros behind the last, up to a multiple of `units`."""
    batch, count, rows, columns = panels.shape
    if rows % units == 0:
        return panels
    zeros = np.zeros((batch, count, -rows % units, columns), panels.dtype)
    return np.concatenate((panels, zeros), axis=2)


def pack_bytes(product: Contraction, buffer: Buffer, first: Var, place: Var, number: Var) -> tuple[Statement, ...]:
    """The statements that pack panel `number`, the columns from `first` on, into a buffer; `place` is one of them."""
    tile = product.tile
    assert tile is not None
    assert isinstance(tile.dot, ByteDot)
    dot, (*outer, inner) = tile.dot, product.k
    statements: list[Statement] = []
    base = Index(((number, product.depth * tile.columns), (place, 1)))
    unit = Var("unit", -(-inner.extent // dot.terms))
    begin = base if tile.of_matrices else base.plus(tile.columns)
    target, step = begin + Index(((unit, tile.columns),)), unit.extent * tile.columns
    for var in reversed(outer):
        target = target + Index(((var, step),))
        step = step * var.extent
    stores: list[Statement] = []
    for group in range(product.groups):
        own = group * (tile.columns // product.groups)
        source = padded_columns(product, first, place, group)
        if not tile.of_matrices:
            start: tuple[Statement, ...] = (Store(buffer, base.plus(own), Literal(DType.INT32, 0)),)
            if dot.flipped:
                start = _starts(product, source, dot, Store(buffer, base.plus(own), Local(DType.INT32, "start")))
            statements.append(For(place, start, Kind.VECTOR))
        stores.append(For(place, (Store(buffer, target.plus(own), _unit(source, inner, unit, dot)),), Kind.VECTOR))
    return (*statements, *loops_around((*outer, unit), stores), *zero_rows(product, buffer, number))


def zero_rows(product: Contraction, buffer: Buffer, number: Var) -> tuple[Statement, ...]:
    """The statements that store zeros behind the last units of panel `number`, where it is one of matrices."""
    tile, missing = product.tile, product.depth - product.units
    assert tile is not None
    if not tile.of_matrices or missing == 0:
        return ()
    row, column = Var("row", missing), Var("column", tile.columns)
    places = ((number, product.depth * tile.columns), (row, tile.columns), (column, 1))
    store = Store(buffer, Index(places, product.units * tile.columns), Literal(buffer.dtype, 0))
    return loops_around((row,), (For(column, (store,), Kind.VECTOR),))


def moved_load(load: Load, var: Var, index: Index) -> Load:
    """A load with an index in the place of a variable."""

    def change(original: Index) -> Index:
        factor = original.factor(var)
        rest = Index(tuple(item for item in original.terms if item[0] is not var), original.offset)
        return rest + index.times(factor)

    changed = Reindexed(change).scalar(load)
    assert isinstance(changed, Load)
    return changed


def padded_columns(product: Contraction, first: Var, place: Var, group: int) -> Load:
    """The elements of the columns of a group, zeros past the last one."""
    (column,) = product.n
    inside = Inside(Index(((first, 1), (place, 1))), column.extent)
    source = moved_load(product.rhs, column, Index(((first, 1), (place, 1)), column.extent * group))
    return Load(source.dtype, source.buffer, source.index, (*source.where, inside), 0)


def loops_around(variables: Sequence[Var], body: Sequence[Statement]) -> tuple[Statement, ...]:
    """Nested loops over variables, the first outermost, around a body."""
    statements = tuple(body)
    for var in reversed(variables):
        statements = (For(var, statements),)
    return statements


def _start_factor(dot: ByteDot) -> int:
    """What the sum of a column is multiplied by to be what its sums start with."""
    return (-128 if dot.unsigned else 128) if dot.flipped else 0


def _starts(product: Contraction, source: Load, dot: ByteDot, store: Store) -> tuple[Statement, ...]:
    """Store what the sums of a column start with: its own sum, times a factor."""
    add = Update("start", "add", Apply(DType.INT32, "cast", (source,)))
    total = Apply(DType.INT32, "multiply", (store.value, Literal(DType.INT32, _start_factor(dot))))
    return (
        Let("start", Literal(DType.INT32, 0)),
        *loops_around(product.k, (add,)),
        Store(store.buffer, store.index, total),
    )


def _unit(source: Load, inner: Var, unit: Var, dot: ByteDot) -> Scalar:
    """The terms of a unit, the first in its lowest bits, zeros past the last."""
    joined: Scalar | None = None
    bits = 32 // dot.terms
    narrow, whole = {4: (DType.INT8, DType.UINT8), 2: (DType.INT16, DType.UINT16), 1: (DType.INT32,) * 2}[dot.terms]
    for term in range(dot.terms):
        at = Index(((unit, dot.terms),), term)
        load = moved_load(source, inner, at)
        if dot.rest:
            load = Load(load.dtype, load.buffer, load.index, (*load.where, Inside(at, inner.extent)), 0)
        value: Scalar = load
        if narrow is not DType.INT8:
            value = Apply(narrow, "cast", (value,))
        if dot.terms > 1:
            value = Apply(DType.INT32, "cast", (Apply(whole, "bitcast", (value,)),))
        if term:
            value = Apply(DType.INT32, "shift_left", (value, Literal(DType.INT32, bits * term)))
        joined = value if joined is None else Apply(DType.INT32, "add", (joined, value))
    assert joined is not None
    return joined
