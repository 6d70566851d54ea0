"""Memory in LLVM: addresses of indices, loads and stores of elements and of vectors, under conditions and masks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field, replace

from ingot.codegen.llvm import ir, scalars
from ingot.codegen.llvm.builder import Builder
from ingot.codegen.llvm.emitter import Frame
from ingot.codegen.llvm.lanes import WORDS_IN_VECTOR, Lane, Lanes, count_of
from ingot.codegen.llvm.permute import is_permutable, permuted
from ingot.codegen.llvm.picked import owner, picked_of, shuffled
from ingot.codegen.llvm.share import larger, smaller
from ingot.codegen.llvm.transpose import interleaved, transposed
from ingot.codegen.llvm.types import I1, I8, I32, I64, PTR, global_constant, lane_numbers, stored, vector, width, zeros
from ingot.dataclass import dataclass
from ingot.dims import Dim, constant_term
from ingot.dtypes import DType
from ingot.loops.ir import LANES_APART, LONGEST_JAMMED, Buffer, Index, Inside, Load, Scalar, Store, Var
from ingot.loops.near import moves, near_places

_BITS, _BITS_BEFORE = 63, 12
"""Neighbours whose conditions are the bits of one number, and how many of them come before the index itself."""

_NEAR = 32
"""Elements by which windows reach to either side, at most, for their places to be found from one address."""

_MOST_BYTES = 256
"""Bytes of the widest vector: as many lanes as one of four-byte elements has, of eight bytes each, and some."""


@dataclass(frozen=True, slots=True)
class Preheader:
    """The block before a vectorised loop, for addresses that depend on `variables` alone."""

    block: ir.Block
    then: ir.Block
    variables: frozenset[Var]
    addresses: dict[tuple[object, ...], ir.Value] = field(default_factory=dict)


class Memory(Lanes, ABC):
    """Emits loads and stores; `variables` are the values of loop variables around them."""

    def __init__(self, b: Builder, frame: Frame) -> None:
        super().__init__(b, frame)
        self.variables: dict[Var, ir.Value] = dict(frame.variables)
        self._preheader: Preheader | None = None
        self._totals: dict[tuple[Dim | tuple[int, Dim], ...], Dim] = {}
        self._block: Var | None = None
        self._bits: dict[tuple[object, ...], ir.Value] = {}
        self._turned: dict[int, tuple[Load, list[ir.Value]]] = {}

    @abstractmethod
    def scalar(self, value: Scalar) -> ir.Value:
        """The value of an expression: a vector if it differs from lane to lane, else one element."""

    # --- indices

    def index(self, index: Index) -> ir.Value:
        """An index as int64: a vector of them if it differs from lane to lane."""
        base = self._base(index)
        varying = self._varying(index)
        return base if varying is None else self.b.add(self.splat(base, count_of(varying)), varying)

    def _base(self, index: Index) -> ir.Value:
        """The index of the first lane, without terms that differ from lane to lane in another way."""
        return self._sum(index, None)

    def _sum(self, index: Index, without: Var | None) -> ir.Value:
        """The sum of the terms that are the same for all lanes, one variable left out."""
        b = self.b
        total: ir.Value = I64(0)
        for term, factor in index.terms:
            value = self.variables[term] if isinstance(term, Var) else self.scalar(term)
            if term is not without and count_of(value) == 1 and not isinstance(value, ir.Constant):
                total = b.add(total, value if factor == 1 else b.mul(value, self.frame.size(factor)))
        return b.add(total, self.frame.size(self._fixed(index)))

    def _fixed(self, index: Index) -> Dim:
        """The contribution of unrolled loops to an index: one size, so that equal addresses are seen to be equal."""
        return self._parts_of(index)[1]

    def _parts_of(self, index: Index) -> tuple[tuple[tuple[Var | Scalar, Dim], ...], Dim]:
        """The terms of an index that loops move, and the contribution of unrolled ones."""
        moving: list[tuple[Var | Scalar, Dim]] = []
        known: list[tuple[int, Dim]] = []
        variables = self.variables
        for pair in index.terms:
            term, factor = pair
            value = variables[term] if isinstance(term, Var) else self.scalar(term)
            if not isinstance(value, ir.Constant):
                moving.append(pair)
                continue
            if not isinstance(term, Var):
                moving.append(pair)
            if value.type.count == 1 and value.constant:
                known.append((value.constant, factor))
        if not known:
            return tuple(moving), index.offset
        key = (index.offset, *known)
        total = self._totals.get(key)
        if total is None:
            total = self._totals[key] = sum((times * factor for times, factor in known), index.offset)
        return tuple(moving), total

    def _varying(self, index: Index) -> ir.Value | None:
        """The terms that differ from lane to lane, as a vector; None if there are none."""
        if self._lane is None:
            return None
        return self._scaled_sum((value, factor) for _, value, factor in self._varying_terms(index))

    def _varying_terms(self, index: Index) -> Iterator[tuple[Var | Scalar, ir.Value, Dim]]:
        """The terms that differ from lane to lane, each with its vector and its factor."""
        lane = self._lane
        assert lane is not None
        for term, factor in index.terms:
            if term is lane.var:
                yield term, lane_numbers(I64, lane.count), factor
            elif not isinstance(term, Var) and count_of(value := self.scalar(term)) > 1:
                yield term, value, factor

    def _scaled_sum(self, terms: Iterable[tuple[ir.Value, Dim]]) -> ir.Value | None:
        """The sum of vectors, each times its factor; None of none."""
        b = self.b
        total: ir.Value | None = None
        for value, factor in terms:
            scaled = value if factor == 1 else b.mul(value, self.splat(self.frame.size(factor), count_of(value)))
            total = scaled if total is None else b.add(total, scaled)
        return total

    def _contiguous(self, index: Index) -> bool:
        """Whether the lanes of a vector lie one after another."""
        lane = self._lane
        assert lane is not None
        opaque = any(not isinstance(term, Var) and count_of(self.scalar(term)) > 1 for term, _ in index.terms)
        return index.factor(lane.var) == 1 and not opaque

    def _apart(self, index: Index) -> int | None:
        """The stride of the lanes of a vector, if they lie close enough to be picked out of contiguous vectors."""
        lane = self._lane
        assert lane is not None
        apart = index.factor(lane.var)
        opaque = any(not isinstance(term, Var) and count_of(self.scalar(term)) > 1 for term, _ in index.terms)
        return apart if isinstance(apart, int) and 1 < apart <= LANES_APART and lane.count > 1 and not opaque else None

    def _inside(self, where: Sequence[Inside]) -> ir.Value:
        """Whether all conditions hold, for each lane if that differs."""
        b, lane = self.b, self._lane
        result: ir.Value | None = None
        for condition in where:
            if lane is not None and self._is_row_of_bits(condition, lane):
                holds = self._row_of_lanes(condition, lane.count)
            else:
                index = self.index(condition.index)
                size = self.splat(self.frame.size(condition.size), count_of(index))
                holds = b.icmp_unsigned("<", index, size)
            result = holds if result is None else b.and_(*self._alike(result, holds))
        assert result is not None
        return result

    def _is_row_of_bits(self, condition: Inside, lane: Lane) -> bool:
        """Whether a condition on neighbours is found as the bits of a number sooner than by comparing each index.

        Those of a window that is unrolled are parts of one number.
        """
        if lane.count == 1 or condition.index.factor(lane.var) != 1 or self._is_opaque(condition.index):
            return False
        if lane.count > WORDS_IN_VECTOR:
            return True
        terms = (self.variables[term] for term, _ in condition.index.terms if isinstance(term, Var))
        return self.frame.target.masks and any(isinstance(value, ir.Constant) for value in terms)

    # --- loads and stores

    def _load(self, value: Load) -> ir.Value:
        """One element for all lanes; a vector load, if it is contiguous; else a gather."""
        b = self.b
        kind = stored(value.dtype)
        along, beside = self._separated(value.where)
        if along is not None:
            address = self._address_ahead(value.buffer, value.index, beside, value.dtype, value.fill)
            if address is not None:
                return self._computed(self._lanes_at(address, value, along), value.dtype)
        pointer = self.frame.buffers[value.buffer]
        if self._lane is not None and self._lane.count > 1 and self._is_turned(value):
            return self._computed(self._from_block(value, pointer), value.dtype)
        if value.where and (padded := self._padded_apart(value, pointer)) is not None:
            return self._computed(padded, value.dtype)
        inside = self._inside(value.where) if value.where else None
        if self._varying(value.index) is None and (inside is None or count_of(inside) == 1):
            address = b.gep(pointer, [self._base(value.index)], source_etype=kind)
            if inside is None:
                return self._computed(b.load(address, typ=kind), value.dtype)
            address = b.select(inside, address, self._zeros())
            loaded = self._computed(b.load(address, typ=kind), value.dtype)
            return b.select(inside, loaded, scalars.number(value.dtype, value.fill, 1))
        assert self._lane is not None
        lanes = self._lane.count
        mask = self._lane.mask
        uniform = inside if inside is not None and count_of(inside) == 1 else None
        fill = self._stored(scalars.number(value.dtype, value.fill, lanes), value.dtype)
        whole = vector(kind, lanes)
        dense = uniform is not None and self._contiguous(value.index)
        if inside is not None and not dense:
            inside = self._in_lanes(inside)
            mask = inside if mask is None else b.and_(mask, inside)
        if dense:
            assert uniform is not None
            address = b.gep(pointer, [self._base(value.index)], source_etype=kind)
            address = b.select(uniform, address, self._zeros())
            if mask is None:
                loaded = b.load(address, typ=whole)
                loaded.align = width(value.dtype)
            else:
                loaded = self._masked("masked.load", whole, [address, I32(width(value.dtype)), mask, fill], whole, PTR)
            if value.fill != 0:
                loaded = b.select(uniform, loaded, fill)
        elif self._contiguous(value.index):
            address = b.gep(pointer, [self._base(value.index)], source_etype=kind)
            if mask is None:
                loaded = b.load(address, typ=whole)
                loaded.align = width(value.dtype)
            else:
                loaded = self._masked("masked.load", whole, [address, I32(width(value.dtype)), mask, fill], whole, PTR)
        elif (apart := self._apart(value.index)) is not None:
            address = b.gep(pointer, [self._base(value.index)], source_etype=kind)
            loaded = self._picked(address, value.dtype, apart, mask, fill)
        elif self._is_near(value, whole):
            loaded = self._near(value, pointer, mask, fill)
        else:
            loaded = self._gathered(value, pointer, mask, fill)
        return self._computed(loaded, value.dtype)

    def _gathered(self, value: Load, pointer: ir.Value, mask: ir.Value | None, fill: ir.Value) -> ir.Value:
        """Lanes from anywhere."""
        b, whole, lanes = self.b, fill.type, count_of(fill)
        addresses = b.gep(pointer, [self._in_lanes(self.index(value.index))], source_etype=stored(value.dtype))
        addresses.type = ir.VectorType(PTR, lanes)
        full = mask if mask is not None else ir.Constant(ir.VectorType(I1, lanes), [1] * lanes)
        arguments = [addresses, I32(width(value.dtype)), full, fill]
        return self._masked("masked.gather", whole, arguments, whole, addresses.type)

    def _is_near(self, value: Load, whole: ir.Type) -> bool:
        """Whether lanes at computed places are read where one vector has them all: the places are those of all rows."""
        lane = self._lane
        assert lane is not None
        if (
            value.where
            or not is_permutable(self.frame.target, whole)
            or (lane.mask is not None and lane.active is None)
        ):
            return False
        return near_places(value.index, lane.var) is not None

    def _near(self, value: Load, pointer: ir.Value, mask: ir.Value | None, fill: ir.Value) -> ir.Value:
        """Lanes at computed places: out of one vector where those of the first and the last lane enclose all others.

        That is so along an axis that is enlarged, or padded by its own elements. A gather takes several times as long.
        Only what lies between the two is read.
        """
        b, lane, lanes = self.b, self._lane, count_of(fill)
        assert lane is not None
        base, wide = self._base(value.index), self._varying(value.index)  # both arms read what is computed here
        term = near_places(value.index, lane.var)
        assert wide is not None
        assert term is not None
        places = self.scalar(term)
        first = b.extract_element(places, I32(0))
        last = b.extract_element(places, I32(lanes - 1) if lane.active is None else b.sub(lane.active, I64(1)))
        low, high = smaller(b, first, last), larger(b, first, last)
        span = b.sub(high, low)
        within = b.sub(places, self.splat(low, lanes))
        enclosed = b.icmp_unsigned("<=", within, self.splat(span, lanes))
        if mask is not None:
            enclosed = b.or_(enclosed, b.not_(mask))
        near = scalars.intrinsic(b, "vector.reduce.and", I1, [enclosed], enclosed.type)
        near = b.and_(near, b.icmp_unsigned("<", span, ir.Constant(span.type, lanes)))
        with b.if_else(near, likely=True) as (then, otherwise):
            with then:
                address = b.gep(pointer, [b.add(base, b.sext(low, I64))], source_etype=stored(value.dtype))
                read = self.lanes_below(b.add(b.zext(span, I64), I64(1)), lanes)
                arguments = [address, I32(width(value.dtype)), read, ir.Constant(fill.type, None)]
                block = self._masked("masked.load", fill.type, arguments, fill.type, PTR)
                permuted_lanes, after = permuted(b, self.frame.target, block, within), b.block
            with otherwise:
                gathered, gather_end = self._gathered(value, pointer, mask, fill), b.block
        phi = b.phi(fill.type)
        phi.add_incoming(permuted_lanes, after)
        phi.add_incoming(gathered, gather_end)
        return phi

    def _is_turned(self, value: Load) -> bool:
        """Whether a load for every place of a jam is one of a block, which lies contiguous along the jam."""
        block, lane = self._block, self._lane
        assert lane is not None
        if block is None or block.extent != lane.count or value.index.factor(block) != 1:
            return False
        terms = [term for term, _ in value.index.terms if not isinstance(term, Var)]
        is_computed = any(count_of(self.scalar(term)) > 1 for term in terms)
        if any(moves(term, block) for term in terms) or (is_computed and value.where):
            return False
        if value.index.factor(lane.var) == 1 or (value.index.factor(lane.var) == 0 and not is_computed):
            return False
        for condition in value.where:
            factors = condition.index.factor(block), condition.index.factor(lane.var)
            if factors[0] != 0 and (factors != (1, 0) or not self.frame.target.masks):
                return False
        others = (term for condition in value.where for term, _ in condition.index.terms)
        opaque = any(not isinstance(term, Var) and count_of(self.scalar(term)) > 1 for term in others)
        return not opaque and (lane.mask is None or lane.active is not None)

    def _from_block(self, value: Load, pointer: ir.Value) -> ir.Value:
        """The lanes for one place of a jam, out of a block that is loaded and transposed at the first place.

        Where lanes are masked off, the last active one is loaded in their place.
        """
        b, block, lane = self.b, self._block, self._lane
        assert block is not None
        assert lane is not None
        place = self.variables[block]
        if id(value) not in self._turned:
            self.variables[block] = I64(0)
            base = self._base(value.index)
            self.variables[block] = place
            stride = self.frame.size(value.index.factor(lane.var))
            last = None if lane.active is None else b.sub(lane.active, I64(1))
            computed = (part for part in self._varying_terms(value.index) if not isinstance(part[0], Var))
            places = self._scaled_sum((offsets, factor) for _, offsets, factor in computed)
            if places is not None and lane.mask is not None:
                first = self.splat(b.extract_element(places, I32(0)), lane.count)
                places = b.select(lane.mask, places, first)
            fill = self._stored(scalars.number(value.dtype, value.fill, lane.count), value.dtype)
            beside = [condition for condition in value.where if condition.index.factor(block) == 0]
            mask = self._mask_of_block([condition for condition in value.where if condition not in beside], block)
            lines: list[ir.Value] = []
            for number in range(lane.count):
                at = I64(number) if last is None else smaller(b, I64(number), last)
                start = b.add(base, b.mul(at, stride))
                if places is not None:
                    start = b.add(start, b.extract_element(places, I32(number)))
                address = b.gep(pointer, [start], source_etype=stored(value.dtype))
                inside = self._inside_at(beside, at) if beside else None
                if inside is not None:
                    address = b.select(inside, address, self._zeros())
                line = self._line_of_block(address, value.dtype, mask, fill)
                lines.append(line if inside is None or value.fill == 0 else b.select(inside, line, fill))
            self._turned[id(value)] = (value, transposed(b, lines))
        assert isinstance(place, ir.Constant)
        wanted: int = place.constant
        return self._turned[id(value)][1][wanted]

    def _mask_of_block(self, where: Sequence[Inside], block: Var) -> ir.Value | None:
        """The places of a block for which conditions hold, whatever the lane; None if there are none."""
        b, lane = self.b, self._lane
        assert lane is not None
        mask: ir.Value | None = None
        for condition in where:
            first = Index(tuple(item for item in condition.index.terms if item[0] is not block), condition.index.offset)
            bits = b.trunc(self._bits_inside(replace(condition, index=first), lane.count), ir.IntType(lane.count))
            own = b.bitcast(bits, ir.VectorType(I1, lane.count))
            mask = own if mask is None else b.and_(mask, own)
        return mask

    def _line_of_block(self, address: ir.Value, dtype: DType, mask: ir.Value | None, fill: ir.Value) -> ir.Value:
        """A vector of contiguous elements; `fill` where a mask is off."""
        if mask is not None:
            return self._masked("masked.load", fill.type, [address, I32(width(dtype)), mask, fill], fill.type, PTR)
        line = self.b.load(address, typ=fill.type)
        line.align = width(dtype)
        return line

    def _inside_at(self, where: Sequence[Inside], number: ir.Value) -> ir.Value:
        """Whether conditions hold for one lane, given by its number."""
        b, lane = self.b, self._lane
        assert lane is not None
        result: ir.Value = ir.Constant(I1, 1)
        for condition in where:
            moved = b.mul(number, self.frame.size(condition.index.factor(lane.var)))
            index = b.add(self._base(condition.index), moved)
            result = b.and_(result, b.icmp_unsigned("<", index, self.frame.size(condition.size)))
        return result

    def _picked(self, address: ir.Value, dtype: DType, apart: int, mask: ir.Value | None, fill: ir.Value) -> ir.Value:
        """Elements `apart` from each other, out of as many contiguous vectors; the last vector ends with the last lane.

        Nothing before the first lane or behind the last is read, and with a mask nothing of other lanes either.
        """
        b, whole, lanes = self.b, fill.type, count_of(fill)

        def piece(start: int) -> ir.Value:
            place = b.gep(address, [I64(start)], source_etype=stored(dtype))
            if mask is None:
                contiguous = b.load(place, typ=whole)
                contiguous.align = width(dtype)
                return contiguous
            starts = _starts(apart, lanes)
            number = starts.index(start)
            own = {lane * apart - start: lane for lane in range(lanes) if owner(lane * apart, starts, lanes) == number}
            active = shuffled(b, mask, ir.Constant(mask.type, None), [own.get(at, lanes) for at in range(lanes)])
            return self._masked("masked.load", whole, [place, I32(width(dtype)), active, fill], whole, PTR)

        return picked_of(b, piece, _starts(apart, lanes), [lane * apart for lane in range(lanes)])

    def _padded_apart(self, value: Load, pointer: ir.Value) -> ir.Value | None:
        """Elements a few apart of a padded row, picked out of contiguous vectors; None for any other load.

        Conditions along the lanes move as the elements do, so that each is one of the contiguous elements too: those
        between two lanes may be read as well, and those of lanes that are masked off. The vectors begin at a multiple
        of the stride, so that neighbours in a window are picked out of the same ones, and a row is found once for all.
        """
        b, lane = self.b, self._lane
        apart = None if lane is None else self._apart(value.index)
        if lane is None or apart is None or any(self._is_opaque(condition.index) for condition in value.where):
            return None
        along = [condition for condition in value.where if condition.index.factor(lane.var) != 0]
        if not along or any(condition.index.factor(lane.var) != apart for condition in along):
            return None
        kind, lanes = stored(value.dtype), lane.count
        near = self._near_by(value.index)
        skipped = near % apart
        address = b.gep(pointer, [self._base(value.index.plus(-near))], source_etype=kind)
        for condition in value.where:
            if condition not in along:
                inside = b.icmp_unsigned("<", self._base(condition.index), self.frame.size(condition.size))
                address = b.select(inside, address, self._filling(value.dtype, value.fill))
        fill = self._stored(scalars.number(value.dtype, value.fill, lanes), value.dtype)

        def piece(start: int) -> ir.Value:
            masks = [self._row_of_lanes(replace(each, index=each.index.plus(start - skipped)), lanes) for each in along]
            mask = masks[0]
            for other in masks[1:]:
                mask = b.and_(mask, other)
            place = b.gep(address, [I64(near - skipped + start)], source_etype=kind)
            return self._masked("masked.load", fill.type, [place, I32(width(value.dtype)), mask, fill], fill.type, PTR)

        starts = [number * lanes for number in range(apart)]
        return picked_of(b, piece, starts, [skipped + number * apart for number in range(lanes)])

    def _store(self, statement: Store) -> None:
        """Store one element; a vector, if it is contiguous; else a scatter."""
        b = self.b
        dtype = statement.buffer.dtype
        kind = stored(dtype)
        pointer = self.frame.buffers[statement.buffer]
        value = self.scalar(statement.value)
        lane = self._lane
        if lane is None or (self._varying(statement.index) is None and count_of(value) == 1):
            address = b.gep(pointer, [self._base(statement.index)], source_etype=kind)
            b.store(self._stored(value, dtype), address)
            return
        lanes = self._stored(self._in_lanes(value), dtype)
        if self._contiguous(statement.index):
            hoisted = self._address_ahead(statement.buffer, statement.index)
            address = hoisted or b.gep(pointer, [self._base(statement.index)], source_etype=kind)
            if lane.mask is None:
                b.store(lanes, address).align = width(dtype)
            else:
                arguments = [lanes, address, I32(width(dtype)), lane.mask]
                self._masked("masked.store", ir.VoidType(), arguments, lanes.type, PTR)
            return
        addresses = b.gep(pointer, [self._in_lanes(self.index(statement.index))], source_etype=kind)
        addresses.type = ir.VectorType(PTR, lane.count)
        full = lane.mask if lane.mask is not None else ir.Constant(ir.VectorType(I1, lane.count), [1] * lane.count)
        arguments = [lanes, addresses, I32(width(dtype)), full]
        self._masked("masked.scatter", ir.VoidType(), arguments, lanes.type, addresses.type)

    def _interleaves(self, statement: Store) -> bool:
        """Whether the places of a jam are neighbours, and the lanes as far apart as there are places."""
        block, lane, index = self._block, self._lane, statement.index
        if block is None or lane is None or lane.count == 1 or (lane.mask is not None and lane.active is None):
            return False
        return index.factor(block) == 1 and index.factor(lane.var) == block.extent and not self._is_opaque(index)

    def _is_apart(self, statement: Store, count: int) -> bool:
        """Whether the lanes of a store are so many elements apart, and where they end is known."""
        lane = self._lane
        if lane is None or lane.count == 1 or (lane.mask is not None and lane.active is None):
            return False
        return statement.index.factor(lane.var) == count and not self._is_opaque(statement.index)

    def _lanes_of(self, statement: Store) -> ir.Value:
        """What a statement stores, as a vector of elements."""
        return self._stored(self._in_lanes(self.scalar(statement.value)), statement.buffer.dtype)

    def _store_interleaved(self, statement: Store, values: Sequence[ir.Value]) -> None:
        """Store vectors where a statement stores so that their first lanes are neighbours, then their second ones.

        They are those for the places of a jam, if there is one around.
        """
        b, lane, dtype = self.b, self._lane, statement.buffer.dtype
        assert lane is not None
        many, lanes = len(values), lane.count
        if self._block is not None:
            self.variables[self._block] = I64(0)
        base = self._base(statement.index)
        for number, result in enumerate(interleaved(b, values)):
            address = b.gep(
                self.frame.buffers[statement.buffer],
                [b.add(base, I64(number * lanes))],
                source_etype=stored(dtype),
            )
            if lane.active is None:
                b.store(result, address).align = width(dtype)
                continue
            left = larger(b, b.sub(b.mul(lane.active, I64(many)), I64(number * lanes)), I64(0))
            arguments = [result, address, I32(width(dtype)), self.lanes_below(smaller(b, left, I64(lanes)), lanes)]
            self._masked("masked.store", ir.VoidType(), arguments, result.type, PTR)

    def _separated(self, where: Sequence[Inside]) -> tuple[list[Inside] | None, list[Inside]]:
        """The conditions that hold for lanes in a row, and those that hold for all lanes or none.

        The former are None where some hold for other lanes.
        """
        lane = self._lane
        if lane is None:
            return None, []
        along = [condition for condition in where if condition.index.factor(lane.var) != 0]
        beside = [condition for condition in where if condition.index.factor(lane.var) == 0]
        if any(condition.index.factor(lane.var) != 1 or self._is_opaque(condition.index) for condition in along):
            return None, beside
        return along, beside

    @staticmethod
    def _is_opaque(index: Index) -> bool:
        return any(not isinstance(term, Var) for term, _ in index.terms)

    def _row_of_lanes(self, condition: Inside, lanes: int) -> ir.Value:
        """The mask of the lanes whose index is inside, which are neighbours: the bits of a number.

        Those of indices that differ by a few places are parts of one number of more bits, made once in a block.
        """
        b = self.b
        near = constant_term(self._fixed(condition.index))
        if self._is_opaque(condition.index) or not -_BITS_BEFORE <= near <= _BITS - _BITS_BEFORE - lanes:
            bits = self._bits_inside(condition, lanes)
        else:
            first = condition.index.plus(-near - _BITS_BEFORE)
            moving, fixed = self._parts_of(first)
            values = tuple(self.variables[term] for term, _ in moving if isinstance(term, Var))
            key = (b.block, moving, values, fixed, condition.size)
            if key not in self._bits:
                self._bits[key] = self._bits_inside(replace(condition, index=first), _BITS)
            bits = b.lshr(self._bits[key], I64(near + _BITS_BEFORE))
        return b.bitcast(b.trunc(bits, ir.IntType(lanes)), ir.VectorType(I1, lanes))

    def _bits_inside(self, condition: Inside, count: int) -> ir.Value:
        """A number with a bit for each of `count` neighbours, the lowest for the index: whether it is inside."""
        b = self.b
        first, size = self._base(condition.index), self.frame.size(condition.size)
        before, until = (
            self._low_bits(larger(b, I64(0), smaller(b, places, I64(count))), count)
            for places in (b.sub(I64(0), first), b.sub(size, first))
        )
        return b.and_(until, b.not_(before))

    def _low_bits(self, count: ir.Value, most: int) -> ir.Value:
        """A number with the lowest `count` of 64 bits, of which at most so many are asked for."""
        b = self.b
        bits = b.sub(b.shl(I64(1), count), I64(1))
        return bits if most < 64 else b.select(b.icmp_signed("<", count, I64(64)), bits, I64(-1))

    def _address_ahead(
        self,
        buffer: Buffer,
        index: Index,
        where: Sequence[Inside] = (),
        dtype: DType = DType.FLOAT32,
        fill: float | int | bool = 0,
    ) -> ir.Value | None:
        """The address of the first lane, hoisted into the preheader as far as possible; None if there is none.

        Where a condition does not hold, it is that of as many elements `fill` as the loop may read.
        """
        preheader, lane, b = self._preheader, self._lane, self.b
        if preheader is None or lane is None or index.factor(lane.var) != 1:
            return None
        near = self._near_by(index)
        row = index.plus(-near)
        key: list[object] = [buffer, fill]
        for moved in (row, *_indices(where)):
            moving, fixed = self._parts_of(moved)
            for term, _ in moving:
                if term is not lane.var and term not in preheader.variables:
                    return None
            if moved is not row and moved.factor(lane.var) != 0:
                return None
            key += (moving, fixed)
        kind = stored(buffer.dtype)
        ahead = tuple(key)
        address = preheader.addresses.get(ahead)
        if address is None:
            with b.goto_block(preheader.block):
                address = b.gep(self.frame.buffers[buffer], [self._sum(row, lane.var)], source_etype=kind)
                for condition in where:
                    inside = b.icmp_unsigned("<", self._base(condition.index), self.frame.size(condition.size))
                    address = b.select(inside, address, self._filling(dtype, fill))
            preheader.addresses[ahead] = address
        moved_address = b.gep(address, [self.variables[lane.var]], source_etype=kind)
        return b.gep(moved_address, [I64(near)], source_etype=kind) if near else moved_address

    def _near_by(self, index: Index) -> int:
        """By how many elements an index is off one that others in a window share; 0 if by too many."""
        near = constant_term(self._fixed(index))
        return near if abs(near) <= _NEAR else 0

    def _lanes_at(self, address: ir.Value, value: Load, where: Sequence[Inside]) -> ir.Value:
        """A vector: the fill of the load where a condition does not hold, and anything where the mask is off."""
        lane = self._lane
        assert lane is not None
        whole = vector(stored(value.dtype), lane.count)
        mask = lane.mask
        for condition in where:
            own = self._row_of_lanes(condition, lane.count)
            mask = own if mask is None else self.b.and_(mask, own)
        if mask is not None:
            fill = self._stored(scalars.number(value.dtype, value.fill, lane.count), value.dtype)
            return self._masked("masked.load", whole, [address, I32(width(value.dtype)), mask, fill], whole, PTR)
        loaded = self.b.load(address, typ=whole)
        loaded.align = width(value.dtype)
        return loaded

    def _filling(self, dtype: DType, fill: float | int | bool) -> ir.Value:
        """The address of as many elements of one value as a jammed loop may read, and some before and behind them."""
        count = LONGEST_JAMMED + 4 * _NEAR
        if fill == 0:
            start = self._zeros(count * width(dtype))
        else:
            value = [scalars.number(dtype, fill, 1).constant] * count
            start = global_constant(self.b, ir.Constant(ir.VectorType(stored(dtype), count), value))
        return self.b.gep(start, [I64(2 * _NEAR)], source_etype=stored(dtype))

    def _masked(self, name: str, result: ir.Type, arguments: Sequence[ir.Value], *over: ir.Type) -> ir.Value:
        return scalars.intrinsic(self.b, name, result, arguments, *over)

    def _zeros(self, bytes_: int = _MOST_BYTES) -> ir.Value:
        """Zeros to read where a condition does not hold."""
        return zeros(self.b, f"nothing{bytes_}", ir.ArrayType(I8, bytes_))


def _starts(apart: int, lanes: int) -> list[int]:
    """Where the contiguous vectors begin; the last ends with the last lane."""
    return [*(number * lanes for number in range(apart - 1)), (lanes - 1) * (apart - 1)]


def _indices(where: Sequence[Inside]) -> Iterator[Index]:
    return (condition.index for condition in where)
