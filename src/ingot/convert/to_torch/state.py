"""What of a model becomes a parameter, a buffer, or a number in a line."""

from __future__ import annotations

import re

from ingot.dtypes import DType
from ingot.ir.domains import STANDARD
from ingot.ir.tensor import Tensor
from ingot.ir.value import Value

MOST_SHOWN = 8
"""Elements of a constant that is written out in the line that reads it."""

_TRAINED = (DType.FLOAT32, DType.FLOAT64, DType.FLOAT16, DType.BFLOAT16)

_WEIGHTS = {
    **dict.fromkeys(("Conv", "ConvTranspose", "DeformConv", "LSTM", "GRU", "RNN"), (1, 2, 3)),
    **dict.fromkeys(("Gemm", "MatMul", "Einsum"), (0, 1, 2)),
    **dict.fromkeys(("BatchNormalization", "LayerNormalization", "GroupNormalization"), (1, 2)),
    **dict.fromkeys(("InstanceNormalization", "RMSNormalization"), (1, 2)),
    "Gather": (0,),
    "PRelu": (1,),
}
"""Inputs that are weights, whatever they are called."""

_SETTINGS = {
    "BatchNormalization": (3, 4),
    "QuantizeLinear": (1, 2),
    "DequantizeLinear": (0, 1, 2),
    "QLinearConv": tuple(range(9)),
    "QLinearMatMul": tuple(range(8)),
    "Resize": (1, 2, 3),
    "Clip": (1, 2),
    "Pad": (1, 2),
    "RotaryEmbedding": (1, 2),
    "OneHot": (0, 1, 2),
    "NonMaxSuppression": tuple(range(5)),
    "Range": (0, 1, 2),
    "STFT": (2,),
    "Where": (1, 2),
}
"""Inputs that are no weights, whatever they are called."""

_GENERATED = re.compile(
    r"""^_?(val|const(ant)?|cst|scalar(_tensor)?|lifted_tensor|value|initializer|unsqueeze|squeeze|_?to_copy|expand|full|
    arange|ones|zeros|mul|add|sub|div|pow|where|view|reshape|permute|transpose|slice|select|cat|tril|triu|cos|sin|exp|
    clone|stack|eye|linspace|(full|ones|zeros)_like|sqrt|rsqrt|reciprocal|neg|index|gather|repeat)(_?\d+)*$
    |_output_\d+$|/Constant|(^|[/_])const(ant)?([_:/]?\d+)*$""",
    re.VERBOSE | re.IGNORECASE,
)
"""Names that exporters give to what no module called anything."""


_IS_BUFFER = re.compile(r"(^|\.)(inv_freq|freqs(_cis)?|(cos|sin)_cached|running_(mean|var)|mel_filters?|window)$")
"""Names that modules give to what they hold and do not train."""

_IS_NAMED = re.compile(r"\.|weight|bias|scale|gamma|beta|alpha|slope|temperature", re.IGNORECASE)
"""Names that a single number has which somebody trains."""


def is_trained(value: Value, tensor: Tensor) -> bool:
    """Whether an initialiser is a parameter: a float that is a weight by its use, or by the name it bears."""
    if tensor.dtype not in _TRAINED:
        return False
    uses = [(use.node.op_type, use.position) for use in value.uses if use.node.domain == STANDARD]
    if any(position in _WEIGHTS.get(op_type, ()) for op_type, position in uses):
        return True
    if uses and all(position in _SETTINGS.get(op_type, ()) for op_type, position in uses):
        return False
    if (
        not value.is_initializer
        or _IS_BUFFER.search(value.name)
        or (tensor.size == 1 and not _IS_NAMED.search(value.name))
    ):
        return False
    return _GENERATED.search(value.name) is None


def is_shown(value: Value, tensor: Tensor, trained: bool) -> bool:
    """Whether a constant is written where it is read, and kept nowhere else."""
    if trained or tensor.size > MOST_SHOWN:
        return False
    named = tensor.size > 1 and tensor.dtype in _TRAINED and _GENERATED.search(value.name) is None
    return not value.is_initializer or ("." not in value.name and not named)
