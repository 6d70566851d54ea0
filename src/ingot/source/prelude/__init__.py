"""Operators in plain numpy, written to be read: their text goes into programs.

They take the place of an operator's definition (`ops`) where that also knows sizes that are not numbers, elements that
numpy has not, or reports what is wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ingot.dataclass import dataclass
from ingot.dtypes import DType
from ingot.ir.node import Node
from ingot.ir.types import TensorType
from ingot.source.prelude.norms import batch_normalization, layer_normalization, softmax
from ingot.source.prelude.products import gemm, matmul, matmul_integer, qlinear_matmul
from ingot.source.prelude.recurrence import gru, lstm, rnn
from ingot.source.prelude.windows import average_pool, conv, max_pool


@dataclass(frozen=True, slots=True)
class Written:
    """A function of the prelude, the element types of its first input, and the attributes that it cannot do with."""

    function: Callable[..., Any]
    dtypes: tuple[DType, ...] = (DType.FLOAT32, DType.FLOAT64)
    leaves_out: tuple[str, ...] = ()


_BYTES = (DType.INT8, DType.UINT8)
_OF_PRODUCTS = (
    *(DType.BFLOAT16, DType.FLOAT16, DType.FLOAT32, DType.FLOAT64),
    *(DType.INT32, DType.INT64, DType.UINT32, DType.UINT64),
)
_OF_MAXIMA = (DType.BFLOAT16, DType.FLOAT16, DType.FLOAT32, DType.FLOAT64, *_BYTES)
_ACTIVATION_NUMBERS = ("activation_alpha", "activation_beta", "output_sequence")

WRITTEN: dict[str, Written] = {
    "AveragePool": Written(average_pool),
    "BatchNormalization": Written(batch_normalization, leaves_out=("training_mode",)),
    "Conv": Written(conv),
    "GRU": Written(gru, leaves_out=_ACTIVATION_NUMBERS),
    "Gemm": Written(gemm, _OF_PRODUCTS),
    "LSTM": Written(lstm, leaves_out=_ACTIVATION_NUMBERS),
    "LayerNormalization": Written(layer_normalization),
    "MatMul": Written(matmul, _OF_PRODUCTS),
    "MatMulInteger": Written(matmul_integer, _BYTES),
    "MaxPool": Written(max_pool, _OF_MAXIMA),
    "QLinearMatMul": Written(qlinear_matmul, _BYTES),
    "RNN": Written(rnn, leaves_out=_ACTIVATION_NUMBERS),
    "Softmax": Written(softmax),
}
"""The functions by the operators of the standard that they compute."""


def written_for(node: Node) -> Callable[..., Any] | None:
    """The function of the prelude that computes a node; None where its definition has to."""
    written = node.rule_in(WRITTEN)
    if written is None or any(node.get(name) for name in written.leaves_out):
        return None
    first = node.inputs[0]
    dtype = first.type.dtype if first is not None and isinstance(first.type, TensorType) else None
    if dtype is None or dtype not in written.dtypes:
        return None
    is_scaled = node.get("alpha", 1.0) != 1 or node.get("beta", 1.0) != 1
    return None if node.applies("Gemm") and dtype.is_integer and is_scaled else written.function
