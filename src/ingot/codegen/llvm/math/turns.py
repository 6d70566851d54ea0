"""Angles of any size reduced exactly, in straight-line integer arithmetic.

x / 2 pi is the whole number m times 2^e times 1 / 2 pi. Only digits of 1 / 2 pi from the e-th on matter, as m times
those before is a whole number of turns; a window of them is multiplied by m in 32-bit limbs held in 64-bit lanes.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

from ingot.codegen.llvm import ir
from ingot.codegen.llvm.math.lanes import Floats, Ints, reshaped

__all__ = ["HALF_PI_32", "HALF_PI_64", "Angle", "angle_of_huge"]

# The digits of 1 / 2 pi in base 2^32, after one 0 for exponents a little below 0
DIGITS = (
    *(0, 0x28BE60DB, 0x9391054A, 0x7F09D5F4, 0x7D4D3770, 0x36D8A566, 0x4F10E410, 0x7F9458EA, 0xF7AEF158),
    *(0x6DC91B8E, 0x909374B8, 0x01924BBA, 0x82746487, 0x3F877AC7, 0x2C4A69CF, 0xBA208D7D, 0x4BAED121),
    *(0x3A671C09, 0xAD17DF90, 0x4E64758E, 0x60D4CE7D, 0x272117E2, 0xEF7E4A0E, 0xC7FE25FF, 0xF7816603),
    *(0xFBCBC462, 0xD6829B47, 0xDB4D9FB3, 0xC9F2C26D, 0xD3D18FD9, 0xA797FA8B, 0x5D49EEB1, 0xFAF97C5E),
    *(0xCF41CE7D, 0xE294A4BA, 0x9AFED7EC, 0x47E35742, 0x1580CC11, 0xBF1EDAEA, 0xFC33EF08, 0x26BD0D87),
)
LOW = 0xFFFFFFFF
# pi / 2 in three parts; n times the first is exact inside an fma
HALF_PI_32 = (1.5707963705062866, -4.371138828673793e-08, -1.7151245100058819e-15)
HALF_PI_64 = (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591698e-33)


class Angle(NamedTuple):
    """n steps of pi / 2 or of pi, and the rest r, which is at most half a step; of n only the lowest bit matters."""

    r: Floats
    n: Ints


def angle_of_huge(x: Floats, quarters: int, halves: int) -> Angle:
    """`x` plus `quarters` quarter turns as steps of `halves` times pi / 2 and a rest, for |x| >= 1 (float64: 2^20).

    With quarters x must not be negative. The rest is NaN where x is not finite.
    """
    first, second = _turns(x)
    # a turn is 2^64, a step 2^63 or 2^62 of it
    first = first + (quarters << 62)
    n = (first + (1 << (60 + halves))).logical_right(61 + halves)
    shift = 3 - halves
    high = (first << shift) | second.logical_right(64 - shift)
    low = second << shift
    # the complement stands for the negative; it is off by 2^-128 of a step
    sign = high >> 63
    high, low = high ^ sign, low ^ sign
    # the first 52 bits times pi / 2 in two parts, and the rest times its first
    top = _converted(high & ~0x7FF) * 2.0**-64
    rest = _converted(high & 0x7FF) * 2.0**-64 + _converted(low.logical_right(1)) * 2.0**-127
    half_pi, missing, _ = HALF_PI_64
    r = top.fma(half_pi * halves, top.fma(missing * halves, rest * (half_pi * halves)))
    r = (-r).select(sign.compare("!=", 0), r)
    r = (-r).select(x < 0.0, r)
    return Angle((r.narrowed() if x.single else r) + (x - x), n.resized(x.word.width))


def _turns(x: Floats) -> tuple[Ints, Ints]:
    """The fraction of |x| / 2 pi: its first 64 binary digits and the next 64; none of these for float32."""
    bits = abs(x).bits().resized(64)
    place = bits.logical_right(x.digits) - (x.bias + x.digits - 32)
    m = (bits & ((1 << x.digits) - 1)) | (1 << x.digits)
    window = _window(place, x.pick(3, 6), x.pick(3, 5))
    digits = _product(m & LOW, None if x.single else m.logical_right(32), window)
    first = (digits[0] << 32) | digits[1]
    return first, first.const(0) if x.single else (digits[2] << 32) | digits[3]


def _window(place: Ints, count: int, steps: int) -> list[Ints]:
    """`count` limbs of 32 bits from bit `place` of the digits on, picked by `steps` binary choices."""
    index, shift = place >> 5, place & 31
    words = [place.const(word) for word in DIGITS[: (1 << steps) + count]]
    for step in reversed(range(steps)):
        skips = (index & (1 << step)).compare("!=", 0)
        words = [words[i + (1 << step)].select(skips, words[i]) for i in range(count + (1 << step))]
    return [(((a << 32) | b) << shift).logical_right(32) for a, b in pairwise(words)]


def _product(low: Ints, high: Ints | None, limbs: list[Ints]) -> list[Ints]:
    """The limbs of the fraction of (low + 2^32 high) times 0.limbs, but for the last."""
    lows = [low * limb for limb in limbs]
    highs = [] if high is None else [high * limb for limb in limbs]
    carry, digits = low.const(0), list[Ints]()
    for k in reversed(range(1, len(limbs))):
        total = carry + (lows[k - 1] & LOW) + lows[k].logical_right(32)
        if highs:
            total = total + (highs[k] & LOW)
        if k + 1 < len(highs):
            total = total + highs[k + 1].logical_right(32)
        digits.insert(0, total & LOW)
        carry = total.logical_right(32)
    return digits


def _converted(n: Ints) -> Floats:
    return Floats(n.b, n.b.sitofp(n.value, reshaped(n.value.type, ir.DoubleType())))
