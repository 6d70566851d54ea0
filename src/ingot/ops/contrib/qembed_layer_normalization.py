"""QEmbedLayerNormalization: EmbedLayerNormalization of tables of bytes that stand for real numbers."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import numpy as np

from ingot import prim
from ingot.dtypes import Array, DType
from ingot.errors import InputError
from ingot.ir.types import TensorType
from ingot.ops.contrib.domain import BYTES, MICROSOFT, last, may_omit, scalar
from ingot.ops.contrib.embed_layer_normalization import embed_layer_normalization
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.linalg.byte_products import single
from ingot.ops.shapes import require_rank
from ingot.ops.typesets import FLOAT32, INT32, types

Ids: TypeAlias = Annotated[Array, types("T1", INT32)]
T2: TypeAlias = Annotated[Array, types("T2", BYTES)]
T: TypeAlias = Annotated[Array, types("T", FLOAT32)]


@operator("QEmbedLayerNormalization", since=1, domain=MICROSOFT)
def qembed_layer_normalization(
    input_ids: Ids,
    segment_ids: Ids | None,
    word_embedding_quant: T2,
    position_embedding_quant: T2,
    segment_embedding: T2 | None,
    gamma_quant: T2,
    beta_quant: T2,
    mask: Ids | None,
    word_embedding_scale: T,
    position_embedding_scale: T,
    segment_embedding_scale: T | None,
    gamma_scale: T,
    beta_scale: T,
    word_embedding_zero_point: T2,
    position_embedding_zero_point: T2,
    segment_embedding_zero_point: T2 | None,
    gamma_zero_point: T2,
    beta_zero_point: T2,
    /,
    *,
    epsilon: float = 9.999999960041972e-13,
) -> tuple[T, Ids]:
    """EmbedLayerNormalization of `(codes - zero_point) * scale`, of the tables as of gamma and beta."""
    segments = None
    if segment_embedding is not None:
        if segment_embedding_scale is None or segment_embedding_zero_point is None:
            raise InputError("segment_embedding needs a scale and a zero point")
        segments = _meant(segment_embedding, segment_embedding_scale, segment_embedding_zero_point)
    y, count, _ = embed_layer_normalization.evaluate(
        input_ids,
        segment_ids,
        _meant(word_embedding_quant, word_embedding_scale, word_embedding_zero_point),
        _meant(position_embedding_quant, position_embedding_scale, position_embedding_zero_point),
        segments,
        _meant(gamma_quant, gamma_scale, gamma_zero_point),
        _meant(beta_quant, beta_scale, beta_zero_point),
        mask,
        epsilon=epsilon,
    )
    return y, count


may_omit(
    qembed_layer_normalization,
    "segment_ids",
    "segment_embedding",
    "mask",
    "segment_embedding_scale",
    "segment_embedding_zero_point",
)


@qembed_layer_normalization.infer
def infer(
    input_ids: Fact, segment_ids: Fact, word_embedding_quant: Fact, /, *_: Fact, **__: object
) -> tuple[Inferred, ...]:
    require_rank(input_ids, 2, "input_ids")
    require_rank(word_embedding_quant, 2, "word_embedding_quant")
    batch, length = last(input_ids.shape, 0), last(input_ids.shape)
    rows = TensorType(DType.FLOAT32, (batch, length, last(word_embedding_quant.shape)))
    return rows, TensorType(DType.INT32, (batch,))


@qembed_layer_normalization.lower
def lower(
    input_ids: prim.Tensor,
    segment_ids: prim.Tensor | None,
    word: prim.Tensor,
    position: prim.Tensor,
    segment: prim.Tensor | None,
    gamma: prim.Tensor,
    beta: prim.Tensor,
    mask: prim.Tensor | None,
    *parameters: prim.Tensor | None,
    epsilon: float,
) -> tuple[prim.Tensor, ...]:
    scales, points = parameters[:5], parameters[5:]
    tables = [
        None if codes is None or scale is None or point is None else _meant_in_primitives(codes, scale, point)
        for codes, scale, point in zip((word, position, segment, gamma, beta), scales, points, strict=True)
    ]
    if segment is not None and tables[2] is None:
        raise prim.Refused("segments without a scale or a zero point")
    results = embed_layer_normalization.rules["lower"](
        input_ids, segment_ids, *tables, mask, epsilon=epsilon, mask_index_type=None
    )
    return results[0], results[1]


def _meant(codes: Array, scale: Array, zero_point: Array) -> Array:
    wide = codes.astype(np.float32) - np.float32(scalar(zero_point, "a zero point"))
    return np.asarray(wide * np.float32(scalar(scale, "a scale")))


def _meant_in_primitives(codes: prim.Tensor, scale: prim.Tensor, zero_point: prim.Tensor) -> prim.Tensor:
    wide = prim.cast(codes, DType.FLOAT32) - prim.cast(single(zero_point), DType.FLOAT32)
    return wide * single(scale)
