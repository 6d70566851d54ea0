"""Elements of a byte or two that are chosen by their indices: loaded where the condition holds, in whole vectors.

`where(i <= j, x[i, j], 0)` compares an int64 for each byte. As the condition of the load it is a range of lanes, found
once for all lanes of a vector.
"""

from __future__ import annotations

from dataclasses import replace

from ingot.dtypes import DType
from ingot.loops.ir import Apply, Index, Inside, Literal, Load, Nest, Position, Scalar, Stage, Var
from ingot.loops.walk import Node, Transform

_NARROW = 2
"""Bytes of the widest elements of which a vector has more than of int32."""

_UNBOUNDED = 1 << 60
"""More than any index, and than the difference of two."""

_LARGEST = 1 << 40
"""The largest number, of either sign, that an index is compared with."""


def loads_inside(nest: Nest) -> Nest:
    """A nest whose narrow elements are loaded where conditions of their indices hold."""
    change = Transform(_inside)
    stages = [
        Stage(stage.inner, tuple(map(change, stage.starts)), tuple(map(change, stage.body))) for stage in nest.stages
    ]
    return Nest(nest.rows, tuple(stages))


def _inside(node: Node) -> Node:
    match node:
        case Apply(function="where", arguments=(condition, Load(where=()) as load, Literal(value=fill))) if (
            load.dtype.numpy.itemsize <= _NARROW
        ):
            holds = _range(condition, _contiguous(load.index))
            return node if holds is None else replace(load, where=(holds,), fill=fill)
    return node


def _contiguous(index: Index) -> Var | None:
    """The variable along which an index lies contiguous."""
    return next((term for term, factor in index.terms if isinstance(term, Var) and factor == 1), None)


def _range(condition: Scalar, var: Var | None) -> Inside | None:
    """A comparison of indices that move with a variable as a range of one that grows with it; None for any other."""
    match condition:
        case Apply(function="less" | "less_equal" as function, arguments=(one, other)) if var is not None:
            lesser, greater = _linear(one), _linear(other)
            if lesser is None or greater is None:
                return None
            above = (greater + lesser.times(-1)).plus(-1 if function == "less" else 0)  # 0 or more where it holds
            if above.factor(var) == 1:
                return Inside(above, _UNBOUNDED)
            if above.factor(var) == -1:
                return Inside(above.times(-1).plus(_UNBOUNDED - 1), _UNBOUNDED)
    return None


def _linear(value: Scalar) -> Index | None:
    """An int64 as a sum of loop variables; None for any other."""
    match value:
        case Literal(dtype=DType.INT64, value=int(number)) if abs(number) <= _LARGEST:
            return Index((), number)
        case Position(index=index) if all(isinstance(term, Var) for term, _ in index.terms):
            return index
        case Apply(dtype=DType.INT64, function="add" | "subtract" as function, arguments=(one, other)):
            first, second = _linear(one), _linear(other)
            if first is not None and second is not None:
                return first + (second if function == "add" else second.times(-1))
    return None
