"""Operators on bytes that stand for real numbers: taken from their scale, computed with, quantised again."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import numpy as np

from ingot import prim
from ingot.dtypes import Array, DType
from ingot.errors import CheckError, ShapeError
from ingot.ir.types import TensorType
from ingot.ops.contrib.domain import BYTES, MICROSOFT, Scale, may_omit, scalar
from ingot.ops.contrib.meaning import meant, written
from ingot.ops.define import Heterogeneous, operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.linalg.byte_products import single
from ingot.ops.math.sigmoids import logistic
from ingot.ops.nn.precision import refuse_huge
from ingot.ops.quantization.rounding import codes_in_primitives, to_codes
from ingot.ops.shapes import axis_of, broadcast, same, unify
from ingot.ops.typesets import BOOL, FLOAT32, types

T: TypeAlias = Annotated[Array, types("T", BYTES)]
T8: TypeAlias = Annotated[Array, types("T8", BYTES)]
TF: TypeAlias = Annotated[Array, types("TF", FLOAT32)]
TV: TypeAlias = Annotated[Array, types("TV", BYTES | FLOAT32), Heterogeneous()]
B: TypeAlias = Annotated[Array, types("B", BOOL)]


@operator("QLinearAdd", since=1, domain=MICROSOFT)
def qlinear_add(
    a: T,
    a_scale: Scale,
    a_zero_point: T | None,
    b: T,
    b_scale: Scale,
    b_zero_point: T | None,
    c_scale: Scale,
    c_zero_point: T | None = None,
    /,
) -> T:
    """The sum of the numbers that `a` and `b` stand for, with broadcasting: in units of `c_scale`, as onnxruntime."""
    _fitting(a.shape, b.shape)
    unit = np.float32(scalar(c_scale, "a scale"))
    with np.errstate(all="ignore"):
        units = [np.asarray(np.float32(scalar(scale, "a scale")) / unit) for scale in (a_scale, b_scale)]
        total = real(a, units[0], a_zero_point) + real(b, units[1], b_zero_point)
    point = None if c_zero_point is None else scalar(c_zero_point, "a zero point")
    return to_codes(np.asarray(total), point, DType.of(a.dtype))


@operator("QLinearMul", since=1, domain=MICROSOFT)
def qlinear_mul(
    a: T,
    a_scale: Scale,
    a_zero_point: T | None,
    b: T,
    b_scale: Scale,
    b_zero_point: T | None,
    c_scale: Scale,
    c_zero_point: T | None = None,
    /,
) -> T:
    """The product of the numbers that `a` and `b` stand for, with broadcasting."""
    _fitting(a.shape, b.shape)
    product = real(a, a_scale, a_zero_point) * real(b, b_scale, b_zero_point)
    return codes(product, c_scale, c_zero_point, a.dtype)


@qlinear_add.infer
@qlinear_mul.infer
def infer_pair(a: Fact, a_scale: Fact, a_zero_point: Fact, b: Fact, /, *_: Fact) -> Inferred:
    dtype = a.dtype or b.dtype
    return None if dtype is None else TensorType(dtype, broadcast(a.shape, b.shape))


@operator("QLinearSigmoid", since=1, domain=MICROSOFT)
def qlinear_sigmoid(
    x: T, x_scale: Scale, x_zero_point: T | None, y_scale: Scale, y_zero_point: T | None = None, /
) -> T:
    """The sigmoid of the numbers that `x` stands for."""
    return codes(logistic(real(x, x_scale, x_zero_point)), y_scale, y_zero_point, x.dtype)


@operator("QLinearLeakyRelu", since=1, domain=MICROSOFT)
def qlinear_leaky_relu(
    x: T,
    x_scale: Scale,
    x_zero_point: T | None,
    y_scale: Scale,
    y_zero_point: T | None = None,
    /,
    *,
    alpha: float = 0.009999999776482582,
) -> T:
    """The numbers that `x` stands for, the negative ones times `alpha`."""
    values = real(x, x_scale, x_zero_point)
    return codes(np.where(values < 0, values.dtype.type(alpha) * values, values), y_scale, y_zero_point, x.dtype)


@operator("QLinearSoftmax", since=1, domain=MICROSOFT)
def qlinear_softmax(
    x: T,
    x_scale: Scale,
    x_zero_point: T | None,
    y_scale: Scale,
    y_zero_point: T,
    /,
    *,
    opset: int,
    axis: int = -1,
) -> T:
    """The softmax of the numbers that `x` stands for, along `axis`; before opset 13 over all axes from it on."""
    axis = axis_of(axis, x.ndim)
    values = real(x, x_scale, x_zero_point)
    axes = (axis,) if opset >= 13 else tuple(range(axis, x.ndim))
    exponentials = np.exp(values - values.max(axis=axes, keepdims=True, initial=-np.inf))
    return codes(exponentials / exponentials.sum(axis=axes, keepdims=True), y_scale, y_zero_point, x.dtype)


may_omit(qlinear_add, "a_zero_point", "b_zero_point")
may_omit(qlinear_mul, "a_zero_point", "b_zero_point")
for _operator in (qlinear_sigmoid, qlinear_leaky_relu, qlinear_softmax):
    may_omit(_operator, "x_zero_point")
qlinear_sigmoid.infer(same)
qlinear_leaky_relu.infer(same)


@qlinear_softmax.infer
def infer_softmax(x: Fact, /, *_: Fact, axis: int, opset: int) -> Inferred:
    if x.rank is not None:
        axis_of(axis, x.rank)
    return x.type


@operator("QLinearWhere", since=1, domain=MICROSOFT)
def qlinear_where(
    condition: B,
    x: T,
    x_scale: TF,
    x_zero_point: T,
    y: T,
    y_scale: TF,
    y_zero_point: T,
    z_scale: TF,
    z_zero_point: T,
    /,
) -> T:
    """What `x` stands for where the condition holds, else what `y` does, with broadcasting."""
    _fitting(condition.shape, x.shape, y.shape)
    one, other = (
        codes(real(*v), z_scale, z_zero_point, x.dtype)
        for v in ((x, x_scale, x_zero_point), (y, y_scale, y_zero_point))
    )
    return np.where(condition, one, other)


@qlinear_where.infer
def infer_where(condition: Fact, x: Fact, x_scale: Fact, x_zero_point: Fact, y: Fact, /, *_: Fact) -> Inferred:
    dtype = x.dtype or y.dtype
    return None if dtype is None else TensorType(dtype, broadcast(condition.shape, x.shape, y.shape))


@operator("QLinearConcat", since=1, domain=MICROSOFT)
def qlinear_concat(y_scale: TF, y_zero_point: T8, /, *inputs: TV, axis: int) -> T8:
    """Tensors, given with their scale and zero point each, brought to one scale and zero point and joined."""
    _check_triples(len(inputs))
    parts = [
        codes(real(*inputs[i : i + 3]), y_scale, y_zero_point, y_zero_point.dtype) for i in range(0, len(inputs), 3)
    ]
    place = axis_of(axis, parts[0].ndim)
    rest = {(part.ndim, *part.shape[:place], *part.shape[place + 1 :]) for part in parts}
    if len(rest) > 1:
        raise ShapeError(f"shapes {[list(part.shape) for part in parts]} differ beside axis {place}")
    return np.concatenate(parts, axis=place)


@qlinear_concat.infer
def infer_concat(y_scale: Fact, y_zero_point: Fact, /, *inputs: Fact, axis: int) -> Inferred:
    _check_triples(len(inputs))
    dtype = y_zero_point.dtype or inputs[0].dtype
    shapes = [x.shape for x in inputs[::3] if x.shape is not None]
    if dtype is None or not shapes:
        return None if dtype is None else TensorType(dtype)
    if len({len(shape) for shape in shapes}) > 1:
        raise ShapeError(f"inputs have different numbers of axes: {[len(shape) for shape in shapes]}")
    place = axis_of(axis, len(shapes[0]))
    result = list(shapes[0])
    for shape in shapes[1:]:
        result = [unify(a, b) if i != place else None for i, (a, b) in enumerate(zip(result, shape, strict=True))]
    sizes = [shape[place] for shape in shapes]
    known = len(shapes) == len(inputs) // 3 and all(size is not None for size in sizes)
    result[place] = sum((size for size in sizes if size is not None), start=0) if known else None
    return TensorType(dtype, tuple(result))


@qlinear_add.lower
def lower_add(
    a: prim.Tensor,
    a_scale: prim.Tensor,
    a_zero_point: prim.Tensor | None,
    b: prim.Tensor,
    b_scale: prim.Tensor,
    b_zero_point: prim.Tensor | None,
    c_scale: prim.Tensor,
    c_zero_point: prim.Tensor | None = None,
    /,
) -> prim.Tensor:
    unit = single(c_scale)
    total = meant(a, single(a_scale) / unit, a_zero_point) + meant(b, single(b_scale) / unit, b_zero_point)
    return codes_in_primitives(total, None if c_zero_point is None else single(c_zero_point), a.dtype)


@qlinear_mul.lower
def lower_mul(
    a: prim.Tensor,
    a_scale: prim.Tensor,
    a_zero_point: prim.Tensor | None,
    b: prim.Tensor,
    b_scale: prim.Tensor,
    b_zero_point: prim.Tensor | None,
    c_scale: prim.Tensor,
    c_zero_point: prim.Tensor | None = None,
    /,
) -> prim.Tensor:
    product = meant(a, a_scale, a_zero_point) * meant(b, b_scale, b_zero_point)
    return written(product, c_scale, c_zero_point, a.dtype)


@qlinear_sigmoid.lower
def lower_sigmoid(
    x: prim.Tensor,
    x_scale: prim.Tensor,
    x_zero_point: prim.Tensor | None,
    y_scale: prim.Tensor,
    y_zero_point: prim.Tensor | None = None,
    /,
) -> prim.Tensor:
    return written(prim.apply("sigmoid", meant(x, x_scale, x_zero_point)), y_scale, y_zero_point, x.dtype)


@qlinear_leaky_relu.lower
def lower_leaky_relu(
    x: prim.Tensor,
    x_scale: prim.Tensor,
    x_zero_point: prim.Tensor | None,
    y_scale: prim.Tensor,
    y_zero_point: prim.Tensor | None = None,
    /,
    *,
    alpha: float,
) -> prim.Tensor:
    values = meant(x, x_scale, x_zero_point)
    bent = prim.where(prim.apply("less", values, 0), values * alpha, values)
    return written(bent, y_scale, y_zero_point, x.dtype)


@qlinear_softmax.lower
def lower_softmax(
    x: prim.Tensor,
    x_scale: prim.Tensor,
    x_zero_point: prim.Tensor | None,
    y_scale: prim.Tensor,
    y_zero_point: prim.Tensor,
    /,
    *,
    opset: int,
    axis: int,
) -> prim.Tensor:
    axis = axis_of(axis, x.rank)
    axes = [axis] if opset >= 13 else range(axis, x.rank)
    values = meant(x, x_scale, x_zero_point)
    exponentials = prim.apply("exp", values - prim.reduce_("maximum", values, axes))
    return written(exponentials / prim.reduce_("add", exponentials, axes), y_scale, y_zero_point, x.dtype)


@qlinear_where.lower
def lower_where(
    condition: prim.Tensor,
    x: prim.Tensor,
    x_scale: prim.Tensor,
    x_zero_point: prim.Tensor,
    y: prim.Tensor,
    y_scale: prim.Tensor,
    y_zero_point: prim.Tensor,
    z_scale: prim.Tensor,
    z_zero_point: prim.Tensor,
    /,
) -> prim.Tensor:
    values = prim.where(condition, meant(x, x_scale, x_zero_point), meant(y, y_scale, y_zero_point))
    return written(values, z_scale, z_zero_point, x.dtype)


@qlinear_concat.lower
def lower_concat(y_scale: prim.Tensor, y_zero_point: prim.Tensor, /, *inputs: prim.Tensor, axis: int) -> prim.Tensor:
    parts = [
        written(meant(*inputs[i : i + 3]), y_scale, y_zero_point, y_zero_point.dtype) for i in range(0, len(inputs), 3)
    ]
    return prim.concat(parts, axis_of(axis, parts[0].rank))


def real(x: Array, scale: Array, zero_point: Array | None = None) -> Array:
    """What bytes stand for, in float32, as onnxruntime computes with them."""
    point = np.float32(0.0 if zero_point is None else scalar(zero_point, "a zero point"))
    return np.asarray((x.astype(np.float32) - point) * np.float32(scalar(scale, "a scale")))


def codes(values: Array, scale: Array, zero_point: Array | None, dtype: np.dtype[np.generic]) -> Array:
    """Real numbers as bytes, rounded half to even and saturated."""
    point = None if zero_point is None else scalar(zero_point, "a zero point")
    return to_codes(np.asarray(values / values.dtype.type(scalar(scale, "a scale"))), point, DType.of(dtype))


def _fitting(*shapes: tuple[int, ...]) -> None:
    """ShapeError or InputError if the shapes do not broadcast to one that fits into memory."""
    whole = broadcast(*shapes)
    refuse_huge([size for size in whole or () if isinstance(size, int)], np.dtype(np.float64))


def _check_triples(count: int) -> None:
    if not count or count % 3:
        raise CheckError(f"there are {count} inputs, expected tensor, scale and zero point for each")
