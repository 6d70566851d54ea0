"""MatMulNBits: a product with a matrix whose columns are stored in blocks of a few bits an element."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import numpy as np

from ingot import prim
from ingot.dtypes import Array, DType
from ingot.errors import CheckError, InputError, ShapeError, UnsupportedError
from ingot.ir.types import TensorType
from ingot.ops.contrib.domain import MICROSOFT, SMALL_FLOATS
from ingot.ops.contrib.packed import (
    check_bits,
    check_block_size,
    packed_group,
    unpacked,
    unpacked_codes,
    whole_in_bytes,
)
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.linalg.byte_products import known
from ingot.ops.linalg.coded_weights import grouped_weights, known_array, packed_weights
from ingot.ops.nn.precision import refuse_huge
from ingot.ops.typesets import INT32, UINT8, types

T1: TypeAlias = Annotated[Array, types("T1", SMALL_FLOATS)]
T2: TypeAlias = Annotated[Array, types("T2", UINT8)]
T3: TypeAlias = Annotated[Array, types("T3", UINT8 | SMALL_FLOATS)]
T4: TypeAlias = Annotated[Array, types("T4", INT32)]


@operator("MatMulNBits", since=1, domain=MICROSOFT)
def matmul_nbits(
    a: T1,
    b: T2,
    scales: T1,
    zero_points: T3 | None = None,
    g_idx: T4 | None = None,
    bias: T1 | None = None,
    /,
    *,
    K: int,  # noqa: N803
    N: int,  # noqa: N803
    block_size: int,
    accuracy_level: int = 0,
    bits: int = 4,
    weight_prepacked: int = 0,
) -> T1:
    """`a @ weights.T + bias`, where the weights, N rows of K, are `(codes - zero_point) * scale`.

    Each block of a row has a scale and a zero point, by default the middle of the codes; zero points are packed as
    the codes are, or floats. A code of 3, 5, 6 or 7 bits may go on in the next byte. `g_idx` names a block for each
    of the K instead. The product is taken in float32.
    """
    _check(K, N, block_size, bits, weight_prepacked)
    if not a.ndim or a.shape[-1] != K:
        raise ShapeError(f"a has shape {list(a.shape)}, and K is {K}")
    blocks = -(-K // block_size)
    refuse_huge((N, blocks * block_size), np.dtype(np.float32))
    refuse_huge((*a.shape[:-1], N), np.dtype(np.float32))
    codes = unpacked(_shaped(b, (N, blocks * (block_size * bits // 8)), "b"), bits)[:, :K]
    scale = _shaped(scales, (N, blocks), "scales").astype(np.float32)
    point = _zero_points(zero_points, N, blocks, bits)
    group = np.arange(K) // block_size if g_idx is None else _groups(g_idx, K, blocks)
    weights = (codes.astype(np.float32) - point[:, group]) * scale[:, group]
    y = a.astype(np.float32) @ weights.T
    if bias is not None:
        y = y + _shaped(bias, (N,), "the bias").astype(np.float32)
    return np.asarray(y, a.dtype)


@matmul_nbits.infer
def infer(
    a: Fact,
    b: Fact,
    scales: Fact,
    /,
    *_: Fact,
    K: int,  # noqa: N803
    N: int,  # noqa: N803
    block_size: int,
    bits: int,
    weight_prepacked: int,
    **__: object,
) -> Inferred:
    _check(K, N, block_size, bits, weight_prepacked)
    if a.shape is not None and (not a.shape or (isinstance(a.shape[-1], int) and a.shape[-1] != K)):
        raise ShapeError(f"a has shape {list(a.shape)}, and K is {K}")
    dtype = a.dtype or scales.dtype
    return None if dtype is None else TensorType(dtype, None if a.shape is None else (*a.shape[:-1], N))


@matmul_nbits.lower
def lower(
    a: prim.Tensor,
    b: prim.Tensor,
    scales: prim.Tensor,
    zero_points: prim.Tensor | None = None,
    g_idx: prim.Tensor | None = None,
    bias: prim.Tensor | None = None,
    /,
    *,
    K: int,  # noqa: N803
    N: int,  # noqa: N803
    block_size: int,
    accuracy_level: int,
    bits: int,
    weight_prepacked: int,
) -> prim.Tensor:
    """A product with a matrix in codes where it is known, by a `g_idx` with its columns in the order of their blocks.

    Else weights are dequantised, by blocks and groups of bytes: when the model is compiled, if they are known.
    """
    blocks = -(-K // block_size)
    names = "abcdefgh"[: a.rank - 1]
    groups = None if g_idx is None else _known_groups(g_idx, K, blocks)
    if groups is not None and (groups == np.arange(K) // block_size).all():
        g_idx = groups = None
    if g_idx is None or groups is not None:
        steps, points = prim.reshape(scales, (N, blocks)), _points(zero_points, N, blocks, bits)
        codes, width = prim.reshape(b, (N, blocks * (block_size * bits // 8))), bits
        if 8 % bits and (packed_codes := known_array(codes)) is not None:
            whole, width = whole_in_bytes(packed_codes, bits)
            codes = prim.constant(whole)
        if 8 % width:
            matrix = None
        elif groups is None:
            matrix = packed_weights(codes, steps, points, width, block_size, K, N, rounded=accuracy_level == 4)
        else:
            matrix, places = grouped_weights(codes, steps, points, groups, width, block_size, N)
            a = prim.gather(a, [*range(a.rank - 1), prim.constant(places)], a.shape) if matrix is not None else a
        if matrix is not None:
            y = prim.contract(a, matrix, f"{names}k,nk->{names}n")
            return y if bias is None else y + prim.reshape(bias, (N,))
    each = packed_group(bits)[1]
    packed = (blocks, block_size // each, each)
    codes = unpacked_codes(prim.reshape(b, (N, blocks, block_size * bits // 8)), bits)
    scale = prim.reshape(scales, (N, blocks))
    point = _points(zero_points, N, blocks, bits)
    if g_idx is None:
        scale, point = (prim.unsqueeze(x, [2, 3]) for x in (scale, point))
    else:
        own = prim.slice_(g_idx, [0], [K]) if groups is None else prim.constant(groups)
        own = known(prim.reshape(prim.pad(own, [0], [blocks * block_size - K]), packed))
        scale, point = (prim.gather(x, [0, prim.unsqueeze(own, [0])], (N, *packed)) for x in (scale, point))
    weights = (prim.cast(codes, DType.FLOAT32) - point) * scale
    weights = prim.slice_(prim.reshape(weights, (N, blocks * block_size)), [0, 0], [N, K])
    y = prim.contract(a, weights, f"{names}k,nk->{names}n")
    return y if bias is None else y + prim.reshape(bias, (N,))


def _points(zero_points: prim.Tensor | None, n: int, blocks: int, bits: int) -> prim.Tensor:
    if zero_points is None:
        return prim.full(2.0 ** (bits - 1), (n, blocks), DType.FLOAT32)
    if zero_points.dtype is not DType.UINT8:
        return prim.reshape(zero_points, (n, blocks))
    size, (group, _) = -(-blocks * bits // 8), packed_group(bits)
    packed = prim.pad(prim.reshape(zero_points, (n, size)), [0, 0], [0, -size % group])
    codes = unpacked_codes(packed, bits)
    codes = prim.slice_(prim.reshape(codes, (n, prim.count(codes.shape[1:]))), [0, 0], [n, blocks])
    return prim.cast(codes, DType.FLOAT32)


def _check(k: int, n: int, block_size: int, bits: int, prepacked: int) -> None:
    check_bits(bits)
    check_block_size(block_size)
    if k < 1 or n < 1:
        raise CheckError(f"K is {k} and N is {n}, expected at least 1")
    if prepacked:
        raise UnsupportedError(f"weight_prepacked is {prepacked}: the layout is that of one CUDA kernel")


def _shaped(x: Array, shape: tuple[int, ...], name: str) -> Array:
    if x.size != int(np.prod(shape, dtype=object)):
        raise ShapeError(f"{name} has shape {list(x.shape)}, expected {list(shape)}")
    return x.reshape(shape)


def _zero_points(zero_points: Array | None, n: int, blocks: int, bits: int) -> Array:
    if zero_points is None:
        return np.full((n, blocks), 2.0 ** (bits - 1), np.float32)
    if zero_points.dtype != np.uint8:
        return _shaped(zero_points, (n, blocks), "zero_points").astype(np.float32)
    return unpacked(_shaped(zero_points, (n, -(-blocks * bits // 8)), "zero_points"), bits)[:, :blocks].astype(
        np.float32
    )


def _known_groups(g_idx: prim.Tensor, k: int, blocks: int) -> Array | None:
    """The block of each column, if it is known and there is one."""
    groups = known_array(g_idx)
    if groups is None or groups.ndim != 1 or len(groups) < k:
        return None
    return groups[:k] if ((groups[:k] >= 0) & (groups[:k] < blocks)).all() else None


def _groups(g_idx: Array, k: int, blocks: int) -> Array:
    if g_idx.ndim != 1 or g_idx.size < k:
        raise ShapeError(f"g_idx has shape {list(g_idx.shape)}, expected [{k}]")
    groups = g_idx[:k]
    if not 0 <= int(groups.min()) <= int(groups.max()) < blocks:
        raise InputError(f"g_idx goes from {groups.min()} to {groups.max()}, there are {blocks} blocks")
    return groups
