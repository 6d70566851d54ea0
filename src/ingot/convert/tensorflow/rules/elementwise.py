"""Functions of each element alone."""

from __future__ import annotations

import numpy as np

from ingot.builder import Var, op
from ingot.convert import elementary
from ingot.convert.operands import cast, number
from ingot.convert.tensorflow.dtypes import dtype_of
from ingot.convert.tensorflow.rule import Site, rule
from ingot.dtypes import DType
from ingot.errors import UnsupportedError


@rule("Inv", "Reciprocal")
def reciprocal(site: Site, x: Var) -> Var:
    return op.Reciprocal(x) if site.dtype.is_float else op.Div(number(1, site.dtype), x)


@rule("Rsqrt")
def rsqrt(site: Site, x: Var) -> Var:
    return op.Reciprocal(op.Sqrt(x))


@rule("Square")
def square(site: Site, x: Var) -> Var:
    return op.Mul(x, x)


@rule("Expm1")
def expm1(site: Site, x: Var) -> Var:
    return elementary.expm1(x, site.dtype)


@rule("Log1p")
def log1p(site: Site, x: Var) -> Var:
    return elementary.log1p(x, site.dtype)


@rule("Erfc")
def erfc(site: Site, x: Var) -> Var:
    return op.Sub(number(1, site.dtype), op.Erf(x))


@rule("Erfinv")
def erfinv(site: Site, x: Var) -> Var:
    """Giles' polynomials in w = -log(1 - x²), in double: near to the rounding of float32."""
    x = cast(x, DType.FLOAT64)
    one = np.float64(1)
    w = op.Neg(op.Log(op.Mul(op.Sub(one, x), op.Add(one, x))))
    near = _polynomial(op.Sub(w, np.float64(2.5)), _NEAR)
    far = _polynomial(op.Sub(op.Sqrt(w), np.float64(3)), _FAR)
    inverse = op.Mul(op.Where(op.Less(w, np.float64(5)), near, far), x)
    edge = op.Equal(op.Abs(x), one)
    return cast(op.Where(edge, op.Mul(x, np.float64(np.inf)), inverse), site.dtype)


@rule("Ndtri")
def ndtri(site: Site, x: Var) -> Var:
    """The quantile of the normal distribution."""
    twice = op.Sub(op.Mul(x, number(2, site.dtype)), number(1, site.dtype))
    return op.Mul(erfinv(site, twice), number(np.sqrt(2.0), site.dtype))


@rule("Lgamma")
def lgamma(site: Site, x: Var) -> Var:
    """Lanczos' sum with nine terms, in double; the other half by reflection."""
    wide = cast(x, DType.FLOAT64)
    mirrored = op.Less(wide, np.float64(0.5))
    at = op.Where(mirrored, op.Sub(np.float64(1), wide), wide)
    series = _lanczos(at)
    sine = op.Abs(op.Sin(op.Mul(np.float64(np.pi), op.Sub(wide, op.Floor(wide)))))
    other = op.Sub(op.Sub(np.float64(np.log(np.pi)), op.Log(sine)), series)
    return cast(op.Where(mirrored, other, series), site.dtype)


@rule("Digamma")
def digamma(site: Site, x: Var) -> Var:
    """Moved up by recurrence until the asymptotic series is exact in double; the other half by reflection."""
    wide = cast(x, DType.FLOAT64)
    one = np.float64(1)
    mirrored = op.Less(wide, np.float64(0.5))
    at = op.Where(mirrored, op.Sub(one, wide), wide)
    less = None
    for step in range(8):
        term = op.Reciprocal(op.Add(at, np.float64(step)))
        less = term if less is None else op.Add(less, term)
    at = op.Add(at, np.float64(8))
    square = op.Reciprocal(op.Mul(at, at))
    tail = op.Mul(square, _polynomial(square, _BERNOULLI))
    series = op.Sub(op.Sub(op.Log(at), op.Add(op.Div(np.float64(0.5), at), tail)), less)
    turned = op.Div(np.float64(np.pi), op.Tan(op.Mul(np.float64(np.pi), wide)))
    return cast(op.Where(mirrored, op.Sub(series, turned), series), site.dtype)


@rule("IsFinite")
def is_finite(site: Site, x: Var) -> Var:
    return op.Not(op.Or(op.IsInf(x), op.IsNaN(x)))


@rule("ClipByValue")
def clip_by_value(site: Site, x: Var, low: Var, high: Var) -> Var:
    return op.Max(op.Min(x, high), low)


@rule("Cast")
def cast_(site: Site, x: Var) -> Var:
    return cast(x, site.dtype)


@rule("Bitcast")
def bitcast(site: Site, x: Var) -> Var:
    source = x.dtype
    if source is None or source.numpy.itemsize != site.dtype.numpy.itemsize:
        raise UnsupportedError("bits read as elements of another size")
    return x if source is site.dtype else op.BitCast(x, to=int(site.dtype))


@rule("PopulationCount")
def population_count(site: Site, x: Var) -> Var:
    """The number of bits that are set, of each bit in turn."""
    bits = dtype_of(site.op.inputs[0].dtype).numpy.itemsize * 8
    wide = cast(x, DType.INT64)
    mask = np.array(2**bits - 1 if bits < 64 else -1, np.int64)
    unsigned = cast(op.BitwiseAnd(wide, mask), DType.UINT64)
    each = op.BitShift(op.Unsqueeze(unsigned, [-1]), np.arange(bits, dtype=np.uint64), direction="RIGHT")
    ones = op.BitwiseAnd(each, np.array(1, np.uint64))
    return cast(op.ReduceSum(cast(ones, DType.INT64), [-1], keepdims=0), site.dtype)


def _polynomial(x: Var, coefficients: tuple[float, ...]) -> Var:
    """By Horner, the coefficient of the highest power first."""
    total = op.Mul(x, np.float64(coefficients[0]))
    for coefficient in coefficients[1:-1]:
        total = op.Mul(op.Add(total, np.float64(coefficient)), x)
    return op.Add(total, np.float64(coefficients[-1]))


def _lanczos(x: Var) -> Var:
    less = op.Sub(x, np.float64(1))
    total = None
    for at, coefficient in enumerate(_LANCZOS[1:], 1):
        term = op.Div(np.float64(coefficient), op.Add(less, np.float64(at)))
        total = op.Add(np.float64(_LANCZOS[0]), term) if total is None else op.Add(total, term)
    t = op.Add(less, np.float64(7.5))
    head = op.Sub(op.Mul(op.Add(less, np.float64(0.5)), op.Log(t)), t)
    return op.Add(op.Add(np.float64(0.5 * np.log(2 * np.pi)), head), op.Log(total))


_LANCZOS = (
    0.99999999999980993,
    676.5203681218851,
    -1259.1392167224028,
    771.32342877765313,
    -176.61502916214059,
    12.507343278686905,
    -0.13857109526572012,
    9.9843695780195716e-6,
    1.5056327351493116e-7,
)
_BERNOULLI = (-691 / 32760, 1 / 132, -1 / 240, 1 / 252, -1 / 120, 1 / 12)
"""Of the asymptotic series of digamma in 1/x², the highest power first."""
_NEAR = (
    2.81022636e-08,
    3.43273939e-07,
    -3.5233877e-06,
    -4.39150654e-06,
    0.00021858087,
    -0.00125372503,
    -0.00417768164,
    0.246640727,
    1.50140941,
)
_FAR = (
    -0.000200214257,
    0.000100950558,
    0.00134934322,
    -0.00367342844,
    0.00573950773,
    -0.0076224613,
    0.00943887047,
    1.00167406,
    2.83297682,
)
