"""Affine, Crop, DynamicSlice, ImageScaler, ParametricSoftplus, Scale and ScaledTanh: experiments of the first opsets.

The standard dropped them early; onnxruntime has kept them in its domain, and converters of that time wrote them. They
are upgraded to the operators of today.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, TypeAlias

import numpy as np

from ingot.dtypes import Array
from ingot.errors import CheckError
from ingot.ir.value import Value
from ingot.ops.define import operator, superseded
from ingot.ops.shapes import same
from ingot.ops.typesets import ALL_3, FLOATS_3, INDICES, types

T: TypeAlias = Annotated[Array, types("T", FLOATS_3)]
TSlice: TypeAlias = Annotated[Array, types("T", ALL_3)]
Places: TypeAlias = Annotated[Array, types("Tind", INDICES)]

_END = np.iinfo(np.int64).max


@operator("Affine", since=1, deprecated=True)
def affine(x: T, /, *, alpha: float = 1.0, beta: float = 0.0) -> T:
    """`alpha * x + beta`."""
    raise superseded()


@affine.upgrade
def upgrade_affine(op: Any, x: Value, /, *, alpha: float, beta: float) -> Any:
    return op.Add(op.Mul(x, _like(op, alpha, x)), _like(op, beta, x))


@operator("Crop", since=1, deprecated=True)
def crop(x: T, /, *, border: Sequence[int] | None = None, scale: Sequence[int] | None = None) -> T:
    """Images without `border` pixels left, on top, right and below, or `scale` (height, width) from there on."""
    raise superseded()


@crop.upgrade
def upgrade_crop(op: Any, x: Value, /, *, border: Sequence[int] | None, scale: Sequence[int] | None) -> Any:
    if border is None or len(border) != 4 or min(border) < 0 or (scale and len(scale) != 2):
        raise CheckError(f"border is {border} and scale {scale}, expected four sizes, and two or none")
    left, top, right, bottom = border
    ends = [top + scale[0], left + scale[1]] if scale else [-bottom or _END, -right or _END]
    return op.Slice(x, [top, left], ends, [2, 3])


@operator("DynamicSlice", since=1, deprecated=True)
def dynamic_slice(data: TSlice, starts: Places, ends: Places, axes: Places | None = None, /) -> TSlice:
    """Slice, which it became."""
    raise superseded()


@dynamic_slice.upgrade
def upgrade_slice(op: Any, data: Value, starts: Value, ends: Value, axes: Value | None = None, /) -> Any:
    return op.Slice(data, starts, ends) if axes is None else op.Slice(data, starts, ends, axes)


@operator("ImageScaler", since=1, deprecated=True)
def image_scaler(x: T, /, *, bias: Sequence[float] | None = None, scale: float = 1.0) -> T:
    """`x * scale`, plus a bias for each channel."""
    raise superseded()


@image_scaler.upgrade
def upgrade_image_scaler(op: Any, x: Value, /, *, bias: Sequence[float] | None, scale: float) -> Any:
    if bias is None:
        raise CheckError("ImageScaler needs a bias for each channel")
    shift = np.asarray(bias, np.float32).reshape(-1, 1, 1)
    return op.Add(op.Mul(x, _like(op, scale, x)), op.CastLike(shift, x))


@operator("ParametricSoftplus", since=1, deprecated=True)
def parametric_softplus(x: T, /, *, alpha: float | None = None, beta: float | None = None) -> T:
    """`alpha * log(exp(beta * x) + 1)`."""
    raise superseded()


@parametric_softplus.upgrade
def upgrade_parametric_softplus(op: Any, x: Value, /, *, alpha: float | None, beta: float | None) -> Any:
    factors = _factors(alpha, beta)
    return op.Mul(op.Softplus(op.Mul(x, _like(op, factors[1], x))), _like(op, factors[0], x))


@operator("Scale", since=1, deprecated=True)
def scale(x: T, /, *, scale: float = 1.0) -> T:
    """`x * scale`."""
    raise superseded()


@scale.upgrade
def upgrade_scale(op: Any, x: Value, /, *, scale: float) -> Any:
    return op.Mul(x, _like(op, scale, x))


@operator("ScaledTanh", since=1, deprecated=True)
def scaled_tanh(x: T, /, *, alpha: float | None = None, beta: float | None = None) -> T:
    """`alpha * tanh(beta * x)`."""
    raise superseded()


@scaled_tanh.upgrade
def upgrade_scaled_tanh(op: Any, x: Value, /, *, alpha: float | None, beta: float | None) -> Any:
    factors = _factors(alpha, beta)
    return op.Mul(op.Tanh(op.Mul(x, _like(op, factors[1], x))), _like(op, factors[0], x))


affine.infer(same)
image_scaler.infer(same)
parametric_softplus.infer(same)
scale.infer(same)
scaled_tanh.infer(same)


def _like(op: Any, number: float, x: Value) -> Any:
    return op.CastLike(np.float32(number), x)


def _factors(alpha: float | None, beta: float | None) -> tuple[float, float]:
    if alpha is None or beta is None:
        raise CheckError("alpha and beta are needed")
    return alpha, beta
