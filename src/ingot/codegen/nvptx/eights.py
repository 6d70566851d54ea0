"""Results of tensor cores by eights of neighbours: as they are stored, where threads have them in pairs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from ingot.codegen.llvm import ir, scalars
from ingot.codegen.llvm.builder import Builder
from ingot.codegen.llvm.lanes import Lane
from ingot.codegen.llvm.share import smaller
from ingot.codegen.llvm.types import F32, I32, I64, vector
from ingot.codegen.nvptx.grid import exchanged
from ingot.codegen.nvptx.memory import contiguous_indices
from ingot.codegen.nvptx.sums import Sums
from ingot.codegen.nvptx.variant import Sized
from ingot.dataclass import dataclass
from ingot.loops.ir import For, Load, Var
from ingot.loops.rewrite import parts, stores, values

LANES = 8
"""Neighbours of a row that a thread stores at once."""


def stores_eights(sized: Sized) -> bool:
    """Whether rows are eights of columns, and all that the epilogue reads or stores along them is aligned as such."""
    (n,) = sized.product.n
    if sized.columns % LANES:
        return False
    for index in contiguous_indices(sized.product.body, n):
        steps = [sized.size(factor) for term, factor in index.terms if term is not n]
        if any(step % LANES for step in (*steps, sized.size(index.offset))):
            return False
    return True


@dataclass(frozen=True, slots=True)
class Eight:
    """Eight neighbours of a row, from a column on, both int32."""

    values: Sequence[ir.Value]
    row: ir.Value
    column: ir.Value


class Eights(Sums):
    """A product whose sums are stored by eights; places in its tiles are int32."""

    at_once = 2
    """Eights of a thread whose epilogues run together: so many wait for memory at once, in registers."""

    def end_of_pairs(
        self,
        pairs: Sequence[Sequence[ir.Value]],
        row: ir.Value,
        column: ir.Value,
        own: ir.Value,
        partial: tuple[ir.Value, ir.Value] | None = None,
    ) -> None:
        """The epilogue of pairs of neighbours of a row, one of each eight of columns from `column` on, four by four.

        The four threads that have the pairs of an eight, in order, have numbers `own`: each gets every fourth eight.
        With `partial`, the number of a split and the place of the batch, they are stored as partial sums.
        """
        b = self.b
        for start in range(0, len(pairs), 4 * self.at_once):
            eights = []
            for first in range(start, min(start + 4 * self.at_once, len(pairs)), 4):
                place = b.add(column, b.add(I32(first * LANES), b.mul(own, I32(LANES))))
                eights.append(Eight(_turned(b, pairs[first : first + 4], own), row, place))
            if partial is None:
                self.end_of_eights(eights)
                continue
            for eight in eights:
                self._store_partial_eight(eight, partial)

    def end_of_eights(self, eights: Sequence[Eight]) -> None:
        """The epilogues of eights, each of which is outside or inside: what all of them load is asked for first."""
        known = []
        for eight in eights:
            self._bind(eight)
            self._known = {}
            for load in self._loads:
                self.scalar(load)
            known.append(self._known)
        for eight, own in zip(eights, known, strict=True):
            self._bind(eight)
            self._known = own
            total = scalars.cast(self.b, _together(self.b, eight.values), self.sum_dtype, self.product.dtype)
            self.locals["sum"] = total
            self.statements(self.product.body)
        self._known = {}
        self._lane = self.active = None

    @cached_property
    def _loads(self) -> list[Load]:
        """What the epilogue loads at places that are known, and does not store itself."""
        body = self.product.body
        written = {store.buffer for store in stores(body)}
        loads = [part for part in parts(list(values(body))) if isinstance(part, Load)]
        if any(isinstance(statement, For) for statement in body) or any(load.buffer in written for load in loads):
            return []
        return [load for load in loads if all(isinstance(term, Var) for term, _ in load.index.terms)]

    def _bind(self, eight: Eight) -> None:
        """Make an eight the one that statements are for; where it is outside they are for the last one inside."""
        b = self.b
        row, column = b.zext(eight.row, I64), b.zext(eight.column, I64)
        self.active = self._is_inside(row, column)
        self.unflatten(self.product.m, smaller(b, row, b.sub(self.rows, I64(1))))
        self.variables[self.n] = smaller(b, column, b.sub(self.columns, I64(LANES)))
        self._lane = Lane(self.n, LANES, None)

    def _is_inside(self, row: ir.Value, column: ir.Value) -> ir.Value:
        b = self.b
        return b.and_(b.icmp_signed("<", row, self.rows), b.icmp_signed("<", column, self.columns))

    def _store_partial_eight(self, eight: Eight, partial: tuple[ir.Value, ir.Value]) -> None:
        b, (split, place) = self.b, partial
        row, column = b.zext(eight.row, I64), b.zext(eight.column, I64)
        at = b.add(b.mul(b.zext(split, I64), self.batch), place)
        for count, value in ((self.rows, row), (self.columns, column)):
            at = b.add(b.mul(at, count), value)
        with b.if_then(self._is_inside(row, column)):
            scratch = self.frame.buffers[self.product.scratch[0]]
            b.store(_together(b, eight.values), b.gep(scratch, [at], source_etype=F32), 16)


def _together(b: Builder, values: Sequence[ir.Value]) -> ir.Value:
    """Values as a vector."""
    together: ir.Value = ir.Constant(vector(F32, len(values)), ir.Undefined)
    for number, value in enumerate(values):
        together = b.insert_element(together, value, I32(number))
    return together


def _turned(b: Builder, pairs: Sequence[Sequence[ir.Value]], place: ir.Value) -> list[ir.Value]:
    """Of four eights of columns, of which each of four threads has a pair, the eight at the place of a thread, whole.

    That is a transposition of pairs among four threads: pairs are exchanged with the neighbour, and two further.
    """
    values = [list(pair) for pair in pairs]
    for distance in (1, 2):
        is_odd = b.icmp_signed("!=", b.and_(place, I32(distance)), I32(0))
        for low in (number for number in range(4) if not number & distance):
            for lane in range(2):
                one, other = values[low][lane], values[low + distance][lane]
                received = exchanged(b, b.select(is_odd, one, other), I32(distance))
                values[low][lane] = b.select(is_odd, received, one)
                values[low + distance][lane] = b.select(is_odd, other, received)
    return [value for pair in values for value in pair]
