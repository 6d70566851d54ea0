"""Elements in a type that an older version takes, and back: where that changes none of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ingot.dtypes import DType
from ingot.errors import UnsupportedError
from ingot.ir.value import Value
from ingot.ops.older import dtype_of
from ingot.ops.typesets import TypeNames, tensors

_BFLOAT16_SINCE = 13
_NUMBERED_SINCE = 6

_SMALL = (DType.INT32, DType.FLOAT32)
_EXACT: dict[DType, tuple[DType, ...]] = {
    DType.BOOL: _SMALL,
    DType.INT8: _SMALL,
    DType.UINT8: _SMALL,
    DType.INT16: _SMALL,
    DType.UINT16: _SMALL,
    DType.INT32: (DType.FLOAT64,),
    DType.UINT32: (DType.FLOAT64,),
    DType.FLOAT16: (DType.FLOAT32,),
    DType.BFLOAT16: (DType.FLOAT32,),
}
"""Types that hold every element of another, the usual one first."""


def carrier(dtype: DType, supported: TypeNames, version: int) -> DType:
    """The type itself if it is `supported`, else one that holds its elements; UnsupportedError if none does."""
    if tensors(dtype) <= supported:
        return dtype
    if dtype is DType.BFLOAT16 and version < _BFLOAT16_SINCE:
        raise UnsupportedError(f"bfloat16 came with version {_BFLOAT16_SINCE}")
    for wide in _EXACT.get(dtype, ()):
        if tensors(wide) <= supported:
            return wide
    raise UnsupportedError(f"it does not take {dtype}, nor a type that holds all of it")


def carried(op: Any, compute: Callable[..., Any], *values: Value, supported: TypeNames, version: int) -> Any:
    """What `compute` makes of values of one type, which go in and come out by way of a `supported` one."""
    dtype = dtype_of(values[0])
    wide = carrier(dtype, supported, version)
    if wide is dtype:
        return compute(*values)
    results = compute(*(cast(op, value, wide, version) for value in values))
    if isinstance(results, tuple):
        return tuple(cast(op, result, dtype, version) for result in results)
    return cast(op, results, dtype, version)


def carried_in(op: Any, value: Value, supported: TypeNames, version: int) -> Any:
    """A value in a type that is taken: its own, or one that holds its elements."""
    wide = carrier(dtype_of(value), supported, version)
    return value if wide is dtype_of(value) else cast(op, value, wide, version)


def cast(op: Any, value: Any, to: DType, version: int) -> Any:
    """A Cast as `version` writes it."""
    return op.Cast(value, to=int(to) if version >= _NUMBERED_SINCE else to.onnx_name.upper())
