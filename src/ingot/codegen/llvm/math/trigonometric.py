"""sin, cos and tan of every finite number.

Multiples of pi (of pi / 2 for tan) are taken off in three parts by fma, exactly enough below 2^16 (float64: 2^30).
Where any lane holds more, a branch that is rarely taken reduces by integer arithmetic; so all three end in a new
block.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from ingot.codegen.llvm.math.lanes import Floats, Ints, horner
from ingot.codegen.llvm.math.turns import HALF_PI_32, HALF_PI_64, Angle, angle_of_huge

__all__ = ["cos", "sin", "tan"]

# Minimax for (sin(r) / r - 1) / r^2 in r^2 on |r| <= 1.58; sin has relative error 2^-27.1 and 2^-60.6
SIN_32 = (-0.16666659712791443, 0.00833306647837162, -0.0001980944216484204, 2.605145482448279e-06)
SIN_64 = (
    *(-0.16666666666666666, 0.008333333333333203, -0.00019841269841210508, 2.755731921115051e-06),
    *(-2.5052106860602093e-08, 1.6058938585972416e-10, -7.642951972789174e-13, 2.7206700229328733e-15),
)
# Minimax for (tan(r) / r - 1) / r^2 in r^2 on |r| <= 0.787; tan has relative error 2^-29.5 and 2^-56.1
TAN_32 = (
    *(0.33333349227905273, 0.1333266943693161, 0.05405997484922409, 0.02127937600016594),
    *(0.010847777128219604, 6.979975296417251e-05, 0.004387836437672377),
)
TAN_64 = (
    *(0.33333333333332743, 0.1333333333341942, 0.053968253924370206, 0.02186948966414554, 0.008863218386867525),
    *(0.0035922960961268765, 0.0014547153120992916, 0.0005952443522097129, 0.00022184962758803393),
    *(0.00013761928717157825, -2.7930450669744113e-05, 9.087416458033808e-05, -4.564552856273574e-05),
    2.1048535348571963e-05,
)


def sin(x: Floats) -> Floats:
    """The sine: of x = n pi + r it is that of r, negated for odd n."""
    shifter = 1.5 * 2.0**x.digits
    t = x.fma(1 / math.pi, shifter)
    y = _sine(x, _guarded(x, Angle(_without(x, t - shifter, 2.0), t.bits()), lambda: angle_of_huge(x, 0, 2)))
    return x.select(abs(x) < x.pick(2.0**-13, 2.0**-27), y)


def cos(x: Floats) -> Floats:
    """The cosine: of x = (n - 1/2) pi + r it is the sine of r, negated for odd n."""
    shifter = 1.5 * 2.0**x.digits
    t = abs(x).fma(1 / math.pi, 0.5) + shifter
    n = t - shifter - 0.5
    return _sine(x, _guarded(x, Angle(_without(abs(x), n, 2.0), t.bits()), lambda: angle_of_huge(abs(x), 1, 2)))


def tan(x: Floats) -> Floats:
    """The tangent: of x = n pi/2 + r it is t, that of r, and -1 / t for odd n."""
    shifter = 1.5 * 2.0**x.digits
    t = x.fma(2 / math.pi, shifter)
    r, n = _guarded(x, Angle(_without(x, t - shifter, 1.0), t.bits()), lambda: angle_of_huge(x, 0, 1))
    z = r * r
    y = (horner(z, x.pick(TAN_32, TAN_64)) * z).fma(r, r)
    odd = (n & 1).compare("!=", 0)
    y = x.const(-1.0).select(odd, y) / y.select(odd, 1.0)
    return x.select(abs(x) < x.pick(2.0**-13, 2.0**-27), y)


def _sine(x: Floats, angle: Angle) -> Floats:
    r = angle.r
    z = r * r
    y = (horner(z, x.pick(SIN_32, SIN_64)) * z).fma(r, r).at_most(1.0).at_least(-1.0)
    return (y.bits() ^ (angle.n << (31 if x.single else 63))).floats()


def _without(x: Floats, n: Floats, twice: float) -> Floats:
    """`x` less n times pi / 2 times `twice`."""
    for part in x.pick(HALF_PI_32, HALF_PI_64):
        x = n.fma(-twice * part, x)
    return x


def _guarded(x: Floats, angle: Angle, of_huge: Callable[[], Angle]) -> Angle:
    """`angle`, but what `of_huge` emits in lanes too large for it."""
    huge = abs(x) >= x.pick(2.0**16, 2.0**30)
    b = x.b
    before = b.block
    with b.if_then(huge.any(), likely=False):
        exact = of_huge()
        r, n = exact.r.select(huge, angle.r), exact.n.select(huge, angle.n)
        inside = b.block
    merged_r, merged_n = b.phi(r.value.type), b.phi(n.value.type)
    for merged, new, old in ((merged_r, r.value, angle.r.value), (merged_n, n.value, angle.n.value)):
        merged.add_incoming(old, before)
        merged.add_incoming(new, inside)
    return Angle(Floats(b, merged_r), Ints(b, merged_n))
