"""Arithmetic on a scalar or on every lane of a vector alike, written with Python's operators.

Every operation is one IEEE 754 operation, without fast-math flags and contracted only where `fma` is written, so a
scalar and any lane of any vector get the same bits.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence
from typing import TypeAlias, TypeVar

from ingot.codegen.llvm import ir
from ingot.codegen.llvm.builder import Builder
from ingot.dataclass import dataclass

__all__ = ["Floats", "Ints", "Mask", "horner", "lanes_of"]

Operand: TypeAlias = "Floats | float"
T = TypeVar("T")

_SCALING = {
    "<16 x float>": ("llvm.x86.avx512.mask.scalef.ps.512", ir.IntType(16)),
    "<8 x double>": ("llvm.x86.avx512.mask.scalef.pd.512", ir.IntType(8)),
}
"""The instructions of x86 that multiply by powers of two, with the types of their masks."""


@dataclass(frozen=True, slots=True)
class Mask:
    """A truth value a lane."""

    b: Builder
    value: ir.Value

    def __and__(self, other: Mask) -> Mask:
        return Mask(self.b, self.b.and_(self.value, other.value))

    def __or__(self, other: Mask) -> Mask:
        return Mask(self.b, self.b.or_(self.value, other.value))

    def __invert__(self) -> Mask:
        return Mask(self.b, self.b.not_(self.value))

    def any(self) -> ir.Value:
        """Whether it holds in at least one lane, as one i1."""
        if not isinstance(self.value.type, ir.VectorType):
            return self.value
        word = ir.IntType(self.value.type.count)
        return self.b.icmp_unsigned("!=", self.b.bitcast(self.value, word), ir.Constant(word, 0))


@dataclass(frozen=True, slots=True)
class Ints:
    """An integer a lane; arithmetic wraps."""

    b: Builder
    value: ir.Value

    def const(self, n: int) -> Ints:
        """`n` in every lane; a number past the signed range stands for its bit pattern."""
        return Ints(self.b, splat(self.value.type, n))

    def _of(self, other: Ints | int) -> ir.Value:
        return other.value if isinstance(other, Ints) else splat(self.value.type, other)

    def __add__(self, other: Ints | int) -> Ints:
        return Ints(self.b, self.b.add(self.value, self._of(other)))

    def __sub__(self, other: Ints | int) -> Ints:
        return Ints(self.b, self.b.sub(self.value, self._of(other)))

    def __mul__(self, other: Ints | int) -> Ints:
        return Ints(self.b, self.b.mul(self.value, self._of(other)))

    def __and__(self, other: Ints | int) -> Ints:
        return Ints(self.b, self.b.and_(self.value, self._of(other)))

    def __or__(self, other: Ints | int) -> Ints:
        return Ints(self.b, self.b.or_(self.value, self._of(other)))

    def __xor__(self, other: Ints | int) -> Ints:
        return Ints(self.b, self.b.xor(self.value, self._of(other)))

    def __lshift__(self, other: Ints | int) -> Ints:
        return Ints(self.b, self.b.shl(self.value, self._of(other)))

    def __rshift__(self, other: Ints | int) -> Ints:
        """The shift that keeps the sign."""
        return Ints(self.b, self.b.ashr(self.value, self._of(other)))

    def logical_right(self, other: Ints | int) -> Ints:
        return Ints(self.b, self.b.lshr(self.value, self._of(other)))

    def compare(self, relation: str, other: Ints | int) -> Mask:
        return Mask(self.b, self.b.icmp_signed(relation, self.value, self._of(other)))

    def at_least(self, bound: int) -> Ints:
        """The greater of this and `bound`, as signed numbers."""
        return self.select(self.compare(">", bound), bound)

    def select(self, mask: Mask, other: Ints | int) -> Ints:
        """Itself where `mask` holds, else `other`."""
        return Ints(self.b, self.b.select(mask.value, self.value, self._of(other)))

    @property
    def _width(self) -> int:
        kind = element(self.value.type)
        assert isinstance(kind, ir.IntType)
        return kind.width

    def floats(self) -> Floats:
        """The numbers of the width whose bit patterns these are."""
        kind = ir.FloatType() if self._width == 32 else ir.DoubleType()
        return Floats(self.b, self.b.bitcast(self.value, reshaped(self.value.type, kind)))

    def resized(self, bits: int) -> Ints:
        """The same bits in integers of `bits` bits: cut, or filled with zeros."""
        old, new = self._width, reshaped(self.value.type, ir.IntType(bits))
        if bits == old:
            return self
        return Ints(self.b, self.b.zext(self.value, new) if bits > old else self.b.trunc(self.value, new))


@dataclass(frozen=True, slots=True)
class Floats:
    """A float32 or float64 a lane."""

    b: Builder
    value: ir.Value

    @property
    def single(self) -> bool:
        return isinstance(element(self.value.type), ir.FloatType)

    @property
    def digits(self) -> int:
        """The bits of the fraction that are stored: 23 or 52."""
        return 23 if self.single else 52

    @property
    def bias(self) -> int:
        return 127 if self.single else 1023

    def const(self, x: float) -> Floats:
        return Floats(self.b, splat(self.value.type, x))

    def pick(self, single: T, double: T) -> T:
        """What belongs to this width."""
        return single if self.single else double

    def _of(self, other: Operand) -> ir.Value:
        return other.value if isinstance(other, Floats) else splat(self.value.type, other)

    def __add__(self, other: Operand) -> Floats:
        return Floats(self.b, self.b.fadd(self.value, self._of(other)))

    def __sub__(self, other: Operand) -> Floats:
        return Floats(self.b, self.b.fsub(self.value, self._of(other)))

    def __mul__(self, other: Operand) -> Floats:
        return Floats(self.b, self.b.fmul(self.value, self._of(other)))

    def __truediv__(self, other: Operand) -> Floats:
        return Floats(self.b, self.b.fdiv(self.value, self._of(other)))

    def __radd__(self, other: float) -> Floats:
        return self + other

    def __rmul__(self, other: float) -> Floats:
        return self * other

    def __rsub__(self, other: float) -> Floats:
        return self.const(other) - self

    def __rtruediv__(self, other: float) -> Floats:
        return self.const(other) / self

    def __neg__(self) -> Floats:
        return Floats(self.b, self.b.fneg(self.value))

    def __abs__(self) -> Floats:
        return self._intrinsic("llvm.fabs")

    def fma(self, factor: Operand, term: Operand) -> Floats:
        """`self * factor + term`, rounded once; where no instruction does that, as good as once: see `_fused`."""
        if self.b.module.fma:
            return self._intrinsic("llvm.fma", factor, term)
        return _fused(self, Floats(self.b, self._of(factor)), Floats(self.b, self._of(term)))

    @property
    def scales(self) -> bool:
        """Whether one instruction multiplies these by powers of two: see `scaled`."""
        module = self.b.module
        return module.vector >= 64 and module.triple.startswith("x86_64") and self.value.type.text in _SCALING

    def scaled(self, n: Floats) -> Floats:
        """Times 2^n for whole numbers `n`, rounded once, where numbers are subnormal too; only where it `scales`."""
        kind = self.value.type
        name, mask = _SCALING[kind.text]
        operands = [self.value, n.value, ir.Constant(kind, None), ir.Constant(mask, -1), ir.Constant(ir.IntType(32), 4)]
        function = self.b.module.declared(name, ir.FunctionType(kind, [operand.type for operand in operands]))
        return Floats(self.b, self.b.call(function, operands))

    def sqrt(self) -> Floats:
        return self._intrinsic("llvm.sqrt")

    def copysign(self, sign: Operand) -> Floats:
        return self._intrinsic("llvm.copysign", sign._fenced() if isinstance(sign, Floats) else sign)

    def _fenced(self) -> Floats:
        """Itself, if it is no vector as one that LLVM does not look behind.

        LLVM takes the sign of what a scalar was narrowed from: for a float16 that was a float64, it calls a function
        that no kernel is linked with.
        """
        return self if isinstance(self.value.type, ir.VectorType) else self._intrinsic("llvm.arithmetic.fence")

    def floor(self) -> Floats:
        return self._intrinsic("llvm.floor")

    def ceil(self) -> Floats:
        return self._intrinsic("llvm.ceil")

    def trunc(self) -> Floats:
        return self._intrinsic("llvm.trunc")

    def roundeven(self) -> Floats:
        return self._intrinsic("llvm.roundeven")

    def _intrinsic(self, name: str, *others: Operand) -> Floats:
        kind, module = self.value.type, self.b.module
        lanes = f"v{kind.count}" if isinstance(kind, ir.VectorType) else ""
        name += f".{lanes}{'f32' if self.single else 'f64'}"
        function = module.declared(name, ir.FunctionType(kind, [kind] * (1 + len(others))))
        return Floats(self.b, self.b.call(function, [self.value, *map(self._of, others)]))

    def __lt__(self, other: Operand) -> Mask:
        return self.compare("<", other)

    def __le__(self, other: Operand) -> Mask:
        return self.compare("<=", other)

    def __gt__(self, other: Operand) -> Mask:
        return self.compare(">", other)

    def __ge__(self, other: Operand) -> Mask:
        return self.compare(">=", other)

    def compare(self, relation: str, other: Operand) -> Mask:
        """A relation that a NaN on either side makes false; `!=` too."""
        return Mask(self.b, self.b.fcmp_ordered(relation, self.value, self._of(other)))

    def is_nan(self) -> Mask:
        return Mask(self.b, self.b.fcmp_unordered("uno", self.value, self.value))

    def select(self, mask: Mask, other: Operand) -> Floats:
        """Itself where `mask` holds, else `other`."""
        return Floats(self.b, self.b.select(mask.value, self.value, self._of(other)))

    def at_most(self, bound: float) -> Floats:
        """The smaller of this and `bound`; a NaN stays. The order of operands is that of x86's one instruction."""
        limit = self.const(bound)
        return limit.select(limit < self, self)

    def at_least(self, bound: float) -> Floats:
        """The greater of this and `bound`; a NaN stays."""
        limit = self.const(bound)
        return limit.select(limit > self, self)

    def bits(self) -> Ints:
        return Ints(self.b, self.b.bitcast(self.value, reshaped(self.value.type, self.word)))

    @property
    def word(self) -> ir.IntType:
        """The integer type as wide as one lane."""
        return ir.IntType(32 if self.single else 64)

    def widened(self) -> Floats:
        """The same numbers as float64."""
        return Floats(self.b, self.b.fpext(self.value, reshaped(self.value.type, ir.DoubleType())))

    def narrowed(self) -> Floats:
        """The numbers rounded to float32."""
        return Floats(self.b, self.b.fptrunc(self.value, reshaped(self.value.type, ir.FloatType())))


def _fused(x: Floats, factor: Floats, term: Floats) -> Floats:
    """`x * factor + term` without an instruction for it, rounded once but for a last bit in a tie that is none.

    Products of float32 are exact in float64. Those of float64 are exact in two parts, by Veltkamp's and Dekker's
    splitting; beyond 2^996, where that overflows, the product is rounded.
    """
    if x.single:
        return (x.widened() * factor.widened() + term.widened()).narrowed()
    product = x * factor
    (x_high, x_low), (high, low) = _halves(x), _halves(factor)
    lost = ((x_high * high - product) + x_high * low + x_low * high) + x_low * low
    total = product + term
    absorbed = total - product
    lost = lost + ((product - (total - absorbed)) + (term - absorbed))
    exact = total + lost
    return total.select(exact.is_nan(), exact)


def _halves(x: Floats) -> tuple[Floats, Floats]:
    """A float64 as the sum of two numbers of 26 bits each."""
    scaled = x * float((1 << 27) + 1)
    high = scaled - (scaled - x)
    return high, x - high


def horner(x: Floats, coefficients: Sequence[float]) -> Floats:
    """The polynomial with these coefficients, the constant first, by one fma a degree."""
    *lower, last = coefficients
    total = x.const(last)
    for coefficient in reversed(lower):
        total = total.fma(x, coefficient)
    return total


def lanes_of(function: Callable[..., Floats]) -> Callable[..., ir.Value]:
    """The function of `Floats` as one of a builder and plain values; float16 is computed in float32 and rounded."""

    def emit(b: Builder, *arguments: ir.Value) -> ir.Value:
        kind = arguments[0].type
        match element(kind):
            case ir.FloatType() | ir.DoubleType():
                return function(*(Floats(b, argument) for argument in arguments)).value
            case ir.HalfType():
                wide = reshaped(kind, ir.FloatType())
                y = function(*(Floats(b, b.fpext(argument, wide)) for argument in arguments))
                return b.fptrunc(y.value, kind)
        raise TypeError(f"{function.__name__} of {kind}")

    emit.__name__, emit.__doc__ = function.__name__, function.__doc__
    return emit


def element(kind: ir.Type) -> ir.Type:
    return kind.element if isinstance(kind, ir.VectorType) else kind


def reshaped(kind: ir.Type, lane: ir.Type) -> ir.Type:
    """A type of as many lanes as `kind`, each a `lane`."""
    return ir.VectorType(lane, kind.count) if isinstance(kind, ir.VectorType) else lane


def splat(kind: ir.Type, x: float) -> ir.Constant:
    lane = element(kind)
    if isinstance(lane, ir.FloatType) and math.isfinite(x):
        x = struct.unpack("f", struct.pack("f", x))[0]
    elif isinstance(lane, ir.IntType):
        x = int(x) & (1 << lane.width) - 1
    return ir.Constant(kind, [ir.Constant(lane, x)] * kind.count if isinstance(kind, ir.VectorType) else x)
