"""Element types of torch, and the types of ONNX that hold the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from ingot.dtypes import Array, DType
from ingot.errors import UnsupportedError

_OF = {
    torch.float32: DType.FLOAT32,
    torch.float64: DType.FLOAT64,
    torch.float16: DType.FLOAT16,
    torch.bfloat16: DType.BFLOAT16,
    torch.float8_e4m3fn: DType.FLOAT8E4M3FN,
    torch.float8_e4m3fnuz: DType.FLOAT8E4M3FNUZ,
    torch.float8_e5m2: DType.FLOAT8E5M2,
    torch.float8_e5m2fnuz: DType.FLOAT8E5M2FNUZ,
    torch.int64: DType.INT64,
    torch.int32: DType.INT32,
    torch.int16: DType.INT16,
    torch.int8: DType.INT8,
    torch.uint8: DType.UINT8,
    torch.uint16: DType.UINT16,
    torch.uint32: DType.UINT32,
    torch.uint64: DType.UINT64,
    torch.bool: DType.BOOL,
    torch.complex64: DType.COMPLEX64,
    torch.complex128: DType.COMPLEX128,
}

_BITS = {1: torch.uint8, 2: torch.int16}
"""Integers as wide as the floats that numpy does not have, to carry their bits over."""


def dtype_of(dtype: Any) -> DType:
    """The ONNX element type of a torch dtype; UnsupportedError if there is none."""
    own = _OF.get(dtype)
    if own is None:
        raise UnsupportedError(f"ONNX has no element type for {dtype}")
    return own


def real_of(dtype: DType) -> DType:
    """The type of the parts of a complex number; any other as it is."""
    return {DType.COMPLEX64: DType.FLOAT32, DType.COMPLEX128: DType.FLOAT64}.get(dtype, dtype)


def to_array(tensor: Any) -> Array:
    """The elements of a tensor as an array: over the same memory where that can be."""
    tensor = tensor.detach().cpu().resolve_conj().resolve_neg()
    dtype = dtype_of(tensor.dtype)
    try:
        return np.asarray(tensor.numpy())
    except TypeError:  # numpy has no such elements: bfloat16 and float8
        bits = tensor.contiguous().view(_BITS[tensor.element_size()]).numpy()
        return np.asarray(bits.view(dtype.numpy))


def to_tensor(array: Array) -> Any:
    """A tensor with the elements of an array, in memory of its own."""
    dtype = DType.of(array.dtype)
    wanted = next(torch_dtype for torch_dtype, own in _OF.items() if own is dtype)
    array = np.array(array, order="C")  # ascontiguousarray would make a scalar a vector
    try:
        return torch.from_numpy(array)
    except TypeError:
        bits = array.view(np.uint8 if array.dtype.itemsize == 1 else np.int16)
        return torch.from_numpy(bits).view(wanted)
