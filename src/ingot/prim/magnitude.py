"""How large the elements of a tensor may be, as far as its types, its constants and its functions say so."""

from __future__ import annotations

import numpy as np

from ingot.dtypes import DType
from ingot.prim.functions import INTEGERS, ROUNDINGS
from ingot.prim.tensor import Constant, Map, Pad, Tensor, View

_DEPTH = 10
"""Functions of functions that are looked into."""

_ELEMENTS = 1 << 16
"""Elements of a constant that are looked at, at most: as many as channels have scales."""

_ROUNDING = 1 + 2.0**-20
"""What rounding adds to a result, at most."""


def magnitude(x: Tensor, depth: int = _DEPTH) -> float | None:
    """What no element exceeds in size, of which none is NaN; None where that is not known."""
    if isinstance(x, Constant) and x.array.size <= _ELEMENTS and x.array.dtype.kind in "fiu":
        largest = float(np.max(np.abs(x.array.astype(np.float64)), initial=0.0))
        return largest if np.isfinite(largest) else None
    if x.dtype in INTEGERS:
        return float(max(map(abs, x.dtype.limits)))
    if depth == 0:
        return None
    if isinstance(x, View):
        inside = magnitude(x.x, depth - 1)
        return max(inside, abs(float(x.fill))) if inside is not None and isinstance(x, Pad) else inside
    if isinstance(x, Map) and x.dtype is DType.FLOAT32:
        return _of_function(x, depth - 1)
    return None


def _of_function(x: Map, depth: int) -> float | None:
    match x.function, x.arguments:
        case "cast", (inner,) if inner.dtype in (*INTEGERS, DType.FLOAT32):
            sizes = [magnitude(inner, depth)]
        case (("negate" | "absolute"), (inner,)):
            sizes = [magnitude(inner, depth)]
        case (("add" | "subtract" | "maximum" | "minimum" | "multiply"), arguments):
            sizes = [magnitude(argument, depth) for argument in arguments]
        case function, (_, *limits) if function in ROUNDINGS:
            sizes = [magnitude(limit, depth) for limit in limits]
        case "divide_by_normal", (dividend, divisor):
            least = _least(divisor)
            size = magnitude(dividend, depth)
            sizes = [None if size is None or least is None else size / least]
        case _:
            return None
    known = [size for size in sizes if size is not None]
    if len(known) < len(sizes):
        return None
    match x.function:
        case "add" | "subtract":
            result = sum(known) * _ROUNDING
        case "multiply":
            result = known[0] * known[1] * _ROUNDING
        case _:
            result = max(known) * _ROUNDING
    return result if result < float(np.finfo(np.float32).max) else None


def _least(x: Tensor) -> float | None:
    """The least element of a constant of positive numbers; None of any other."""
    while isinstance(x, View) and not isinstance(x, Pad):
        x = x.x
    if not isinstance(x, Constant) or not x.array.size or x.array.size > _ELEMENTS:
        return None
    least = float(np.min(x.array))
    return least if least > 0 else None
