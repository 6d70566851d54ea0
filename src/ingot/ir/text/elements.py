"""The elements of tensors as the entries that the syntax writes, and back.

Entries are those of the typed field the format stores elements in: integers as they are, complex numbers as two
floats, float32 and float64 as numbers, every other float as its bit pattern, and elements of 2 and 4 bits as the bytes
they are packed in.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ingot.dtypes import Array, DType, from_codes, pack, unpack
from ingot.ir.tensor import Tensor
from ingot.ir.text.literals import float_texts
from ingot.ir.text.words import quoted


def entry_count(dtype: DType, count: int) -> int:
    """How many entries write `count` elements."""
    if dtype.is_complex:
        return 2 * count
    return dtype.nbytes(count) if dtype.bits in (2, 4) else count


def entry_range(dtype: DType) -> tuple[int, int] | None:
    """The least and the largest entry; None where entries are floats or strings."""
    if dtype is DType.STRING or dtype in _FLOATS:
        return None
    if dtype.is_integer and dtype.bits >= 8:
        limits = np.iinfo(dtype.numpy)
        return int(limits.min), int(limits.max)
    low = -128 if dtype in (DType.INT4, DType.INT2) else 0
    return low, 63 if dtype.bits == 6 else (1 << max(dtype.bits, 8)) - 1


def entries(tensor: Tensor) -> list[str] | None:
    """The entries that write the elements of `tensor`; None if it has a string that is not text."""
    if tensor.dtype is DType.STRING:
        try:
            return [quoted(str(string, "utf-8")) for string in tensor.strings()]
        except UnicodeDecodeError:
            return None
    floats = float_view(tensor)
    return list(map(str, _integers(tensor).tolist())) if floats is None else float_texts(floats)


def float_view(tensor: Tensor) -> Array | None:
    """The elements that are written as floats, flat; None if they are not."""
    layout = _FLOATS.get(tensor.dtype)
    return None if layout is None else np.frombuffer(tensor.raw(), layout)


def tensor_of(values: Sequence[float | str] | Array, dtype: DType, shape: tuple[int, ...], name: str) -> Tensor:
    """The tensor that as many entries as `entry_count` says write; ValueError if numpy has no array of the shape."""
    if dtype is DType.STRING:
        strings = np.empty(len(values), np.object_)
        strings[:] = values
        return Tensor(strings.reshape(shape), dtype, name=name)
    return Tensor.from_buffer(_bytes(values, dtype), dtype, shape, name=name)


_FLOATS = {DType.FLOAT32: "<f4", DType.COMPLEX64: "<f4", DType.FLOAT64: "<f8", DType.COMPLEX128: "<f8"}


def _layout(dtype: DType) -> str:
    """The little-endian numpy type of an entry of one byte or more."""
    signed = dtype.is_integer and dtype.name.startswith("INT") and dtype.bits >= 8
    return f"<{'i' if signed else 'u'}{max(dtype.bits, 8) // 8}"


def _bytes(values: Sequence[float | str] | Array, dtype: DType) -> bytes:
    if dtype in _FLOATS:
        return np.array(values, _FLOATS[dtype]).tobytes()
    numbers: Array = np.asarray(values)
    if dtype is DType.BOOL:
        return numbers.astype(np.bool_).tobytes()
    if dtype.bits == 6:
        return bytes(pack(from_codes(numbers.astype(np.uint8), dtype), dtype))
    return numbers.astype(_layout(dtype)).tobytes()


def _integers(tensor: Tensor) -> Array:
    dtype, raw = tensor.dtype, tensor.raw()
    if dtype is DType.BOOL:
        return np.minimum(np.frombuffer(raw, np.uint8), 1)
    if dtype.bits == 6:
        codes: Array = unpack(raw, dtype, tensor.size).view(np.uint8) & np.uint8(63)
        return codes
    return np.frombuffer(raw, _layout(dtype))
