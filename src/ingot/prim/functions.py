"""Elementwise functions: what each computes, by name, in numpy, and the type of its result."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ingot.dataclass import dataclass
from ingot.dtypes import Array, DType

NARROW_FLOATS = (DType.FLOAT16, DType.BFLOAT16)
"""Floats of 16 bits: what is computed with them is computed in FLOAT32."""

FLOATING = {DType.FLOAT16, DType.BFLOAT16, DType.FLOAT32, DType.FLOAT64}
SIGNED = {DType.INT8, DType.INT16, DType.INT32, DType.INT64}
UNSIGNED = {DType.UINT8, DType.UINT16, DType.UINT32, DType.UINT64}
INTEGERS = SIGNED | UNSIGNED
ELEMENTS = FLOATING | INTEGERS | {DType.BOOL}
"""The element types that primitives compute with."""

CODES = {
    DType.FLOAT8E4M3FN, DType.FLOAT8E4M3FNUZ, DType.FLOAT8E5M2, DType.FLOAT8E5M2FNUZ, DType.FLOAT8E8M0,
    DType.FLOAT4E2M1, DType.FLOAT6E2M3, DType.FLOAT6E3M2, DType.UINT4, DType.INT4, DType.UINT2, DType.INT2,
}  # fmt: skip
"""Element types of a byte each, or less in a file, that primitives move about, and read and write as bits."""

ROUNDINGS = ("round_within", "round_to_byte")
"""The functions that round numbers to whole ones between limits."""

STORED = ELEMENTS | CODES
"""The element types of tensors of primitives."""

CONVERSIONS = {"cast", "bitcast"}
"""Functions of one argument whose result has a type of its own: the nearest number, and the same bits."""


@dataclass(frozen=True, slots=True)
class Function:
    """An elementwise function. `result` is "same" as its first argument, or "bool"."""

    name: str
    arity: int
    compute: Callable[..., Array]
    result: str = "same"


def identity(function: str, dtype: DType) -> Any:
    """The identity of a reduction by `function`, as an element of `dtype`."""
    kind = dtype.numpy
    match function:
        case "add":
            return kind.type(0)
        case "multiply":
            return kind.type(1)
        case "or":
            return np.bool_(False)
        case "and":
            return np.bool_(True)
        case "maximum" if dtype in FLOATING:
            return kind.type(-np.inf)
        case "minimum" if dtype in FLOATING:
            return kind.type(np.inf)
        case "maximum":
            return np.bool_(False) if dtype is DType.BOOL else kind.type(np.iinfo(kind).min)
        case "minimum":
            return np.bool_(True) if dtype is DType.BOOL else kind.type(np.iinfo(kind).max)
    raise AssertionError(function)


def _where(condition: Array, one: Array, other: Array) -> Array:
    return np.where(condition, one, other)


def _divide(a: Array, b: Array) -> Array:
    """Towards zero for integers; by zero gives zero here: whoever runs it reports it."""
    if a.dtype.kind not in "iu":
        return np.asarray(a / b)
    safe = np.where(b == 0, 1, b).astype(b.dtype)
    quotient = np.asarray(a // safe)
    inexact = (quotient * safe != a) & ((a < 0) != (safe < 0))
    return np.where(b == 0, 0, quotient + inexact).astype(a.dtype)


def _remainder(a: Array, b: Array) -> Array:
    """With the sign of the dividend."""
    if a.dtype.kind not in "iu":
        return np.asarray(np.fmod(a, b))
    return np.where(b == 0, 0, np.fmod(a, np.where(b == 0, 1, b))).astype(a.dtype)


def _power(a: Array, b: Array) -> Array:
    """Of integers, the bits of the exponent are those of an unsigned one, and the result wraps around."""
    if a.dtype.kind not in "iu":
        return np.asarray(np.power(a, b))
    unsigned = f"u{a.dtype.itemsize}"
    return np.asarray(np.power(a.astype(unsigned), b.astype(unsigned))).astype(a.dtype)


def _erf(x: Array) -> Array:
    return np.asarray(np.vectorize(math.erf, otypes=[x.dtype])(x))


def _sigmoid(x: Array) -> Array:
    """1 / (1 + exp(-x)), computed so that the exponential never overflows."""
    small = np.exp(-np.abs(x))
    return np.asarray(np.where(x < 0, small, x.dtype.type(1)) / (1 + small))


def _round_within(x: Array, least: Array, most: Array) -> Array:
    """The nearest whole number from `least` to `most`, of two the even one; zero for NaN.

    The limits are whole numbers, zero between them, or next to it; what is not is undefined.
    """
    whole = np.rint(x)
    return np.asarray(np.minimum(np.maximum(np.where(np.isnan(whole), x.dtype.type(0), whole), least), most))


def _round_to_byte(x: Array, least: Array, most: Array) -> Array:
    """The same of numbers below 2 ** 30, where the limits are those of a type of bytes less one and the same number."""
    return _round_within(x, least, most)


def _shift_left(a: Array, b: Array) -> Array:
    bits = a.dtype.itemsize * 8
    return np.where(b >= bits, 0, a << np.minimum(b, bits - 1)).astype(a.dtype)


def _shift_right(a: Array, b: Array) -> Array:
    bits = a.dtype.itemsize * 8
    return np.where(b >= bits, 0, a >> np.minimum(b, bits - 1)).astype(a.dtype)


def _table() -> dict[str, Function]:
    one: dict[str, Callable[..., Array]] = {
        "negate": np.negative, "absolute": np.abs, "not": np.logical_not, "invert": np.invert, "sqrt": np.sqrt,
        "exp": np.exp, "exp_nonpositive": np.exp, "log": np.log, "expm1": np.expm1, "log1p": np.log1p, "tanh": np.tanh,
        "erf": _erf,
        "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan,
        "sinh": np.sinh, "cosh": np.cosh, "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh,
        "floor": np.floor, "ceil": np.ceil, "round": np.rint, "truncate": np.trunc,
        "sigmoid": _sigmoid,
    }  # fmt: skip
    two: dict[str, Callable[..., Array]] = {
        "add": np.add, "subtract": np.subtract, "multiply": np.multiply, "divide": _divide, "remainder": _remainder,
        "maximum": np.maximum, "minimum": np.minimum, "power": _power, "and": np.bitwise_and, "or": np.bitwise_or,
        "xor": np.bitwise_xor, "shift_left": _shift_left, "shift_right": _shift_right, "copysign": np.copysign,
        "divide_by_normal": np.divide,
    }  # fmt: skip
    compare: dict[str, Callable[..., Array]] = {
        "less": np.less,
        "less_equal": np.less_equal,
        "equal": np.equal,
        "not_equal": np.not_equal,
    }
    functions = [Function(name, 1, compute) for name, compute in one.items()]
    functions += [Function(name, 2, compute) for name, compute in two.items()]
    functions += [Function(name, 2, compute, "bool") for name, compute in compare.items()]
    functions += [Function("is_nan", 1, np.isnan, "bool"), Function("where", 3, _where, "second")]
    functions.append(Function("round_within", 3, _round_within))
    functions.append(Function("round_to_byte", 3, _round_to_byte))
    return {function.name: function for function in functions}


FUNCTIONS = _table()
"""Every elementwise function but the conversions, whose result type is their own."""
