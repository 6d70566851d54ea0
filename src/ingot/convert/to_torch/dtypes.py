"""Element types as torch calls them."""

from __future__ import annotations

from ingot.dtypes import DType
from ingot.errors import UnsupportedError

TORCH = {
    DType.FLOAT32: "torch.float32",
    DType.FLOAT64: "torch.float64",
    DType.FLOAT16: "torch.float16",
    DType.BFLOAT16: "torch.bfloat16",
    DType.FLOAT8E4M3FN: "torch.float8_e4m3fn",
    DType.FLOAT8E4M3FNUZ: "torch.float8_e4m3fnuz",
    DType.FLOAT8E5M2: "torch.float8_e5m2",
    DType.FLOAT8E5M2FNUZ: "torch.float8_e5m2fnuz",
    DType.INT64: "torch.int64",
    DType.INT32: "torch.int32",
    DType.INT16: "torch.int16",
    DType.INT8: "torch.int8",
    DType.UINT8: "torch.uint8",
    DType.UINT16: "torch.uint16",
    DType.UINT32: "torch.uint32",
    DType.UINT64: "torch.uint64",
    DType.BOOL: "torch.bool",
    DType.COMPLEX64: "torch.complex64",
    DType.COMPLEX128: "torch.complex128",
    DType.INT4: "torch.int8",
    DType.INT2: "torch.int8",
    DType.UINT4: "torch.uint8",
    DType.UINT2: "torch.uint8",
}
"""Integers of two and four bits are held in bytes: torch computes with no smaller ones."""

SMALL = {DType.INT4: 4, DType.UINT4: 4, DType.INT2: 2, DType.UINT2: 2}
"""Those, and their bits."""

WIDE = (DType.UINT16, DType.UINT32, DType.UINT64)
"""Types that torch stores, and computes little with."""


def torch_dtype(dtype: DType) -> str:
    """`torch.float32`; UnsupportedError for a type that torch has not."""
    own = TORCH.get(dtype)
    if own is None:
        raise UnsupportedError(f"torch {'has no tensors of' if dtype is DType.STRING else 'computes with no'} {dtype}")
    return own
