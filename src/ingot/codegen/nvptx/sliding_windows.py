"""Windows that slide along a row on a GPU: a thread computes a strip of neighbours, and reads what they share once.

A strip is a few places of the row, of a vector of neighbours along `lane` each. What its windows read lies at places
of the row that are known but for where the strip begins: each is loaded into registers once for all of them. An
element that is padding is read from a vector of what it is filled with, so that no load is conditional. The last strip
of a row ends with it, and so may compute again what the one before does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import prod

from ingot.codegen.llvm import ir, scalars
from ingot.codegen.llvm.builder import Builder
from ingot.codegen.llvm.emitter import Frame
from ingot.codegen.llvm.expressions import Cell
from ingot.codegen.llvm.lanes import Lane
from ingot.codegen.llvm.share import smaller
from ingot.codegen.llvm.types import I8, I32, I64, global_constant, stored, vector, width, zeros
from ingot.codegen.nvptx.grid import register
from ingot.codegen.nvptx.loops import ThreadLoops
from ingot.dataclass import dataclass
from ingot.dims import Dim
from ingot.loops.ir import Inside, Load, SlidingWindows, Var
from ingot.loops.rewrite import parts, values

PARAMETERS = ("lane_blocks", "strips", "places", "zero")
"""The blocks that share a row along `lane`, the strips of a row, those of all rows, and zero: see `_opaque`."""

_LANE_BLOCKS, _STRIPS, _PLACES, _ZERO = (ir.Value(I64, f"%{name}") for name in PARAMETERS)

_MOST_UNROLLED = 1024
"""Updates of a thread up to which loops over what windows do not slide along are unrolled."""

_WORD = 32

_FILLED = 64
"""Bytes of the widest vector of padding: eight elements of eight bytes."""


@dataclass(frozen=True, slots=True)
class Strip:
    """The places of a row and the neighbours of each that one thread computes."""

    count: int
    lanes: int


def emit_windows(b: Builder, frame: Frame, nest: SlidingWindows, strip: Strip) -> None:
    """A strip for each thread: blocks are `tid.x` vectors along `lane` by `tid.y` strips."""
    WindowLoops(b, frame, nest, strip).emit()


class WindowLoops(ThreadLoops):
    """Emits the strip of a thread."""

    def __init__(self, b: Builder, frame: Frame, nest: SlidingWindows, strip: Strip) -> None:
        super().__init__(b, frame)
        self.nest, self.strip = nest, strip
        assert isinstance(nest.along.extent, int)
        self.length = nest.along.extent
        self.places = places_of(nest, strip.count)
        loads = [part for part in parts(list(values(nest.body))) if isinstance(part, Load)]
        self.sliding = [load for load in loads if load.index.factor(nest.row) != 0]
        self.fixed = [load for load in loads if load.index.factor(nest.row) == 0]
        self._sums: list[dict[str, Cell]] = []

    def emit(self) -> None:
        b, nest, strip = self.b, self.nest, self.strip
        block, across, beside = (register(b, name) for name in ("ctaid.x", "ntid.x", "ntid.y"))
        piece = b.add(b.mul(b.srem(block, _LANE_BLOCKS), across), register(b, "tid.x"))
        place = b.add(b.mul(b.sdiv(block, _LANE_BLOCKS), beside), register(b, "tid.y"))
        first = b.mul(piece, I64(strip.lanes))
        size = self.frame.size
        inside = b.and_(b.icmp_signed("<", first, size(nest.lane.extent)), b.icmp_signed("<", place, _PLACES))
        with b.if_then(inside):
            self.unflatten(nest.rows, b.sdiv(place, _STRIPS))
            last = b.sub(size(nest.row.extent), I64(strip.count))
            self.begin = smaller(b, b.mul(b.srem(place, _STRIPS), I64(strip.count)), last)
            self.variables[nest.lane] = first
            self._lane = Lane(nest.lane, strip.lanes, None) if strip.lanes > 1 else None
            self._strip_at()
            self._lane = None

    def _strip_at(self) -> None:
        nest = self.nest
        for number in range(self.strip.count):
            self.cells = {}
            self._begin_at(number)
            self.statements(nest.starts)
            self._sums.append(self.cells)
        insides = [self._words(load) for load in self.sliding]
        self._reduce(nest.inner, insides)
        for number in range(self.strip.count):
            self.cells = self._sums[number]
            self._begin_at(number)
            self.statements(nest.ends)

    def _begin_at(self, number: int) -> None:
        self.variables[self.nest.row] = self.b.add(self.begin, I64(number))
        self._known = {}

    def _reduce(self, inner: Sequence[Var], insides: Sequence[list[ir.Value] | None]) -> None:
        """The loops over what windows do not slide along, unrolled where these are short."""
        if not inner:
            self._slide(insides)
            return
        var, size = inner[0], self.frame.size
        if self._unrolls():
            assert isinstance(var.extent, int)
            for number in range(var.extent):
                self.variables[var] = I64(number)
                self._reduce(inner[1:], insides)
            return
        with self.b.counted(I64(0), size(var.extent), I64(1)) as index:
            self.variables[var] = self._opaque(index)
            self._reduce(inner[1:], insides)

    def _opaque(self, index: ir.Value) -> ir.Value:
        """A loop variable of which LLVM does not see that it counts: or it holds an address a load in registers."""
        return self.b.xor(index, _ZERO)

    def _unrolls(self) -> bool:
        extents = [var.extent for var in self.nest.inner]
        times = self.length * self.strip.count * self.strip.lanes
        return prod(size if isinstance(size, int) else _MOST_UNROLLED for size in extents) * times <= _MOST_UNROLLED

    def _slide(self, insides: Sequence[list[ir.Value] | None]) -> None:
        """All windows of the strip along what they slide along: every element is loaded once, and then reduced."""
        nest = self.nest
        self._known = {}
        self.variables[nest.row], self.variables[nest.along] = self.begin, I64(0)
        fixed = [self._loads_along(load) for load in self.fixed]
        sliding = [self._loads_of(load, words) for load, words in zip(self.sliding, insides, strict=True)]
        for place, (number, element) in self._pairs():
            self.cells = self._sums[number]
            self._begin_at(number)
            self.variables[nest.along] = I64(element)
            for load, loaded in zip(self.fixed, fixed, strict=True):
                self._known[id(load)] = load, loaded[element]
            for load, loaded in zip(self.sliding, sliding, strict=True):
                self._known[id(load)] = load, loaded[place]
            self.statements(nest.body)
        self._known = {}

    def _pairs(self) -> Iterator[tuple[int, tuple[int, int]]]:
        """The places in turn, each with the windows that read it and with which of their elements it is."""
        stride, step = self.nest.stride, self.nest.step
        for place, position in enumerate(self.places):
            for number in range(self.strip.count):
                element, rest = divmod(position - number * stride, step)
                if rest == 0 and 0 <= element < self.length:
                    yield place, (number, element)

    # --- loads

    def _loads_along(self, load: Load) -> list[ir.Value]:
        """What a load reads for each element of a window, the same for all windows."""
        by = load.index.factor(self.nest.along)
        if by == 0:
            return [self.scalar(load)] * self.length
        at = self._addresses(load)
        return [self._read(load, at(by * element)) for element in range(self.length)]

    def _loads_of(self, load: Load, words: list[ir.Value] | None) -> list[ir.Value]:
        """What a load reads at each place, or what it is filled with."""
        b, nest = self.b, self.nest
        at = self._addresses(load)
        beside = [condition for condition in load.where if not self._slides(condition)]
        if beside:
            holds = self._inside(beside)
            words = words or [I32(-1)] * -(-len(self.places) // _WORD)
            words = [b.select(holds, word, I32(0)) for word in words]
        loaded = []
        for place, (number, element) in enumerate(self._reached()):
            offset = load.index.factor(nest.row) * number + load.index.factor(nest.along) * element
            address = at(offset)
            if words is not None:
                bit = b.and_(words[place // _WORD], I32(_signed(1 << place % _WORD)))
                address = b.select(b.icmp_signed("!=", bit, I32(0)), address, self._filled(load))
            loaded.append(self._read(load, address))
        return loaded

    def _words(self, load: Load) -> list[ir.Value] | None:
        """Whether each place is inside along the row, as bits; None where nothing asks for that."""
        b, nest = self.b, self.nest
        conditions = [condition for condition in load.where if self._slides(condition)]
        if not conditions:
            return None
        self._known = {}
        self.variables[nest.row], self.variables[nest.along] = self.begin, I64(0)
        words: list[ir.Value] = [I32(0)] * -(-len(self.places) // _WORD)
        for place, (number, element) in enumerate(self._reached()):
            holds: ir.Value | None = None
            for condition in conditions:
                index, size = condition.index, b.trunc(self.frame.size(condition.size), I32)
                offset = index.factor(nest.row) * number + index.factor(nest.along) * element
                own = b.add(b.trunc(self._base(index), I32), b.trunc(self.frame.size(offset), I32))
                inside = b.icmp_unsigned("<", own, size)
                holds = inside if holds is None else b.and_(holds, inside)
            assert holds is not None
            bit = b.shl(b.zext(holds, I32), I32(place % _WORD))
            words[place // _WORD] = b.or_(words[place // _WORD], bit)
        return words

    def _slides(self, condition: Inside) -> bool:
        return condition.index.factor(self.nest.row) != 0

    def _reached(self) -> Iterator[tuple[int, int]]:
        """For each place a window that reads it, and which of its elements it is."""
        first: dict[int, tuple[int, int]] = {}
        for place, pair in self._pairs():
            first.setdefault(place, pair)
        return (first[place] for place in range(len(self.places)))

    def _addresses(self, load: Load) -> Callable[[Dim], ir.Value]:
        """The address of what a load reads, by how many elements it is from the first: a parameter has the bytes."""
        b, each = self.b, width(load.dtype)
        start = b.gep(self.frame.buffers[load.buffer], [self._base(load.index)], source_etype=stored(load.dtype))
        return lambda offset: b.gep(start, [self.frame.size(offset * each)], source_etype=I8)

    def _read(self, load: Load, address: ir.Value) -> ir.Value:
        """An element, or one for each lane, from an address."""
        is_vector = self._lane is not None and load.index.factor(self.nest.lane) == 1
        lanes = self.strip.lanes if is_vector else 1
        whole = vector(stored(load.dtype), lanes)
        return self._computed(self.b.load(address, whole, lanes * width(load.dtype)), load.dtype)

    def _filled(self, load: Load) -> ir.Value:
        """The address of a vector of what a load is filled with."""
        if load.fill == 0:
            return zeros(self.b, "nothing", ir.ArrayType(I8, _FILLED))
        lanes = max(2, self.strip.lanes)  # LLVM has no text for a single half in memory
        fill = self._stored(scalars.number(load.dtype, load.fill, lanes), load.dtype)
        assert isinstance(fill, ir.Constant)
        return global_constant(self.b, fill)


def places_of(nest: SlidingWindows, count: int) -> list[int]:
    """The places of the row that so many windows read, from the first one's beginning on, in the order of the row."""
    assert isinstance(nest.along.extent, int)
    length = nest.along.extent
    return sorted({number * nest.stride + element * nest.step for number in range(count) for element in range(length)})


def _signed(word: int) -> int:
    return word - (1 << _WORD) if word >= 1 << (_WORD - 1) else word
