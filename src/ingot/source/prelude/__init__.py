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
    """A function of the prelude, the attributes that it takes at most, and whether it takes floats of 16 bits."""

    function: Callable[..., Any]
    any_float: bool = False
    leaves_out: tuple[str, ...] = ()


_ACTIVATION_NUMBERS = ("activation_alpha", "activation_beta", "output_sequence")

WRITTEN: dict[str, Written] = {
    "AveragePool": Written(average_pool),
    "BatchNormalization": Written(batch_normalization, leaves_out=("training_mode",)),
    "Conv": Written(conv),
    "GRU": Written(gru, leaves_out=_ACTIVATION_NUMBERS),
    "Gemm": Written(gemm, any_float=True),
    "LSTM": Written(lstm, leaves_out=_ACTIVATION_NUMBERS),
    "LayerNormalization": Written(layer_normalization),
    "MatMul": Written(matmul, any_float=True),
    "MatMulInteger": Written(matmul_integer, any_float=True),
    "MaxPool": Written(max_pool, any_float=True),
    "QLinearMatMul": Written(qlinear_matmul, any_float=True),
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
    return written.function if written.any_float or dtype in (DType.FLOAT32, DType.FLOAT64) else None
