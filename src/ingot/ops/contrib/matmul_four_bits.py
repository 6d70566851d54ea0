"""MatMulBnb4 and MatMulFpQ4: products with matrices of four bits an element, scaled in blocks."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import numpy as np

from ingot import prim
from ingot.dtypes import Array, DType
from ingot.errors import CheckError, ShapeError
from ingot.ir.types import TensorType
from ingot.ops.contrib.domain import MICROSOFT, SMALL_FLOATS
from ingot.ops.contrib.four_bit_levels import FP4, NF4
from ingot.ops.contrib.packed import unpacked_codes
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.linalg.coded_weights import known_array
from ingot.ops.linalg.matmul import product, product_in_primitives, product_shape
from ingot.ops.nn.precision import refuse_huge
from ingot.ops.typesets import FLOAT32, INT64, UINT8, types
from ingot.prim.code_meaning import Levels
from ingot.prim.coded import Coded, coded

T1: TypeAlias = Annotated[Array, types("T1", SMALL_FLOATS)]
Codes: TypeAlias = Annotated[Array, types("T2", UINT8)]
Real: TypeAlias = Annotated[Array, types("T1", FLOAT32)]
Shape64: TypeAlias = Annotated[Array, types("T3", INT64)]

_TABLES = {0: FP4, 1: NF4}
"""The levels by `quant_type`."""

_BLOCK = 32


@operator("MatMulBnb4", since=1, domain=MICROSOFT)
def matmul_bnb4(
    a: T1,
    b: Codes,
    absmax: T1,
    /,
    *,
    K: int,  # noqa: N803
    N: int,  # noqa: N803
    block_size: int,
    quant_type: int,
    training_mode: int = 0,
    transB: int = 1,  # noqa: N803
) -> T1:
    """`a @ weights.T`, or `a @ weights` unless `transB`; the weights, N rows of K, are `table[codes] * absmax`.

    All rows are one run of codes, two to a byte, the first in its upper half; each `block_size` of them have a scale.
    `quant_type` 0 is FP4, 1 is NF4. The product is taken in float32.
    """
    _check_bnb4(K, N, block_size, quant_type)
    refuse_huge((N, K), np.dtype(np.float32))
    count = N * K
    if b.size < -(-count // 2) or absmax.size < -(-count // block_size):
        raise ShapeError(f"{b.size} bytes and {absmax.size} scales are too few for {N} rows of {K}")
    flat = b.reshape(-1)[: -(-count // 2)]
    codes = np.stack([flat >> 4, flat & 15], axis=1).reshape(-1)[:count]
    scales = np.repeat(absmax.reshape(-1).astype(np.float32), block_size)[:count]
    weights = (_TABLES[quant_type][codes] * scales).reshape(N, K)
    y = product(a.astype(np.float32), weights.T if transB else weights)
    return np.asarray(y, a.dtype)


@matmul_bnb4.infer
def infer_bnb4(
    a: Fact,
    /,
    *_: Fact,
    K: int,  # noqa: N803
    N: int,  # noqa: N803
    block_size: int,
    quant_type: int,
    transB: int,  # noqa: N803
    **__: object,
) -> Inferred:
    _check_bnb4(K, N, block_size, quant_type)
    shape = product_shape(a.shape, (K, N) if transB else (N, K))
    return None if a.dtype is None else TensorType(a.dtype, shape)


@matmul_bnb4.lower
def lower_bnb4(
    a: prim.Tensor,
    b: prim.Tensor,
    absmax: prim.Tensor,
    /,
    *,
    K: int,  # noqa: N803
    N: int,  # noqa: N803
    block_size: int,
    quant_type: int,
    transB: int,  # noqa: N803
    **_: object,
) -> prim.Tensor:
    count = N * K
    blocks = -(-count // block_size)
    size, scaled = prim.count(b.shape), prim.count(absmax.shape)
    if size != -(-count // 2) or scaled != blocks:
        raise prim.Refused(f"{size} bytes and {scaled} scales for {N} rows of {K}")
    matrix = _in_codes(b, absmax, K, N, block_size, quant_type) if transB else None
    if matrix is not None:
        names = "abcdefgh"[: a.rank - 1]
        return prim.contract(a, matrix, f"{names}k,nk->{names}n")
    pairs = unpacked_codes(prim.reshape(b, (-(-count // 2),)), 4)
    codes = prim.reshape(prim.slice_(pairs, [0, 1], pairs.shape, [1, -1]), (2 * -(-count // 2),))
    codes = prim.pad(prim.slice_(codes, [0], [count]), [0], [blocks * block_size - count])
    meant = prim.gather(prim.constant(_TABLES[quant_type]), [codes], codes.shape, in_range=True)
    spread = prim.reshape(meant, (blocks, block_size)) * prim.reshape(absmax, (blocks, 1))
    flat = prim.slice_(prim.reshape(spread, (blocks * block_size,)), [0], [count])
    weights = prim.reshape(flat, (N, K))
    return product_in_primitives(a, prim.permute(weights, [1, 0]) if transB else weights)


def _in_codes(b: prim.Tensor, absmax: prim.Tensor, k: int, n: int, block_size: int, quant_type: int) -> Coded | None:
    """The weights in their codes, if they are known and no block is of two rows."""
    packed, scales = known_array(b), known_array(absmax)
    if packed is None or scales is None or k % block_size or k % 2:
        return None
    first_low = (packed << 4 | packed >> 4).reshape(n, k // 2)
    steps = scales.astype(np.float32).reshape(n, -1)
    levels = Levels(tuple(_TABLES[quant_type].tolist()))
    return coded(first_low, 4, steps, 0, block_size, k, packed=True, meaning=levels)


def _check_bnb4(k: int, n: int, block_size: int, quant_type: int) -> None:
    if k < 1 or n < 1 or block_size < 1:
        raise CheckError(f"K is {k}, N is {n} and block_size is {block_size}, expected at least 1")
    if quant_type not in _TABLES:
        raise CheckError(f"quant_type is {quant_type}", hint="0 for FP4, 1 for NF4")


@operator("MatMulFpQ4", since=1, domain=MICROSOFT)
def matmul_fpq4(a: Real, b: Codes, b_shape: Shape64, /, *, blk_quant_type: int = 1) -> Real:
    """The matrix product of `a` and a matrix of shape `b_shape`, whose columns lie one after another in blocks of 32.

    A block is a float32 scale, a byte with its zero point unless `blk_quant_type` is 0 and that is 8, and 16 bytes:
    the lower halves are the codes of the first 16 elements.
    """
    weights = _blocks_read(b, b_shape, blk_quant_type)
    return np.asarray(product(a, weights), np.float32)


@matmul_fpq4.infer
def infer_fpq4(a: Fact, b: Fact, b_shape: Fact, /, *, blk_quant_type: int) -> Inferred:
    sizes = b_shape.integers
    if sizes is None:
        return TensorType(DType.FLOAT32, None if a.shape is None else (*a.shape[:-1], None))
    if len(sizes) != 2:
        raise ShapeError(f"b_shape has {len(sizes)} elements, expected 2")
    return TensorType(DType.FLOAT32, product_shape(a.shape, tuple(sizes)))


@matmul_fpq4.lower
def lower_fpq4(
    a: prim.Tensor, b: prim.Tensor, b_shape: prim.Tensor, /, *, blk_quant_type: int, facts: tuple[Fact, ...]
) -> prim.Tensor:
    held = [fact.constant for fact in facts[1:]]
    if held[0] is None or held[1] is None:
        raise prim.Refused("a matrix unknown until a run")
    weights = _blocks_read(held[0].numpy(), held[1].numpy(), blk_quant_type)
    return product_in_primitives(a, prim.constant(weights))


def _blocks_read(b: Array, b_shape: Array, kind: int) -> Array:
    """The matrix that the blocks hold, in float32."""
    if b_shape.size != 2:
        raise ShapeError(f"b_shape has {b_shape.size} elements, expected 2")
    k, n = (int(size) for size in b_shape.reshape(-1))
    if k < 0 or n < 0:
        raise ShapeError(f"b_shape is {[k, n]}")
    refuse_huge((k, n), np.dtype(np.float32))
    head = 4 if kind == 0 else 5
    blocks = -(-k // _BLOCK)
    if b.size != n * blocks * (head + _BLOCK // 2):
        raise ShapeError(f"b has {b.size} bytes, expected {n * blocks * (head + _BLOCK // 2)} for shape {[k, n]}")
    rows = b.reshape(n, blocks, head + _BLOCK // 2)
    scales = np.ascontiguousarray(rows[..., :4]).view("<f4").astype(np.float32)
    points = np.float32(8) if kind == 0 else rows[..., 4:5].astype(np.float32)
    halves = rows[..., head:]
    codes = np.concatenate([halves & 15, halves >> 4], axis=-1).astype(np.float32)
    return np.ascontiguousarray(((codes - points) * scales).reshape(n, blocks * _BLOCK)[:, :k].T)
