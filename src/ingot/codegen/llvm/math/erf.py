"""The error function, without division and without exp.

Below 9/8 (float64: 1) it is x + x P(x^2). From there on it is 1 - S(|x|)^4 (float64: ^8): a root of erfc is so much
flatter than erfc that a short polynomial follows it, and what the powers do to the error of S matters little where
erfc is small.
"""

from __future__ import annotations

from ingot.codegen.llvm.math.lanes import Floats, horner

__all__ = ["erf"]

# Minimax for erf(x) / x - 1 in x^2 on 0 <= x <= 1.125 and 1.0005; erf has relative error 2^-27.2 and 2^-56.3
NEAR_32 = (
    *(0.12837916612625122, -0.3761260211467743, 0.11283256113529205, -0.026839222759008408),
    *(0.005160259548574686, -0.0007765805348753929, 7.063541124807671e-05),
)
NEAR_64 = (
    *(0.1283791670955126, -0.376126389031841, 0.11283791670971101, -0.026866170648032258, 0.005223977652735715),
    *(-0.0008548328541272216, 0.0001205538652744635, -1.4926893060423077e-05, 1.648130481077112e-06),
    *(-1.6560381975357518e-07, 1.6039430604119363e-08, -1.6582499228726485e-09, 1.4569998025765643e-10),
)
# Minimax for erfc(x)^(1/4) on 1.125 <= x <= 4, weighted so that erfc has absolute error 2^-26.6, half that from 3.6
# on: there erf rounds to 1
FAR_32 = (
    *(1.0056027173995972, -0.3092305660247803, -0.06262502819299698, -0.051267415285110474),
    *(0.06657916307449341, -0.02236981689929962, 0.003263381076976657, -0.0001817867741920054),
)
# Minimax for erfc(x)^(1/8) in x - 2 on 1 <= x <= 6, weighted so that erfc has absolute error 2^-55
FAR_64 = (
    *(0.5113926144390636, -0.28242685069871, 0.018938032883517735, 0.017202182837938042, -0.0028042265484288617),
    *(-0.0006558404204721282, 0.00018642978397723206, 7.132850410651792e-06, -5.973393523598486e-06),
    *(1.7574773889223173e-07, 1.1367650271179952e-07, -1.3801999178699397e-09, -4.043204194342845e-09),
    *(4.748961086871259e-10, 3.340873440323864e-11, -1.82489519181626e-11, 4.860398458326955e-12),
    *(-9.437449909012257e-13, 8.125145468201857e-14),
)


def erf(x: Floats) -> Floats:
    """The error function."""
    near = horner(x * x, x.pick(NEAR_32, NEAR_64)).fma(x, x)
    a = abs(x).at_most(x.pick(4.0, 6.0))
    root = horner(a, FAR_32) if x.single else horner(a - 2.0, FAR_64)
    square = root * root
    if not x.single:
        square = square * square
    far = (-square).fma(square, 1.0).copysign(x)
    return near.select(a < x.pick(1.125, 1.0), far)
