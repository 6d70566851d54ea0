"""RotaryEmbedding: pairs of elements turned by an angle that grows with the position of their token."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

import numpy as np

from ingot import prim
from ingot.dims import Dim, divide_exactly
from ingot.dtypes import Array
from ingot.errors import CheckError, InputError, ShapeError, UnsupportedError
from ingot.ir.value import Value
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.nn.linear_attention import SMALL_FLOATS
from ingot.ops.nn.moments import alike
from ingot.ops.nn.precision import widened
from ingot.ops.nn.through import cast, wide_of
from ingot.ops.older import dtype_of, shape_of
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


@rotary_embedding.lower
def lower(
    x: prim.Tensor,
    cos_cache: prim.Tensor,
    sin_cache: prim.Tensor,
    position_ids: prim.Tensor | None = None,
    /,
    *,
    interleaved: int,
    num_heads: int | None,
    rotary_embedding_dim: int,
) -> prim.Tensor:
    """Heads stay where they are: before their tokens, or after them if they had no axis of their own."""
    values, heads_axis = x, 1
    if x.rank == 3:
        size = divide_exactly(x.shape[2], num_heads or 1)
        if size is None or num_heads is None:
            raise prim.Refused(f"a hidden size of {x.shape[2]} for {num_heads} heads")
        values, heads_axis = prim.reshape(x, (*x.shape[:2], num_heads, size)), 2
    size = values.shape[3]
    if not isinstance(size, int):
        raise prim.Refused("heads of unknown size")
    turned = _turned(rotary_embedding_dim, size)
    tokens = (values.shape[0], values.shape[3 - heads_axis])
    if position_ids is not None:
        position_ids = prim.assume_shape(position_ids, tokens)
    angles = [
        prim.unsqueeze(prim.assume_shape(angles_of(cache, position_ids), (*tokens, turned // 2)), [heads_axis])
        for cache in (cos_cache, sin_cache)
    ]
    y = turned_pairs(values, *angles, turned=turned, interleaved=bool(interleaved))
    return prim.reshape(y, x.shape)


def angles_of(cache: prim.Tensor, position_ids: prim.Tensor | None) -> prim.Tensor:
    """A row of the cache for each token."""
    if position_ids is None:
        return cache
    if cache.rank != 2:
        raise prim.Refused(f"a cache of {cache.rank} axes")
    rows = prim.unsqueeze(position_ids, [2])
    return prim.gather(cache, [rows, 2], (*position_ids.shape, cache.shape[1]))


_MANY_PAIRS = 16
"""Pairs side by side from which on they are computed together: as many as vectors have lanes."""


def turned_pairs(x: prim.Tensor, cos: prim.Tensor, sin: prim.Tensor, *, turned: int, interleaved: bool) -> prim.Tensor:
    """The first elements of the last axis turned in pairs, by angles that meet half of them; the others as they are."""
    rest = x.shape[3] - turned
    x, cos, sin = alike(x, cos, sin)

    def part(start: int, size: Dim, step: int = 1) -> prim.Tensor:
        return prim.slice_(x, [0, 0, 0, start], [*x.shape[:3], size], [1, 1, 1, step])

    half = turned // 2
    a, b = (part(0, half, 2), part(1, half, 2)) if interleaved else (part(0, half), part(half, half))
    pair = [a * cos - b * sin, a * sin + b * cos]
    if interleaved:
        apart = [prim.unsqueeze(each, [4]) for each in pair]
        if half < _MANY_PAIRS:
            beside = prim.concat(apart, 4)
        else:
            beside = prim.where(prim.apply("equal", prim.iota((1, 1, 1, 1, 2), 4), 0), *apart)
        pair = [prim.reshape(beside, (*x.shape[:3], turned))]
    parts = [*pair, *([] if rest == 0 else [part(turned, rest)])]
    return parts[0] if len(parts) == 1 else prim.concat(parts, 3)


@rotary_embedding.downgrade
def downgrade(
    op: Any,
    x: Value,
    cos_cache: Value,
    sin_cache: Value,
    position_ids: Value | None = None,
    /,
    *,
    interleaved: int,
    num_heads: int | None,
    rotary_embedding_dim: int,
) -> Any:
    """Heads stay where they are: before their tokens, or after them if they had no axis of their own."""
    dtype, shape = dtype_of(x), shape_of(x)
    wide, hidden = wide_of(dtype), shape[-1]
    if not isinstance(hidden, int):
        raise UnsupportedError(f"the last size of '{x.name}' is not known")
    values, size, heads_axis = cast(op, x, dtype, wide), hidden, 1
    if len(shape) == 3:
        count = _counted(num_heads, hidden)
        size, heads_axis = hidden // count, 2
        values = op.Reshape(values, [0, 0, count, size])
    turned = _turned(rotary_embedding_dim, size)
    rows = [cache if position_ids is None else op.Gather(cache, position_ids) for cache in (cos_cache, sin_cache)]
    cos, sin = (op.Unsqueeze(cast(op, row, dtype, wide), [heads_axis]) for row in rows)
    first, second, rest = _parts(op, values, size, turned, bool(interleaved))
    pair = [op.Sub(op.Mul(first, cos), op.Mul(second, sin)), op.Add(op.Mul(first, sin), op.Mul(second, cos))]
    if interleaved:
        joined = op.Concat(*(op.Unsqueeze(part, [4]) for part in pair), axis=4)
        pair = [op.Reshape(joined, [0, 0, 0, turned])]
    y = op.Concat(*pair, *rest, axis=3)
    return cast(op, op.Reshape(y, [0, 0, hidden]) if len(shape) == 3 else y, wide, dtype)


def _parts(op: Any, values: Any, size: int, turned: int, interleaved: bool) -> tuple[Any, Any, list[Any]]:
    """The first elements of all pairs, the second ones, and what is not turned, if there is any."""
    if interleaved:
        first, second = (op.Slice(values, [start], [turned], [3], [2]) for start in (0, 1))
        return first, second, [op.Slice(values, [turned], [size], [3])] if size > turned else []
    lengths = [turned // 2, turned // 2, *([size - turned] if size > turned else [])]
    first, second, *rest = op.Split(values, lengths, axis=3, outputs=len(lengths))
    return first, second, rest


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
