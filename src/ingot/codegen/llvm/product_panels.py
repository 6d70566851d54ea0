"""Contractions in LLVM: where the columns of the right operand are, and how panels of them are packed."""

from __future__ import annotations

from ingot.codegen.llvm import ir
from ingot.codegen.llvm.byte_pack import moved_load, pack_bytes
from ingot.codegen.llvm.code_blocks import panel_bytes
from ingot.codegen.llvm.column_micro import column_masks, columns_at
from ingot.codegen.llvm.pair_pack import pack_pairs
from ingot.codegen.llvm.product_rows import ProductRows, nested
from ingot.codegen.llvm.share import part_of
from ingot.codegen.llvm.types import I8, I64, element, stack_slot, width
from ingot.codegen.llvm.unpacked import pack_blocks, packs_blocks, packs_columns
from ingot.dims import Dim
from ingot.loops.ir import Buffer, For, Index, Inside, Kind, Load, PairDot, Store, Var, widened


class ProductPanels(ProductRows):
    """The columns of a contraction."""

    def _store_panels(self, stacks: ir.Value, panels: ir.Value, buffer: Buffer) -> None:
        """Pack the panels of a piece into the buffer that a later contraction reads."""
        b = self.b
        low, high = part_of(b, stacks, self.frame.piece, self.frame.pieces)
        with self.loops.loop(low, high, 1, watched=True) as stack:
            self._bind(self.product.batch, b.sdiv(stack, panels))
            self._pack(b.mul(b.srem(stack, panels), I64(self.columns)), buffer, stack)

    def _first_column(self, column: ir.Value) -> ir.Value:
        """The address of the first term of a column of the right operand, which no kernel has packed."""
        b, rhs, (n,) = self.b, self.product.rhs, self.product.n
        start = self.loops.start_of(rhs.index, (*self.product.k, n))
        place = b.add(start, b.mul(column, self.frame.size(rhs.index.factor(n))))
        return b.gep(self.frame.buffers[rhs.buffer], [place], source_etype=element(rhs.dtype))

    def _codes_of(self, stack: ir.Value) -> ir.Value:
        """Where a panel in codes begins."""
        b, product = self.b, self.product
        assert product.codes is not None
        start = b.mul(stack, panel_bytes(self.loops, product.codes, self.tile, self.frame.size(self.depth)))
        return b.gep(self.frame.buffers[product.rhs.buffer], [start], source_etype=I8)

    def _pack(self, column: ir.Value, buffer: Buffer, number: ir.Value) -> None:
        """Pack a panel of columns into a buffer: rows of `k`, and past the last column of each group anything."""
        product, inner = self.product, self.product.k[-1].extent
        if packs_columns(product) and self.frame.target.masks:
            self._pack_columns(column, buffer, number)
        elif self.frame.compact or not packs_blocks(product) or (isinstance(inner, int) and inner < self.tile.lanes):
            self._pack_rows(column, buffer, number)
        elif isinstance(inner, int):
            self._pack_blocks(column, buffer, number)
        else:
            with self.b.if_else(self.b.icmp_signed(">=", self.frame.size(inner), I64(self.tile.lanes))) as (
                long,
                short,
            ):
                with long:
                    self._pack_blocks(column, buffer, number)
                with short:
                    self._pack_rows(column, buffer, number)

    def _pack_columns(self, column: ir.Value, buffer: Buffer, number: ir.Value) -> None:
        """The same of columns that are neighbours, a few elements apart from each other, with zeros past the last."""
        b, product, tile = self.b, self.product, self.tile
        masks, first = self._column_masks(column), self._first_column(column)
        step_cell = stack_slot(b, I64)
        b.store(b.mul(number, self.frame.size(self.depth * tile.columns)), step_cell)  # how far the panel is written
        with nested(self.loops, self.frame, product.k):
            written = b.load(step_cell, typ=I64)
            place = b.gep(first, [self._moved(product.rhs.index, product.k)], source_etype=self.kind)
            for index, values in enumerate(columns_at(self.loops, product.dtype, tile, place, masks)):
                target = b.add(written, I64(index * tile.lanes))
                store = b.store(values, b.gep(self.frame.buffers[buffer], [target], source_etype=self.kind))
                store.align = width(product.dtype) * tile.lanes
            b.store(b.add(written, I64(tile.columns)), step_cell)

    def _column_masks(self, column: ir.Value) -> list[list[ir.Value]]:
        apart = self.product.rhs.index.factor(self.product.n[0])
        assert isinstance(apart, int)
        return column_masks(self.loops, self.tile, self.b.sub(self.frame.size(self.n), column), apart)

    def _pack_blocks(self, column: ir.Value, buffer: Buffer, number: ir.Value) -> None:
        """The same of columns that are contiguous along the innermost axis of `k`, by transposing blocks of them."""
        b, product, tile, size = self.b, self.product, self.tile, self.frame.size
        *outer, inner = product.k
        stride, left = size(product.rhs.index.factor(product.n[0])), b.sub(size(self.n), column)
        first, panel = self._first_column(column), self.frame.buffers[buffer]
        step_cell = stack_slot(b, I64)
        b.store(b.mul(number, size(self.depth * tile.columns)), step_cell)  # how far the panel has been written
        with nested(self.loops, self.frame, outer):
            written = b.load(step_cell, typ=I64)
            base = b.gep(first, [self._moved(product.rhs.index, outer)], source_etype=self.kind)
            rows = b.gep(panel, [written], source_etype=self.kind)
            pack_blocks(self.loops, tile, product.dtype, base, stride, left, size(inner.extent), rows)
            b.store(b.add(written, size(inner.extent * tile.columns)), step_cell)

    def _pack_rows(self, column: ir.Value, buffer: Buffer, number: ir.Value) -> None:
        """The same row by row of `k`, with zeros past the last column of each group."""
        product, tile = self.product, self.tile
        first, place = Var("column", 1), Var("lane", self.columns)
        self.loops.variables[first] = column
        which = Var("number", 1)
        self.loops.variables[which] = number
        if tile.dot is not None:
            pack = pack_pairs if isinstance(tile.dot, PairDot) else pack_bytes
            self.loops.statements(pack(product, buffer, first, place, which))
            return
        inside = Inside(Index(((first, 1), (place, 1))), self.n)
        target = Index(((which, self.depth * tile.columns), (place, 1)))
        step: Dim = tile.columns
        for var in reversed(product.k):
            target = target + Index(((var, step),))
            step = step * var.extent
        body: tuple[For | Store, ...] = ()
        for group in range(product.groups):
            source = moved_load(product.rhs, product.n[0], Index(((first, 1), (place, 1)), self.n * group))
            value = Load(source.dtype, source.buffer, source.index, (*source.where, inside), 0)
            store = Store(buffer, target.plus(group * self.columns), widened(value, buffer.dtype))
            body = (*body, For(place, (store,), Kind.VECTOR))
        for var in reversed(product.k):
            body = (For(var, body),)
        self.loops.statements(body)
