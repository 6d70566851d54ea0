"""tanh, sinh, cosh and their inverses, from expm1, exp and log1p of the magnitude."""

from __future__ import annotations

import math

from ingot.codegen.llvm.math.exponential import (
    EXPM1_32,
    EXPM1_64,
    LN2_32,
    LN2_64,
    LOG2_E,
    exp_near_0,
    expm1_halved,
    split,
)
from ingot.codegen.llvm.math.lanes import Floats, horner
from ingot.codegen.llvm.math.logarithm import log1p_of_more

__all__ = ["acosh", "asinh", "atanh", "cosh", "sinh", "tanh"]


def tanh(x: Floats) -> Floats:
    """The hyperbolic tangent: with e = e^(-2|x|) = s (1 + p) it is (1 - e) / (1 + e)."""
    s, p = _expm1_doubled((-abs(x)).at_least(x.pick(-10.0, -20.0)))
    return (s.fma(p, s - 1.0) / s.fma(p, s + 1.0)).copysign(x)


def sinh(x: Floats) -> Floats:
    """The hyperbolic sine: with h = (e^|x| - 1) / 2 it is h + h / (2h + 1)."""
    h = expm1_halved(abs(x), 1) * 2.0
    g = h.at_most(2.0**60)
    y = (h + g / (g + g + 1.0)).copysign(x)
    return x.select(abs(x) < x.pick(2.0**-13, 2.0**-27), y)


def cosh(x: Floats) -> Floats:
    """The hyperbolic cosine: with h = e^|x| / 2 it is h + 1 / 4h."""
    _, power, r = split(abs(x).at_most(x.pick(90.0, 711.0)), -2)
    h = exp_near_0(r, 2.0) * power.floats()
    return h + 0.25 / h


def asinh(x: Floats) -> Floats:
    """The inverse of sinh: log1p(a + a^2 / (1 + sqrt(a^2 + 1))) of the magnitude a."""
    a = abs(x)
    huge = a > 2.0 ** x.pick(30, 60)
    square = a * a
    y = log1p_of_more(a.select(huge, a + square / ((square + 1.0).sqrt() + 1.0)), huge)
    y = x.select(a < x.pick(2.0**-13, 2.0**-27), y.copysign(x))
    return y.select(a < math.inf, x)


def acosh(x: Floats) -> Floats:
    """The inverse of cosh, of 1 and more: log1p(t + sqrt(2t + t^2)) with t = x - 1; NaN below 1."""
    t = x - 1.0
    huge = x > 2.0 ** x.pick(30, 60)
    y = log1p_of_more(t.select(huge, t + t.fma(t, t + t).sqrt()), huge)
    return y.select(x < math.inf, x).select(x >= 1.0, math.nan)


def atanh(x: Floats) -> Floats:
    """The inverse of tanh, of -1 to 1: log1p(2a / (1 - a)) / 2 of the magnitude a; NaN outside."""
    a = abs(x)
    y = (log1p_of_more((a + a) / (1.0 - a)) * 0.5).copysign(x)
    y = x.select(a < x.pick(2.0**-13, 2.0**-27), y)
    y = y.select(a < 1.0, x.const(math.inf).copysign(x))
    return y.select(a <= 1.0, math.nan)


def _expm1_doubled(x: Floats) -> tuple[Floats, Floats]:
    """`s` and `p` of e^(2x) = s (1 + p) for x <= 0, where s is a power of two that must be normal.

    As `split` and `expm1_near_0` of 2x, but 2x is never made: its factor is in the constants. What the constant for ln2
    lacks counts n times, and less than an eighth of a last place where it is added to 1, as then s is 2^n.
    """
    shifter = 1.5 * 2.0**x.digits + x.bias
    t = x.fma(2 * LOG2_E, shifter)
    r = (t - shifter).fma(-x.pick(LN2_32, LN2_64)[0] / 2, x)
    series = horner(r, [2.0 ** (degree + 2) * c for degree, c in enumerate(x.pick(EXPM1_32, EXPM1_64))])
    return (t.bits() << x.digits).floats(), (r * r).fma(series, r + r)
