"""RotaryEmbedding: pairs of elements turned by an angle that grows with the position of their token."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import numpy as np

from ingot import prim
from ingot.dims import divide_exactly
from ingot.dtypes import Array, DType
from ingot.errors import ShapeError
from ingot.ops.contrib.domain import MICROSOFT, SMALL_FLOATS
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.nn.rotary_embedding import rotary_embedding as standard_rotary_embedding
from ingot.ops.typesets import INT64, types

T: TypeAlias = Annotated[Array, types("T", SMALL_FLOATS)]
Positions: TypeAlias = Annotated[Array, types("M", INT64)]


@operator("RotaryEmbedding", since=1, domain=MICROSOFT)
def rotary_embedding(
    x: T,
    position_ids: Positions,
    cos_cache: T,
    sin_cache: T,
    /,
    *,
    interleaved: int | None = None,
    is_packed_batching: int | None = None,
    num_heads: int | None = None,
    rotary_embedding_dim: int | None = None,
    scale: float | None = None,
) -> T:
    """The pairs (a, b) of each head, as many as the caches have angles, become (a cos - b sin, a sin + b cos).

    They are neighbours with `interleaved`, else one of each half. A single position is that of the first token.
    `scale` and `is_packed_batching` change nothing, as in onnxruntime.
    """
    if x.ndim not in (3, 4) or cos_cache.ndim != 2:
        raise ShapeError(f"x has {x.ndim} axes and cos_cache {cos_cache.ndim}, expected 3 or 4, and 2")
    length = x.shape[2] if x.ndim == 4 else x.shape[1]
    positions = position_ids
    if position_ids.ndim < 2:
        if position_ids.size != 1:
            raise ShapeError(f"position_ids has shape {list(position_ids.shape)}, expected 1 element or two axes")
        positions = np.broadcast_to(position_ids.reshape(()) + np.arange(length), (len(x), length))
    turned = 2 * cos_cache.shape[1]
    heads = num_heads or (x.shape[-1] // turned if turned else 0)
    return np.asarray(
        standard_rotary_embedding.evaluate(
            x,
            cos_cache,
            sin_cache,
            positions,
            interleaved=interleaved or 0,
            num_heads=heads,
            rotary_embedding_dim=rotary_embedding_dim or turned,
        )
    )


@rotary_embedding.infer
def infer(x: Fact, /, *_: Fact, **__: object) -> Inferred:
    if x.rank not in (None, 3, 4):
        raise ShapeError(f"x has {x.rank} axes, expected 3 or 4")
    return x.type


@rotary_embedding.lower
def lower(
    x: prim.Tensor,
    position_ids: prim.Tensor,
    cos_cache: prim.Tensor,
    sin_cache: prim.Tensor,
    /,
    *,
    interleaved: int | None,
    is_packed_batching: int | None,
    num_heads: int | None,
    rotary_embedding_dim: int | None,
    scale: float | None,
) -> prim.Tensor:
    batch, length, half = x.shape[0], x.shape[2] if x.rank == 4 else x.shape[1], cos_cache.shape[1]
    positions = prim.cast(position_ids, DType.INT64)
    if position_ids.rank < 2:
        if any(size != 1 for size in position_ids.shape):
            raise prim.Refused(f"positions of shape {list(map(str, position_ids.shape))}")
        counted = prim.iota((1, length), 1) + prim.reshape(positions, (1, 1))
        positions = prim.expand(counted, (batch, length))
    if not isinstance(half, int) or half < 1:
        raise prim.Refused(f"caches of {half} angles")
    heads = num_heads or divide_exactly(x.shape[-1], 2 * half)
    if x.rank == 3 and not isinstance(heads, int):
        raise prim.Refused("heads of unknown number")
    rotated: prim.Tensor = standard_rotary_embedding.rules["lower"](
        x,
        cos_cache,
        sin_cache,
        positions,
        interleaved=interleaved or 0,
        num_heads=heads,
        rotary_embedding_dim=rotary_embedding_dim or 2 * half,
    )
    return rotated
