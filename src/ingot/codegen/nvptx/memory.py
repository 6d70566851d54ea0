"""Loads and stores of one thread of a GPU: single elements, or as many neighbours as 16 bytes hold."""

from __future__ import annotations

from collections.abc import Sequence

from ingot.codegen.llvm import ir, scalars
from ingot.codegen.llvm.builder import Builder
from ingot.codegen.llvm.emitter import Frame
from ingot.codegen.llvm.expressions import Expressions
from ingot.codegen.llvm.lanes import count_of
from ingot.codegen.llvm.types import I1, I32, I64, stored, vector, width
from ingot.codegen.nvptx.rounded import HALVES, gate_of, gated
from ingot.dtypes import DType
from ingot.loops.ir import Apply, For, Index, Load, Statement, Store, Var
from ingot.loops.rewrite import parts, stores, values

_BYTES = 16
_MOST_LANES = 8

_SHORT = 24
"""Scalars in statements that are worth repeating in code."""


class ThreadMemory(Expressions):
    """Emits expressions of a thread. A vector lies at a multiple of its size: see `is_aligned`.

    Where `active` is not None, stores are made only where it holds.
    """

    def __init__(self, b: Builder, frame: Frame) -> None:
        super().__init__(b, frame)
        self.active: ir.Value | None = None

    def _apply(self, value: Apply) -> ir.Value:
        if value.function == "cast" and value.dtype in HALVES and (rounded := self._gate_to_round(value)) is not None:
            return rounded
        return super()._apply(value)

    def _gate_to_round(self, cast: Apply) -> ir.Value | None:
        """What is rounded to 16 bits of a gate that nothing else has read; None of any other number."""
        (wide,) = cast.arguments
        gate = None if id(wide) in self._known else gate_of(wide)
        if gate is None:
            return None
        function, factor, argument = gate
        y, t = self._alike(self.scalar(factor), self.scalar(argument))
        return scalars.cast(self.b, gated(self.b, function, y, t, cast.dtype), DType.FLOAT32, cast.dtype)

    def _load(self, value: Load) -> ir.Value:
        b, lane, kind = self.b, self._lane, stored(value.dtype)
        pointer = self.frame.buffers[value.buffer]
        inside = self._inside(value.where) if value.where else None
        fill = self._stored(scalars.number(value.dtype, value.fill, 1), value.dtype)
        is_uniform = inside is None or count_of(inside) == 1
        if self._varying(value.index) is None and is_uniform:
            address = b.gep(pointer, [self._base(value.index)], source_etype=kind)
            return self._computed(self._loaded(address, kind, inside, fill, width(value.dtype)), value.dtype)
        assert lane is not None
        whole = vector(kind, lane.count)
        if is_uniform and self._contiguous(value.index):
            address = b.gep(pointer, [self._base(value.index)], source_etype=kind)
            size = lane.count * width(value.dtype)
            loaded = self._loaded(address, whole, inside, self.splat(fill, lane.count), size)
            return self._computed(loaded, value.dtype)
        indices = self._in_lanes(self.index(value.index))
        holds = None if inside is None else self._in_lanes(inside)
        result: ir.Value = ir.Constant(whole, ir.Undefined)
        for number in range(lane.count):
            address = b.gep(pointer, [b.extract_element(indices, I32(number))], source_etype=kind)
            holds_here = None if holds is None else b.extract_element(holds, I32(number))
            element = self._loaded(address, kind, holds_here, fill, width(value.dtype))
            result = b.insert_element(result, element, I32(number))
        return self._computed(result, value.dtype)

    def _loaded(
        self, address: ir.Value, kind: ir.Type, inside: ir.Value | None, fill: ir.Value, align: int
    ) -> ir.Value:
        """What lies at an address, or `fill` where a condition does not hold: nothing is read then."""
        b = self.b
        if inside is None:
            return b.load(address, kind, align)
        before = b.block
        with b.if_then(inside):
            loaded = b.load(address, kind, align)
            end = b.block
        phi = b.phi(kind)
        phi.add_incoming(loaded, end)
        phi.add_incoming(fill, before)
        return phi

    def _store(self, statement: Store) -> None:
        value = self.scalar(statement.value)
        address_index = self._base(statement.index), self._varying(statement.index)  # may emit branches of its own
        if self.active is None:
            self._stored_at(statement, value, *address_index)
        else:
            with self.b.if_then(self.active):
                self._stored_at(statement, value, *address_index)

    def _stored_at(self, statement: Store, value: ir.Value, base: ir.Value, varying: ir.Value | None) -> None:
        b, lane, dtype = self.b, self._lane, statement.buffer.dtype
        kind, pointer = stored(dtype), self.frame.buffers[statement.buffer]
        if lane is None or (varying is None and count_of(value) == 1):
            b.store(self._stored(value, dtype), b.gep(pointer, [base], source_etype=kind), width(dtype))
            return
        lanes = self._stored(self._in_lanes(value), dtype)
        if self._contiguous(statement.index):
            b.store(lanes, b.gep(pointer, [base], source_etype=kind), lane.count * width(dtype))
            return
        indices = self._in_lanes(base if varying is None else b.add(self.splat(base, lane.count), varying))
        for number in range(lane.count):
            address = b.gep(pointer, [b.extract_element(indices, I32(number))], source_etype=kind)
            b.store(b.extract_element(lanes, I32(number)), address, width(dtype))

    def _report(self, wrong: ir.Value) -> None:
        """Set the error in the state of the run if a lane is wrong."""
        b = self.b
        if count_of(wrong) > 1:
            wrong = scalars.intrinsic(b, "vector.reduce.or", I1, [wrong], wrong.type)
        if self.active is not None:
            wrong = b.and_(wrong, self.active)
        with b.if_then(wrong, likely=False):
            b.store(I32(1), self.frame.state)

    def is_aligned(self, statements: Sequence[Statement], var: Var, lanes: int) -> ir.Value:
        """Whether every vector of statements along a variable, which begins at a multiple of `lanes`, is aligned.

        Buffers are, so that this depends on strides alone.
        """
        return self.are_aligned(contiguous_indices(statements, var), var, lanes)

    def are_aligned(self, indices: Sequence[Index], var: Var, lanes: int) -> ir.Value:
        """The same of indices of neighbours along a variable."""
        b = self.b
        bits: ir.Value = I64(0)
        for index in indices:
            for term, factor in index.terms:
                if term is not var:
                    bits = b.or_(bits, self.frame.size(factor))
            bits = b.or_(bits, self.frame.size(index.offset))
        return b.icmp_signed("==", b.and_(bits, I64(lanes - 1)), I64(0))


def contiguous_indices(statements: Sequence[Statement], var: Var) -> list[Index]:
    """The indices of loads and stores of neighbours along a variable."""
    loads = [part.index for part in parts(list(values(statements))) if isinstance(part, Load)]
    places = [*loads, *(store.index for store in stores(statements))]
    return [index for index in places if index.factor(var) == 1]


def lanes_along(statements: Sequence[Statement], var: Var) -> int:
    """How many neighbours along a variable a thread computes at once: 16 bytes of the widest that are accessed."""
    loads = [part for part in parts(list(values(statements))) if isinstance(part, Load)]
    widths = [width(load.dtype) for load in loads if load.index.factor(var) == 1]
    widths += [width(store.buffer.dtype) for store in stores(statements) if store.index.factor(var) == 1]
    return min(_MOST_LANES, _BYTES // max(widths)) if widths else 1


def is_short(statements: Sequence[Statement]) -> bool:
    """Whether statements are worth repeating in code: there are no loops among them, and not many operations."""
    if any(isinstance(statement, For) for statement in statements):
        return False
    return sum(1 for _ in parts(list(values(statements)))) <= _SHORT
