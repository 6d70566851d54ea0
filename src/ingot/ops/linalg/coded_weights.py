"""Weights in codes of few bits, from the constants that a model has them in, as primitives."""

from __future__ import annotations

import numpy as np

from ingot import prim
from ingot.dtypes import Array, DType
from ingot.prim.code_meaning import meaning_of
from ingot.prim.coded import Coded, Dequantised, coded
from ingot.prim.evaluate import evaluate
from ingot.prim.functions import NARROW_FLOATS
from ingot.prim.tensor import Constant, Gather, Iota, Map, Tensor, View
from ingot.prim.walk import reachable

_OFFSETS = {DType.INT2: 2, DType.INT4: 8, DType.INT8: 128, DType.UINT2: 0, DType.UINT4: 0, DType.UINT8: 0}
"""What makes a code of each type an unsigned number."""


_RESULTS = (DType.FLOAT32, *NARROW_FLOATS)


def known_array(tensor: Tensor) -> Array | None:
    """The elements of what follows from constants by functions, gathers and views; None for what a run computes."""
    for inner in reachable(tensor):
        if not isinstance(inner, Constant | Gather | Iota | Map | View):
            return None
    return evaluate([tensor], {}, {})[0]


def packed_weights(
    codes: Tensor, scale: Tensor, zero: Tensor | None, bits: int, block: int, k: int, n: int, *, rounded: bool
) -> Coded | None:
    """The matrix [n, k] of codes packed in bytes, [n, bytes]; None if it is not known, or no kernel multiplies by it.

    `scale` and `zero` are [n, blocks], the latter floats, or by default the middle of the codes. `rounded` says whether
    what it is multiplied by may be rounded to 8 bits.
    """
    steps, packed = known_array(scale), known_array(codes)
    points = None if zero is None else known_array(zero)
    if steps is None or packed is None or (zero is not None and points is None):
        return None
    point = 1 << (bits - 1) if points is None else _as_bytes(points)
    return coded(packed.reshape(n, -1), bits, steps.astype(np.float32), point, block, k, packed=True, rounded=rounded)


def _as_bytes(points: Array) -> Array:
    """Zeros as bytes, if they are such numbers."""
    with np.errstate(invalid="ignore"):
        small = points.astype(np.uint8)
    return small if (points == small).all() else points


def grouped_weights(
    codes: Tensor, scale: Tensor, zero: Tensor | None, groups: Array, bits: int, block: int, n: int
) -> tuple[Coded | None, Array]:
    """The same matrix with its columns in another order, and their places: `groups` says which block each is of.

    None too if blocks have other numbers of columns than `block`, but for one with fewer.
    """
    counts = np.bincount(groups, minlength=-(-len(groups) // block))
    order = np.argsort(-counts, kind="stable")  # that with fewer columns is the last
    places = np.argsort(np.argsort(order)[groups], kind="stable")
    steps, packed = known_array(scale), known_array(codes)
    points = None if zero is None else known_array(zero)
    if steps is None or packed is None or (zero is not None and points is None) or (counts[order[:-1]] != block).any():
        return None, places
    lanes = np.arange(0, 8, bits, dtype=np.uint8)
    numbers = ((packed.reshape(n, -1, 1) >> lanes) & np.uint8((1 << bits) - 1)).reshape(n, -1)[:, places]
    point = 1 << (bits - 1) if points is None else _as_bytes(points[:, order])
    steps = steps[:, order].astype(np.float32)
    return coded(numbers, bits, steps, point, block, len(groups), packed=False), places


def dequantised(x: Tensor, codes: Tensor, scale: Tensor, zero: Tensor | None, axis: int, block_size: int) -> Tensor:
    """A matrix that is dequantised, `x`, which products read as its codes where these lie in blocks along an axis.

    Scales are one, one for each index of `axis`, or one for each block of `block_size` along it. Bytes that become
    BFLOAT16 do not stay in codes: many rows are multiplied by them in half of the time.
    """
    if not isinstance(codes, Constant) or x.rank != 2 or x.dtype not in _RESULTS:
        return x
    if x.dtype is DType.BFLOAT16 and codes.dtype.bits == 8:
        return x
    steps, points = known_array(scale), None if zero is None else known_array(zero)
    if steps is None or (zero is not None and points is None):
        return x
    meaning, offset = None, _OFFSETS.get(codes.dtype, 0)
    if codes.dtype not in _OFFSETS:
        floats = meaning_of(codes.dtype, codes.array)
        if floats is None or (points is not None and points.astype(np.float32).any()):
            return x
        (meaning, factor), points = floats, None
        steps = steps.astype(np.float32) * np.float32(factor)
    numbers = np.full(steps.shape, offset, np.int16) if points is None else points.astype(np.int16) + np.int16(offset)
    by_block = bool(block_size) and steps.ndim == 2
    turned = axis % 2 == (0 if by_block else 1)  # rows of codes are what a block, or one scale, lies along
    rows, depth = codes.array.shape[::-1] if turned else codes.array.shape
    if by_block:
        steps, numbers = (steps.T, numbers.T) if turned else (steps, numbers)
    else:
        steps, numbers = (np.broadcast_to(array.reshape(-1, 1), (rows, 1)) for array in (steps, numbers))
    matrix = coded(
        codes.array.T if turned else codes.array,
        codes.dtype.bits,
        steps.astype(np.float32),
        numbers.astype(np.uint8),
        block_size if by_block else depth,
        depth,
        packed=False,
        offset=offset,
        meaning=meaning,
    )
    if matrix is None or not _is_finite_in(x.dtype, matrix):
        return x
    if not turned:
        return Dequantised(x.dtype, x.shape, x, matrix)
    return prim.permute(Dequantised(x.dtype, x.shape[::-1], prim.permute(x, (1, 0)), matrix), (1, 0))


def _is_finite_in(dtype: DType, matrix: Coded) -> bool:
    """Whether every element of a matrix is finite in a type."""
    if dtype is not DType.FLOAT16:
        return True
    numbers = np.arange(1 << matrix.bits) if matrix.meaning is None else matrix.meaning.numbers()
    numbers = numbers[np.isfinite(numbers)]
    most = max(float(numbers.max()) - np.min(matrix.zero), np.max(matrix.zero) - float(numbers.min()))
    return bool(np.abs(matrix.scale).max() * most < np.finfo(np.float16).max)
