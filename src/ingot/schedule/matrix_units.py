"""Products by instructions on matrices, those of AMX: which contractions are multiplied so, and in which tiles."""

from __future__ import annotations

from ingot.dims import Dim
from ingot.dtypes import DType
from ingot.loops.ir import MATRIX_ROWS, Buffer, ByteDot, Contraction, PairDot, Tile, extent
from ingot.schedule.scratch import THREADS
from ingot.schedule.target import Dot, Target

_UNITS = 16
"""The rows of a panel that an instruction multiplies: 64 bytes of a row of the left operand."""

_LANES = 16
"""The columns of a matrix of sums."""

_FEWEST_ROWS = 4
"""Rows of bytes from which on matrices are faster: fewer are multiplied by vectors as fast as weights are read."""

_FEWEST_TERMS = 64
"""Terms of rows that have to be gathered from which on matrices are faster: so many are in one."""

_SUMS = 4
"""Matrices of sums in registers: as many instructions are under way at once, and as many registers are left."""


def matrix_units(product: Contraction, rest: bool, target: Target) -> int:
    """How many rows of a panel a target multiplies at once; 1 without instructions for that.

    The terms of a row must be neighbours; `rest` is whether some may be left over at the end of the innermost axis.
    Rows are gathered, so that matrices lie side by side, where weights are packed ahead. Elsewhere each panel would be
    packed for every block of rows: these are read where they lie, and must have one distance.
    """
    needed = Dot.AMX_BF16 if product.lhs.dtype is DType.BFLOAT16 else Dot.AMX_INT8
    inner = product.k[-1]
    if needed not in target.dots or target.vector != 64 or (product.lhs.index.factor(inner) != 1 != inner.extent):
        return 1
    is_plain = product.has_plain_rows(rest)
    if product.is_of_bytes and _is_small(product, is_plain):
        return 1
    return _UNITS if product.packed or is_plain else 1


def _is_small(product: Contraction, is_plain: bool) -> bool:
    """Whether vectors multiply bytes as fast: few rows, for which weights are read, or few terms that lie apart."""
    rows, terms = extent(product.m), extent(product.k)
    if isinstance(rows, int) and rows < _FEWEST_ROWS:
        return True
    return not is_plain and isinstance(terms, int) and terms < _FEWEST_TERMS


def matrix_tile(rows: Dim, columns: Dim, groups: int, dot: ByteDot | PairDot) -> Tile:
    """The tile for a product of so many rows and columns, the latter in each of `groups`."""
    vectors = groups if groups > 1 else 1 if isinstance(columns, int) and columns <= _LANES else 2
    if groups == 1 and isinstance(rows, int) and rows <= MATRIX_ROWS and vectors > 1:
        vectors = _SUMS
    return Tile(MATRIX_ROWS * (_SUMS // vectors), vectors, _LANES, dot)


def gathered_rows(product: Contraction, name: str) -> tuple[Buffer, ...]:
    """Memory for the rows that are gathered, of each thread."""
    return (Buffer(f"{name}_rows", DType.INT8, THREADS * product.gathered_bytes),)
