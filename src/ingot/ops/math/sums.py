"""Sum and Mean of any number of tensors, element by element."""

from __future__ import annotations

from functools import reduce
from typing import Annotated, TypeAlias

import numpy as np

from ingot.dtypes import Array
from ingot.ir.types import TensorType
from ingot.ops import shapes
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.math.legacy import consuming_several
from ingot.ops.math.operands import common_dtype, require_alike
from ingot.ops.math.precision import rounded
from ingot.ops.typesets import FLOATS, FLOATS_3, types

T: TypeAlias = Annotated[Array, types("T", {6: FLOATS_3, 13: FLOATS})]


@operator("Sum", since=(6, 8, 13))
def total(*inputs: T) -> T:
    """The sum of the inputs."""
    require_alike(*inputs)
    return rounded(lambda *wide: reduce(np.add, wide), *inputs)


@operator("Mean", since=(6, 8, 13))
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


total_1 = consuming_several("Sum")
mean_1 = consuming_several("Mean")
