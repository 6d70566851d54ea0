"""The schedule of a contraction (GEMM): joined axes, a register tile, and memory for panels and zeros."""

from __future__ import annotations

from dataclasses import replace

from ingot.dtypes import DType
from ingot.loops.ir import LANES, Buffer, ByteDot, Contraction, Index, Load, PairDot, RoundedRows, Tile, extent
from ingot.loops.join_axes import join_axes
from ingot.loops.rewrite import joins
from ingot.schedule.byte_dot import byte_dot, code_dot
from ingot.schedule.matrix_units import gathered_rows, matrix_tile
from ingot.schedule.pair_dot import pair_dot
from ingot.schedule.scratch import THREADS, panel_width
from ingot.schedule.target import Target
from ingot.schedule.tile import code_tile, tile_of
from ingot.schedule.work import UNPACKED_TILES

_MOST_LINES = 64
"""Rows of an image that columns are read from in place: as many are in a cache, whatever lies between them."""


def schedule_contraction(product: Contraction, name: str, target: Target) -> Contraction:
    """A contraction as a tiled matrix product; new buffers begin with `name`.

    Rows of the left operand that lie in its padding are read from a buffer of zeros. A right operand that is not packed
    is read in place, or gets scratch memory for a panel of it.
    """
    product = join_axes(product)
    if product.codes is not None:
        return _schedule_codes(product, name, target)
    zeros = None
    if product.lhs.where:
        inner = product.k[-1]
        zeros = Buffer(f"{name}_zeros", product.lhs.dtype, inner.extent * product.lhs.index.factor(inner))
    product = replace(product, in_line=_is_in_line(product))
    dot = byte_dot(product, target) or pair_dot(product, target)
    if dot is not None and dot.units > 1:
        return _schedule_matrices(replace(product, zeros=zeros), name, dot, target)
    narrows = not product.packed and dot is None and product.groups == 1
    slides = not product.packed and _slides(product, target)
    tile = tile_of(product.dtype, extent(product.m), extent(product.n), target, product.groups, narrows, slides)
    tile = replace(tile, dot=dot)
    product = replace(product, zeros=zeros, tile=tile)
    if isinstance(dot, ByteDot):  # a left operand of zeros that is flipped is none of zeros
        product = replace(product, from_zeros=False)
    if product.packed:
        return product
    if slides and _is_read_in_place(product, tile):
        return replace(product, in_place=True)
    elements = product.depth * THREADS * panel_width(product.dtype, target)
    return replace(product, scratch=(Buffer(f"{name}_panel", product.dtype, elements),))


def _schedule_matrices(product: Contraction, name: str, dot: ByteDot | PairDot, target: Target) -> Contraction:
    """A contraction whose rows and columns are multiplied as matrices."""
    tile = matrix_tile(extent(product.m), extent(product.n), product.groups, dot)
    product = replace(product, tile=tile, from_zeros=False)
    if not product.packed:
        elements = product.depth * THREADS * panel_width(product.dtype, target)
        return replace(product, scratch=(Buffer(f"{name}_panel", product.dtype, elements),))
    return replace(product, scratch=gathered_rows(product, name))


def _is_in_line(product: Contraction) -> bool:
    """Whether rows of the left operand go through several axes that are summed as through one."""
    lhs, pairs = product.lhs, zip(product.k, product.k[1:], strict=False)
    return len(product.k) > 1 and not lhs.where and all(joins(*pair, [lhs.index]) for pair in pairs)


def _slides(product: Contraction, target: Target) -> bool:
    """Whether columns are neighbours, of lines that are read several times: windows that slide over images."""
    rhs = product.rhs
    if not target.masks or product.groups > 1 or rhs.dtype is not product.dtype or rhs.where or len(product.k) < 2:
        return False
    if product.dtype not in (DType.FLOAT32, DType.FLOAT64) or product.lhs.dtype is not product.dtype:
        return False
    return rhs.index.factor(product.n[0]) in LANES


def _is_read_in_place(product: Contraction, tile: Tile) -> bool:
    """Whether columns are not packed: those that a tile of all rows reads once, or of few lines."""
    rows, lines = extent(product.m), extent(product.k[:-1])
    if isinstance(rows, int) and rows <= tile.rows:
        return True
    return product.rhs.index.factor(product.n[0]) == 1 and isinstance(lines, int) and lines <= _MOST_LINES


def _schedule_codes(product: Contraction, name: str, target: Target) -> Contraction:
    """A contraction with codes of few bits: each panel is unpacked where there may be more rows than a tile has."""
    codes, rows = product.codes, extent(product.m)
    assert codes is not None
    dot = code_dot(product, target)
    tile = code_tile(rows, extent(product.n), target, rounded=dot is not None)
    product = replace(product, tile=tile)
    if dot is not None:
        return replace(product, codes=replace(codes, dot=dot))
    if isinstance(rows, int) and rows <= tile.rows:
        return product
    panel = Buffer(f"{name}_panel", product.dtype, THREADS * product.unpacked_rows * tile.columns)
    sums = Buffer(f"{name}_sums", product.dtype, THREADS * UNPACKED_TILES * tile.rows * tile.columns)
    return replace(product, scratch=(panel, sums))


def rounded_before(product: Contraction, name: str) -> tuple[RoundedRows, Contraction]:
    """A contraction that multiplies rows by codes as bytes, in two: what rounds the rows, once for all columns."""
    codes, tile, (k,) = product.codes, product.tile, product.k
    assert codes is not None
    assert tile is not None
    rows = extent(product.m)
    x, buffers = product.lhs, [Buffer(f"{name}_{what}", dtype, rows) for what, dtype in _ROUNDED]
    nest = RoundedRows(product.m, k, x, codes, max(tile.lanes, codes.each), *buffers)
    lines = (nest.line, nest.blocks, nest.blocks)
    rounded, scales, totals = (
        Buffer(buffer.name, buffer.dtype, rows * line) for buffer, line in zip(buffers, lines, strict=True)
    )
    nest = replace(nest, rounded=rounded, scales=scales, totals=totals)
    at: list[Index] = []
    for line in lines:
        terms, step = [], line
        for var in reversed(product.m):
            terms.append((var, step))
            step = step * var.extent
        at.append(Index(tuple(reversed(terms))))
    numbers = (Load(DType.FLOAT32, scales, at[1]), Load(DType.INT32, totals, at[2]))
    return nest, replace(product, lhs=Load(DType.INT8, rounded, at[0] + Index(((k, 1),))), rounded=numbers)


_ROUNDED = (("bytes", DType.INT8), ("scales", DType.FLOAT32), ("sums", DType.INT32))
"""What is stored of rows that are rounded."""


def packed_before(product: Contraction, name: str, target: Target) -> tuple[Contraction, Contraction]:
    """A contraction that packs its right operand, in two: one that stores all panels, and one that reads them."""
    assert not product.packed
    width = panel_width(product.dtype, target)
    elements = extent(product.batch) * product.depth * (extent(product.n) * product.groups + width - 1)
    panels = Buffer(f"{name}_panels", product.dtype, elements)
    packing = replace(
        product, lhs=product.rhs, body=(), scratch=(), zeros=None, panels=panels, number=None, from_zeros=False
    )
    return packing, replace(product, rhs=Load(product.dtype, panels, Index()), packed=True, scratch=())
