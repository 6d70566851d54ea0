"""Right operands that a run computes, without the way through a panel where that takes longer than the product.

A panel is packed for many rows. One row of a product reads every element of the right operand once, so that it is read
where it lies: along its columns, where these are contiguous, or as one dot product for each column, where the summed
axis is. A panel out of such columns is packed in square blocks, which are transposed in registers.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd

from ingot.codegen.llvm import ir, scalars
from ingot.codegen.llvm.builder import Builder
from ingot.codegen.llvm.loops import Loops
from ingot.codegen.llvm.share import smaller
from ingot.codegen.llvm.transpose import transposed
from ingot.codegen.llvm.types import I32, I64, PTR, element, lane_numbers, stack_slot, vector, width
from ingot.dtypes import DType
from ingot.loops.ir import LANES, Contraction, Tile, Var

_DOT_COLUMNS = 8
"""Columns whose dot products are summed at once: as many sums hide the time of a multiply-add."""

MOST_DOT_ROWS = 6
"""Rows up to which dot products take less time than to transpose the columns."""

_ROW_TERMS = 4
"""Terms of a row that are summed apart from each other, to the same end."""

MOST_ROWS = 4
"""Rows up to which columns that are contiguous are read where they lie."""


def reads_columns(product: Contraction) -> bool:
    """Whether the elements of a row of the right operand are contiguous, and rows of one axis are summed."""
    return _is_plain(product) and len(product.k) == 1 and product.rhs.index.factor(product.n[0]) == 1


def reads_dots(product: Contraction) -> bool:
    """Whether columns of the right operand, and rows of the left one, are contiguous along the one axis summed."""
    if not _is_plain(product) or len(product.k) != 1 or product.lhs.dtype is not product.dtype:
        return False
    (k,) = product.k
    return product.rhs.index.factor(k) == 1 == product.lhs.index.factor(k) and not reads_columns(product)


def dot_columns(tile: Tile) -> int:
    """How many dot products are summed at once: no more than a tile has columns, which are a multiple of them."""
    return gcd(tile.columns, _DOT_COLUMNS)


def packs_blocks(product: Contraction) -> bool:
    """Whether columns of the right operand are contiguous along the innermost axis that is summed, and no row is."""
    innermost, n = product.rhs.index.factor(product.k[-1]), product.rhs.index.factor(product.n[0])
    return _is_plain(product) and innermost == 1 != n


def packs_columns(product: Contraction) -> bool:
    """Whether columns of the right operand are neighbours, so few elements apart that contiguous vectors have them."""
    return _is_plain(product) and product.rhs.index.factor(product.n[0]) in LANES


def _is_plain(product: Contraction) -> bool:
    """Whether the right operand is read as it lies in memory, an element for each term and column."""
    rhs, tile = product.rhs, product.tile
    assert tile is not None
    return (
        not product.packed
        and tile.dot is None
        and tile.lanes > 1
        and product.groups == 1
        and len(product.n) == 1
        and rhs.dtype is product.dtype
        and rhs.dtype in (DType.FLOAT32, DType.FLOAT64)
        and not rhs.where
        and all(isinstance(term, Var) for term, _ in rhs.index.terms)
    )


def store_row(
    loops: Loops,
    product: Contraction,
    row: ir.Value,
    first: ir.Value,
    depth: ir.Value,
    targets: Sequence[ir.Value],
) -> None:
    """Store the sums of a row times as many vectors of columns as `targets`, which begin at `first`, at these."""
    b, (k,) = loops.b, product.k
    assert product.tile is not None
    kind, row_kind, lanes = element(product.dtype), element(product.lhs.dtype), product.tile.lanes
    whole = vector(kind, lanes)
    step, apart = (loops.frame.size(load.index.factor(k)) for load in (product.lhs, product.rhs))
    cells = [[_zeros(b, whole) for _ in targets] for _ in range(_ROW_TERMS)]

    def add(term: ir.Value, sums: Sequence[ir.Value]) -> None:
        one = b.load(b.gep(row, [b.mul(term, step)], source_etype=row_kind), typ=row_kind)
        spread = scalars.cast(b, loops.splat(one, lanes), product.lhs.dtype, product.dtype)
        start = b.mul(term, apart)
        for number, cell in enumerate(sums):
            place = b.gep(first, [b.add(start, I64(number * lanes))], source_etype=kind)
            b.store(
                scalars.multiply_add(b, spread, _load(b, place, whole, product.dtype), b.load(cell, typ=whole)), cell
            )

    end = b.and_(depth, I64(-_ROW_TERMS))
    with loops.loop(I64(0), end, _ROW_TERMS) as start:
        for number, sums in enumerate(cells):
            add(b.add(start, I64(number)), sums)
    with loops.loop(end, depth, 1) as term:
        add(term, cells[0])
    for number, target in enumerate(targets):
        values: list[ir.Value] = [b.load(sums[number], typ=whole) for sums in cells]
        while len(values) > 1:
            values = [b.fadd(*values[place : place + 2]) for place in range(0, len(values), 2)]
        b.store(values[0], target)


def store_dots(
    loops: Loops,
    product: Contraction,
    row: ir.Value,
    columns: Sequence[ir.Value],
    depth: ir.Value,
    targets: Sequence[ir.Value],
) -> None:
    """Store the dot products of a row with each of `columns`, of `depth` elements, at their targets."""
    b, dtype = loops.b, product.dtype
    assert product.tile is not None
    kind, lanes = element(dtype), product.tile.lanes
    whole = vector(kind, lanes)
    cells = [_zeros(b, whole) for _ in columns]

    def add(start: ir.Value, mask: ir.Value | None) -> None:
        def loaded(base: ir.Value) -> ir.Value:
            return _load(b, b.gep(base, [start], source_etype=kind), whole, dtype, mask)

        left = loaded(row)
        for column, cell in zip(columns, cells, strict=True):
            b.store(scalars.multiply_add(b, left, loaded(column), b.load(cell, typ=whole)), cell)

    end = b.and_(depth, I64(-lanes))
    with loops.loop(I64(0), end, lanes) as start:
        add(start, None)
    with b.if_then(b.icmp_signed("<", end, depth)):
        numbers = lane_numbers(I64, lanes)
        add(end, b.icmp_signed("<", numbers, loops.splat(b.sub(depth, end), lanes)))
    for cell, target in zip(cells, targets, strict=True):
        b.store(loops.across(b.load(cell, typ=whole), b.fadd), target)


def _zeros(b: Builder, kind: ir.Type) -> ir.Value:
    """An accumulator on the stack, which LLVM promotes to a register."""
    cell = stack_slot(b, kind)
    b.store(ir.Constant(kind, None), cell)
    return cell


def _load(b: Builder, place: ir.Value, kind: ir.Type, dtype: DType, mask: ir.Value | None = None) -> ir.Value:
    """A vector that may lie anywhere; zeros where it is masked off."""
    if mask is not None:
        arguments = [place, I32(width(dtype)), mask, ir.Constant(kind, None)]
        return scalars.intrinsic(b, "masked.load", kind, arguments, kind, PTR)
    value = b.load(place, typ=kind)
    value.align = width(dtype)
    return value


def pack_blocks(
    loops: Loops,
    tile: Tile,
    dtype: DType,
    base: ir.Value,
    stride: ir.Value,
    columns: ir.Value,
    depth: ir.Value,
    panel: ir.Value,
) -> None:
    """Pack columns of `depth` elements, at least as many as lanes, that begin `stride` apart from `base` on.

    What follows the last of the `columns` in its vector is that column again, and vectors behind it stay as they are:
    their sums are never stored.
    """
    b, kind, lanes = loops.b, element(dtype), tile.lanes
    whole = vector(kind, lanes)
    last, end = b.sub(columns, I64(1)), b.sub(depth, I64(lanes))
    with loops.loop(I64(0), smaller(b, columns, I64(tile.columns)), lanes) as first:
        places = [smaller(b, b.add(first, I64(lane)), last) for lane in range(lanes)]
        starts = [b.gep(base, [b.mul(place, stride)], source_etype=kind) for place in places]
        with loops.loop(I64(0), depth, lanes) as step:
            row = smaller(b, step, end)  # the last block begins earlier, and stores rows of the one before again
            lines = [_load(b, b.gep(start, [row], source_etype=kind), whole, dtype) for start in starts]
            for number, values in enumerate(transposed(b, lines)):
                place = b.add(b.mul(b.add(row, I64(number)), I64(tile.columns)), first)
                store = b.store(values, b.gep(panel, [place], source_etype=kind))
                store.align = width(dtype) * lanes
