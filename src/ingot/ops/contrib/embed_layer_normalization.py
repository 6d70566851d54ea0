"""EmbedLayerNormalization: the embeddings of words, positions and segments, added and normalised."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import numpy as np

from ingot import prim
from ingot.dims import Dim
from ingot.dtypes import Array, DType
from ingot.errors import InputError, ShapeError
from ingot.ir.types import TensorType
from ingot.ops.contrib.domain import HALF, MICROSOFT, last, may_omit, require_vector
from ingot.ops.contrib.normalization import moments, normalised
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.nn.precision import refuse_huge
from ingot.ops.shapes import require_rank
from ingot.ops.typesets import FLOAT32, INT32, types

T: TypeAlias = Annotated[Array, types("T", FLOAT32 | HALF)]
Ids: TypeAlias = Annotated[Array, types("T1", INT32)]


@operator("EmbedLayerNormalization", since=1, domain=MICROSOFT)
def embed_layer_normalization(
    input_ids: Ids,
    segment_ids: Ids | None,
    word_embedding: T,
    position_embedding: T,
    segment_embedding: T | None,
    gamma: T,
    beta: T,
    mask: Ids | None = None,
    position_ids: Ids | None = None,
    /,
    *,
    epsilon: float = 9.999999960041972e-13,
    mask_index_type: int | None = None,
) -> tuple[T, Ids | None, T | None]:
    """The rows of three tables that words, positions and segments name, added, normalised along the last axis.

    With it how many ones each row of the mask has, and the sum. Positions count up from zero unless they are given.
    """
    if input_ids.ndim != 2 or word_embedding.ndim != 2:
        raise ShapeError(
            f"input_ids and word_embedding have {input_ids.ndim} and {word_embedding.ndim} axes, expected 2"
        )
    batch, length = input_ids.shape
    size = word_embedding.shape[1]
    refuse_huge((batch, length, size), np.dtype(np.float32))
    positions = np.arange(length)[None] if position_ids is None else position_ids
    total = _rows(word_embedding, input_ids, size, "input_ids")
    if positions.shape not in ((1, length), input_ids.shape):
        raise ShapeError(f"position_ids has shape {list(positions.shape)}, input_ids {list(input_ids.shape)}")
    total = total + _rows(position_embedding, positions, size, "position_ids")
    if segment_ids is not None:
        if segment_embedding is None:
            raise InputError("segment_ids are given without segment_embedding")
        if segment_ids.shape != input_ids.shape:
            raise ShapeError(f"segment_ids has shape {list(segment_ids.shape)}, input_ids {list(input_ids.shape)}")
        total = total + _rows(segment_embedding, segment_ids, size, "segment_ids")
    if mask is not None and mask.shape != input_ids.shape:
        raise ShapeError(f"mask has shape {list(mask.shape)}, input_ids {list(input_ids.shape)}")
    average, inverse = moments(total, epsilon)
    for vector, name in (gamma, "gamma"), (beta, "beta"):
        if vector.shape != total.shape[-1:]:
            raise ShapeError(f"{name} has shape {list(vector.shape)}, expected [{total.shape[-1]}]")
    y = (total - average) * inverse * gamma.astype(np.float32) + beta.astype(np.float32)
    count = np.zeros(batch, np.int32) if mask is None else (mask == 1).sum(axis=1).astype(np.int32)
    return np.asarray(y, gamma.dtype), count, total.astype(gamma.dtype)


may_omit(embed_layer_normalization, "segment_ids", "segment_embedding")


@embed_layer_normalization.infer
def infer(
    input_ids: Fact,
    segment_ids: Fact,
    word_embedding: Fact,
    position_embedding: Fact,
    segment_embedding: Fact,
    gamma: Fact,
    beta: Fact,
    /,
    *_: Fact,
    **__: object,
) -> tuple[Inferred, ...]:
    require_rank(input_ids, 2, "input_ids")
    require_rank(word_embedding, 2, "word_embedding")
    size = last(word_embedding.shape)
    require_vector(gamma, size, "gamma")
    require_vector(beta, size, "beta")
    batch, length = last(input_ids.shape, 0), last(input_ids.shape)
    dtype = gamma.dtype or word_embedding.dtype
    result = None if dtype is None else TensorType(dtype, (batch, length, size))
    return result, TensorType(DType.INT32, (batch,)), result


@embed_layer_normalization.lower
def lower(
    input_ids: prim.Tensor,
    segment_ids: prim.Tensor | None,
    word_embedding: prim.Tensor,
    position_embedding: prim.Tensor,
    segment_embedding: prim.Tensor | None,
    gamma: prim.Tensor,
    beta: prim.Tensor,
    mask: prim.Tensor | None = None,
    position_ids: prim.Tensor | None = None,
    /,
    *,
    epsilon: float,
    mask_index_type: int | None,
) -> tuple[prim.Tensor, ...]:
    batch, length = input_ids.shape
    size = word_embedding.shape[1]
    gamma, beta = (prim.assume_shape(each, (size,)) for each in (gamma, beta))
    if position_ids is None:
        positions = prim.iota((1, length), 1)
    else:
        positions = prim.assume_shape(position_ids, (1 if position_ids.shape[0] == 1 else batch, length))
    total = _named_rows(word_embedding, input_ids, size) + _named_rows(position_embedding, positions, size)
    if segment_ids is not None:
        if segment_embedding is None:
            raise prim.Refused("segments without an embedding")
        total = total + _named_rows(segment_embedding, prim.assume_shape(segment_ids, (batch, length)), size)
    y, _, _ = normalised(total, gamma, beta, epsilon)
    if mask is None:
        return y, prim.full(0, (batch,), DType.INT32), total
    is_one = prim.apply("equal", prim.assume_shape(mask, (batch, length)), 1)
    ones = prim.reduce_("add", prim.cast(is_one, DType.INT32), [1])
    return y, prim.squeeze(ones, [1]), total


def _named_rows(table: prim.Tensor, ids: prim.Tensor, size: Dim) -> prim.Tensor:
    table = prim.assume_shape(table, (*table.shape[:1], size))
    return prim.gather(table, [prim.unsqueeze(ids, [2]), 2], (*ids.shape, size))


def _rows(table: Array, ids: Array, size: int, name: str) -> Array:
    """The rows of a table in float32; InputError for one that it has not."""
    if table.shape[1:] != (size,):
        raise ShapeError(f"the embedding for {name} has shape {list(table.shape)}, expected rows of {size}")
    if ids.size and not 0 <= int(ids.min()) <= int(ids.max()) < len(table):
        raise InputError(f"{name} go from {ids.min()} to {ids.max()}, the embedding has {len(table)} rows")
    return table[ids].astype(np.float32)
