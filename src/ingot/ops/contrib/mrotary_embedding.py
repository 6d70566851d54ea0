"""MRotaryEmbedding: RotaryEmbedding by three positions of a token, each of which turns some of the pairs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, TypeAlias

import numpy as np

from ingot import prim
from ingot.dims import divide_exactly
from ingot.dtypes import Array, DType
from ingot.errors import CheckError, InputError, ShapeError
from ingot.ops.contrib.domain import MICROSOFT, SMALL_FLOATS
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.nn.rotary_embedding import rotary_embedding as standard_rotary_embedding
from ingot.ops.typesets import INT64, types

T: TypeAlias = Annotated[Array, types("T", SMALL_FLOATS)]
Positions: TypeAlias = Annotated[Array, types("M", INT64)]


@operator("MRotaryEmbedding", since=1, domain=MICROSOFT)
def mrotary_embedding(
    x: T,
    position_ids: Positions,
    cos_cache: T,
    sin_cache: T,
    /,
    *,
    mrope_section: Sequence[int],
    interleaved: int | None = None,
    is_packed_batching: int | None = None,
    mrope_layout: int | None = None,
    num_heads: int | None = None,
    rotary_embedding_dim: int | None = None,
    scale: float | None = None,
) -> T:
    """RotaryEmbedding whose pairs take the angle of the first, second or third row of `position_ids`.

    `mrope_section` says how many pairs each row turns: one row after the other or, with `mrope_layout` 1, in turns.
    `scale` and `is_packed_batching` change nothing, as in onnxruntime.
    """
    if x.ndim not in (3, 4) or cos_cache.ndim != 2 or sin_cache.shape != cos_cache.shape or position_ids.ndim != 3:
        shapes = [list(each.shape) for each in (x, position_ids, cos_cache, sin_cache)]
        raise ShapeError(f"x, position_ids and caches of shapes {shapes} do not go together")
    length = x.shape[2] if x.ndim == 4 else x.shape[1]
    if position_ids.shape != (3, len(x), length):
        raise ShapeError(f"position_ids has shape {list(position_ids.shape)}, expected {[3, len(x), length]}")
    half = cos_cache.shape[1]
    rows = _rows(mrope_section, mrope_layout or 0, half)
    if position_ids.size and not 0 <= position_ids.min() <= position_ids.max() < len(cos_cache):
        raise InputError(
            f"position_ids go from {position_ids.min()} to {position_ids.max()}, there are {len(cos_cache)}"
        )
    at = position_ids.transpose(1, 2, 0)[:, :, rows]
    cos, sin = (cache[at, np.arange(half)] for cache in (cos_cache, sin_cache))
    heads = num_heads or (x.shape[-1] // (2 * half) if half else 0)
    named = {
        "interleaved": interleaved or 0,
        "num_heads": heads,
        "rotary_embedding_dim": rotary_embedding_dim or 2 * half,
    }
    return np.asarray(standard_rotary_embedding.evaluate(x, cos, sin, **named))


@mrotary_embedding.infer
def infer(x: Fact, /, *_: Fact, **__: object) -> Inferred:
    if x.rank not in (None, 3, 4):
        raise ShapeError(f"x has {x.rank} axes, expected 3 or 4")
    return x.type


@mrotary_embedding.lower
def lower(
    x: prim.Tensor,
    position_ids: prim.Tensor,
    cos_cache: prim.Tensor,
    sin_cache: prim.Tensor,
    /,
    *,
    mrope_section: Sequence[int],
    interleaved: int | None,
    mrope_layout: int | None,
    num_heads: int | None,
    rotary_embedding_dim: int | None,
    **_: object,
) -> prim.Tensor:
    batch, length, half = x.shape[0], x.shape[2] if x.rank == 4 else x.shape[1], cos_cache.shape[1]
    if not isinstance(half, int) or half < 1:
        raise prim.Refused(f"caches of {half} angles")
    heads = num_heads or divide_exactly(x.shape[-1], 2 * half)
    if x.rank == 3 and not isinstance(heads, int):
        raise prim.Refused("heads of unknown number")
    positions = prim.permute(prim.assume_shape(position_ids, (3, batch, length)), [1, 2, 0])
    rows = prim.constant(np.asarray(_rows(mrope_section, mrope_layout or 0, half), np.int64).reshape(1, 1, half))
    shape = (batch, length, half)
    at = prim.gather(prim.cast(positions, DType.INT64), [0, 1, rows], shape, in_range=True)
    pair = prim.iota((1, 1, half), 2)
    cos, sin = (prim.gather(cache, [at, pair], shape) for cache in (cos_cache, sin_cache))
    named = {
        "interleaved": interleaved or 0,
        "num_heads": heads,
        "rotary_embedding_dim": rotary_embedding_dim or 2 * half,
    }
    y: prim.Tensor = standard_rotary_embedding.rules["lower"](x, cos, sin, None, **named)
    return y


def _rows(section: Sequence[int], layout: int, half: int) -> list[int]:
    """For each pair, the row of positions that turns it."""
    if len(section) != 3 or min(section, default=-1) < 0 or sum(section) != half:
        raise CheckError(f"mrope_section is {list(section)}, expected three numbers that add up to {half}")
    if layout not in (0, 1):
        raise CheckError(f"mrope_layout is {layout}, it must be 0 or 1")
    if layout == 0:
        return [row for row, count in enumerate(section) for _ in range(count)]
    return [pair % 3 if pair % 3 and pair < 3 * section[pair % 3] else 0 for pair in range(half)]
