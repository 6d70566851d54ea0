"""Symbolic sizes: a dimension is an `int` or an `Expr`, a polynomial of named sizes with integer coefficients.

Two assumptions make the simplifications sound: a symbol stands for a size, an integer >= 0, and a divisor is never
zero (so `(a*b)//b` is `a`). Division rounds towards minus infinity, as Python's does. `n % d` is kept as
`n - d*(n//d)`, so that `a//4*4 + a % 4` is `a`, and is folded back when shown.
"""

from ingot.dims.expr import (
    Dim,
    Expr,
    UnboundSymbolError,
    constant_term,
    divide_exactly,
    evaluate,
    is_multiple,
    lower_bound,
    maximum,
    minimum,
    rename,
    substitute,
    symbol,
    symbols,
    upper_bound,
)
from ingot.dims.formula import formula
from ingot.dims.packing import Packing
from ingot.dims.parser import from_param, parse
from ingot.dims.terms import LIMIT

__all__ = [
    "LIMIT",
    "Dim",
    "Expr",
    "Packing",
    "UnboundSymbolError",
    "constant_term",
    "divide_exactly",
    "evaluate",
    "formula",
    "from_param",
    "is_multiple",
    "lower_bound",
    "maximum",
    "minimum",
    "parse",
    "rename",
    "substitute",
    "symbol",
    "symbols",
    "upper_bound",
]
