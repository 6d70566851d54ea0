"""What operators of the first opsets share: broadcasting in one direction if asked for, and inputs they consume."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, TypeAlias

import numpy as np

from ingot.dtypes import Array
from ingot.ir.types import TensorType
from ingot.ir.value import Value
from ingot.ops.define import Operator, Until, operator, superseded
from ingot.ops.typesets import FLOATS_3, types

T: TypeAlias = Annotated[Array, types("T", FLOATS_3)]


def aligned(op: Any, a: Value, b: Value, axis: int | None, broadcast: int) -> Any:
    """`b` with axes of one put behind it, so that today's broadcasting to `a` does what `axis` asked for.

    How many is known with the ranks; else the model counts them when it runs.
    """
    if not broadcast or axis is None:
        return b
    ranks = [value.type.rank if isinstance(value.type, TensorType) else None for value in (a, b)]
    if ranks[0] is None or ranks[1] is None:
        return _aligned_when_it_runs(op, a, b, axis)
    behind = ranks[0] - (axis if axis >= 0 else axis + ranks[0]) - ranks[1]
    if behind <= 0:
        return b
    return op.Unsqueeze(b, list(range(ranks[1], ranks[1] + behind)))


def _aligned_when_it_runs(op: Any, a: Value, b: Value, axis: int) -> Any:
    size = op.Shape(b)
    rank_of_a, rank_of_b = op.Shape(op.Shape(a)), op.Shape(size)
    behind = op.Sub(np.array([-axis]) if axis < 0 else op.Sub(rank_of_a, np.array([axis])), rank_of_b)
    ones = op.Expand(np.array([1]), op.Max(behind, np.array([0])))
    return op.Reshape(b, op.Concat(size, ones, axis=0))


def consuming(name: str) -> Operator:
    """Version 1 of a function of one tensor, which had an attribute to say what it may overwrite."""

    @operator(name, since=1)
    def first(x: T, /, *, consumed_inputs: Sequence[int] | None = None) -> T:
        """The same, of the floats of old."""
        raise superseded()

    @first.upgrade
    def upgrade(op: Any, x: Value, /, **_: object) -> Any:
        return op[name](x)

    return first


def consuming_several(name: str) -> Operator:
    """The versions before 8 of a function of any number of tensors; the first had the same attribute."""

    @operator(name, since=(1, 6))
    def first(*inputs: T, consumed_inputs: Annotated[Sequence[int] | None, Until(1)] = None) -> T:
        """The same, of the floats of old, all of one shape."""
        raise superseded()

    @first.upgrade
    def upgrade(op: Any, *inputs: Value, **_: object) -> Any:
        return op[name](*inputs)

    return first
