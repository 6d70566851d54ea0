"""RotaryEmbedding: pairs of elements turned by an angle that grows with the position of their token."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import numpy as np

from ingot.dtypes import Array
from ingot.errors import CheckError, InputError, ShapeError
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.nn.linear_attention import SMALL_FLOATS
from ingot.ops.nn.precision import widened
from ingot.ops.typesets import INT64, types

T: TypeAlias = Annotated[Array, types("T", SMALL_FLOATS)]
Positions: TypeAlias = Annotated[Array, types("M", INT64)]


@operator("RotaryEmbedding", since=23)
def rotary_embedding(
    x: T,
    cos_cache: T,
    sin_cache: T,
    position_ids: Positions | None = None,
    /,
    *,
    interleaved: int = 0,
    num_heads: int | None = None,
    rotary_embedding_dim: int = 0,
) -> T:
    """The first `rotary_embedding_dim` elements of each head (all, if 0) as pairs (a, b), which become
    (a cos - b sin, a sin + b cos): neighbours with `interleaved`, else one of each half.

    The caches hold a row for each position, chosen by `position_ids`, or one for each token.
    """
    heads = _heads(x, num_heads)
    batch, _, length, size = heads.shape
    turned = _turned(rotary_embedding_dim, size)
    cos, sin = (
        _angles(cache, position_ids, (batch, length, turned // 2), name)
        for name, cache in (("cos_cache", cos_cache), ("sin_cache", sin_cache))
    )
    values, cos, sin = widened(heads, cos[:, None], sin[:, None])
    pairs = (
        (slice(0, turned, 2), slice(1, turned, 2)) if interleaved else (slice(turned // 2), slice(turned // 2, turned))
    )
    a, b = values[..., pairs[0]], values[..., pairs[1]]
    y = values.copy()
    y[..., pairs[0]] = a * cos - b * sin
    y[..., pairs[1]] = a * sin + b * cos
    return np.asarray(y if x.ndim == 4 else y.swapaxes(1, 2).reshape(x.shape), x.dtype)


@rotary_embedding.infer
def infer(
    x: Fact,
    cos_cache: Fact,
    sin_cache: Fact,
    position_ids: Fact | None = None,
    /,
    *,
    interleaved: int,
    num_heads: int | None,
    rotary_embedding_dim: int,
) -> Inferred:
    if x.shape is None:
        return x.type
    if len(x.shape) not in (3, 4):
        raise ShapeError(f"x has {len(x.shape)} axes, expected 3 or 4")
    size = x.shape[-1]
    if len(x.shape) == 3:
        _counted(num_heads, size)
        size = size // num_heads if isinstance(size, int) and num_heads else None
    if isinstance(size, int):
        _turned(rotary_embedding_dim, size)
    return x.type


def _counted(num_heads: int | None, hidden: object) -> int:
    if num_heads is None or num_heads < 1:
        raise CheckError(f"x has 3 axes: num_heads must be given, and it is {num_heads}")
    if isinstance(hidden, int) and hidden % num_heads:
        raise ShapeError(f"x has a hidden size of {hidden}, which {num_heads} heads do not divide")
    return num_heads


def _heads(x: Array, num_heads: int | None) -> Array:
    """`x` as (batch, heads, length, size)."""
    if x.ndim == 4:
        return x
    if x.ndim != 3:
        raise ShapeError(f"x has {x.ndim} axes, expected 3 or 4")
    count = _counted(num_heads, x.shape[2])
    return x.reshape(*x.shape[:2], count, x.shape[2] // count).swapaxes(1, 2)


def _turned(rotary_embedding_dim: int, size: int) -> int:
    """How many elements of a head are turned."""
    turned = rotary_embedding_dim or size
    if turned < 0 or turned > size or turned % 2:
        raise ShapeError(f"{turned} elements of each head of {size} cannot be turned in pairs")
    return turned


def _angles(cache: Array, position_ids: Array | None, expected: tuple[int, int, int], name: str) -> Array:
    """A row of the cache for each token."""
    if position_ids is not None:
        if position_ids.shape != expected[:2] or cache.ndim != 2:
            raise ShapeError(
                f"position_ids has shape {list(position_ids.shape)} and {name} {list(cache.shape)}, "
                f"expected {list(expected[:2])} and two axes"
            )
        if position_ids.size and not 0 <= position_ids.min() <= position_ids.max() < cache.shape[0]:
            low, high = position_ids.min(), position_ids.max()
            raise InputError(f"position_ids go from {low} to {high}, and {name} has {cache.shape[0]} rows")
        cache = cache[position_ids]
    if cache.shape != expected:
        raise ShapeError(f"{name} has shape {list(cache.shape)} for the tokens, expected {list(expected)}")
    return cache
