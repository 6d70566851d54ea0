"""Quotients, remainders and powers of integers: LLVM has no vectors of the first two, and nothing of the last.

A quotient of floats that hold both integers exactly, cut off, is that of the integers: where it is not whole it differs
from a whole number by 1 / divisor at least, and rounding moves it by less. So int8 and int16 are divided as float32,
int32 as float64.
"""

from __future__ import annotations

from ingot.codegen.llvm import ir
from ingot.codegen.llvm.builder import Builder
from ingot.codegen.llvm.types import F32, F64, I32, is_signed
from ingot.dtypes import DType

_LONG_LANES = 64
"""The bytes of vectors from which on there are instructions that convert and multiply lanes of 64 bits."""


def division(b: Builder, function: str, dtype: DType, a: ir.Value, divisor: ir.Value) -> ir.Value:
    """The quotient towards zero, or for "remainder" what is left, of scalars or vectors; never a trap.

    A divisor of zero is replaced by one, and the least number by minus one gives itself, with nothing left.
    """
    kind = a.type
    zero, one, minus_one = (_splat(kind, value) for value in (0, 1, -1))
    safe = b.select(b.icmp_signed("==", divisor, zero), one, divisor)
    if _is_vector(kind) and not isinstance(divisor, ir.Constant):
        quotient = _vector_quotient(b, dtype, a, safe)
        if quotient is not None:
            return quotient if function == "divide" else b.sub(a, b.mul(quotient, safe))
    if not is_signed(dtype):
        return b.udiv(a, safe) if function == "divide" else b.urem(a, safe)
    is_minus_one = b.icmp_signed("==", safe, minus_one)
    safe = b.select(is_minus_one, one, safe)
    if function == "divide":
        return b.select(is_minus_one, b.neg(a), b.sdiv(a, safe))
    return b.select(is_minus_one, zero, b.srem(a, safe))


def power(b: Builder, x: ir.Value, exponent: ir.Value) -> ir.Value:
    """`x` to the power of `exponent`, of unsigned integers or those of their bits; it wraps around.

    By squaring, bit after bit of the exponent, until none is left in any lane; it leaves the builder in a new block.
    """
    kind = x.type
    before = b.block
    loop, after = (b.append_basic_block(name) for name in ("power", "power.end"))
    b.branch(loop)
    b.position_at_end(loop)
    result, square, bits = (b.phi(kind) for _ in range(3))
    for phi, start in ((result, _splat(kind, 1)), (square, x), (bits, exponent)):
        phi.add_incoming(start, before)
    is_odd = b.icmp_signed("!=", b.and_(bits, _splat(kind, 1)), _splat(kind, 0))
    product = b.select(is_odd, b.mul(result, square), result)
    rest = b.lshr(bits, _splat(kind, 1))
    for phi, value in ((result, product), (square, b.mul(square, square)), (bits, rest)):
        phi.add_incoming(value, loop)
    b.cbranch(_any(b, b.icmp_signed("!=", rest, _splat(kind, 0))), loop, after)
    b.position_at_end(after)
    return product


def _vector_quotient(b: Builder, dtype: DType, a: ir.Value, divisor: ir.Value) -> ir.Value | None:
    """The quotients of vectors, whose divisors are not zero; None where scalars are as fast."""
    match dtype.numpy.itemsize:
        case 1 | 2:
            return _short_quotient(b, dtype, a, divisor)
        case 4:
            return _int_quotient(b, dtype, a, divisor)
        case _ if b.module.vector < _LONG_LANES:
            return None
        case _:
            return (_signed_long if is_signed(dtype) else _unsigned_long)(b, a, divisor)


def _short_quotient(b: Builder, dtype: DType, a: ir.Value, divisor: ir.Value) -> ir.Value:
    """Through float32 and int32, which hold the least number by minus one: its low bits are the number itself."""
    wide, floats = _like(a, I32), _like(a, F32)
    extend = b.sext if is_signed(dtype) else b.zext
    x, y = (b.sitofp(extend(operand, wide), floats) for operand in (a, divisor))
    return b.trunc(b.fptosi(b.fdiv(x, y), wide), a.type)


def _int_quotient(b: Builder, dtype: DType, a: ir.Value, divisor: ir.Value) -> ir.Value:
    """Through float64; the least number by minus one, which int32 does not hold, is divided by one."""
    floats = _like(a, F64)
    if not is_signed(dtype):
        return b.fptoui(b.fdiv(b.uitofp(a, floats), b.uitofp(divisor, floats)), a.type)
    is_minus_one = b.icmp_signed("==", divisor, _splat(a.type, -1))
    safe = b.select(is_minus_one, _splat(a.type, 1), divisor)
    quotient = b.fptosi(b.fdiv(b.sitofp(a, floats), b.sitofp(safe, floats)), a.type)
    return b.select(is_minus_one, b.neg(quotient), quotient)


def _signed_long(b: Builder, a: ir.Value, divisor: ir.Value) -> ir.Value:
    """Of int64: the quotient of the sizes, with the sign of the product."""
    zero = _splat(a.type, 0)
    sizes = (b.select(b.icmp_signed("<", x, zero), b.neg(x), x) for x in (a, divisor))
    quotient = _long_quotient(b, *sizes)
    return b.select(b.icmp_signed("<", b.xor(a, divisor), zero), b.neg(quotient), quotient)


def _unsigned_long(b: Builder, a: ir.Value, divisor: ir.Value) -> ir.Value:
    """Of uint64: twice the quotient of half the dividend, or one more; by 2^63 and more at most one."""
    kind = a.type
    is_large = b.icmp_signed("<", divisor, _splat(kind, 0))
    half = _long_quotient(b, b.lshr(a, _splat(kind, 1)), b.select(is_large, _splat(kind, 1), divisor))
    even = b.select(is_large, _splat(kind, 0), b.shl(half, _splat(kind, 1)))
    left = b.sub(a, b.mul(even, divisor))
    return b.add(even, b.zext(b.icmp_unsigned(">=", left, divisor), kind))


def _long_quotient(b: Builder, a: ir.Value, divisor: ir.Value) -> ir.Value:
    """The quotient of unsigned integers up to 2^63.

    The product with the reciprocal, in float64, is off by 2^-51 of itself, what is left of it by 2^12 divisors and one
    at most, and after a second such product by one divisor: it fits int64 at every step.
    """
    floats, zero, one = _like(a, F64), _splat(a.type, 0), _splat(a.type, 1)
    reciprocal = b.fdiv(ir.Constant(floats, [1.0] * floats.count), b.uitofp(divisor, floats))
    first = b.fptoui(b.fmul(b.uitofp(a, floats), reciprocal), a.type)
    left = b.sub(a, b.mul(first, divisor))
    second = b.fptosi(b.fmul(b.sitofp(left, floats), reciprocal), a.type)
    left = b.sub(left, b.mul(second, divisor))
    quotient = b.add(first, second)
    is_below = b.icmp_signed("<", left, zero)
    larger = b.select(b.icmp_unsigned(">=", left, divisor), b.add(quotient, one), quotient)
    return b.select(is_below, b.sub(quotient, one), larger)


def _any(b: Builder, mask: ir.Value) -> ir.Value:
    """Whether it holds in at least one lane."""
    if not isinstance(mask.type, ir.VectorType):
        return mask
    word = ir.IntType(mask.type.count)
    return b.icmp_unsigned("!=", b.bitcast(mask, word), ir.Constant(word, 0))


def _is_vector(kind: ir.Type) -> bool:
    return isinstance(kind, ir.VectorType)


def _like(value: ir.Value, kind: ir.Type) -> ir.VectorType:
    """A vector of another type with as many lanes."""
    assert isinstance(value.type, ir.VectorType)
    return ir.VectorType(kind, value.type.count)


def _splat(kind: ir.Type, value: int) -> ir.Constant:
    if isinstance(kind, ir.VectorType):
        return ir.Constant(kind, [value] * kind.count)
    return ir.Constant(kind, value)
