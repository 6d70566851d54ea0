"""The GEMM micro-kernel of bytes: units of a row, several terms each, times units of columns, added to int32s."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ingot.codegen.llvm import ir
from ingot.codegen.llvm.builder import Builder
from ingot.codegen.llvm.loops import Loops
from ingot.codegen.llvm.micro import Cells, fetch_ahead
from ingot.codegen.llvm.types import I8, I16, I32, I64, is_signed, vector
from ingot.dims import Dim
from ingot.loops.ir import ByteDot, Load, Tile

_FLIP = -0x7F7F7F80
"""The highest bit of each of four bytes."""


def start_sums(b: Builder, tile: Tile, cells: Cells, panel: ir.Value) -> None:
    """Set accumulators to what their sums start with, the first row of a panel."""
    kind = vector(I32, tile.lanes)
    for index in range(tile.vectors):
        first = b.load(b.gep(panel, [I64(index * tile.lanes)], source_etype=I32), typ=kind, align=4 * tile.lanes)
        for row in cells:
            b.store(first, row[index])


def accumulate_bytes(
    loops: Loops,
    left: Load,
    tile: Tile,
    cells: Cells,
    rows: Sequence[ir.Value],
    step: Dim,
    panel: ir.Value,
    depth: ir.Value,
    ahead: ir.Value | None = None,
) -> None:
    """Add `depth` terms to each accumulator: bytes of a row, `step` apart, times those of a column.

    Of each row of the panel, a line is prefetched that lies so many bytes `ahead`.
    """
    b, dot = loops.b, tile.dot
    assert isinstance(dot, ByteDot)
    units = _Units(loops, left, dot, step)
    whole = depth if dot.terms == 1 else b.lshr(depth, I64(dot.terms.bit_length() - 1))
    with loops.loop(I64(0), whole, 1) as k:
        fetch_ahead(b, b.gep(panel, [b.mul(k, I64(tile.columns))], source_etype=I32), ahead)
        _add(loops, tile, cells, panel, k, [units.whole(row, k) for row in rows])
    if dot.rest:
        rest = b.sub(depth, b.mul(whole, I64(dot.terms)))
        with b.if_then(b.icmp_signed(">", rest, I64(0))):
            if not units.has_last:
                _add(loops, tile, cells, panel, whole, [units.part(row, whole, rest) for row in rows])
            else:
                with b.if_else(b.icmp_signed(">", whole, I64(0))) as (long, short):
                    with long:
                        _add(loops, tile, cells, panel, whole, [units.last(row, depth, rest) for row in rows])
                    with short:
                        _add(loops, tile, cells, panel, whole, [units.part(row, whole, rest) for row in rows])


def _add(loops: Loops, tile: Tile, cells: Cells, panel: ir.Value, k: ir.Value, units: Sequence[ir.Value]) -> None:
    """Add the products of one unit of each row and of each column."""
    b, dot = loops.b, tile.dot
    assert isinstance(dot, ByteDot)
    lanes = vector(I32, tile.lanes)
    offset = b.mul(k, I64(tile.columns))
    columns = []
    for index in range(tile.vectors):
        place = b.gep(panel, [b.add(offset, I64(index * tile.lanes))], source_etype=I32)
        columns.append(b.load(place, typ=lanes, align=4 * tile.lanes))
    multiply_add = instruction(loops, dot, tile.lanes)
    for unit, sums in zip(units, cells, strict=True):
        spread = loops.splat(unit, tile.lanes)
        for column, cell in zip(columns, sums, strict=True):
            b.store(multiply_add(b.load(cell, typ=lanes), spread, column), cell)


class _Units:
    """Units of a row of bytes."""

    def __init__(self, loops: Loops, left: Load, dot: ByteDot, step: Dim) -> None:
        self._b = loops.b
        self._dot = dot
        self._signed = is_signed(left.dtype)
        self._contiguous = step == 1
        self._step = loops.frame.size(step)

    def whole(self, row: ir.Value, k: ir.Value) -> ir.Value:
        """Unit `k`, of as many bytes as there are terms."""
        b, terms = self._b, self._dot.terms
        first = b.mul(k, I64(terms))
        if not self._contiguous or terms == 1:
            return self._joined([self._byte(row, b.add(first, I64(term))) for term in range(terms)])
        place = b.gep(row, [first], source_etype=I8)
        if terms == 4:
            return self._flipped(b.load(place, typ=I32, align=1))
        pair = b.load(place, typ=vector(I8, 2), align=1)
        return b.bitcast((b.sext if self._signed else b.zext)(pair, vector(I16, 2)), I32)

    @property
    def has_last(self) -> bool:
        """Whether the last unit of a row can be read with bytes of the one before it."""
        return self._contiguous and self._dot.terms == 4

    def last(self, row: ir.Value, depth: ir.Value, rest: ir.Value) -> ir.Value:
        """The last unit of a row of `depth` bytes, more than three: `rest` of them, read with those before them."""
        b = self._b
        read = b.load(b.gep(row, [b.sub(depth, I64(4))], source_etype=I8), typ=I32, align=1)
        before = b.trunc(b.mul(b.sub(I64(4), rest), I64(8)), I32)
        return self._flipped(b.lshr(read, before))

    def part(self, row: ir.Value, k: ir.Value, rest: ir.Value) -> ir.Value:
        """Unit `k`, of which `rest` bytes, fewer than there are terms, may be read."""
        b, terms = self._b, self._dot.terms
        first = b.mul(k, I64(terms))
        places = [
            b.add(first, b.select(b.icmp_signed("<", I64(term), rest), I64(term), I64(0))) if term else first
            for term in range(terms - 1)
        ]  # what is read instead is multiplied by a zero
        return self._joined([self._byte(row, place) for place in places])

    def _byte(self, row: ir.Value, place: ir.Value) -> ir.Value:
        b = self._b
        return b.load(b.gep(row, [b.mul(place, self._step)], source_etype=I8), typ=I8)

    def _joined(self, parts: Sequence[ir.Value]) -> ir.Value:
        """Bytes as a unit, the first in its lowest bits."""
        b, terms = self._b, self._dot.terms
        widen = b.sext if self._signed else b.zext
        if terms == 1:
            return widen(parts[0], I32)
        unit: ir.Value | None = None
        for term, part in enumerate(parts):
            own = b.zext(part if terms == 4 else widen(part, I16), I32)
            own = own if term == 0 else b.shl(own, I32(32 // terms * term))
            unit = own if unit is None else b.or_(unit, own)
        assert unit is not None
        return self._flipped(unit)

    def _flipped(self, unit: ir.Value) -> ir.Value:
        return self._b.xor(unit, I32(_FLIP)) if self._dot.flipped else unit


def instruction(loops: Loops, dot: ByteDot, lanes: int) -> Callable[[ir.Value, ir.Value, ir.Value], ir.Value]:
    """The function of sums, units of a row and units of columns that adds their products to the sums."""
    b, machine = loops.b, loops.frame.target.machine
    sums = vector(I32, lanes)

    def call(name: str, kind: ir.Type, arguments: Sequence[ir.Value]) -> ir.Value:
        cast = [
            x if x.type == kind or (place == 0 and len(arguments) == 3) else b.bitcast(x, kind)
            for place, x in enumerate(arguments)
        ]
        function = b.module.declared(f"llvm.{name}", ir.FunctionType(sums, [x.type for x in cast]))
        return b.call(function, cast)

    if dot.terms == 4:
        if machine == "x86_64":
            name = f"x86.avx512.vpdpbusd.{32 * lanes}"
            return lambda total, row, column: call(name, sums, (total, row, column))
        name = f"aarch64.neon.{'usdot' if dot.unsigned else 'sdot'}.v4i32.v16i8"
        return lambda total, row, column: call(name, vector(I8, 16), (total, row, column))
    if dot.terms == 2:
        name = {4: "x86.sse2.pmadd.wd", 8: "x86.avx2.pmadd.wd", 16: "x86.avx512.pmaddw.d.512"}[lanes]
        name = name if machine == "x86_64" else "wasm.dot"
        return lambda total, row, column: b.add(total, call(name, vector(I16, 2 * lanes), (row, column)))
    return lambda total, row, column: b.add(total, b.mul(row, column))
