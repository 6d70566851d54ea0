"""DynamicQuantizeLinear: to uint8, with the scale and the zero point that just take the range of the input in."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

import numpy as np

from ingot import prim
from ingot.dtypes import Array, DType
from ingot.ir.types import TensorType
from ingot.ir.value import Value
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.quantization.rounding import codes_in_primitives, to_codes
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


@dynamic_quantize_linear.lower
def lower(x: prim.Tensor, /) -> tuple[prim.Tensor, prim.Tensor, prim.Tensor]:
    axes = range(x.rank)
    highest = prim.apply("maximum", prim.squeeze(prim.reduce_("maximum", x, axes), axes), 0.0)
    lowest = prim.apply("minimum", prim.squeeze(prim.reduce_("minimum", x, axes), axes), 0.0)
    scale = prim.where(prim.apply("equal", highest, lowest), 1.0, highest - lowest) / 255.0
    zero_point = codes_in_primitives(0.0 - lowest / scale, None, DType.UINT8)
    return codes_in_primitives(x / scale, zero_point, DType.UINT8), scale, zero_point


@dynamic_quantize_linear.downgrade
def downgrade(op: Any, x: Value, /) -> Any:
    """0 is put beside the elements, of which there may be none; a range that is not NaN and not 0 is true."""
    zero, one = np.float32(0), np.float32(1)
    elements = op.Concat(op.Reshape(x, [-1]), np.zeros(1, np.float32), axis=0)
    lowest = op.ReduceMin(elements, keepdims=0)
    span = op.Sub(op.ReduceMax(elements, keepdims=0), lowest)
    span = op.Where(op.Cast(span, to=int(DType.BOOL)), span, one)
    scale = op.Div(span, np.float32(255))
    zero_point = op.QuantizeLinear(op.Sub(zero, lowest), scale)
    return op.QuantizeLinear(x, scale, zero_point), scale, zero_point
