"""Relu and its kin: straight lines with a bend at zero, or at a threshold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, TypeAlias

import numpy as np

from ingot import dims, prim
from ingot.dtypes import Array
from ingot.errors import ShapeError, UnsupportedError
from ingot.ir.types import TensorType
from ingot.ir.value import Value
from ingot.ops import shapes
from ingot.ops.define import operator, superseded
from ingot.ops.facts import Fact, Inferred
from ingot.ops.math.following import followed
from ingot.ops.math.legacy import aligned, consuming
from ingot.ops.math.one_way import one_way
from ingot.ops.math.operands import common_dtype, require_alike
from ingot.ops.math.precision import narrowed, rounded
from ingot.ops.math.restated import in_float32, number, restated, wide_float
from ingot.ops.older import constant_of, dtype_of, shape_of
from ingot.ops.typesets import FLOATS, FLOATS_3, SIGNED, WIDE, WIDE_3, types

T: TypeAlias = Annotated[Array, types("T", {6: FLOATS_3, 13: FLOATS, 14: FLOATS | SIGNED})]
TLeaky: TypeAlias = Annotated[Array, types("T", {6: FLOATS_3, 16: FLOATS})]
TThresholded: TypeAlias = Annotated[Array, types("T", {10: FLOATS_3, 22: FLOATS})]
TSlope: TypeAlias = Annotated[Array, types("T", {7: FLOATS_3, 9: WIDE_3, 16: WIDE})]
T1: TypeAlias = Annotated[Array, types("T", FLOATS_3)]


@operator("Relu", since=(6, 13, 14))
def relu(x: T, /) -> T:
    """`x` where it is above zero, else zero; NaN stays."""
    return narrowed(np.maximum(x, np.zeros((), x.dtype)), x.dtype)


@relu.infer
def infer_relu(x: Fact, /) -> Inferred:
    return followed(x.dtype, lambda size: dims.maximum(size, 0), x)


@operator("LeakyRelu", since=(6, 16))
def leaky_relu(x: TLeaky, /, *, alpha: float = 0.01) -> TLeaky:
    """`alpha * x` where `x` is below zero, else `x`."""
    return rounded(lambda x: np.where(x < 0, alpha * x, x), x)


@operator("ThresholdedRelu", since=(10, 22))
def thresholded_relu(x: TThresholded, /, *, alpha: float = 1.0) -> TThresholded:
    """`x` where it is above `alpha`, else zero."""
    return rounded(lambda x: np.where(x > alpha, x, 0), x)


leaky_relu.infer(shapes.same)
thresholded_relu.infer(shapes.same)


@operator("PRelu", since=(7, 9, 16))
def prelu(x: TSlope, slope: TSlope, /) -> TSlope:
    """`slope * x` where `x` is below zero, else `x`; `slope` is broadcast to the shape of `x`."""
    _require_one_way(x.shape, slope.shape)
    require_alike(x, slope)
    return rounded(lambda x, slope: np.where(x < 0, slope * x, x), x, slope)


@prelu.infer
def infer_prelu(x: Fact, slope: Fact, /) -> Inferred:
    dtype = common_dtype(x, slope)
    if x.shape is not None and slope.shape is not None:
        _require_one_way(x.shape, slope.shape)
        shapes.broadcast(x.shape, slope.shape)
    return None if dtype is None else TensorType(dtype, x.shape)


def _require_one_way(shape: Sequence[object], slope: Sequence[object]) -> None:
    """ShapeError if the slope would enlarge the result."""
    ahead = len(slope) - len(shape)
    larger = any(size == 1 and isinstance(other, int) and other != 1 for size, other in _from_the_back(shape, slope))
    if ahead > 0 or larger:
        raise ShapeError(f"a slope of shape {[*slope]} does not broadcast to {[*shape]}")


def _from_the_back(a: Sequence[object], b: Sequence[object]) -> list[tuple[object, object]]:
    return list(zip(reversed(a), reversed(b), strict=False))


@relu.lower
def lower_relu(x: prim.Tensor, /) -> prim.Tensor:
    return prim.apply("maximum", x, 0)


@leaky_relu.lower
def lower_leaky_relu(x: prim.Tensor, /, *, alpha: float) -> prim.Tensor:
    return prim.where(prim.apply("less", x, 0), alpha * x, x)


@thresholded_relu.lower
def lower_thresholded_relu(x: prim.Tensor, /, *, alpha: float) -> prim.Tensor:
    return prim.where(prim.apply("less", alpha, x), x, 0)


@prelu.lower
def lower_prelu(x: prim.Tensor, slope: prim.Tensor, /) -> prim.Tensor:
    return prim.where(prim.apply("less", x, 0), slope * x, x)


leaky_relu.downgrade(restated("LeakyRelu"))


@relu.downgrade
def downgrade_relu(op: Any, x: Value, /, *, version: int) -> Any:
    if version == 13 and dtype_of(x).is_integer:
        return op.Max(x, number(0, dtype_of(x)))
    return op.Relu(x)


@thresholded_relu.downgrade
def downgrade_thresholded_relu(op: Any, x: Value, /, *, alpha: float, version: int) -> Any:
    if version >= 10:
        return in_float32(op, lambda x: op.ThresholdedRelu(x, alpha=alpha), x)
    dtype = wide_float(dtype_of(x))
    return in_float32(op, lambda x: op.Where(op.Greater(x, number(alpha, dtype)), x, number(0, dtype)), x)


@prelu.downgrade
def downgrade_prelu(op: Any, x: Value, slope: Value, /, *, version: int) -> Any:
    if version >= 9:
        return restated("PRelu")(op, x, slope, version=version)
    if version >= 7:
        return op.PRelu(x, slope)
    shape, steep = shape_of(x), shape_of(slope)
    channels = len(steep) - len(shape) + 1
    if all(size == 1 for size in steep):
        return op.PRelu(x, slope if len(steep) == 1 else op.Reshape(slope, [1]))
    if len(shape) > 1 and channels >= 0 and all(size == 1 for axis, size in enumerate(steep) if axis != channels):
        return op.PRelu(x, slope if len(steep) == 1 else op.Reshape(slope, [-1]))
    constant = constant_of(slope)
    if constant is None or not np.isfinite(constant).all():
        raise UnsupportedError(f"the slope, '{slope.name}', is neither one number nor one for each channel")
    below = one_way(op, x, slope, lambda x, slope, **how: op.Mul(op.Relu(op.Neg(x)), slope, **how))
    return op.Sub(op.Relu(x), below)


relu_1 = consuming("Relu")


@operator("LeakyRelu", since=1)
def leaky_relu_1(x: T1, /, *, alpha: float = 0.01, consumed_inputs: Sequence[int] | None = None) -> T1:
    """The same, of the floats of old."""
    raise superseded()


@leaky_relu_1.upgrade
def upgrade_leaky_relu(op: Any, x: Value, /, *, alpha: float, **_: object) -> Any:
    return op.LeakyRelu(x, alpha=alpha)


@operator("PRelu", since=6)
def prelu_6(x: T1, slope: T1, /) -> T1:
    """The same, where a slope of one axis has an element for each channel, which axis 1 of `x` counts."""
    raise superseded()


prelu_6.downgrade(restated("PRelu"))


@operator("PRelu", since=1)
def prelu_1(x: T1, slope: T1, /, *, consumed_inputs: Sequence[int] | None = None) -> T1:
    """The same."""
    raise superseded()


@prelu_6.upgrade
@prelu_1.upgrade
def upgrade_prelu(op: Any, x: Value, slope: Value, /, **_: object) -> Any:
    return op.PRelu(x, aligned(op, x, slope, 1, True))
