"""Max and Min: the largest and the smallest of any number of tensors, element by element."""

from __future__ import annotations

from functools import reduce
from typing import Annotated, TypeAlias

import numpy as np

from ingot import dims
from ingot.dtypes import Array
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.math.following import followed
from ingot.ops.math.legacy import consuming_several
from ingot.ops.math.operands import common_dtype, require_alike
from ingot.ops.math.precision import narrowed
from ingot.ops.typesets import FLOATS_3, NUMERIC, NUMERIC_3, types

T: TypeAlias = Annotated[Array, types("T", {6: FLOATS_3, 12: NUMERIC_3, 13: NUMERIC})]


@operator("Max", since=(6, 8, 12, 13))
def maximum(*inputs: T) -> T:
    """The largest of the inputs; NaN where one is."""
    require_alike(*inputs)
    return narrowed(reduce(np.maximum, inputs), inputs[0].dtype)


@maximum.infer
def infer_maximum(*inputs: Fact) -> Inferred:
    return followed(common_dtype(*inputs), dims.maximum, *inputs)


@operator("Min", since=(6, 8, 12, 13))
def minimum(*inputs: T) -> T:
    """The smallest of the inputs; NaN where one is."""
    require_alike(*inputs)
    return narrowed(reduce(np.minimum, inputs), inputs[0].dtype)


@minimum.infer
def infer_minimum(*inputs: Fact) -> Inferred:
    return followed(common_dtype(*inputs), dims.minimum, *inputs)


maximum_1 = consuming_several("Max")
minimum_1 = consuming_several("Min")
