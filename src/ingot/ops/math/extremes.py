"""Max and Min: the largest and the smallest of any number of tensors, element by element."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from math import inf
from typing import Annotated, Any, TypeAlias

import numpy as np

from ingot import dims, prim
from ingot.dtypes import Array, DType
from ingot.ir.value import Value
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.math.following import followed
from ingot.ops.math.legacy import consuming_several
from ingot.ops.math.one_way import alike, stretched
from ingot.ops.math.operands import common_dtype, require_alike
from ingot.ops.math.precision import narrowed
from ingot.ops.math.restated import held
from ingot.ops.older import constant_of, dtype_of
from ingot.ops.typesets import FLOATS_3, NUMERIC, NUMERIC_3, types

T: TypeAlias = Annotated[Array, types("T", {8: FLOATS_3, 12: NUMERIC_3, 13: NUMERIC})]


@operator("Max", since=(8, 12, 13))
def maximum(*inputs: T) -> T:
    """The largest of the inputs; NaN where one is."""
    require_alike(*inputs)
    return narrowed(reduce(np.maximum, inputs), inputs[0].dtype)


@maximum.infer
def infer_maximum(*inputs: Fact) -> Inferred:
    return followed(common_dtype(*inputs), dims.maximum, *inputs)


@operator("Min", since=(8, 12, 13))
def minimum(*inputs: T) -> T:
    """The smallest of the inputs; NaN where one is."""
    require_alike(*inputs)
    return narrowed(reduce(np.minimum, inputs), inputs[0].dtype)


@minimum.infer
def infer_minimum(*inputs: Fact) -> Inferred:
    return followed(common_dtype(*inputs), dims.minimum, *inputs)


@maximum.lower
def lower_maximum(*inputs: prim.Tensor) -> prim.Tensor:
    return reduce(lambda a, b: prim.apply("maximum", a, b), inputs)


@minimum.lower
def lower_minimum(*inputs: prim.Tensor) -> prim.Tensor:
    return reduce(lambda a, b: prim.apply("minimum", a, b), inputs)


@maximum.downgrade
def downgrade_maximum(op: Any, *inputs: Value, version: int) -> Any:
    return _older(op, inputs, op.Max, op.Less, "min", version)


@minimum.downgrade
def downgrade_minimum(op: Any, *inputs: Value, version: int) -> Any:
    return _older(op, inputs, op.Min, op.Greater, "max", version)


def _older(op: Any, inputs: Sequence[Value], say: Any, is_worse: Any, bound: str, version: int) -> Any:
    """Before version 12 integers are chosen one by one; before 8 all must have one shape, or one of two is a bound."""
    if alike(*inputs) if version < 8 else version >= 12 or dtype_of(inputs[0]).is_float:
        return say(*inputs)
    if version < 8:
        for x, other in (inputs, inputs[::-1]) if len(inputs) == 2 else ():
            if (limit := _limit(other)) is not None:
                return op.Clip(x, **{"min": -inf, "max": inf, bound: limit})
        return say(*stretched(op, *inputs))
    best, *others = inputs
    for x in others:
        best = op.Where(is_worse(best, x), x, best)
    return best if others else op.Identity(best)


def _limit(value: Value) -> float | None:
    """The one number that a value is in every run, if an attribute can hold it."""
    constant = constant_of(value)
    single = None if constant is None or constant.shape else held(constant, DType.FLOAT32)
    return None if single is None else float(single)


maximum_1 = consuming_several("Max")
minimum_1 = consuming_several("Min")
