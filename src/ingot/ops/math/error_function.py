"""Erf, and the error function and its complement in float64.

Up to 1, erf(x) / x is a Chebyshev series in x²; beyond, erfc(x) · x · exp(x²) is one in (x - 4) / (x + 2). The series
were made from values of 50 digits, with terms down to 1e-17. On 30,000 random numbers each, against 40 digits, the
largest error was 2.0 (erf) and 5.6 (erfc) units in the last place; below 1e-308 erfc loses digits.
"""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

import numpy as np
from numpy.polynomial.chebyshev import chebval

from ingot.dtypes import Array, DType
from ingot.ir.types import TensorType
from ingot.ir.value import Value
from ingot.ops.define import operator, superseded
from ingot.ops.math.elementwise import elementwise
from ingot.ops.math.precision import narrowed
from ingot.ops.shapes import same
from ingot.ops.typesets import FLOATS, NUMERIC_3, types

T: TypeAlias = Annotated[Array, types("T", FLOATS)]
T9: TypeAlias = Annotated[Array, types("T", NUMERIC_3)]


@operator("Erf", since=13)
def erf_operator(x: T, /) -> T:
    """The error function: 2/√π times the integral of exp(-t²) from 0 to `x`."""
    return narrowed(erf(x.astype(np.float64)), x.dtype)


erf_operator.infer(same)
erf_operator.lower(elementwise("erf"))


@erf_operator.downgrade
def downgrade(op: Any, x: Value, /) -> Any:
    return op.Erf(x)


@operator("Erf", since=9)
def erf_9(x: T9, /) -> T9:
    """The same, of integers too: truncated to 0, or to ±1 where float64 has no number between."""
    raise superseded()


@erf_9.upgrade
def upgrade(op: Any, x: Value, /) -> Any:
    if isinstance(x.type, TensorType) and x.type.dtype.is_integer:
        return op.Cast(op.Erf(op.Cast(x, to=int(DType.FLOAT64))), to=int(x.type.dtype))
    return op.Erf(x)


def erf(x: Array) -> Array:
    """The error function of float64 numbers."""
    size = np.abs(x)
    return np.where(size < 1, x * _near(size), np.copysign(1 - _far(size), x))


def erfc(x: Array) -> Array:
    """One less the error function, to full accuracy also where that is close to one."""
    size = np.abs(x)
    far = _far(size)
    return np.where(size < 1, 1 - x * _near(size), np.where(x < 0, 2 - far, far))


def _near(size: Array) -> Array:
    """erf(x) / x for numbers from 0 to 1."""
    return np.asarray(chebval(2 * np.minimum(size, 1) ** 2 - 1, _NEAR))


def _far(size: Array) -> Array:
    """The complement for numbers from 1 on: exp(-x²) is split, because rounding x² would show in it."""
    x = np.clip(size, 1, 28)  # erfc(28) is zero in float64
    head = np.round(x * 16) / 16
    tail = np.exp(-head * head) * np.exp((head - x) * (head + x))
    return np.asarray(tail * chebval((x - 4) / (x + 2), _FAR) / x)


_NEAR = (
    0.9754769393826541,
    -0.14226120510371365,
    0.010035582187599796,
    -0.0005768764699767485,
    2.741993125219606e-05,
    -1.1043175507344507e-06,
    3.8488755420345036e-08,
    -1.1808582533875466e-09,
    3.2334215826050907e-11,
    -7.991015947004549e-13,
    1.7990725113961456e-14,
    -3.718635487818693e-16,
    7.103599003714253e-18,
)
_FAR = (
    0.5226852818480617,
    0.06239406251578745,
    -0.0260663015282281,
    0.005894781567304472,
    -0.0007428920123522407,
    1.5128890832418327e-05,
    1.0671610297733193e-05,
    -9.96615539739532e-07,
    -1.8450476010209502e-07,
    2.805919177614582e-08,
    4.5876322428344715e-09,
    -7.389343846411987e-10,
    -1.5469505431115985e-10,
    1.7584896811152985e-11,
    6.057580561126259e-12,
    -2.4273932694348503e-13,
    -2.4051309254593736e-13,
    -1.075182997401723e-14,
    8.586349446804667e-15,
    1.3257658165635783e-15,
    -2.1923478924795032e-16,
    -8.484325968029135e-17,
    -9.10607604861889e-19,
    3.844824579203003e-18,
    5.957770267146307e-19,
)
