"""Sizes scaled in floating point become integer arithmetic, which inference follows.

Exporters write the sizes of a Resize as `floor(float(size) * 0.5)`. Floats hold small integers exactly: where the scale
is a fraction of small numbers, the result is a quotient of integers, and a guard checks in each run that the sizes are
small.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ingot.builder import inserting, op
from ingot.dataclass import dataclass
from ingot.dims import Dim, Expr, minimum
from ingot.dtypes import DType
from ingot.infer.driver import Facts
from ingot.ir.graph import Graph
from ingot.ir.node import Node
from ingot.ir.tensor import Tensor
from ingot.ir.value import Value
from ingot.ops.shapes import is_natural
from ingot.prim.guard import Guard

_EXACT = 1 << 23
"""Integers below this, and their quotients, are as exact in float32 as rounding them down or up needs."""

_LARGEST = 1 << 12
"""Numerators and denominators of scales are at most this."""

_FLOATS = (DType.FLOAT32, DType.FLOAT64)


@dataclass(frozen=True, slots=True)
class _Scaled:
    """Integers, as a run computes them and as sizes, each with a numerator and a denominator; rounded up, or down."""

    integers: Value
    sizes: tuple[Dim, ...]
    scales: tuple[tuple[int, int], ...]
    is_up: bool


def scale_in_integers(graph: Graph, facts: Facts) -> Iterator[Guard]:
    """Change casts of scaled sizes in a graph to casts of quotients of integers; the guards under which they are equal.

    What is known of the values of the graph is to be inferred anew.
    """
    for node in [node for node in graph if node.applies("Cast")]:
        scaled = _scaled(node, facts)
        if scaled is None:
            continue
        tops, bottoms = (np.array(numbers, np.int64) for numbers in zip(*scaled.scales, strict=True))
        with inserting(before=node):
            products = op.Mul(op.Cast(scaled.integers, to=int(DType.INT64)), _constant(tops))
            if scaled.is_up:
                products = op.Add(products, _constant(bottoms - 1))
            node.inputs = [op.Div(products, _constant(bottoms)).value]
        for size, scale in zip(scaled.sizes, scaled.scales, strict=True):
            if isinstance(size, Expr):
                most = size * max(scale)
                otherwise = f"a size that '{node.label}' scales was assumed to be below {_EXACT:,}"
                yield Guard(minimum(most, _EXACT), most, otherwise)


def _scaled(node: Node, facts: Facts) -> _Scaled | None:
    """What a cast to integers rounds, where it is sizes times fractions of small numbers, not all of them known."""
    if node.get("to") not in (int(DType.INT64), int(DType.INT32)):
        return None
    value, is_up = _input(node), False
    if value is not None and value.producer is not None and value.producer.applies("Floor", "Ceil"):
        is_up = value.producer.applies("Ceil")
        value = _input(value.producer)
    scaling = None if value is None else value.producer
    if scaling is None or not scaling.applies("Mul", "Div"):
        return None
    first, second = scaling.inputs
    if first is not None and _constants(first, facts) is not None and scaling.applies("Mul"):
        first, second = second, first
    factors = None if second is None else _constants(second, facts)
    cast = None if first is None else first.producer
    if factors is None or cast is None or not cast.applies("Cast") or cast.get("to") not in map(int, _FLOATS):
        return None
    integers = _input(cast)
    known = None if integers is None else facts.get(integers)
    if integers is None or known is None or known.dtype not in (DType.INT64, DType.INT32) or known.rank not in (0, 1):
        return None
    sizes = [size for size in known.elements or () if size is not None and is_natural(size)]
    if not sizes or len(sizes) != len(known.elements or ()) or not any(isinstance(size, Expr) for size in sizes):
        return None
    scales = _scales(factors, len(sizes), is_divided=scaling.applies("Div"))
    return None if scales is None else _Scaled(integers, tuple(sizes), scales, is_up)


def _scales(factors: Sequence[float], count: int, *, is_divided: bool) -> tuple[tuple[int, int], ...] | None:
    """A positive fraction of small numbers for each of `count` sizes; None if one has none."""
    if len(factors) not in (1, count) or not all(0 < factor <= _LARGEST for factor in factors):
        return None
    ratios = [factor.as_integer_ratio() for factor in factors]
    if any(max(ratio) > _LARGEST for ratio in ratios):
        return None
    scales = [(bottom, top) if is_divided else (top, bottom) for top, bottom in ratios]
    return tuple(scales if len(scales) == count else scales * count)


def _constants(value: Value, facts: Facts) -> list[float] | None:
    """The elements of a small constant of floats of at most one axis."""
    fact = facts.get(value)
    constant = None if fact is None else fact.constant
    if constant is None or constant.dtype not in _FLOATS or len(constant.shape) > 1 or constant.size > 8:
        return None
    return [float(element) for element in constant.numpy().reshape(-1)]


def _input(node: Node) -> Value | None:
    return node.inputs[0] if node.inputs else None


def _constant(numbers: np.ndarray) -> Value:
    """A constant of one axis, or of one element, which broadcasts with a scalar too."""
    return op.Constant(value=Tensor(numbers if len(numbers) > 1 else numbers.reshape(()))).value
