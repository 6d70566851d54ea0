"""The true values: numpy formulas for a type wider than the one under test, and mpmath's."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import mpmath
import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Real: TypeAlias = type[np.floating[Any]]


def wide(name: str, *arguments: Array, kind: Real = np.float64) -> Array:
    """The function in the arithmetic of `kind`, right to some units in its last place.

    float64 is good for float32 results, and long double, where it has 64 bits, for float64; erf and gelu exist for
    float64 only.
    """
    with np.errstate(all="ignore"):
        return np.asarray(_NUMPY[name](*(x.astype(kind) for x in arguments)))


def exact(name: str, *arguments: float) -> mpmath.mpf:
    """The function of finite numbers in its domain, to 180 bits."""
    with mpmath.workprec(180):
        return _MPMATH[name](*map(mpmath.mpf, arguments))


def _erf(x: Array) -> Array:
    assert x.dtype == np.float64
    return np.fromiter(map(math.erf, x.tolist()), np.float64, x.size)


def _erfc(x: Array) -> Array:
    assert x.dtype == np.float64
    return np.fromiter(map(math.erfc, x.tolist()), np.float64, x.size)


def _sigmoid(x: Array) -> Array:
    e = np.exp(-np.abs(x))
    return np.asarray(np.where(x < 0, e, np.where(np.isnan(x), x, 1)) / (1 + e))


def _mish(x: Array) -> Array:
    e = np.exp(-np.abs(x))
    n = np.where(x < 0, e * (e + 2), 1 + 2 * e)
    return np.asarray(x * (n / (n + np.where(x < 0, 2, 2 * e * e))))


def _gelu_tanh(x: Array) -> Array:
    scale = np.sqrt(8 / (4 * np.arctan(x.dtype.type(1))))
    return np.asarray(x * _sigmoid(scale * (x + x.dtype.type("0.044715") * x * x * x)))


def _asinh(x: Array) -> Array:
    a = np.abs(x)
    y = np.log1p(a + a * (a / (1 + np.hypot(a, 1))))
    return np.asarray(np.copysign(np.where(a > 1e150, np.log(a) + np.log(x.dtype.type(2)), y), x))


_NUMPY: Mapping[str, Callable[..., Array]] = {
    "exp": np.exp,
    "exp_nonpositive": np.exp,
    "exp2": np.exp2,
    "expm1": np.expm1,
    "log": np.log,
    "log2": np.log2,
    "log1p": np.log1p,
    "pow": np.power,
    "tanh": np.tanh,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "asinh": _asinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "sigmoid": _sigmoid,
    "silu": lambda x: x * _sigmoid(x),
    "softplus": lambda x: np.where(x > 0, x, 0) + np.log1p(np.exp(-np.abs(x))),
    "mish": _mish,
    "gelu": lambda x: x * (_erfc(-x * math.sqrt(0.5)) / 2),
    "gelu_tanh": _gelu_tanh,
    "erf": _erf,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "floor": np.floor,
    "ceil": np.ceil,
    "trunc": np.trunc,
    "round_half_even": np.rint,
    "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "reciprocal": lambda x: 1 / x,
    "fmod": np.fmod,
    "remainder": np.mod,
}


def _logistic(x: mpmath.mpf) -> mpmath.mpf:
    return 1 / (1 + mpmath.exp(-x))


def _remainder(x: mpmath.mpf, y: mpmath.mpf) -> mpmath.mpf:
    # mpmath's quotient needs as many bits as the exponents are apart
    with mpmath.workprec(4500):
        return x - y * mpmath.floor(x / y)


def _fmod(x: mpmath.mpf, y: mpmath.mpf) -> mpmath.mpf:
    rest = _remainder(abs(x), abs(y))
    return -rest if x < 0 else rest


def _softplus(x: mpmath.mpf) -> mpmath.mpf:
    return max(x, mpmath.mpf(0)) + mpmath.log1p(mpmath.exp(-abs(x)))


_MPMATH: Mapping[str, Callable[..., mpmath.mpf]] = {
    "exp": mpmath.exp,
    "exp_nonpositive": mpmath.exp,
    "exp2": lambda x: mpmath.mpf(2) ** x,
    "expm1": mpmath.expm1,
    "log": mpmath.log,
    "log2": lambda x: mpmath.log(x) / mpmath.log(2),
    "log1p": mpmath.log1p,
    "pow": lambda x, y: mpmath.power(x, y),
    "tanh": mpmath.tanh,
    "sinh": mpmath.sinh,
    "cosh": mpmath.cosh,
    "asinh": mpmath.asinh,
    "acosh": mpmath.acosh,
    "atanh": mpmath.atanh,
    "sigmoid": _logistic,
    "silu": lambda x: x * _logistic(x),
    "softplus": _softplus,
    "mish": lambda x: x * mpmath.tanh(_softplus(x)),
    "gelu": lambda x: x * mpmath.erfc(max(-x / mpmath.sqrt(2), mpmath.mpf(-1000))) / 2 if x > -1000 else mpmath.mpf(0),
    "gelu_tanh": lambda x: x * _logistic(mpmath.sqrt(8 / mpmath.pi) * (x + mpmath.mpf("0.044715") * x**3)),
    "erf": mpmath.erf,
    "sin": mpmath.sin,
    "cos": mpmath.cos,
    "tan": mpmath.tan,
    "asin": mpmath.asin,
    "acos": mpmath.acos,
    "atan": mpmath.atan,
    "floor": mpmath.floor,
    "ceil": mpmath.ceil,
    "trunc": lambda x: mpmath.sign(x) * mpmath.floor(abs(x)),
    "round_half_even": mpmath.nint,
    "sqrt": mpmath.sqrt,
    "rsqrt": lambda x: 1 / mpmath.sqrt(x),
    "reciprocal": lambda x: 1 / x,
    "fmod": _fmod,
    "remainder": _remainder,
}
