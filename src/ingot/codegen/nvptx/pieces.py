"""Operands of a product, copied into shared memory in pieces of neighbours: matrices, and windows over images.

What is the same for all tiles is computed once: of a row, its place in memory and the coordinates that conditions ask
for. Along the summed axis a thread has one place, which is carried from tile to tile: no index is divided.
"""

from __future__ import annotations

from collections.abc import Callable

from ingot.codegen.llvm import ir
from ingot.codegen.llvm.builder import Builder
from ingot.codegen.llvm.emitter import Frame
from ingot.codegen.llvm.share import smaller
from ingot.codegen.llvm.types import I32, I64, stack_slot, stored, width
from ingot.codegen.nvptx.async_copy import copy_async
from ingot.codegen.nvptx.counter import Counter
from ingot.codegen.nvptx.variant import Sized
from ingot.dataclass import dataclass
from ingot.dims import Dim
from ingot.loops.ir import Contraction, Index, Load, Var, extent
from ingot.schedule.gpu import line_of

_MOST = (1 << 31) - 1
"""The largest int32."""


@dataclass(frozen=True, slots=True)
class Operand:
    """An operand as a matrix: its load, its axes of rows (or columns), and those that are summed."""

    load: Load
    rows: tuple[Var, ...]
    k: tuple[Var, ...]

    @property
    def along(self) -> Var | None:
        """The axis that has neighbours: the innermost one that is summed, or that of rows; None for neither."""
        for var in (*self.k[-1:], *self.rows[-1:]):
            if self.load.index.factor(var) == 1:
                return var
        return None

    def is_whole(self, sized: Sized, lanes: int) -> bool:
        """Whether pieces of so many neighbours are aligned, and each is one whole piece of a line."""
        var = self.along
        if var is None or any(where.index.factor(var) != 0 for where in self.load.where):
            return False
        index = self.load.index
        sizes = [index.offset, var.extent, *(factor for term, factor in index.terms if term is not var)]
        return all(sized.size(size) % lanes == 0 for size in sizes)


def left_of(product: Contraction) -> Operand:
    return Operand(product.lhs, product.m, product.k)


def right_of(product: Contraction) -> Operand:
    """The right operand; a constant one lies as [batch, k, n], rows apart by `line_of`, whose summed axes are one."""
    if not product.packed:
        return Operand(product.rhs, product.n, product.k)
    flat = Var("k", extent(product.k))
    terms: list[tuple[Var, Dim]] = [(var, 1) for var in product.n]
    step = line_of(extent(product.n), product.rhs.dtype)
    for var in reversed((*product.batch, flat)):
        terms.append((var, step))
        step = step * var.extent
    load = Load(product.rhs.dtype, product.rhs.buffer, Index(tuple(reversed(terms))))
    return Operand(load, product.n, (flat,))


def refuses_operand(operand: Operand) -> str | None:
    """Why an operand cannot be copied in pieces, whatever its sizes are."""
    var = operand.along
    if var is None:
        return "neither rows nor what is summed are neighbours"
    if any(not isinstance(term, Var) for term, _ in operand.load.index.terms):
        return "places are computed"
    if var not in operand.k and (len(operand.k) != 1 or len(operand.rows) != 1 or operand.load.where):
        return "rows that are neighbours are of several axes"
    return None


def fits(sized: Sized) -> bool:
    """Whether places in both operands are int32."""
    for operand in (left_of(sized.product), right_of(sized.product)):
        index = operand.load.index
        reach = abs(sized.size(index.offset))
        for term, factor in index.terms:
            assert isinstance(term, Var)
            reach += abs(sized.size(factor)) * sized.size(term.extent)
        if reach > _MOST:
            return False
    return True


class Tiles:
    """The tiles of an operand that a block copies: `side` rows by `depth`, by so many threads.

    A thread has pieces of `lanes` neighbours: in several rows at one place of `k`, or, where rows are neighbours, in
    one column of rows at several places of `k`.
    """

    def __init__(
        self,
        b: Builder,
        frame: Frame,
        operand: Operand,
        thread: ir.Value,
        shape: tuple[int, int],
        threads: int,
        lanes: int,
    ) -> None:
        """`thread` is an int32."""
        self.b, self.frame, self.operand, self.lanes = b, frame, operand, lanes
        self.side, self.depth = shape
        self.along_k = operand.along in operand.k
        line, lines = (self.depth, self.side) if self.along_k else (self.side, self.depth)
        per_line = line // lanes
        self.step = threads // per_line
        assert self.step * per_line == threads, "threads share a line evenly"
        self.count = lines // self.step
        assert self.count * self.step == lines, "threads have as many pieces each"
        self.inner = b.mul(b.urem(thread, I32(per_line)), I32(lanes))
        self.outer = b.udiv(thread, I32(per_line))
        self.bytes = lanes * width(operand.load.dtype)
        self.walk = Counter(b, [self._size(var.extent) for var in operand.k]) if self.along_k else None
        self.flat = stack_slot(b, I32)
        self.bases: list[ir.Value] = []
        self.coordinates: list[list[ir.Value]] = []
        self.total = self._size(extent(operand.k))

    def open(self, outside: dict[Var, ir.Value], first: ir.Value, count: ir.Value, begin: ir.Value) -> None:
        """Begin with the tile of rows from `first` on, of `count`, at place `begin` of `k`, all int32.

        `outside` are the axes of the batch. Rows behind the last one are that one again.
        """
        b, operand = self.b, self.operand
        values = dict(outside)
        self.bases, self.coordinates = [], []
        if not self.along_k:
            last = b.sub(count, I32(self.lanes))
            values[operand.rows[0]] = smaller(b, b.add(first, self.inner), last)
            self.bases = [self._affine(operand.load.index, values)]
            b.store(b.add(begin, self.outer), self.flat)
            return
        rows = Counter(b, [self._size(var.extent) for var in operand.rows])
        row = b.add(first, self.outer)
        rows.start(smaller(b, row, b.sub(count, I32(1))))
        for number in range(self.count):
            if number:
                row = b.add(row, I32(self.step))
                rows.advance(b.select(b.icmp_signed("<", row, count), I32(self.step), I32(0)))
            values.update(zip(operand.rows, rows.places(), strict=True))
            self.bases.append(self._affine(operand.load.index, values))
            self.coordinates.append([self._affine(where.index, values) for where in operand.load.where])
        place = b.add(begin, self.inner)
        assert self.walk is not None
        self.walk.start(place)
        b.store(place, self.flat)

    def copy(self, address: Callable[[ir.Value, ir.Value], ir.Value]) -> None:
        """Begin to copy the next tile, zeros behind the end of `k`; `address` is that of a piece, by row and place."""
        for number, (source, inside) in enumerate(self._pieces()):
            row, place = self.place(number)
            copy_async(self.b, address(row, place), source, self.bytes, inside)
        self._advance()

    def place(self, number: int) -> tuple[ir.Value, ir.Value]:
        """The row and the place of `k` of a piece, within its tile."""
        line = self.b.add(self.outer, I32(number * self.step))
        return (line, self.inner) if self.along_k else (self.inner, line)

    def _pieces(self) -> list[tuple[ir.Value, ir.Value]]:
        """The address of each piece, and whether it is inside of the operand."""
        b, operand = self.b, self.operand
        pointer, kind = self.frame.buffers[operand.load.buffer], stored(operand.load.dtype)
        place = b.load(self.flat, I32)

        def at(offset: ir.Value) -> ir.Value:
            return b.gep(pointer, [b.sext(offset, I64)], source_etype=kind)

        pieces = []
        if not self.along_k:
            (base,), stride = self.bases, self._size(operand.load.index.factor(operand.k[0]))
            for number in range(self.count):
                line = b.add(place, I32(number * self.step))
                pieces.append((at(b.add(base, b.mul(line, stride))), b.icmp_signed("<", line, self.total)))
            return pieces
        assert self.walk is not None
        values = dict(zip(operand.k, self.walk.places(), strict=True))
        moved = self._affine(operand.load.index, values, fixed=False)
        along = [self._affine(where.index, values, fixed=False) for where in operand.load.where]
        before_end = b.icmp_signed("<", place, self.total)
        for base, coordinates in zip(self.bases, self.coordinates, strict=True):
            inside = before_end
            for own, more, where in zip(coordinates, along, operand.load.where, strict=True):
                inside = b.and_(inside, b.icmp_unsigned("<", b.add(own, more), self._size(where.size)))
            pieces.append((at(b.add(base, moved)), inside))
        return pieces

    def _advance(self) -> None:
        b = self.b
        b.store(b.add(b.load(self.flat, I32), I32(self.depth)), self.flat)
        if self.walk is not None:
            self.walk.advance(I32(self.depth))

    def _affine(self, index: Index, values: dict[Var, ir.Value], fixed: bool = True) -> ir.Value:
        """An index as int32, of the variables that have values; without its offset where it is not `fixed`."""
        b = self.b
        total = self._size(index.offset) if fixed else I32(0)
        for term, factor in index.terms:
            assert isinstance(term, Var)
            if term in values:
                total = b.add(total, b.mul(values[term], self._size(factor)))
        return total

    def _size(self, dim: Dim) -> ir.Value:
        size = self.frame.size(dim)
        return I32(size.number) if size.number is not None else self.b.trunc(size, I32)
