"""Families of operators, and their colours."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from ingot.dataclass import dataclass
from ingot.ir.node import Node
from ingot.ops.index import MODULES


@dataclass(frozen=True, slots=True)
class Family:
    """A name for people, and the fill of titles on light and on dark ground."""

    name: str
    light: str
    dark: str


FAMILIES = {
    "convolution": Family("convolution", "#bcd7f7", "#1f4a78"),
    "product": Family("matrix product", "#c7c9fb", "#3a3d86"),
    "attention": Family("attention", "#dcc4f8", "#5b3a86"),
    "recurrent": Family("recurrence", "#e9c3ef", "#6d3577"),
    "activation": Family("activation", "#f9c9c4", "#7c332d"),
    "normalisation": Family("normalisation", "#c3e8cd", "#225c38"),
    "pooling": Family("pooling", "#b9e6e4", "#1d5a5c"),
    "elementwise": Family("elementwise", "#dfe4ea", "#3b4552"),
    "reduction": Family("reduction", "#fbdcaa", "#6b4a12"),
    "shape": Family("sizes and order", "#ece7db", "#47443a"),
    "control": Family("control flow", "#fccfa6", "#7a431a"),
    "quantisation": Family("quantisation", "#e3d3c0", "#5a4630"),
    "learning": Family("classical learning", "#dbe8a9", "#4d5a18"),
    "other": Family("other", "#e2e2e2", "#444444"),
}
"""The families in the order of legends."""

_NAMED = {
    "convolution": "Conv ConvTranspose ConvInteger QLinearConv DeformConv FusedConv NhwcConv Col2Im",
    "product": "MatMul Gemm MatMulInteger QLinearMatMul MatMulNBits FusedMatMul Einsum QGemm FusedGemm "
    "DynamicQuantizeMatMul",
    "attention": "Attention MultiHeadAttention GroupQueryAttention QAttention LinearAttention RotaryEmbedding",
    "recurrent": "LSTM GRU RNN DynamicQuantizeLSTM",
    "activation": "Relu LeakyRelu PRelu Sigmoid HardSigmoid HardSwish Tanh Elu Selu Celu Gelu Mish Swish Softplus "
    "Softsign Softmax LogSoftmax Hardmax ThresholdedRelu Clip Erf FastGelu QuickGelu BiasGelu Shrink",
    "normalisation": "BatchNormalization LayerNormalization InstanceNormalization GroupNormalization RMSNormalization "
    "LRN LpNormalization MeanVarianceNormalization SimplifiedLayerNormalization SkipLayerNormalization "
    "SkipSimplifiedLayerNormalization Dropout",
    "pooling": "MaxPool AveragePool GlobalAveragePool GlobalMaxPool LpPool GlobalLpPool MaxUnpool MaxRoiPool RoiAlign "
    "Resize Upsample GridSample",
}
_BY_NAME = {name: family for family, names in _NAMED.items() for name in names.split()}
_CONTRIB = "com.microsoft"
_BY_FOLDER = {
    "math": "elementwise",
    "reduction": "reduction",
    "tensor": "shape",
    "sequence": "control",
    "control": "control",
    "quantization": "quantisation",
    "ml": "learning",
    "linalg": "product",
    "generator": "shape",
    "nn": "convolution",
    "rnn": "recurrent",
    "image": "pooling",
    "signal": "convolution",
}


def family_of(node: Node) -> str:
    """The family of the operator of a node, a key of `FAMILIES`."""
    family = node.rule_in(_BY_NAME) or node.rule_in(_BY_NAME, _CONTRIB)
    if family is None:
        modules = node.rule_in(MODULES.get(node.domain, {}), node.domain) or ""
        family = _BY_FOLDER.get(modules.partition(".")[0], "other")
    return family


def mixture(nodes: Iterable[Node]) -> list[tuple[str, float]]:
    """The share of each family among nodes, in the order of legends."""
    operators: dict[tuple[str, str], list[Node]] = {}
    for node in nodes:
        operators.setdefault((node.domain, node.op_type), []).append(node)
    counts: Counter[str] = Counter()
    for same in operators.values():
        counts[family_of(same[0])] += len(same)
    total = counts.total()
    return [(family, round(counts[family] / total, 3)) for family in FAMILIES if counts[family]]
