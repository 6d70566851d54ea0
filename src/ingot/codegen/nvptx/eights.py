"""Results of tensor cores by eights of neighbours: as they are stored, where threads have them in pairs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import TypeAlias

from ingot.codegen.llvm import ir, scalars
from ingot.codegen.llvm.builder import Builder
from ingot.codegen.llvm.lanes import Lane
from ingot.codegen.llvm.share import smaller
from ingot.codegen.llvm.types import F32, I32, I64, vector
from ingot.codegen.nvptx.grid import WARP, exchanged
from ingot.codegen.nvptx.inline import computed_here
from ingot.codegen.nvptx.memory import contiguous_indices
from ingot.codegen.nvptx.sums import Sums
from ingot.codegen.nvptx.variant import Sized
from ingot.dataclass import dataclass
from ingot.loops.ir import For, Load, Scalar, Var
from ingot.loops.rewrite import parts, stores, values

LANES = 8
"""Neighbours of a row that a thread stores at once."""


_BESIDE = 54
"""Registers that an epilogue is computed in, beside the sums and what it loads."""

_ADDRESS = 2
"""Registers of an address."""

_ALL_REGISTERS, _MOST_REGISTERS = 1 << 16, 255
"""Registers of a multiprocessor, and the most of a thread."""


def registers_of(threads: int, blocks: int) -> int:
    """The registers of a thread, where so many blocks of so many threads are on a multiprocessor."""
    pairs_of_warps = -(-threads // (2 * WARP)) * blocks
    return min(_MOST_REGISTERS, _ALL_REGISTERS // (2 * WARP * pairs_of_warps) // 8 * 8)


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
class Place:
    """Where eight neighbours of a row are: the row and the first column, both int32."""

    row: ir.Value
    column: ir.Value


@dataclass(frozen=True, slots=True)
class Places:
    """Where the eights of a thread are: so many rows and columns behind the first one."""

    first: Place
    offsets: Sequence[tuple[int, int]]

    def at(self, b: Builder, number: int) -> Place:
        """A place, computed here: LLVM would compute all before the first one, in registers that the sums need."""
        row, column = self.offsets[number]
        return Place(
            b.add(computed_here(b, self.first.row), I32(row)), b.add(computed_here(b, self.first.column), I32(column))
        )

    def walk(self, b: Builder) -> Callable[[int], Place]:
        """Gives places by number, computed once: where nothing waits in registers, addresses may be numbers apart."""
        rows: dict[int, ir.Value] = {}

        def at(number: int) -> Place:
            row, column = self.offsets[number]
            if row not in rows:
                rows[row] = b.add(self.first.row, I32(row))
            return Place(rows[row], b.add(self.first.column, I32(column)))

        return at


Pair: TypeAlias = Sequence[ir.Value]
Known: TypeAlias = dict[int, tuple[Scalar, ir.Value]]
"""Expressions that are computed already, by their identities."""


class Eights(Sums):
    """A product whose sums are stored by eights; places in its tiles are int32."""

    at_once = 2
    """Eights of a thread whose epilogues run together: so many wait for memory at once, in registers."""

    free_registers = 0
    """Registers of a thread beside its sums."""

    lanes = LANES
    """Neighbours that are stored at once: eight, or one where rows are no eights of them."""

    def end_of_lines(self, lines: Sequence[Sequence[Pair]], own: ir.Value, asked: Asked) -> None:
        """The epilogue of pairs of neighbours, one of each eight of columns of a line, four by four.

        The four threads that have the pairs of an eight, in order, have numbers `own`: each gets every fourth eight.
        Single elements stay with the thread that has them.
        """
        if self.lanes == 1:
            alone = [[value] for line in lines for pair in line for value in pair]
            for first in range(0, len(alone), LANES):
                self._end_at(alone[first : first + LANES], first, asked)
            return
        fours = _fours(lines)
        for first in range(0, len(fours), self.at_once):
            eights = [_turned(self.b, pairs, own) for pairs in fours[first : first + self.at_once]]
            self._end_at(eights, first, asked)

    def _end_at(self, eights: Sequence[Sequence[ir.Value]], first: int, asked: Asked) -> None:
        """The epilogues of eights from a number on."""
        known = asked.take(len(eights))
        self.end_of_eights(eights, [asked.end(number) for number in range(first, first + len(eights))], known)

    def places(self, row: ir.Value, column: ir.Value, own: ir.Value, rows: Sequence[int], eights: int) -> Places:
        """Where a thread has eights: in `rows` from a row on, in lines of so many eights from a column on."""
        b = self.b
        if self.lanes == 1:
            first = Place(row, b.add(column, b.mul(own, I32(2))))
            return Places(
                first, [(at, LANES * eight + side) for at in rows for eight in range(eights) for side in (0, 1)]
            )
        first = Place(row, b.add(column, b.mul(own, I32(LANES))))
        return Places(first, [(offset, LANES * eight) for offset in rows for eight in range(0, eights, 4)])

    def end_of_eights(
        self, eights: Sequence[Sequence[ir.Value]], places: Sequence[Place], asked: Sequence[Known]
    ) -> None:
        """The epilogues of eights, each of which is outside or inside: what all of them load is asked for first."""
        known = []
        for place, own in zip(places, asked, strict=True):
            self._bind(place)
            known.append(self._loaded_here(self._loads, own))
        for eight, place, own in zip(eights, places, known, strict=True):
            self._bind(place)
            self._known = own
            total = scalars.cast(self.b, _together(self.b, eight), self.sum_dtype, self.product.dtype)
            self.locals["sum"] = total
            self.statements(self.product.body)
        self._known = {}
        self._lane = self.active = None

    def ask(self, places: Places) -> Asked:
        """Ask for what the first epilogues at places load of their rows, as far as there are registers for it."""
        words, of_rows = (_words(loads, self.lanes) for loads in (self._loads, self.loads_of_rows))
        at_once = self.at_once if self.lanes > 1 else LANES
        free = self.free_registers - _BESIDE - at_once * (_ADDRESS + words - of_rows)
        return Asked(self, places, max(at_once, free // max(1, of_rows)))

    def known_of(self, place: Place) -> Known:
        """What an epilogue loads of its row, and no other row does."""
        self._bind(place)
        known = self._loaded_here(self.loads_of_rows, {})
        self._known, self._lane, self.active = {}, None, None
        return known

    def _loaded_here(self, loads: Sequence[Load], known: Known) -> Known:
        """What is known, and what loads of the bound eight load beside it: they are asked for here."""
        self._known = dict(known)
        for load in loads:
            if id(load) not in known:
                self._known[id(load)] = load, computed_here(self.b, self.scalar(load))
        return self._known

    @cached_property
    def loads_of_rows(self) -> list[Load]:
        """What an epilogue loads that no other row does."""
        return [load for load in self._loads if any(load.index.factor(var) != 0 for var in self.product.m)]

    @cached_property
    def _loads(self) -> list[Load]:
        """What the epilogue loads at places that are known, and does not store itself."""
        body = self.product.body
        written = {store.buffer for store in stores(body)}
        loads = [part for part in parts(list(values(body))) if isinstance(part, Load)]
        if any(isinstance(statement, For) for statement in body) or any(load.buffer in written for load in loads):
            return []
        return [load for load in loads if all(isinstance(term, Var) for term, _ in load.index.terms)]

    def _bind(self, place: Place) -> None:
        """Make the eight at a place the one that statements are for; where that is outside, the last one inside."""
        b = self.b
        row, column = b.zext(place.row, I64), b.zext(place.column, I64)
        self.active = self._is_inside(row, column)
        self.unflatten(self.product.m, smaller(b, row, b.sub(self.rows, I64(1))))
        self.variables[self.n] = smaller(b, column, b.sub(self.columns, I64(self.lanes)))
        self._lane = Lane(self.n, LANES, None) if self.lanes > 1 else None

    def _is_inside(self, row: ir.Value, column: ir.Value) -> ir.Value:
        b = self.b
        return b.and_(b.icmp_signed("<", row, self.rows), b.icmp_signed("<", column, self.columns))

    def store_partial_sums(
        self,
        lines: Sequence[Sequence[Pair]],
        own: ir.Value,
        places: Places,
        split: tuple[ir.Value, ir.Value],
    ) -> None:
        """Store sums as those of a part of the summed axis: `split` is its number, and the place of the batch."""
        b, (part, matrix) = self.b, split
        scratch = self.frame.buffers[self.product.scratch[0]]
        first = b.add(b.mul(b.zext(part, I64), self.batch), matrix)
        at_number = places.walk(b)
        for number, pairs in enumerate(_fours(lines)):
            eight, place = _turned(b, pairs, own), at_number(number)
            row, column = b.zext(place.row, I64), b.zext(place.column, I64)
            at = first
            for count, value in ((self.rows, row), (self.columns, column)):
                at = b.add(b.mul(at, count), value)
            with b.if_then(self._is_inside(row, column)):
                b.store(_together(b, eight), b.gep(scratch, [at], source_etype=F32), 16)


class Asked:
    """What the epilogues of eights at places load of their rows: asked for in order, so many eights `ahead`."""

    def __init__(self, eights: Eights, places: Places, ahead: int) -> None:
        self.eights, self.places, self.ahead = eights, places, ahead
        self.end = partial(places.at, eights.b) if eights.loads_of_rows else places.walk(eights.b)
        self.known: list[Known] = []
        self.ended = 0
        self._ask(ahead)

    def take(self, count: int) -> list[Known]:
        """That of the next eights; in the place of those before, more is asked for."""
        self._ask(self.ended + max(self.ahead, count))
        self.ended += count
        return self.known[self.ended - count : self.ended]

    def _ask(self, count: int) -> None:
        for number in range(len(self.known), min(count, len(self.places.offsets))):
            self.known.append(self.eights.known_of(self.places.at(self.eights.b, number)))


def _words(loads: Sequence[Load], lanes: int) -> int:
    """The registers of what so many neighbours load."""
    return sum(-(-lanes * load.dtype.numpy.itemsize // 4) for load in loads)


def _fours(lines: Sequence[Sequence[Pair]]) -> list[Sequence[Pair]]:
    return [line[first : first + 4] for line in lines for first in range(0, len(line), 4)]


def _together(b: Builder, values: Sequence[ir.Value]) -> ir.Value:
    """Values as a vector, or one alone."""
    if len(values) == 1:
        return values[0]
    together: ir.Value = ir.Constant(vector(F32, len(values)), ir.Undefined)
    for number, value in enumerate(values):
        together = b.insert_element(together, value, I32(number))
    return together


def _turned(b: Builder, pairs: Sequence[Pair], place: ir.Value) -> list[ir.Value]:
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
