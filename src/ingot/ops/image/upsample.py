"""Upsample: what Resize was called before opset 10."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, TypeAlias

import numpy as np

from ingot.dtypes import Array, DType
from ingot.errors import CheckError, UnsupportedError
from ingot.ir.value import Value
from ingot.ops.define import operator, superseded
from ingot.ops.older import constant_of, dtype_of
from ingot.ops.typesets import ALL_3, BOOL, FLOAT32, FLOATS_3, INDICES, types

T: TypeAlias = Annotated[Array, types("T", ALL_3)]
_OLDEST = FLOATS_3 | INDICES | BOOL
T1: TypeAlias = Annotated[Array, types("T", _OLDEST)]
Scales: TypeAlias = Annotated[Array, types("", FLOAT32)]


@operator("Upsample", since=10, deprecated=True)
def upsample(x: T, scales: Scales, /, *, mode: str = "nearest") -> T:
    """Resize in its oldest meaning; the standard no longer has it."""
    raise CheckError("Upsample left the standard with opset 10", hint="use Resize")


@operator("Upsample", since=9)
def upsample_9(x: T, scales: Scales, /, *, mode: str = "nearest") -> T:
    """Each axis multiplied by its scale; output pixel `i` lies at `i / scale`."""
    raise superseded()


@upsample.upgrade
@upsample_9.upgrade
def upgrade_9(op: Any, x: Value, scales: Any, /, *, mode: str) -> Any:
    if mode not in ("nearest", "linear"):
        raise CheckError(f"mode is '{mode}'", hint="one of nearest, linear")
    return op.Resize(x, None, scales, mode=mode, coordinate_transformation_mode="asymmetric", nearest_mode="floor")


@upsample.downgrade
def downgrade(op: Any, x: Value, scales: Value, /, *, mode: str) -> Any:
    return op.Upsample(x, scales, mode=mode)


@upsample_9.downgrade
def downgrade_9(op: Any, x: Value, scales: Value, /, *, mode: str) -> Any:
    known = constant_of(scales)
    if known is None:
        raise UnsupportedError("the scales are computed while the model runs, before version 9 they are an attribute")
    return op.Upsample(x, scales=[float(scale) for scale in known], mode=mode)


@operator("Upsample", since=7)
def upsample_7(x: T, /, *, scales: Sequence[float], mode: str = "nearest") -> T:
    """The same with the scales in an attribute."""
    raise superseded()


@upsample_7.upgrade
def upgrade_7(op: Any, x: Value, /, *, scales: Sequence[float], mode: str) -> Any:
    return upgrade_9(op, x, np.asarray(scales, np.float32), mode=mode)


@upsample_7.downgrade
def downgrade_7(op: Any, x: Value, /, *, scales: Sequence[float], mode: str) -> Any:
    """Types that the oldest lacks are cast to one that has all their values, which `nearest` keeps."""
    if len(scales) != 4 or tuple(scales[:2]) != (1, 1):
        raise UnsupportedError(f"the scales are {list(scales)}, before version 7 only the last two of four axes change")
    named: dict[str, Any] = {"height_scale": scales[2], "width_scale": scales[3]}
    named["mode"] = "bilinear" if mode == "linear" else mode
    dtype = dtype_of(x)
    if f"tensor({dtype.onnx_name})" in _OLDEST:
        return op.Upsample(x, **named)
    if mode != "nearest" or not dtype.is_integer or dtype is DType.UINT64:
        raise UnsupportedError(f"{dtype} came with version 7")
    return op.Cast(op.Upsample(op.Cast(x, to=int(DType.INT64)), **named), to=int(dtype))


@operator("Upsample", since=1)
def upsample_1(x: T1, /, *, height_scale: float, width_scale: float, mode: str = "nearest") -> T1:
    """The same of images, whose last two axes change."""
    raise superseded()


@upsample_1.upgrade
def upgrade_1(op: Any, x: Value, /, *, height_scale: float, width_scale: float, mode: str) -> Any:
    scales = np.asarray([1, 1, height_scale, width_scale], np.float32)
    return upgrade_9(op, x, scales, mode="linear" if mode == "bilinear" else mode)
