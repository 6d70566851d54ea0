"""The activations of neural networks: sigmoid, silu, mish, softplus and both forms of gelu."""

from __future__ import annotations

import math

from ingot.codegen.llvm.math.erf import erf
from ingot.codegen.llvm.math.exponential import exp_nonpositive
from ingot.codegen.llvm.math.lanes import Floats, horner

__all__ = ["gelu", "gelu_tanh", "mish", "sigmoid", "silu", "softplus", "times_sigmoid"]

# Minimax for (log(1 + e) - e) / e^2 on 0 <= e <= 1; log(1 + e) has relative error 2^-27.5 and 2^-55.1
LOG1P_32 = (
    *(-0.4999993145465851, 0.33330464363098145, -0.24958018958568573, 0.19692102074623108, -0.15344880521297455),
    *(0.10661128163337708, -0.05745723098516464, 0.020086241886019707, -0.003290468594059348),
)
LOG1P_64 = (
    *(-0.4999999999999946, 0.33333333333235265, -0.24999999993686894, 0.19999999791582246, -0.166666625025657),
    *(0.14285658940279503, -0.12499479938340924, 0.11107507816956957, -0.09981022647797827, 0.09013178943658642),
    *(-0.08081276103906522, 0.07035671564886337, -0.05750404658948201, 0.042302593045458275, -0.026746280402686392),
    *(0.013840219494828174, -0.005543943369852923, 0.0015960347530983821, -0.00029182471109907577),
    2.5336296664668975e-05,
)


def sigmoid(x: Floats) -> Floats:
    """1 / (1 + e^-x), by way of e^-|x|, which cannot overflow.

    With e = e^-|x| and n = 1, or e below 0, it is y = n / (1 + e). As y = n - e y too, taking that once more leaves the
    error of n and only e times that of the sum and the quotient.
    """
    e = exp_nonpositive(-abs(x))
    n = e.select(x < 0.0, 1.0)
    return (-e).fma(n / (e + 1.0), n)


def times_sigmoid(y: Floats, x: Floats) -> Floats:
    """`y sigmoid(x)`, as y / (1 + e^-x): two operations after e in place of six.

    What is far below 0, where e^-x would overflow, is the product, in a block that few vectors go through.
    """
    b = x.b
    low = x < x.pick(-70.0, -670.0)
    quotient = y / (exp_nonpositive(-x) + 1.0)
    before = b.block
    with b.if_then(low.any(), likely=False):
        product = (y * sigmoid(x)).select(low, quotient)
        inside = b.block
    merged = b.phi(quotient.value.type)
    merged.add_incoming(quotient.value, before)
    merged.add_incoming(product.value, inside)
    return Floats(b, merged)


def silu(x: Floats) -> Floats:
    """`x sigmoid(x)`."""
    return times_sigmoid(x, x)


def softplus(x: Floats) -> Floats:
    """log(1 + e^x), as max(x, 0) + log(1 + e^-|x|)."""
    e = exp_nonpositive(-abs(x))
    return x.at_least(0.0) + (e * e).fma(horner(e, x.pick(LOG1P_32, LOG1P_64)), e)


def mish(x: Floats) -> Floats:
    """`x tanh(softplus(x))`.

    With e = e^-|x| the tanh is (1 + 2e) / (1 + 2e + 2e^2), and below 0 (2e + e^2) / (2e + e^2 + 2).
    """
    e = exp_nonpositive(-abs(x))
    negative = x < 0.0
    n = e.fma(e.select(negative, 2.0), (e + e).select(negative, 1.0))
    return x * (n / (n + e.const(2.0).select(negative, e * e * 2.0)))


def gelu(x: Floats) -> Floats:
    """`x (1 + erf(x / sqrt(2))) / 2`."""
    return x * 0.5 * (erf(x * math.sqrt(0.5)) + 1.0)


def gelu_tanh(x: Floats) -> Floats:
    """`x (1 + tanh(u)) / 2` with u = sqrt(2 / pi) (x + 0.044715 x^3), which is x sigmoid(2u)."""
    scale = 2 * math.sqrt(2 / math.pi)
    return times_sigmoid(x, x * (x * x).fma(scale * 0.044715, scale))
