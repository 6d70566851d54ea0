"""asin, acos and atan."""

from __future__ import annotations

from ingot.codegen.llvm.math.lanes import Floats, Mask, horner
from ingot.codegen.llvm.math.turns import HALF_PI_32, HALF_PI_64

__all__ = ["acos", "asin", "atan"]

# Minimax for (asin(x) / x - 1) / x^2 in x^2 on 0 <= x^2 <= 0.2501; asin has relative error 2^-27.6 and 2^-59.8
ASIN_32 = (
    *(0.16666752099990845, 0.07495306432247162, 0.045469772070646286, 0.024180786684155464),
    0.042166437953710556,
)
ASIN_64 = (
    *(0.1666666666666676, 0.07499999999970815, 0.04464285717463939, 0.030381942705103148, 0.022372215091938756),
    *(0.01735160972633425, 0.013980852125871043, 0.01139862435903164, 0.0107820132067271, 0.003699256254760502),
    *(0.021725974967230232, -0.02102676370357755, 0.0326468172344033),
)
# Minimax for (atan(x) / x - 1) / x^2 in x^2 on 0 <= x^2 <= 1; atan has relative error 2^-28.5 and 2^-56.8
ATAN_32 = (
    *(-0.33333298563957214, 0.1999852955341339, -0.1426401436328888, 0.10950861126184464, -0.08399207890033722),
    *(0.05787887051701546, -0.031093532219529152, 0.01086626760661602, -0.001782142324373126),
)
ATAN_64 = (
    *(-0.3333333333333307, 0.19999999999951762, -0.14285714282588902, 0.11111111007365147, -0.09090907008180533),
    *(0.07692279893047149, -0.06666404454788183, 0.058805299839172244, -0.05253527525203166, 0.0472235079071787),
    *(-0.04219249761700707, 0.03664328339759127, -0.029905940250368395, 0.0219873119359786, -0.013902795316681293),
    *(0.0071980362466293095, -0.002885685249708336, 0.0008315856601449676, -0.00015221666045459086),
    1.3230542270871841e-05,
)


def asin(x: Floats) -> Floats:
    """The inverse of sin, of -1 to 1, NaN outside.

    Where a = |x| is above 1/2, asin(a) is pi/2 - 2 asin(sqrt((1 - a) / 2)).
    """
    outer, t, y = _arcsine(abs(x))
    high, low, _ = x.pick(HALF_PI_32, HALF_PI_64)
    y = (high - (y.fma(2.0, -low) + t * 2.0)).select(outer, y + t)
    return x.select(abs(x) < x.pick(2.0**-13, 2.0**-27), y.copysign(x))


def acos(x: Floats) -> Floats:
    """The inverse of cos, of -1 to 1, NaN outside.

    It is pi/2 - asin(x); above 1/2 it is 2 asin(sqrt((1 - a) / 2)) with a = |x|, below -1/2 pi less that.
    """
    outer, t, y = _arcsine(abs(x))
    high, low, _ = x.pick(HALF_PI_32, HALF_PI_64)
    negative = x < 0.0
    inner = high - (t.copysign(x) - (low - y.copysign(x)))
    near = (t + y) * 2.0
    far = 2 * high - (near - 2 * low)
    return far.select(negative, near).select(outer, inner)


def atan(x: Floats) -> Floats:
    """The inverse of tan.

    Where a = |x| is above 1, atan(a) is pi/2 - atan(1 / a).
    """
    a = abs(x)
    steep = a > 1.0
    t = (1.0 / a).select(steep, a)
    z = t * t
    rest = horner(z, x.pick(ATAN_32, ATAN_64)) * z * t
    high, low, _ = x.pick(HALF_PI_32, HALF_PI_64)
    return (high - ((rest - low) + t)).select(steep, rest + t).copysign(x)


def _arcsine(a: Floats) -> tuple[Mask, Floats, Floats]:
    """Whether a is above 1/2; t, which is a or sqrt((1 - a) / 2); asin(t) - t."""
    outer = a > 0.5
    z = a.fma(-0.5, 0.5).select(outer, a * a)
    t = z.sqrt().select(outer, a)
    return outer, t, horner(z, a.pick(ASIN_32, ASIN_64)) * z * t
