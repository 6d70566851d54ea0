"""GatherBlockQuantized: chosen slices of a tensor that is stored in quantised blocks."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import numpy as np

from ingot import prim
from ingot.dtypes import Array, DType
from ingot.errors import CheckError, InputError, ShapeError
from ingot.ir.types import TensorType
from ingot.ops.contrib.domain import MICROSOFT, SMALL_FLOATS
from ingot.ops.contrib.packed import check_block_size, check_whole, unpacked
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.nn.precision import refuse_huge
from ingot.ops.shapes import axis_of
from ingot.ops.typesets import INDICES, INT4S, UINT8, types

T1: TypeAlias = Annotated[Array, types("T1", INT4S | UINT8)]
T2: TypeAlias = Annotated[Array, types("T2", SMALL_FLOATS)]
Tind: TypeAlias = Annotated[Array, types("Tind", INDICES)]


@operator("GatherBlockQuantized", since=1, domain=MICROSOFT)
def gather_block_quantized(
    data: T1,
    indices: Tind,
    scales: T2,
    zero_points: T1 | None = None,
    /,
    *,
    bits: int = 4,
    block_size: int = 128,
    gather_axis: int = 0,
    quantize_axis: int = 1,
) -> T2:
    """The slices of `data` along `gather_axis` that `indices` name, as `(codes - zero_point) * scale`.

    Each block along `quantize_axis` has a scale and a zero point: by default 0, for bytes the middle of the codes.
    Bytes hold codes of `bits` bits along the last axis. Indices may count from the back.
    """
    gather, quantize = _axes(data.ndim, DType.of(data.dtype), bits, block_size, gather_axis, quantize_axis)
    per_byte = 8 // bits if data.dtype == np.uint8 else 1
    size = data.shape[gather]
    if indices.size and not -size <= int(indices.min()) <= int(indices.max()) < size:
        raise InputError(f"indices go from {indices.min()} to {indices.max()}, the axis has {size} elements")
    full = [*data.shape[:-1], data.shape[-1] * per_byte]
    blocks = [-(-n // block_size) if axis == quantize else n for axis, n in enumerate(full)]
    if list(scales.shape) != blocks:
        raise ShapeError(f"scales has shape {list(scales.shape)}, expected {blocks}")
    refuse_huge((*full[:gather], indices.size, *full[gather + 1 :]), np.dtype(np.float32))
    wanted = indices.reshape(-1)
    codes = unpacked(np.take(data, wanted, axis=gather), bits) if per_byte > 1 else np.take(data, wanted, axis=gather)
    point = _zero_points(zero_points, blocks, data.dtype == np.uint8, bits)
    place = np.arange(full[quantize]) // block_size
    steps, offsets = (
        np.take(np.take(x.astype(np.float32), wanted, axis=gather), place, axis=quantize) for x in (scales, point)
    )
    y = (codes.astype(np.float32) - offsets) * steps
    return np.asarray(y.reshape(*full[:gather], *indices.shape, *full[gather + 1 :]), scales.dtype)


@gather_block_quantized.infer
def infer(
    data: Fact,
    indices: Fact,
    scales: Fact,
    zero_points: Fact | None = None,
    /,
    *,
    bits: int,
    block_size: int,
    gather_axis: int,
    quantize_axis: int,
) -> Inferred:
    if scales.dtype is None:
        return None
    if data.shape is None or indices.shape is None or data.dtype is None:
        return TensorType(scales.dtype)
    gather, _ = _axes(len(data.shape), data.dtype, bits, block_size, gather_axis, quantize_axis)
    packed = data.shape[-1]
    full = (*data.shape[:-1], None if packed is None else packed * (8 // bits if data.dtype is DType.UINT8 else 1))
    return TensorType(scales.dtype, (*full[:gather], *indices.shape, *full[gather + 1 :]))


@gather_block_quantized.lower
def lower(
    data: prim.Tensor,
    indices: prim.Tensor,
    scales: prim.Tensor,
    zero_points: prim.Tensor | None = None,
    /,
    *,
    bits: int,
    block_size: int,
    gather_axis: int,
    quantize_axis: int,
) -> prim.Tensor:
    """Only for bytes: rows are gathered, and each code found in its byte."""
    if data.dtype is not DType.UINT8 or not isinstance(data.shape[-1], int):
        raise prim.Refused(f"elements of {data.dtype}, or rows of unknown size")
    each, size, rank = 8 // bits, data.shape[-1] * (8 // bits), data.rank
    front = indices.shape
    shape = (*front, *data.shape[1:-1], size)
    rows = prim.cast(indices, DType.INT64)
    rows = prim.where(prim.apply("less", rows, 0), rows + prim.size(data.shape[0]), rows)
    rows = prim.reshape(rows, (*front, *(1,) * (rank - 1)))
    between = [len(front) + axis for axis in range(rank - 2)]
    place = prim.iota(shape, len(shape) - 1)

    def codes(packed: prim.Tensor, at: prim.Tensor) -> prim.Tensor:
        words = prim.gather(packed, [rows, *between, at / each], shape)
        shifted = prim.apply("shift_right", words, prim.cast(prim.apply("remainder", at, each) * bits, DType.UINT8))
        return prim.cast(prim.apply("and", shifted, (1 << bits) - 1), DType.FLOAT32)

    block = place / block_size
    steps = prim.gather(scales, [rows, *between, block], shape)
    if zero_points is None:
        return (codes(data, place) - float(2 ** (bits - 1))) * steps
    return (codes(data, place) - codes(zero_points, block)) * steps


def _axes(rank: int, dtype: DType, bits: int, block_size: int, gather: int, quantize: int) -> tuple[int, int]:
    check_block_size(block_size)
    check_whole(bits)
    axes = axis_of(gather, rank, "gather_axis"), axis_of(quantize, rank, "quantize_axis")
    if axes[0] == axes[1]:
        raise CheckError(f"gather_axis and quantize_axis are both {axes[0]}")
    if dtype is DType.UINT8 and (axes[0] != 0 or axes[1] != rank - 1):
        raise CheckError(f"bytes are gathered along axis 0 and quantised along the last, not along {list(axes)}")
    return axes


def _zero_points(zero_points: Array | None, blocks: list[int], packed: bool, bits: int) -> Array:
    if zero_points is None:
        return np.broadcast_to(np.float32(2 ** (bits - 1) if packed else 0), blocks)
    stored = [*blocks[:-1], -(-blocks[-1] * bits // 8)] if packed else blocks
    if list(zero_points.shape) != stored:
        raise ShapeError(f"zero_points has shape {list(zero_points.shape)}, expected {stored}")
    return unpacked(zero_points, bits)[..., : blocks[-1]] if packed else zero_points
