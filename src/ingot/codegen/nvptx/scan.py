"""Scans on a GPU: a warp for each row, which goes along it 32 elements at a time, several of these at once.

Threads exchange with neighbours at distances that double: each knows the reduction of its part of the warp, and of what
is before it there. The order is always the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ingot.codegen.llvm import ir, scalars
from ingot.codegen.llvm.share import smaller
from ingot.codegen.llvm.types import I32, I64, stack_slot, stored
from ingot.codegen.nvptx.grid import WARP, exchanged, register
from ingot.codegen.nvptx.loops import ThreadLoops
from ingot.dataclass import dataclass
from ingot.dims import Dim
from ingot.loops.ir import For, Kind, Let, Load, Statement, Store, Update, Var, extent
from ingot.loops.rewrite import parts, stores, values
from ingot.prim.functions import identity

_SEVERAL = 4
"""Elements of a thread that are loaded at once."""

_FUNCTIONS = ("add", "multiply", "maximum", "minimum")

GROUP = 128
"""The length of rows for which a group of threads is a warp."""


@dataclass(frozen=True, slots=True)
class Scan:
    """A local that begins as `start` and is updated for every value of a variable, and stored before or after it is."""

    start: Let
    var: Var
    before: tuple[Store, ...]
    update: Update
    after: tuple[Store, ...]


def scan_in(body: Sequence[Statement]) -> Scan | None:
    """The scan that the statements of a row are, if it goes along neighbours; None for any other."""
    match body:
        case (Let() as start, For(var=var, kind=Kind.SERIAL, body=inner)):
            pass
        case _:
            return None
    updates = [place for place, statement in enumerate(inner) if isinstance(statement, Update)]
    if len(updates) != 1 or not all(isinstance(statement, Store | Update) for statement in inner):
        return None
    (place,) = updates
    update = inner[place]
    assert isinstance(update, Update)
    if update.name != start.name or update.function not in _FUNCTIONS:
        return None
    loads = [part for part in parts(list(values(inner))) if isinstance(part, Load)]
    accesses = [*(load.index for load in loads), *(store.index for store in stores(inner))]
    if any(abs(_step(index.factor(var))) > 1 for index in accesses):
        return None
    written = {store.buffer for store in stores(inner)}
    if any(load.buffer in written for load in loads):
        return None
    return Scan(start, var, _stores(inner[:place]), update, _stores(inner[place + 1 :]))


def _step(factor: Dim) -> int:
    return factor if isinstance(factor, int) else 2


def _stores(statements: Sequence[Statement]) -> tuple[Store, ...]:
    return tuple(statement for statement in statements if isinstance(statement, Store))


class ScanLoops(ThreadLoops):
    """Emits the scans of rows."""

    def scans_of(self, chain: Sequence[Var], scan: Scan) -> None:
        b = self.b
        rows, groups = self.frame.size(extent(chain)), register(b, "ntid.y")
        first = b.add(b.mul(register(b, "ctaid.x"), groups), register(b, "tid.y"))
        with self.loop(first, rows, b.mul(register(b, "nctaid.x"), groups)) as row:
            self.unflatten(chain, row)
            self._scan(scan)

    def _scan(self, scan: Scan) -> None:
        b, name, function = self.b, scan.update.name, scan.update.function
        dtype, length = scan.start.value.dtype, self.frame.size(scan.var.extent)
        lane, kind = register(b, "tid.x"), stored(dtype)
        neutral = scalars.number(dtype, identity(function, dtype).item(), 1)
        carried = stack_slot(b, kind)
        self._known = {}
        b.store(self._stored(self.scalar(scan.start.value), dtype), carried)

        def both(x: ir.Value, y: ir.Value) -> ir.Value:
            return scalars.combined(b, function, dtype, [x, y])

        with self.loop(I64(0), length, I64(WARP * _SEVERAL)) as start:
            places = [b.add(start, b.add(lane, I64(WARP * number))) for number in range(_SEVERAL)]
            own = []
            for place in places:
                self._known = {}
                self.variables[scan.var] = smaller(b, place, b.sub(length, I64(1)))
                value = self.scalar(scan.update.value)
                own.append(b.select(b.icmp_signed("<", place, length), value, neutral))
            for place, value in zip(places, own, strict=True):
                until, total = self._within_warp(value, lane, neutral, both)
                before = b.load(carried, kind)
                self._known = {}
                self.variables[scan.var] = place
                self.active = b.icmp_signed("<", place, length)
                exclusive = both(before, until)
                for stored_values, at in ((scan.before, exclusive), (scan.after, both(exclusive, value))):
                    self.locals[name] = at
                    for store in stored_values:
                        self._store(store)
                    self._known = {}
                self.active = None
                b.store(both(before, total), carried)

    def _within_warp(
        self, value: ir.Value, lane: ir.Value, neutral: ir.Value, both: Callable[[ir.Value, ir.Value], ir.Value]
    ) -> tuple[ir.Value, ir.Value]:
        """The reduction of what threads before this one have, and that of all threads of the warp."""
        b = self.b
        until, total = neutral, value
        for distance in (1, 2, 4, 8, 16):
            other = exchanged(b, total, I32(distance))
            is_upper = b.icmp_signed("!=", b.and_(lane, I64(distance)), I64(0))
            lower, upper = b.select(is_upper, other, total), b.select(is_upper, total, other)
            until = b.select(is_upper, both(other, until), until)
            total = both(lower, upper)
        return until, total
