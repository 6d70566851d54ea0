"""log, log2 and log1p.

x = 2^k (1 + f) with 1 + f between the roots of 1/2 and 2. float32 takes a polynomial in f; float64 one in s^2 with
s = f / (2 + f), as log(1 + f) = 2 atanh(s).
"""

from __future__ import annotations

import math
from typing import NamedTuple

from ingot.codegen.llvm.math.exponential import LN2_32, LN2_64
from ingot.codegen.llvm.math.lanes import Floats, Ints, Mask, horner

__all__ = ["log", "log1p", "log1p_of_more", "log2", "normalised"]

# log2(e) as a float32 and what is missing, the same for float64
LOG2_E_32 = (1.4426950216293335, 1.925963033500011e-08)
LOG2_E_64 = (1.4426950408889634, 2.0355273740931033e-17)

# Minimax for (log(1 + f) - f) / f^2 on -0.293 <= f <= 0.4143; log(1 + f) has relative error 2^-27.5
LOG_32 = (
    *(-0.49999988079071045, 0.33333325386047363, -0.25001588463783264, 0.200019970536232),
    *(-0.16608986258506775, 0.1418139934539795, -0.1324329674243927, 0.12906937301158905),
    -0.07623974978923798,
)
# Minimax for (log2(1 + f) - f log2(e)) / f^2 on the same interval, relative error 2^-27.5
LOG2_32 = (
    *(-0.7213473320007324, 0.4808984398841858, -0.36069920659065247, 0.2885555028915405),
    *(-0.23953570425510406, 0.20479002594947815, -0.19200164079666138, 0.18532955646514893),
    -0.10648451000452042,
)
# Minimax for (2 atanh(s) / s - 2) / s^2 in s^2 on 0 <= s^2 <= 0.0295; 2 atanh(s) has relative error 2^-59.5
ATANH_64 = (
    *(0.6666666666666735, 0.39999999999408603, 0.28571428743964095, 0.2222219839180466),
    *(0.1818357465910261, 0.1531376497586986, 0.1479900461003529),
)


class Normalised(NamedTuple):
    """x = 2^k (1 + f)."""

    k: Ints
    f: Floats


def log(x: Floats) -> Floats:
    """The natural logarithm."""
    k, f, tiny = _of_any(x)
    return _special(x, _joined(_exponent(k, f, tiny), f))


def log2(x: Floats) -> Floats:
    """The logarithm to base 2; exact for powers of 2."""
    k, f, tiny = _of_any(x)
    high, low = x.pick(LOG2_E_32, LOG2_E_64)
    rest = f * f * horner(f, LOG2_32) if x.single else _rest(f) * high
    return _special(x, _exponent(k, f, tiny) + f.fma(high, f.fma(low, rest)))


def log1p(x: Floats) -> Floats:
    """log(1 + x), exact to the last bits near 0 too."""
    y = log1p_of_more(x)
    y = y.select(x > -1.0, x.const(-math.inf).select(x.compare("==", -1.0), math.nan))
    return y.select((x < math.inf) & (abs(x) >= 2.0 ** -(x.digits + 3)), x)


def log1p_of_more(x: Floats, twice: Mask | None = None) -> Floats:
    """log(1 + x) for finite x above -1, but +0 for -0; log(2 + 2x) where `twice` holds."""
    u = x + 1.0
    lost = x - (u - 1.0)
    k, f = normalised(u)
    # what rounding 1 + x lost, at the scale of f; nothing is lost where k is past 64 in either width
    small = k.select(k.compare("<", 64), 64)
    unit = (x.const(1.0).bits() - (small << x.digits)).floats()
    n = _exponent(k, f, None)
    return _joined(n if twice is None else (n + 1.0).select(twice, n), lost.fma(unit, f))


def normalised(x: Floats) -> Normalised:
    """The parts of a positive normal number."""
    bits = x.bits()
    k = (bits - x.const(math.sqrt(0.5)).bits()) >> x.digits
    return Normalised(k, (bits - (k << x.digits)).floats() - 1.0)


def _of_any(x: Floats) -> tuple[Ints, Floats, Mask]:
    """The parts of a positive number, multiplied by 2^64 where the mask says so."""
    tiny = x < x.pick(2.0**-126, 2.0**-1022)
    return *normalised((x * 2.0**64).select(tiny, x)), tiny


def _exponent(k: Ints, like: Floats, tiny: Mask | None) -> Floats:
    """`k` as floats, less 64 where `tiny` holds; made of bits, as few targets convert vectors of 64-bit integers."""
    shifter = like.const(1.5 * 2.0**like.digits)
    n = (k + shifter.bits()).floats()
    return n - shifter if tiny is None else n - (shifter + 64.0).select(tiny, shifter)


def _joined(k: Floats, f: Floats) -> Floats:
    """`k ln2 + log(1 + f)`."""
    high, low = f.pick(LN2_32, LN2_64)
    rest = f * f * horner(f, LOG_32) if f.single else _rest(f)
    return k.fma(high, k.fma(low, rest) + f)


def _rest(f: Floats) -> Floats:
    """log(1 + f) - f in float64. With h = f^2 / 2 it is s (h + R(s^2)) - h, where no term is larger than the sum."""
    s = f / (f + 2.0)
    z = s * s
    h = f * f * 0.5
    return s.fma(horner(z, ATANH_64).fma(z, h), -h)


def _special(x: Floats, y: Floats) -> Floats:
    """`y` for positive finite `x`; minus infinity for 0, NaN below, `x` itself for infinity and NaN."""
    y = y.select(x < math.inf, x)
    return y.select(x > 0.0, x.const(-math.inf).select(x.compare("==", 0.0), math.nan))
