"""pow: x^y as e^(y log(x)), with the logarithm to more digits than the result has."""

from __future__ import annotations

import math

from ingot.codegen.llvm import ir
from ingot.codegen.llvm.builder import Builder
from ingot.codegen.llvm.math.exponential import Split, exp_of_split, split
from ingot.codegen.llvm.math.lanes import Floats, Mask, horner, lanes_of, splat
from ingot.codegen.llvm.math.logarithm import normalised

__all__ = ["pow", "pow_by_one"]

# Minimax for log2(1 + f) / f on -0.293 <= f <= 0.4144, relative error 2^-38.4
LOG2 = (
    *(1.442695040886564, -0.7213475203194312, 0.48089834879178733, -0.3606737950940296, 0.2885388000181726),
    *(-0.24044630426017066, 0.20610676141312104, -0.18044009601603128, 0.16022823121482427, -0.14246514057916612),
    *(0.1301200391717722, -0.13467256204431016, 0.1332542804864622, -0.07048903385355558),
)
# Minimax for 2^r on |r| <= 0.501, relative error 2^-33
EXP2 = (
    *(0.9999999999610844, 0.6931471820866748, 0.24022651208777454, 0.0555040594015475, 0.009618025667777048),
    *(0.0013337480849091162, 0.0001546980470811231, 1.4385494883911413e-05),
)
# Minimax for (2 atanh(s) / s - 2 - 2 s^2 / 3) / s^4 in s^2 on 0 <= s^2 <= 0.0295; 2 atanh(s) to 2^-73
ATANH = (
    *(0.39999999999999974, 0.28571428571447044, 0.22222222217070153, 0.18181818927100218, 0.15384553026290665),
    *(0.1333646420343317, 0.1167186198087697, 0.1201344195594568),
)
TWO_THIRDS = (0.6666666666666666, 3.700743415417188e-17)
# ln2 to 38 bits, which times a whole exponent is exact, and what is missing
LN2 = (0.6931471805582987, 1.6465949582897082e-12)


def pow(x: Floats, y: Floats) -> Floats:
    """`x^y` with the special cases of IEEE 754.

    A negative x needs a whole y; anything to the 0, and 1 to anything, is 1. Of float64 it ends in a new block.
    """
    a = abs(x)
    trivial = a.compare("==", 1.0) | y.compare("==", 0.0)
    size = _single(a, y, trivial) if x.single else _double(a, y, trivial)
    whole = y.compare("==", y.trunc())
    half = y * 0.5
    odd = whole & half.compare("!=", half.trunc()) & (abs(y) < 2.0 ** (x.digits + 1))
    signed = size.copysign(x).select(odd, size)
    return signed.select(whole | (x >= 0.0) | x.compare("==", -math.inf) | x.is_nan(), math.nan)


def _single(a: Floats, y: Floats, trivial: Mask) -> Floats:
    """`a^y` of float32, computed in float64; 1 where `trivial` holds."""
    wide = a.widened()
    k, f = normalised(wide)
    shifter = wide.const(1.5 * 2.0**52)
    n = (k + shifter.bits()).floats() - shifter
    logarithm = _at_ends(wide, horner(f, LOG2).fma(f, n))
    t = wide.const(0.0).select(trivial, logarithm * y.widened()).at_most(200.0).at_least(-200.0)
    moved = t + (shifter + 1023.0)
    r = t - (moved - (shifter + 1023.0))
    return (horner(r, EXP2) * (moved.bits() << 52).floats()).narrowed()


def pow_by_one(b: Builder, x: ir.Value, y: ir.Value, y_of_lanes: ir.Value) -> ir.Value:
    """`x^y` for one `y`, which `y_of_lanes` has in as many lanes as `x`: a square, a cube or a root in its own time.

    It ends in a new block.
    """
    end = b.append_basic_block("pow.end")
    results: list[tuple[ir.Value, ir.Block]] = []
    for exponent, few in _FEW.items():
        here, further = (b.append_basic_block(name) for name in ("pow.few", "pow.more"))
        b.cbranch(b.fcmp_ordered("==", y, splat(y.type, exponent)), here, further)
        b.position_at_end(here)
        results.append((lanes_of(few)(b, x), b.block))
        b.branch(end)
        b.position_at_end(further)
    results.append((lanes_of(pow)(b, x, y_of_lanes), b.block))
    b.branch(end)
    b.position_at_end(end)
    phi = b.phi(x.type)
    for result, block in results:
        phi.add_incoming(result, block)
    return phi


def _square(x: Floats) -> Floats:
    return x * x


def _cube(x: Floats) -> Floats:
    return x * x * x


def _root(x: Floats) -> Floats:
    """Unlike the square root, of minus zero it is zero, and of minus infinity infinity."""
    return (x + 0.0).sqrt().select(x.compare("!=", -math.inf) | x.is_nan(), math.inf)


_FEW = {2.0: _square, 3.0: _cube, 0.5: _root}
"""Exponents whose powers take a few operations, as they do where they are known when a model is compiled."""


def _double(a: Floats, y: Floats, trivial: Mask) -> Floats:
    """`a^y` of float64; 1 where `trivial` holds, without a power if it does in every lane."""
    b, before = a.b, a.b.block
    powers, end = (b.append_basic_block(name) for name in ("pow", "pow.end"))
    b.cbranch((~trivial).any(), powers, end)
    b.position_at_end(powers)
    power = _by_logarithm(a, y, trivial)
    done = b.block
    b.branch(end)
    b.position_at_end(end)
    phi = b.phi(a.value.type)
    phi.add_incoming(a.const(1.0).value, before)
    phi.add_incoming(power.value, done)
    return Floats(b, phi)


def _by_logarithm(a: Floats, y: Floats, trivial: Mask) -> Floats:
    """`a^y` of float64, with the logarithm as the sum of two; 1 where `trivial` holds."""
    high, low = _logarithm(a)
    high = _at_ends(a, high)
    t = y * high
    rest = y.fma(high, -t) + y * low
    t = a.const(0.0).select(trivial, t)
    rest = rest.select((abs(t) < 1000.0) & (abs(t) > 0.0), 0.0)
    t = t.at_most(710.0).at_least(-746.0)
    n, power, r = split(t, -1)
    return exp_of_split(Split(n, power, r + rest), t)


def _at_ends(a: Floats, logarithm: Floats) -> Floats:
    """The logarithm of a number, 0, infinity or NaN, given that of an ordinary number."""
    return logarithm.select(a < math.inf, a).select(a.compare("!=", 0.0), a.const(-math.inf)).select(~a.is_nan(), a)


def _logarithm(a: Floats) -> tuple[Floats, Floats]:
    """log(a) as a sum of two float64, to about 2^-68."""
    tiny = a < 2.0**-1022
    k, f = normalised((a * 2.0**64).select(tiny, a))
    shifter = a.const(1.5 * 2.0**52)
    n = (k + shifter.bits()).floats() - (shifter + 64.0).select(tiny, shifter)
    # s = f / (2 + f) as high + low
    below = f + 2.0
    missing = f - (below - 2.0)
    s = f / below
    s_low = ((-s).fma(below, f) - s * missing) / below
    z = s * s
    z_low = s.fma(s, -z) + s * s_low * 2.0
    # s^3 (2/3 + z Q(z)), to twice the digits
    cube = z * s
    cube_low = z.fma(s, -cube) + (z * s_low + z_low * s)
    tail = horner(z, ATANH) * z
    factor = tail + TWO_THIRDS[0]
    factor_low = tail - (factor - TWO_THIRDS[0]) + TWO_THIRDS[1] + z_low * ATANH[0]
    product = cube * factor
    product_low = cube.fma(factor, -product) + (cube * factor_low + cube_low * factor)
    # n ln2 + 2s + product, largest first
    first = n * LN2[0]
    double = s * 2.0
    high = first + double
    low = first - high + double
    low = low.select(first.compare("!=", 0.0), 0.0)
    total = high + product
    total_low = high - total + product
    low = low + total_low + (product_low + s_low * 2.0 + n * LN2[1])
    result = total + low
    return result, total - result + low
