"""Indices that are compared, in as many bits as they need: vectors of 64 bits have half as many lanes as those of 32.

A triangle, the ones of a diagonal, the place of a maximum: each lane compares its own index, an int64, of which the
sizes of the loops say that it is small.
"""

from __future__ import annotations

from collections.abc import Sequence

from ingot.dtypes import DType
from ingot.loops.ir import Apply, Index, Literal, Nest, Position, Scalar, Stage, Var
from ingot.loops.walk import Node, Transform

_COMPARISONS = ("equal", "not_equal", "less", "less_equal")

_SUMS = ("add", "subtract", "minimum", "maximum")
"""Functions whose results are as narrow as their ranges, of arguments that are."""

_RANGE = (-(1 << 31), (1 << 31) - 1)


def narrow_positions(nest: Nest) -> Nest:
    """A nest that compares indices as int32 where that is what they are, whatever a run does."""
    change = Transform(_narrowed)
    stages = [
        Stage(stage.inner, tuple(map(change, stage.starts)), tuple(map(change, stage.body))) for stage in nest.stages
    ]
    return Nest(nest.rows, tuple(stages))


def _narrowed(node: Node) -> Node:
    match node:
        case Apply(function=function, arguments=arguments) if function in _COMPARISONS and _are_narrow(arguments):
            if not all(isinstance(each, Literal) for each in arguments):
                return Apply(node.dtype, function, tuple(map(_as_int32, arguments)))
        case Apply(dtype=DType.INT32, function="cast", arguments=(Position() as place,)) if _fits(place):
            return _as_int32(place)
    return node


def _are_narrow(arguments: Sequence[Scalar]) -> bool:
    return all(each.dtype is DType.INT64 and _fits(each) for each in arguments)


def _fits(value: Scalar) -> bool:
    """Whether a value, and all that it is computed from, is an int32."""
    return _range(value) is not None


def _range(value: Scalar) -> tuple[int, int] | None:
    """The least and the greatest that an int64 can be, if it and all that it is computed from are within an int32."""
    least, greatest = _RANGE
    bounds: tuple[int, int] | None = None
    match value:
        case Literal(value=int(number)):
            bounds = number, number
        case Position(index=index):
            bounds = _range_of_index(index)
        case Apply(function="cast", arguments=(inner,)) if inner.dtype is DType.INT32:
            bounds = _RANGE
        case Apply(function=function, arguments=(one, other)) if function in _SUMS:
            ranges = _range(one), _range(other)
            if ranges[0] is not None and ranges[1] is not None:
                bounds = _combined(function, ranges[0], ranges[1])
    return bounds if bounds is not None and least <= bounds[0] and bounds[1] <= greatest else None


def _combined(function: str, one: tuple[int, int], other: tuple[int, int]) -> tuple[int, int]:
    match function:
        case "add":
            return one[0] + other[0], one[1] + other[1]
        case "subtract":
            return one[0] - other[1], one[1] - other[0]
        case "minimum":
            return min(one[0], other[0]), min(one[1], other[1])
    return max(one[0], other[0]), max(one[1], other[1])


def _range_of_index(index: Index) -> tuple[int, int] | None:
    if not isinstance(index.offset, int):
        return None
    least = greatest = index.offset
    for term, factor in index.terms:
        if not isinstance(term, Var) or not isinstance(term.extent, int) or not isinstance(factor, int):
            return None
        reach = max(term.extent - 1, 0) * factor
        least, greatest = least + min(reach, 0), greatest + max(reach, 0)
    return least, greatest


def _as_int32(value: Scalar) -> Scalar:
    match value:
        case Literal():
            return Literal(DType.INT32, value.value)
        case Position():
            return Position(value.index, DType.INT32)
        case Apply(function="cast"):
            return value.arguments[0]
    assert isinstance(value, Apply)
    return Apply(DType.INT32, value.function, tuple(map(_as_int32, value.arguments)))
