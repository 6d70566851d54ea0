"""exp, exp2, expm1 and the exponential of numbers that are not positive.

A power of two is split off: x = n ln2 + r with |r| <= ln2 / 2, n being what is left in the last bits of x log2(e) after
a constant so large that it has no bits for fractions is added. exp(r) is a polynomial; 2^n is made by a shift.
"""

from __future__ import annotations

from typing import NamedTuple

from ingot.codegen.llvm.math.lanes import Floats, Ints, horner

__all__ = [
    "Split",
    "exp",
    "exp2",
    "exp_near_0",
    "exp_nonpositive",
    "exp_of_split",
    "exp_weight",
    "expm1",
    "expm1_halved",
    "expm1_near_0",
    "split",
]

LOG2_E = 1.4426950408889634
# ln2 as a float32 and what is missing, the same for float64; n times the first is exact inside an fma
LN2_32 = (0.6931471824645996, -1.9046542121259336e-09)
LN2_64 = (0.6931471805599453, 2.3190468138462996e-17)

# Minimax for exp on |r| <= 0.3477, relative error 2^-28.2 and 2^-57.8; the first two coefficients are fixed at 1
EXP_32 = (
    *(1.0, 1.0, 0.4999999403953552, 0.16666513681411743, 0.04166806489229202, 0.008369536139070988),
    0.0013842916814610362,
)
EXP_64 = (
    *(1.0, 1.0, 0.5000000000000011, 0.1666666666666642, 0.04166666666652551, 0.008333333333487652),
    *(0.0013888888944988947, 0.00019841269527540767, 2.4801491568393235e-05, 2.755756207285358e-06),
    *(2.763083364879991e-07, 2.5009503693311413e-08),
)
# Minimax for 2^r on |r| <= 0.5015, relative error 2^-27.4 and 2^-55
EXP2_32 = (
    *(1.0, 0.6931472420692444, 0.24022655189037323, 0.05550272762775421, 0.009617066942155361),
    *(0.0013417659793049097, 0.00015813378558959812),
)
EXP2_64 = (
    *(1.0, 0.6931471805599457, 0.240226506959101, 0.05550410866478808, 0.009618129107606187),
    *(0.001333355815388193, 0.00015403530442040602, 1.525272703532747e-05, 1.321544297580496e-06),
    *(1.0180773510594426e-07, 7.072418759252708e-09, 4.061239165079842e-10),
)
# Minimax for (exp(r) - 1 - r) / r^2 on |r| <= 0.3477; exp(r) - 1 has relative error 2^-28.2 and 2^-60.9
EXPM1_32 = (
    *(0.5, 0.16666635870933533, 0.041666511446237564, 0.008341497741639614, 0.00139305938500911),
    0.00015035236719995737,
)
EXPM1_64 = (
    *(0.5, 0.1666666666666668, 0.04166666666666672, 0.008333333333318843, 0.0013888888888837008),
    *(0.0001984126989389838, 2.480158745228683e-05, 2.755723580722377e-06, 2.7557140115853966e-07),
    *(2.5112128883962847e-08, 2.0962636196931875e-09),
)


class Split(NamedTuple):
    """x = n ln2 + r; `power` holds the bit pattern of 2^(n + shift), wrapped where that is no normal number."""

    n: Floats
    power: Ints
    r: Floats


def exp(x: Floats) -> Floats:
    """e^x."""
    x = x.at_most(x.pick(89.0, 710.0)).at_least(x.pick(-104.0, -746.0))
    return exp_of_split(split(x, -1), x)


def exp_nonpositive(x: Floats) -> Floats:
    """e^x where x is not above 0, or little: cheaper, one multiplication makes every power of two that is needed.

    Little is 70, or 670 of float64; anything above is undefined.
    """
    tail = x.digits + 1
    n, power, r = split(x.at_least(x.pick(-104.0, -746.0)), tail)
    if x.scales:
        return exp_near_0(r, 1.0).scaled(n)
    return exp_near_0(r, 2.0**-tail) * power.floats()


def exp_weight(x: Floats) -> Floats:
    """e^x where x is not above 0; where that is no normal number, which would take many times as long, the least one.

    It is 0 where e^x is: what is weighted may be infinite, where 0 and a tiny number differ.
    """
    _, power, r = split(x.at_least(x.pick(-87.0, -708.0)), 0)
    return x.const(0.0).select(x < x.pick(-104.0, -746.0), exp_near_0(r, 1.0) * power.floats())


def exp2(x: Floats) -> Floats:
    """2^x."""
    x = x.at_most(x.pick(129.0, 1025.0)).at_least(x.pick(-151.0, -1076.0))
    shifter = 1.5 * 2.0**x.digits + x.bias - 2
    t = x + shifter
    r = x - (t - shifter)
    if x.scales:
        return horner(r, x.pick(EXP2_32, EXP2_64)).scaled(t - shifter)
    fourfold = horner(r, [4 * c for c in x.pick(EXP2_32, EXP2_64)])
    return _scaled(fourfold, t.bits() << x.digits, x)


def expm1(x: Floats) -> Floats:
    """e^x - 1, exact to the last bits near 0 too."""
    y = expm1_halved(x, 0) * 2.0
    return x.select(abs(x) < 2.0 ** -(x.digits + 3), y)


def expm1_halved(x: Floats, further: int) -> Floats:
    """(e^x - 1) / 2^(1 + further), which overflows later than e^x; smallest numbers may lose bits."""
    x = x.at_most(x.pick(89.0, 710.0) + 0.5 * further).at_least(x.pick(-20.0, -40.0))
    _, power, r = split(x, -1 - further)
    s = power.floats()
    return s.fma(expm1_near_0(r), s - 0.5 ** (1 + further))


def split(x: Floats, shift: int) -> Split:
    shifter = 1.5 * 2.0**x.digits + x.bias + shift
    high, low = x.pick(LN2_32, LN2_64)
    t = x.fma(LOG2_E, shifter)
    n = t - shifter
    return Split(n, t.bits() << x.digits, n.fma(-low, n.fma(-high, x)))


def exp_of_split(parts: Split, x: Floats) -> Floats:
    """e^x of a split of `x` with a shift of -1; `x` must be finite or NaN."""
    if x.scales:
        return exp_near_0(parts.r, 1.0).scaled(parts.n)
    return _scaled(exp_near_0(parts.r, 2.0), parts.power, x)


def exp_near_0(r: Floats, times: float) -> Floats:
    """e^r for the r of a split, times a power of two."""
    return horner(r, [times * c for c in r.pick(EXP_32, EXP_64)])


def expm1_near_0(r: Floats) -> Floats:
    """e^r - 1 for the r of a split."""
    return (r * r).fma(horner(r, r.pick(EXPM1_32, EXPM1_64)), r)


def _scaled(y: Floats, power: Ints, x: Floats) -> Floats:
    """`y`, around 1, times a power of two given as in `Split`; NaN where `x` is, which is finite elsewhere.

    Where that power is no normal number, its bit pattern is negative or 0: the exponent of `y` takes what is missing,
    so that one multiplication rounds. Compares and masks would need the units that multiply.
    """
    normal = power.at_least(1 << y.digits)
    exact = (y.bits() + (power - normal)).floats()
    return exact * normal.floats() + (x - x)
