"""Operators of onnxruntime that are not defined here: why, and what to do instead."""

from __future__ import annotations

from ingot.dataclass import dataclass
from ingot.ir.domains import canonical, spelled_out
from ingot.ops.contrib.domain import MICROSOFT


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why an operator is refused, and one action to try."""

    reason: str
    action: str


def refusal(domain: str, name: str) -> Refusal | None:
    """Why an operator is not here, if onnxruntime has one of that name."""
    return REFUSED.get((canonical(domain), name)) or (_INTERNAL if domain == INTERNAL_NHWC else None)


def message(domain: str, name: str, refused: Refusal) -> str:
    return f"{spelled_out(domain)}.{name} is not supported: {refused.reason}"


INTERNAL_NHWC = "com.ms.internal.nhwc"
"""What onnxruntime rewrites graphs in for providers that want channels last; none of it is meant for files."""

_INTERNAL = Refusal(
    "it is a form that onnxruntime gives to graphs in memory, for another provider",
    "take the model from before that provider changed it",
)

_NOT_OPTIMISED = "save the model without optimisations for CUDA, so that this stays in the operators it was made of"
_TRAINING = Refusal("it is part of training, or of CUDA's kernels for it", "export the model for inference")
_CUDA = Refusal("onnxruntime has it for CUDA only", _NOT_OPTIMISED)
_QUANTISED = Refusal("its numbers are in an order that one CUDA library reads", "quantise the model for CPUs")
_FORMAT = Refusal("its numbers are in a format of some hardware only", "quantise the model to integers")
_PAGED = Refusal(
    "it reads caches in pages, or sequences of many lengths in one row, which a server of CUDA keeps",
    "export the model for GroupQueryAttention or MultiHeadAttention",
)
_FOREIGN = Refusal("it holds a program for another device", "take the model from which that was compiled")

_REASONS: dict[Refusal, tuple[str, ...]] = {
    _TRAINING: ("BiasDropout", "BitmaskBiasDropout", "BitmaskDropout", "IsAllFinite"),
    _CUDA: (
        "DecoderAttention",
        "DecoderMaskedSelfAttention",
        "FusedMatMulActivation",
        "GatedDeltaNet",
        "GatedRelativePositionBias",
        "GemmFastGelu",
        "GemmaRotaryEmbedding",
        "LongformerAttention",
        "MatMulNBitsMlp",
        "MatMulNBitsQkv",
        "MulInteger",
        "ReduceSumInteger",
        "RelativePositionBias",
        "RemovePadding",
        "RestorePadding",
        "TorchEmbedding",
        "VarlenCausalConvWithState",
    ),
    _QUANTISED: (
        "DequantizeWithOrder",
        "QOrderedAttention",
        "QOrderedGelu",
        "QOrderedLayerNormalization",
        "QOrderedLongformerAttention",
        "QOrderedMatMul",
        "QuantizeWithOrder",
    ),
    _FORMAT: (
        "DequantizeBFP",
        "GemmFloat8",
        "MatMulBlockQuantizedFp4Weight",
        "MatMulBlockQuantizedFp8Weight",
        "QuantizeBFP",
    ),
    _PAGED: (
        "DynamicSparseAttention",
        "PackedAttention",
        "PackedMultiHeadAttention",
        "PackedSparseAttentionIndexer",
        "PagedAttention",
        "SparseAttentionIndexer",
        "SparsePagedAttention",
    ),
    _FOREIGN: ("EPContext", "Snpe"),
}

_OF_THE_STANDARD: dict[str, Refusal] = {
    **dict.fromkeys(
        ("DisentangledAttention_TRT", "EfficientNMS_TRT", "MultilevelCropAndResize_TRT", "PyramidROIAlign_TRT"),
        Refusal("it is a plug-in of TensorRT", "export the model without TensorRT's plug-ins"),
    ),
    **dict.fromkeys(
        ("MemcpyFromHost", "MemcpyToHost"),
        Refusal("it copies between a CPU and a GPU", "take the model from before it was divided"),
    ),
    **dict.fromkeys(
        ("GRUUnit", "GivenTensorFill"),
        Refusal("it was an experiment that nothing runs", "export the model anew, to opset 10 or newer"),
    ),
}

REFUSED: dict[tuple[str, str], Refusal] = {
    **{(MICROSOFT, name): reason for reason, names in _REASONS.items() for name in names},
    **{("", name): reason for name, reason in _OF_THE_STANDARD.items()},
}
"""By domain and name."""
