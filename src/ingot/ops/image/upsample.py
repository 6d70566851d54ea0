"""Upsample: what Resize was called before opset 10."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, TypeAlias

import numpy as np

from ingot.dtypes import Array
from ingot.errors import CheckError
from ingot.ir.value import Value
from ingot.ops.define import operator, superseded
from ingot.ops.typesets import ALL_3, BOOL, FLOAT32, FLOATS_3, INDICES, types

T: TypeAlias = Annotated[Array, types("T", ALL_3)]
T1: TypeAlias = Annotated[Array, types("T", FLOATS_3 | INDICES | BOOL)]
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


@operator("Upsample", since=7)
def upsample_7(x: T, /, *, scales: Sequence[float], mode: str = "nearest") -> T:
    """The same with the scales in an attribute."""
    raise superseded()


@upsample_7.upgrade
def upgrade_7(op: Any, x: Value, /, *, scales: Sequence[float], mode: str) -> Any:
    return upgrade_9(op, x, np.asarray(scales, np.float32), mode=mode)


@operator("Upsample", since=1)
def upsample_1(x: T1, /, *, height_scale: float, width_scale: float, mode: str = "nearest") -> T1:
    """The same of images, whose last two axes change."""
    raise superseded()


@upsample_1.upgrade
def upgrade_1(op: Any, x: Value, /, *, height_scale: float, width_scale: float, mode: str) -> Any:
    scales = np.asarray([1, 1, height_scale, width_scale], np.float32)
    return upgrade_9(op, x, scales, mode="linear" if mode == "bilinear" else mode)
