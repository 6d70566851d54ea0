"""Contractions in LLVM: where rows of the left operand are, and the epilogue of tiles that are summed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

from ingot.codegen.llvm import ir
from ingot.codegen.llvm.builder import Builder
from ingot.codegen.llvm.emitter import Frame
from ingot.codegen.llvm.lanes import Lane
from ingot.codegen.llvm.loops import Loops
from ingot.codegen.llvm.share import larger, part_of, up
from ingot.codegen.llvm.types import I32, I64, element, lane_numbers, stack_slot, vector, width
from ingot.loops.ir import Contraction, Index, Inside, Let, Load, Store, Var, extent


class ProductRows:
    """What all ways to sum a contraction have in common."""

    def __init__(self, b: Builder, frame: Frame, product: Contraction) -> None:
        self.b = b
        self.frame = frame
        self.product = product
        self.loops = Loops(b, frame)
        self.m = extent(product.m)
        self.n = extent(product.n)
        assert product.tile is not None
        self.tile = product.tile
        self.depth = product.depth
        self.columns = self.tile.columns // product.groups
        self.kind = element(product.dtype)
        self.lanes = vector(self.kind, self.tile.lanes)
        bytes_ = width(product.dtype) * self.tile.lanes
        self.panel_kind = element(product.panel_dtype)
        self.masks: Sequence[Sequence[ir.Value]] = ()
        self.ahead: ir.Value | None = None
        self.sums = stack_slot(b, ir.ArrayType(self.lanes, self.tile.rows * self.tile.vectors), bytes_)

    def _part(self, stacks: ir.Value, tiles: ir.Value) -> tuple[ir.Value, ir.Value]:
        """The tiles of a piece, counted through all panels; if it packs or unpacks, whole panels as far as possible.

        If it gathers, the panels of a piece, counted through all blocks of rows: whole blocks as far as possible.
        """
        b, piece, pieces = self.b, self.frame.piece, self.frame.pieces
        if self.product.packed and not self.product.unpacks and not self.product.gathers:
            return part_of(b, b.mul(stacks, tiles), piece, pieces)
        times = up(b, pieces, larger(b, stacks, I64(1)))
        first, last = part_of(b, b.mul(stacks, times), piece, pieces)
        low, high = (
            b.add(b.mul(b.sdiv(at, times), tiles), b.sdiv(b.mul(b.srem(at, times), tiles), times))
            for at in (first, last)
        )
        return low, high

    def _starts(self) -> tuple[ir.Value, list[tuple[ir.Value, Inside]]]:
        """Where the current row of the left operand begins, and the indices there that say whether it is padding."""
        lhs, k = self.product.lhs, self.product.k
        start = self.loops.start_of(lhs.index, k)
        return start, [(self.loops.start_of(condition.index, k), condition) for condition in lhs.where]

    def _row(self, start: ir.Value, where: Sequence[tuple[ir.Value, Inside]], outer: Sequence[Var]) -> ir.Value:
        """The address of one row, for the current outer part of `k`; that of zeros, if it is in the padding."""
        b, lhs = self.b, self.product.lhs
        place = b.add(start, self._moved(lhs.index, outer))
        pointer = b.gep(self.frame.buffers[lhs.buffer], [place], source_etype=element(lhs.dtype))
        for base, condition in where:
            assert self.product.zeros is not None
            index = b.add(base, self._moved(condition.index, outer))
            inside = b.icmp_unsigned("<", index, self.frame.size(condition.size))
            pointer = b.select(inside, pointer, self.frame.buffers[self.product.zeros])
        return pointer

    def _place(self, load: Load) -> ir.Value:
        """The address of what a load reads for the current row."""
        place = self.loops.start_of(load.index, ())
        return self.b.gep(self.frame.buffers[load.buffer], [place], source_etype=element(load.dtype))

    def _moved(self, index: Index, variables: Sequence[Var]) -> ir.Value:
        b = self.b
        total: ir.Value = I64(0)
        for var in variables:
            if index.factor(var) != 0:
                total = b.add(total, b.mul(self.loops.variables[var], self.frame.size(index.factor(var))))
        return total

    def _sum_place(self, line: ir.Value, index: ir.Value) -> ir.Value:
        place = self.b.add(self.b.mul(line, I64(self.tile.vectors)), index)
        return self.b.gep(self.sums, [place], source_etype=self.lanes)

    def _finish(self, row: ir.Value, rows: ir.Value, column: ir.Value, columns: ir.Value) -> None:
        b, tile = self.b, self.tile
        vectors = tile.vectors // self.product.groups
        if self.frame.target.masks and is_column(self.product):
            self._finish_column(row, rows)
            return
        if self.frame.compact and self.frame.target.masks:
            with self._each_row(row, rows) as line, self.loops.loop(I64(0), I64(vectors), 1) as index:
                self._finish_part(line, index, column, columns)
            return
        whole = b.icmp_signed("==", columns, I64(self.columns))
        with self._each_row(row, rows) as line, b.if_else(whole) as (full, part):
            with full:
                for number in range(vectors):
                    self._finish_vector(line, I64(number), column, None)
            with part:
                for number in range(vectors):
                    self._finish_part(line, I64(number), column, columns)

    def _finish_part(self, line: ir.Value, index: ir.Value, column: ir.Value, columns: ir.Value) -> None:
        """The epilogue for the columns that there are in a vector."""
        b, lanes = self.b, self.tile.lanes
        past = b.sub(columns, b.mul(index, I64(lanes)))
        with b.if_then(b.icmp_signed(">", past, I64(0))):
            mask = b.icmp_signed("<", lane_numbers(I64, lanes), self.loops.splat(past, lanes))
            self._finish_vector(line, index, column, mask)

    def _finish_column(self, row: ir.Value, rows: ir.Value) -> None:
        """The epilogue of a product with one column: for vectors of rows, whose sums are the first of a vector each."""
        b, loops, tile, product = self.b, self.loops, self.tile, self.product
        (m,), (n,), (name,) = product.m, product.n, product.sums
        loops.variables[n] = I64(0)
        for first in range(0, tile.rows, tile.lanes):
            sums: ir.Value = ir.Constant(self.lanes, None)
            for lane, line in enumerate(range(first, min(tile.rows, first + tile.lanes))):
                one = b.load(self._sum_place(I64(line), I64(0)), typ=self.kind)
                sums = b.insert_element(sums, one, I32(lane))
            loops.locals[name] = sums
            mask = b.icmp_signed("<", lane_numbers(I64, tile.lanes), loops.splat(b.sub(rows, I64(first)), tile.lanes))
            loops.in_lanes(product.body, Lane(m, tile.lanes, mask), b.add(row, I64(first)))

    @contextmanager
    def _each_row(self, row: ir.Value, rows: ir.Value) -> Iterator[ir.Value]:
        """A loop over the lines of a tile, with the variables of its rows bound; its body is emitted meanwhile."""
        b, variables, chain = self.b, self.loops.variables, self.product.m
        if len(chain) < 2:
            with self.loops.loop(I64(0), rows, 1) as line:
                self._bind(chain, b.add(row, line))
                yield line
            return
        self._bind(chain, row)
        cells = {var: stack_slot(b, I64) for var in chain}
        for var, cell in cells.items():
            b.store(variables[var], cell)
        with self.loops.loop(I64(0), rows, 1) as line:
            current = {var: b.load(cell, typ=I64) for var, cell in cells.items()}
            variables.update(current)
            yield line
            variables.update(current)
            self.loops.advance(chain, I64(1))
            for var, cell in cells.items():
                b.store(variables[var], cell)

    def _finish_vector(self, line: ir.Value, index: ir.Value, column: ir.Value, mask: ir.Value | None) -> None:
        b, loops, tile = self.b, self.loops, self.tile
        (var,) = self.product.n
        vectors = tile.vectors // self.product.groups
        for group, name in enumerate(self.product.sums):
            place = self._sum_place(line, b.add(I64(group * vectors), index))
            loops.locals[name] = b.load(place, typ=self.lanes)
        loops.in_lanes(self.product.body, Lane(var, tile.lanes, mask), b.add(column, b.mul(index, I64(tile.lanes))))

    def _bind(self, variables: Sequence[Var], flat: ir.Value) -> None:
        self.loops.unflatten(variables, flat)


def is_column(product: Contraction) -> bool:
    """Whether a product has one column, so that its results, and what its epilogue reads, are those of rows."""
    stores = [statement for statement in product.body if isinstance(statement, Store)]
    if len(product.m) != 1 or len(product.n) != 1 or len(product.sums) > 1 or not stores:
        return False
    if any(not isinstance(statement, Let | Store) for statement in product.body):
        return False
    (m,), (n,) = product.m, product.n
    return all(store.index.factor(n) == 0 and store.index.factor(m) == 1 for store in stores)


@contextmanager
def nested(loops: Loops, frame: Frame, variables: Sequence[Var]) -> Iterator[None]:
    """Nested loops over variables; what is emitted while they are open is the body of the innermost."""
    with ExitStack() as stack:
        for var in variables:
            loops.variables[var] = stack.enter_context(loops.loop(I64(0), frame.size(var.extent), 1))
        yield
