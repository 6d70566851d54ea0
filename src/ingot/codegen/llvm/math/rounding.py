"""Rounding to whole numbers, remainders, and roots and quotients that are rounded once."""

from __future__ import annotations

import math

from ingot.codegen.llvm.math.lanes import Floats

__all__ = ["ceil", "floor", "fmod", "reciprocal", "remainder", "round_half_even", "rsqrt", "sqrt", "trunc"]


def floor(x: Floats) -> Floats:
    """The greatest whole number that is not above x."""
    return x.floor()


def ceil(x: Floats) -> Floats:
    """The least whole number that is not below x."""
    return x.ceil()


def trunc(x: Floats) -> Floats:
    """The whole number next to x towards 0."""
    return x.trunc()


def round_half_even(x: Floats) -> Floats:
    """The nearest whole number; of two the even one."""
    return x.roundeven()


def sqrt(x: Floats) -> Floats:
    """The square root, correctly rounded."""
    return x.sqrt()


def reciprocal(x: Floats) -> Floats:
    """1 / x, correctly rounded."""
    return 1.0 / x


def rsqrt(x: Floats) -> Floats:
    """1 / sqrt(x), rounded twice."""
    return 1.0 / x.sqrt()


def fmod(x: Floats, y: Floats) -> Floats:
    """What is left of x after whole multiples of y, with the sign of x: exact for all numbers, as in C.

    Ends in a new block: a loop runs once for each 2^23 (float64: 2^52) that |x / y| holds, for the slowest lane.
    """
    d, left = abs(y), abs(x)
    valid = (left < math.inf) & (d > 0.0)
    b, kind = x.b, x.value.type
    before = b.block
    loop = b.function.append_basic_block("fmod")
    after = b.function.append_basic_block("fmod.end")
    start = left.select(valid, 0.0)
    b.branch(loop)
    b.position_at_end(loop)
    phi = b.phi(kind)
    phi.add_incoming(start.value, before)
    r = _reduced(Floats(b, phi), d)
    phi.add_incoming(r.value, b.block)
    b.cbranch(((abs(r) >= d) & valid).any(), loop, after)
    b.position_at_end(after)
    r = (r + d).select(r < 0.0, r)
    r = left.select(d.compare("==", math.inf) & valid, r)
    return r.copysign(x).select(valid, math.nan)


def remainder(x: Floats, y: Floats) -> Floats:
    """What is left of x after whole multiples of y, with the sign of y, as Python's % and numpy's mod have it.

    Rounded once where the signs differ, else exact. Ends in a new block, like fmod.
    """
    r = fmod(x, y)
    shifted = (r + y).select((r.bits() ^ y.bits()).compare("<", 0), r)
    return shifted.select(abs(r) > 0.0, r.copysign(y))


def _reduced(r: Floats, d: Floats) -> Floats:
    """`r` less a whole multiple of d, exactly: smaller by 2^23 (float64: 2^52) or inside -d to d.

    The remainder of a rounded quotient is a floating-point number, and an fma gives it. A divisor too small for the
    quotient to be finite is first multiplied by powers of two.
    """
    step = r.pick(100, 900)
    limit = abs(r) * 2.0 ** -(step + 2)
    for _ in range(2):
        d = (d * 2.0**step).select(d < limit, d)
    return (-(r / d).trunc()).fma(d, r)
