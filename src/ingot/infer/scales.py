"""Scales and zero points that no quantiser means: a step of zero, infinite or not a number, a zero out of range."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ingot.dtypes import DType
from ingot.ir.node import Node
from ingot.ir.tensor import Tensor
from ingot.ops.facts import Fact

_PLACES = {
    "QuantizeLinear": ((1, 2),),
    "DequantizeLinear": ((1, 2),),
    "QLinearConv": ((1, 2), (4, 5), (6, 7)),
    "QLinearMatMul": ((1, 2), (4, 5), (6, 7)),
}
"""Where scales and their zero points are among the inputs."""
_PLACES_OF_MICROSOFT = {
    "QuantizeLinear": ((1, 2),),
    "DequantizeLinear": ((1, 2),),
    "QLinearAdd": ((1, 2), (4, 5), (6, 7)),
    "QLinearMul": ((1, 2), (4, 5), (6, 7)),
    "QLinearAveragePool": ((1, 2), (3, 4)),
    "QLinearGlobalAveragePool": ((1, 2), (3, 4)),
    "QLinearLeakyRelu": ((1, 2), (3, 4)),
    "QLinearSigmoid": ((1, 2), (3, 4)),
    "QGemm": ((1, 2), (4, 5), (7, 8)),
    "MatMulNBits": ((2, None),),
    "GatherBlockQuantized": ((2, None),),
    "DynamicQuantizeMatMul": ((2, 3),),
    "DynamicQuantizeLSTM": ((8, 9), (10, 11)),
}


def scale_problems(node: Node, inputs: Sequence[Fact]) -> Iterator[str]:
    """What is wrong with the constant scales and zero points of a node, whose results are defined all the same."""
    places = node.rule_in(_PLACES) or node.rule_in(_PLACES_OF_MICROSOFT, domain="com.microsoft") or ()
    for scale_place, zero_place in places:
        scale = _constant(inputs, scale_place)
        if scale is not None and scale.dtype.is_float:
            wide = scale.numpy().astype(np.float64)
            for kind, wrong in (
                ("NaN", np.isnan(wide)),
                ("infinite", np.isinf(wide)),
                ("zero", wide == 0),
                ("negative", wide < 0),
            ):
                if wrong.any():
                    several = f" in {np.count_nonzero(wrong)} of {wide.size} places" if wide.size > 1 else ""
                    yield f"scale '{_name(node, scale_place)}' is {kind}{several}"
        zero = None if zero_place is None else _constant(inputs, zero_place)
        if zero is not None and zero_place is not None and _has_zero_alone(zero.dtype) and zero.numpy().any():
            yield f"zero point '{_name(node, zero_place)}' of {zero.dtype} is not 0, and the type has no other"


def _constant(inputs: Sequence[Fact], place: int) -> Tensor | None:
    tensor = inputs[place].constant if place < len(inputs) and inputs[place].present else None
    return None if tensor is None or not tensor.is_loaded else tensor


def _has_zero_alone(dtype: DType) -> bool:
    return dtype is DType.INT32 or dtype.is_float


def _name(node: Node, place: int) -> str:
    value = node.inputs[place]
    return "" if value is None else value.name
