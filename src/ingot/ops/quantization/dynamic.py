"""DynamicQuantizeLinear: to uint8, with the scale and the zero point that just take the range of the input in."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import numpy as np

from ingot.dtypes import Array, DType
from ingot.ir.types import TensorType
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.quantization.rounding import to_codes
from ingot.ops.typesets import FLOAT32, UINT8, types

T1: TypeAlias = Annotated[Array, types("T1", FLOAT32)]
T2: TypeAlias = Annotated[Array, types("T2", UINT8)]
Scale: TypeAlias = Annotated[Array, types("", FLOAT32)]


@operator("DynamicQuantizeLinear", since=11)
def dynamic_quantize_linear(x: T1, /) -> tuple[T2, Scale, T2]:
    """`x` in steps of a scale from a zero point, both found from its extremes and 0; all in float32.

    Where `x` is all zeros the scale is 1/255.
    """
    highest = np.max(x, initial=np.float32(0))
    lowest = np.min(x, initial=np.float32(0))
    scale = np.asarray((np.float32(1) if highest == lowest else highest - lowest) / np.float32(255))
    zero_point = to_codes(np.asarray(np.float32(0) - lowest / scale), None, DType.UINT8)
    return to_codes(x / scale, zero_point, DType.UINT8), scale, zero_point


@dynamic_quantize_linear.infer
def infer(x: Fact, /) -> tuple[Inferred, Inferred, Inferred]:
    return TensorType(DType.UINT8, x.shape), TensorType(DType.FLOAT32, ()), TensorType(DType.UINT8, ())
