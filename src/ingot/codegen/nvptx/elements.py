"""Elementwise kernels on a GPU: a vector of neighbours for each thread, or tiles that are turned in shared memory."""

from __future__ import annotations

from collections.abc import Sequence

from ingot.codegen.llvm import ir
from ingot.codegen.llvm.share import smaller, up
from ingot.codegen.llvm.types import I64, stored
from ingot.codegen.nvptx.grid import SharedArray, barrier, register
from ingot.codegen.nvptx.loops import ThreadLoops
from ingot.codegen.nvptx.memory import lanes_along
from ingot.loops.ir import For, Load, Var, extent
from ingot.loops.rewrite import parts, stores, values

TURNED = 32
"""Elements of each side of a tile that is read along one axis and stored along another."""

_MOST_TURNED = 4

_FEW = (2, 4)
"""Neighbours that are one short vector, as the channels of an image that were filled up."""


class ElementLoops(ThreadLoops):
    """Emits a loop in vectors directly inside of loops over the grid."""

    def elements_of(self, chain: Sequence[Var], inner: For) -> None:
        """Elements in tiles, where some are read along another axis than results are stored, and both are long."""
        b, turned = self.b, turned_loads(chain, inner)
        if turned is None:
            self._vector_of_each(chain, inner)
            return
        along, loads = turned
        sizes = [self.frame.size(var.extent) for var in (along, inner.var)]
        is_long = b.and_(*(b.icmp_signed(">=", size, I64(TURNED // 2)) for size in sizes))
        known = dict(self._known)
        with b.if_else(is_long) as (then, otherwise):
            with then:
                self._tile_of_each([var for var in chain if var is not along], along, inner, loads)
                self._known = known
            with otherwise:
                self._vector_of_each(chain, inner)

    def _tile_of_each(self, rest: Sequence[Var], along: Var, inner: For, loads: Sequence[Load]) -> None:
        """A tile of elements for each block: `loads` read them along one axis, and results are stored along the other.

        In between they are in shared memory, whose lines are one element longer than a tile, for the banks.
        """
        b = self.b
        arrays = [
            SharedArray(b.module, f"turned{number}", stored(load.dtype), TURNED * (TURNED + 1))
            for number, load in enumerate(loads)
        ]
        thread = self.thread_of_block()
        near, far = b.srem(thread, I64(TURNED)), b.sdiv(thread, I64(TURNED))
        threads = b.sdiv(self.threads_of_block(), I64(TURNED))
        sizes = [self.frame.size(var.extent) for var in (along, inner.var)]
        tiles = [up(b, size, I64(TURNED)) for size in sizes]
        total = b.mul(self.frame.size(extent(rest)), b.mul(*tiles))
        with self.loop(register(b, "ctaid.x"), total, register(b, "nctaid.x")) as number:
            first = b.mul(b.srem(number, tiles[1]), I64(TURNED))
            other = b.sdiv(number, tiles[1])
            start = b.mul(b.srem(other, tiles[0]), I64(TURNED))
            self.unflatten(rest, b.sdiv(other, tiles[0]))
            for is_read in (True, False):
                with self.loop(far, I64(TURNED), threads) as line:
                    places = (near, line) if is_read else (line, near)
                    ends = []
                    for var, begin, place, size in zip((along, inner.var), (start, first), places, sizes, strict=True):
                        self.variables[var] = b.add(begin, place)
                        ends.append(b.icmp_signed("<", self.variables[var], size))
                    at = b.add(b.mul(places[1], I64(TURNED + 1)), places[0])
                    with b.if_then(b.and_(*ends)):
                        self._known = {}
                        for load, array in zip(loads, arrays, strict=True):
                            self._move(load, b.gep(array, [at], source_etype=stored(load.dtype)), is_read)
                        if not is_read:
                            self.statements(inner.body)
                barrier(b)

    def _move(self, load: Load, place: ir.Value, is_read: bool) -> None:
        """Put an element that a load reads into a tile, or have it read from there."""
        if is_read:
            self.b.store(self._stored(self.scalar(load), load.dtype), place)
        else:
            self._known[id(load)] = load, self._computed(self.b.load(place, stored(load.dtype)), load.dtype)

    def _vector_of_each(self, chain: Sequence[Var], inner: For) -> None:
        """A vector of neighbours for each thread; single elements where they are not aligned, or fewer are left."""
        b = self.b
        lanes = lanes_along(inner.body, inner.var)
        length = self.frame.size(inner.var.extent)
        if isinstance(inner.var.extent, int) and inner.var.extent in _FEW and inner.var.extent <= lanes:
            self._one_vector_of_each(chain, inner, inner.var.extent)
            return
        if lanes == 1:
            with self.loop(*self.strided(self.frame.size(extent((*chain, inner.var))))) as number:
                self.unflatten((*chain, inner.var), number)
                self.statements(inner.body)
            return
        aligned = self.is_aligned(inner.body, inner.var, lanes)
        step = b.select(aligned, I64(lanes), I64(1))
        pieces = up(b, length, step)
        with self.loop(*self.strided(b.mul(self.frame.size(extent(chain)), pieces))) as number:
            piece = number
            if chain:
                self.unflatten(chain, b.sdiv(number, pieces))
                piece = b.srem(number, pieces)
            first = b.mul(piece, step)
            end = b.add(first, step)
            whole = b.and_(aligned, b.icmp_signed("<=", end, length))
            with b.if_else(whole) as (then, otherwise):
                with then:
                    self.in_lanes(inner, first, lanes)
                with otherwise, self.loop(first, smaller(b, end, length), I64(1)) as place:
                    self.variables[inner.var] = place
                    self.statements(inner.body)

    def _one_vector_of_each(self, chain: Sequence[Var], inner: For, lanes: int) -> None:
        """All of the inner loop in a vector for each thread; in single elements where these are not aligned."""
        b = self.b
        with b.if_else(self.is_aligned(inner.body, inner.var, lanes)) as (then, otherwise):
            with then, self.loop(*self.strided(self.frame.size(extent(chain)))) as number:
                self.unflatten(chain, number)
                self.in_lanes(inner, I64(0), lanes)
            with otherwise, self.loop(*self.strided(self.frame.size(extent((*chain, inner.var))))) as number:
                self.unflatten((*chain, inner.var), number)
                self.statements(inner.body)


def turned_loads(chain: Sequence[Var], inner: For) -> tuple[Var, list[Load]] | None:
    """An axis among `chain` that elements lie along which are stored along the inner one, and their loads, if any."""
    if any(isinstance(statement, For) for statement in inner.body):
        return None
    if any(store.index.factor(inner.var) != 1 for store in stores(inner.body)):
        return None
    loads = [part for part in parts(list(values(inner.body))) if isinstance(part, Load)]
    for along in reversed(chain):
        turned = [
            load
            for load in loads
            if load.index.factor(along) == 1
            and load.index.factor(inner.var) not in (0, 1)
            and all(isinstance(term, Var) for term, _ in load.index.terms)
        ]
        if turned:
            return along, turned[:_MOST_TURNED]
    return None
