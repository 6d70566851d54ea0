"""tanh, sinh, cosh and their inverses, from expm1, exp and log1p of the magnitude."""

from __future__ import annotations

import math

from ingot.codegen.llvm.math.exponential import exp_near_0, expm1_halved, expm1_near_0, split
from ingot.codegen.llvm.math.lanes import Floats
from ingot.codegen.llvm.math.logarithm import log1p_of_more

__all__ = ["acosh", "asinh", "atanh", "cosh", "sinh", "tanh"]


def tanh(x: Floats) -> Floats:
    """The hyperbolic tangent: with e = e^(-2|x|) it is (1 - e) / (1 + e), and from 5/8 on 1 - 2e / (1 + e)."""
    a = abs(x)
    power, r = split((a * -2.0).at_least(x.pick(-20.0, -40.0)), -1)
    s, p = power.floats(), expm1_near_0(r)
    large = a > 0.625
    t = s.select(large, -s)
    q = t.fma(p, t + x.const(0.0).select(large, 0.5)) / s.fma(p, s + 0.5)
    return q.fma(-2.0, 1.0).select(large, q).copysign(x)


def sinh(x: Floats) -> Floats:
    """The hyperbolic sine: with h = (e^|x| - 1) / 2 it is h + h / (2h + 1)."""
    h = expm1_halved(abs(x), 1) * 2.0
    g = h.at_most(2.0**60)
    y = (h + g / (g + g + 1.0)).copysign(x)
    return x.select(abs(x) < x.pick(2.0**-13, 2.0**-27), y)


def cosh(x: Floats) -> Floats:
    """The hyperbolic cosine: with h = e^|x| / 2 it is h + 1 / 4h."""
    power, r = split(abs(x).at_most(x.pick(90.0, 711.0)), -2)
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
