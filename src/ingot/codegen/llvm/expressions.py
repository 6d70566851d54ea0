"""Expressions in LLVM: scalars of the loop IR, each common subexpression computed once, and the locals they read."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import nullcontext

from ingot.codegen.llvm import ir, scalars
from ingot.codegen.llvm.builder import Builder
from ingot.codegen.llvm.byte_rounding import (
    ByteRounding,
    byte_rounding,
    divided,
    held,
    nearest,
    rounds_at_once,
    saturated,
    scaled_steps,
)
from ingot.codegen.llvm.emitter import Frame
from ingot.codegen.llvm.lanes import count_of
from ingot.codegen.llvm.math.lanes import Floats
from ingot.codegen.llvm.memory import Memory
from ingot.codegen.llvm.types import I1, I32, element, is_float, stack_slot, stored, vector
from ingot.dataclass import dataclass
from ingot.dtypes import DType
from ingot.loops.ir import Apply, CheckedIndex, Index, Literal, Load, Local, Position, RuntimeScalar, Scalar, Select
from ingot.loops.rewrite import operands


@dataclass(frozen=True, slots=True)
class Cell:
    """The memory of a local, on the stack, where blocks pass it on to each other: LLVM puts it in a register."""

    pointer: ir.Value
    dtype: DType
    lanes: int


class Expressions(Memory):
    """Emits expressions. A local is in its cell, or, where it was computed by other code, in `locals`."""

    def __init__(self, b: Builder, frame: Frame) -> None:
        super().__init__(b, frame)
        self.cells: dict[str, Cell] = {}
        self.locals: dict[str, ir.Value] = {}
        self._known: dict[int, tuple[Scalar, ir.Value]] = {}
        self._locals_of: dict[int, tuple[Scalar, frozenset[str]]] = {}

    def scalar(self, value: Scalar) -> ir.Value:
        """The value of an expression: a vector if it differs from lane to lane, else one element."""
        known = self._known.get(id(value))
        if known is None:
            known = (value, self._scalar(value))
            if not isinstance(value, Local):
                self._known[id(value)] = known
        return known[1]

    def _forget(self, names: Collection[str]) -> None:
        """Forget the values of expressions that read these locals, which are about to change."""
        if any(name in self.cells for name in names):
            self._known = {
                key: known for key, known in self._known.items() if self._locals_in(known[0]).isdisjoint(names)
            }

    def _locals_in(self, value: Scalar) -> frozenset[str]:
        known = self._locals_of.get(id(value))
        if known is None:
            own = {value.name} if isinstance(value, Local) else set[str]()
            names = frozenset(own.union(*map(self._locals_in, operands(value))))
            known = self._locals_of[id(value)] = (value, names)
        return known[1]

    def _scalar(self, value: Scalar) -> ir.Value:
        match value:
            case Literal():
                return scalars.number(value.dtype, value.value, 1)
            case RuntimeScalar():
                return scalars.from_bits(self.b, value.dtype, [self.frame.size(half) for half in value.bits])
            case Local():
                return self.locals[value.name] if value.name in self.locals else self._fetched(self.cells[value.name])
            case Position():
                return self.index(value.index) if value.dtype is DType.INT64 else self._narrow_position(value.index)
            case Load():
                return self._load(value)
            case Apply():
                return self._apply(value)
            case Select():
                inside = self._inside(value.where)
                chosen, fill = self.scalar(value.value), scalars.number(value.dtype, value.fill, 1)
                return self.b.select(*self._alike(inside, chosen, fill))
            case CheckedIndex():
                return self._checked(value)

    def _narrow_position(self, index: Index) -> ir.Value:
        """An index as int32."""
        b, base, varying = self.b, self._base(index), self._varying(index)
        first = b.trunc(base, I32)
        if varying is None:
            return first
        lanes = count_of(varying)
        return b.add(self.splat(first, lanes), b.trunc(varying, vector(I32, lanes)))

    def _apply(self, value: Apply) -> ir.Value:
        rounding = byte_rounding(value)
        if rounding is not None and (rounded := self._rounded_bytes(rounding, value.dtype)) is not None:
            return rounded
        if (factors := scaled_steps(value)) is not None:
            near, scale = self._alike(*map(self.scalar, factors))
            return scalars.multiply_add(self.b, near, scale, ir.Constant(near.type, None))
        operand = value.arguments[-1].dtype
        if (wrong := _reported(value)) is not None:
            self._report(self.scalar(wrong))
            return self.scalar(value.arguments[0])
        if value.function == "power" and is_float(operand) and (power := self._power_by_one(*value.arguments)):
            return power
        if (gated := self._gated(value)) is not None:
            return gated
        arguments = self._alike(*map(self.scalar, value.arguments))
        if value.function == "cast":
            return scalars.cast(self.b, arguments[0], operand, value.dtype)
        if value.function == "bitcast":
            return scalars.bitcast(self.b, arguments[0], value.dtype)
        if value.function in ("divide", "remainder") and isinstance(arguments[1].type, ir.IntType | ir.VectorType):
            self._report_zero(arguments[1], operand)
        return scalars.apply(self.b, value.function, operand, arguments)

    def _gated(self, product: Apply) -> ir.Value | None:
        """A number times the sigmoid of one, which is a quotient; None of any other, and of a sigmoid that is known.

        What is of 16 bits is rounded between the two.
        """
        if product.function != "multiply" or product.dtype not in (DType.FLOAT32, DType.FLOAT64):
            return None
        for factor, gate in (product.arguments, product.arguments[::-1]):
            if isinstance(gate, Apply) and gate.function == "sigmoid" and id(gate) not in self._known:
                from ingot.codegen.llvm.math.activation import times_sigmoid  # few kernels have gates

                x, y = self._alike(*map(self.scalar, (factor, *gate.arguments)))
                return times_sigmoid(Floats(self.b, x), Floats(self.b, y)).value
        return None

    def _power_by_one(self, base: Scalar, exponent: Scalar) -> ir.Value | None:
        """The powers of vectors by one exponent, which a run has; None where there is more than one, or it is known."""
        x, y = self.scalar(base), self.scalar(exponent)
        if count_of(x) == 1 or count_of(y) > 1 or isinstance(y, ir.Constant):
            return None
        from ingot.codegen.llvm.math.power import pow_by_one  # few kernels have powers

        return pow_by_one(self.b, x, y, self.splat(y, count_of(x)))

    def _rounded_bytes(self, rounding: ByteRounding, dtype: DType) -> ir.Value | None:
        """Vectors of bytes that are rounded at once; None where there is no such instruction."""
        b = self.b
        x, least, most = (self.scalar(part) for part in (rounding.x, rounding.least, rounding.most))
        divisor = None if rounding.divisor is None else self.scalar(rounding.divisor)
        lanes = count_of(x)
        if lanes == 1 or not rounds_at_once(b, rounding.x.dtype, lanes):
            return None
        if divisor is None or count_of(divisor) > 1 or not b.module.fma:
            if divisor is not None:
                x = b.fdiv(*self._alike(x, divisor))
            steps = x if rounding.saturates else held(b, *self._alike(x, least, most))
        else:
            numbers = all(
                isinstance(part, Literal | RuntimeScalar) for part in (rounding.divisor, rounding.least, rounding.most)
            )
            with b.goto_entry_block() if numbers else nullcontext():
                limits = [b.fmul(*self._alike(limit, divisor)) for limit in (least, most)]
                reciprocal = b.fdiv(scalars.number(DType.FLOAT32, 1.0, 1), divisor)
                least, most, divisor, reciprocal = (self.splat(x, lanes) for x in (*limits, divisor, reciprocal))
            steps = divided(b, x if rounding.saturates else held(b, x, least, most), divisor, reciprocal)
        codes = nearest(b, steps)
        if rounding.zero is not None:
            codes = b.add(*self._alike(codes, self.scalar(rounding.zero)))
        if rounding.saturates:
            return saturated(b, codes, dtype)
        return scalars.cast(b, codes, DType.INT32, dtype)

    def _report_zero(self, divisor: ir.Value, dtype: DType) -> None:
        if isinstance(element(dtype), ir.IntType) and not _is_never_zero(divisor):
            lanes = count_of(divisor)
            self._report(self.b.icmp_signed("==", divisor, scalars.number(dtype, 0, lanes)))

    def _checked(self, value: CheckedIndex) -> ir.Value:
        """An index, or zero and a reported error where it is out of range."""
        b = self.b
        index = self.scalar(value.value)
        lanes = count_of(index)
        size = self.splat(self.frame.size(value.size), lanes)
        outside = b.icmp_unsigned(">=", index, size)
        self._report(outside)
        return b.select(outside, scalars.number(DType.INT64, 0, lanes), index)

    def _report(self, wrong: ir.Value) -> None:
        """Set the error in the state of the run if a lane that is not masked off is wrong."""
        b = self.b
        lanes = count_of(wrong)
        if lanes > 1:
            if self._lane is not None and self._lane.mask is not None:
                wrong = b.and_(wrong, self._lane.mask)
            wrong = scalars.intrinsic(b, "vector.reduce.or", I1, [wrong], wrong.type)
        with b.if_then(wrong, likely=False):
            b.store(I32(1), self.frame.state)

    def _cell(self, dtype: DType, lanes: int) -> Cell:
        return Cell(stack_slot(self.b, vector(stored(dtype), lanes)), dtype, lanes)

    def _fetched(self, cell: Cell) -> ir.Value:
        value = self.b.load_local(cell.pointer, typ=vector(stored(cell.dtype), cell.lanes))
        return self._computed(value, cell.dtype)


def _reported(value: Apply) -> Scalar | None:
    """The condition of an integer divided by zero where it holds, else by one, which is itself; None of any other."""
    match value:
        case Apply(function="divide", arguments=(_, Apply(function="where", arguments=(wrong, zero, one)))):
            numbers = [by.value for by in (zero, one) if isinstance(by, Literal)]
            return wrong if value.dtype.is_integer and numbers == [0, 1] else None
    return None


def _is_never_zero(value: ir.Value) -> bool:
    """Whether a value is a constant, or a vector of constants, of which none is zero."""
    if not isinstance(value, ir.Constant):
        return False
    lanes = value.constant if isinstance(value.constant, list) else [value.constant]
    return all(lane.constant if isinstance(lane, ir.Constant) else lane for lane in lanes)
