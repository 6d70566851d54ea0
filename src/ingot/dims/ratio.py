"""Operators and functions on ratios of sizes, by the names that exporters give them.

A value on the way through a text is a numerator over a denominator, because sympy writes `floor(h/2 - 1/2)`.
"""

from __future__ import annotations

from ingot.dims.calls import operand_text_of
from ingot.dims.expr import Dim, divide_exactly, lower_bound, maximum, minimum, terms_of
from ingot.dims.terms import MAX_DEGREE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeAlias

Ratio: TypeAlias = "tuple[Dim, Dim]"


def whole(value: Ratio) -> Dim:
    """The size that a ratio is; ValueError if it may be a fraction."""
    numerator, denominator = value
    quotient = divide_exactly(numerator, denominator)
    if quotient is None:
        texts = (operand_text_of(terms_of(part)) for part in value)
        raise ValueError(f"{'/'.join(texts)} may be a fraction")
    return quotient


def apply(op: str, values: tuple[Ratio, ...]) -> Ratio:
    """An operator, or a function by any of its names, of these values; ValueError if there is no such one."""
    match op, values:
        case "+", ((a, b), (c, d)):
            return (a + c, b) if b == d else (a * d + b * c, b * d)
        case "-", ((a, b), (c, d)):
            return (a - c, b) if b == d else (a * d - b * c, b * d)
        case "*", ((a, b), (c, d)):
            return a * c, b * d
        case "/" | "IntTrueDiv", ((a, b), (c, d)):
            if c == 0:
                raise ZeroDivisionError("division by zero")
            return a * d, b * c
        case "**", ((a, b), (int(n), 1)):
            return _power(a, n), _power(b, n)
        case "//", _:
            return apply("floor", (apply("/", values),))
        case "floor" | "FloorToInt", ((a, b),):
            return a // b, 1
        case "ceiling" | "CeilToInt", ((a, b),):
            return (a + b - 1) // b if _is_natural(b) else -(-a // b), 1
        case "%" | "Mod" | "PythonMod", ((a, 1), (b, 1)):
            return a % b, 1
        case "max" | "Max", _:
            return maximum(*map(whole, values)), 1
        case "min" | "Min", _:
            return minimum(*map(whole, values)), 1
    raise ValueError(f"{op!r} of {len(values)} is not known")


def _is_natural(dim: Dim) -> bool:
    low = lower_bound(dim)
    return low is not None and low >= 0


def _power(x: Dim, n: int) -> Dim:
    if n > MAX_DEGREE:
        raise ValueError(f"a power above {MAX_DEGREE}")
    if n < 2:
        return x if n else 1
    half = _power(x, n // 2)
    return half * half * x if n % 2 else half * half
