"""Sum and Mean of any number of tensors, element by element."""

from __future__ import annotations

from functools import reduce
from typing import Annotated, Any, TypeAlias

import numpy as np

from ingot import prim
from ingot.dtypes import Array
from ingot.ir.types import TensorType
from ingot.ir.value import Value
from ingot.ops import shapes
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.math.legacy import consuming_several
from ingot.ops.math.one_way import alike
from ingot.ops.math.operands import common_dtype, require_alike
from ingot.ops.math.precision import rounded
from ingot.ops.math.restated import in_float32, number, wide_float
from ingot.ops.older import dtype_of
from ingot.ops.typesets import FLOATS, FLOATS_3, types

T: TypeAlias = Annotated[Array, types("T", {8: FLOATS_3, 13: FLOATS})]


@operator("Sum", since=(8, 13))
def total(*inputs: T) -> T:
    """The sum of the inputs."""
    require_alike(*inputs)
    return rounded(lambda *wide: reduce(np.add, wide), *inputs)


@operator("Mean", since=(8, 13))
def mean(*inputs: T) -> T:
    """The sum of the inputs divided by their number."""
    require_alike(*inputs)
    return rounded(lambda *wide: reduce(np.add, wide) / len(wide), *inputs)


@total.infer
@mean.infer
def infer(*inputs: Fact) -> Inferred:
    dtype = common_dtype(*inputs)
    shape = shapes.broadcast(*(x.shape for x in inputs))
    return None if dtype is None else TensorType(dtype, shape)


@total.lower
def lower_total(*inputs: prim.Tensor) -> prim.Tensor:
    return reduce(lambda a, b: a + b, inputs)


@mean.lower
def lower_mean(*inputs: prim.Tensor) -> prim.Tensor:
    return reduce(lambda a, b: a + b, inputs) / len(inputs)


@total.downgrade
def downgrade_total(op: Any, *inputs: Value, version: int) -> Any:
    if version >= 8 or alike(*inputs):
        return op.Sum(*inputs)
    return in_float32(op, lambda *wide: reduce(op.Add, wide), *inputs)


@mean.downgrade
def downgrade_mean(op: Any, *inputs: Value, version: int) -> Any:
    if version >= 8 or alike(*inputs):
        return op.Mean(*inputs)
    many = number(len(inputs), wide_float(dtype_of(inputs[0])))
    return in_float32(op, lambda *wide: op.Div(reduce(op.Add, wide), many), *inputs)


total_1 = consuming_several("Sum")
mean_1 = consuming_several("Mean")
