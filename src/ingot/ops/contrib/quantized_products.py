"""Products of quantised matrices whose result is a float, or quantised again."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import numpy as np

from ingot import prim
from ingot.dtypes import Array, DType
from ingot.errors import InputError, ShapeError
from ingot.ir.types import TensorType
from ingot.ops.contrib.domain import BYTES, HALF, MICROSOFT, Scale, last, require_vector, scalar
from ingot.ops.contrib.meaning import written
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.linalg.byte_products import exact_byte_product, is_single, known, single
from ingot.ops.linalg.limit import refuse_oversized
from ingot.ops.linalg.matmul import product_shape
from ingot.ops.quantization.dynamic import dynamic_quantize_linear
from ingot.ops.quantization.rounding import to_codes
from ingot.ops.shapes import broadcast, require_rank
from ingot.ops.typesets import FLOAT32, INT32, types

A8: TypeAlias = Annotated[Array, types("T1", BYTES)]
B8: TypeAlias = Annotated[Array, types("T2", BYTES)]
Float: TypeAlias = Annotated[Array, types("T3", FLOAT32 | HALF)]
Real: TypeAlias = Annotated[Array, types("T1", FLOAT32)]
TA: TypeAlias = Annotated[Array, types("TA", BYTES)]
TB: TypeAlias = Annotated[Array, types("TB", BYTES)]
TC: TypeAlias = Annotated[Array, types("TC", INT32)]
TYZ: TypeAlias = Annotated[Array, types("TYZ", BYTES)]
TY: TypeAlias = Annotated[Array, types("TY", FLOAT32 | BYTES)]


@operator("MatMulIntegerToFloat", since=1, domain=MICROSOFT)
def matmul_integer_to_float(
    a: A8,
    b: B8,
    a_scale: Float,
    b_scale: Float,
    a_zero_point: A8 | None = None,
    b_zero_point: B8 | None = None,
    bias: Float | None = None,
    /,
) -> Float:
    """The matrix product of what `a` and `b` stand for, each less its zero point times its scale, plus a bias.

    Scale and zero point of `b` are one, or one for each column. Sums are exact; the result is rounded once.
    """
    sums = exact_product(a, b, a_zero_point, b_zero_point)
    y = sums * (scalar(a_scale, "a_scale") * columns(b_scale, b, "b_scale"))
    return np.asarray(_with_bias(y, bias), a_scale.dtype)


@matmul_integer_to_float.infer
def infer_to_float(
    a: Fact,
    b: Fact,
    a_scale: Fact,
    b_scale: Fact,
    a_zero_point: Fact | None = None,
    b_zero_point: Fact | None = None,
    bias: Fact | None = None,
    /,
) -> Inferred:
    shape = product_shape(a.shape, b.shape)
    require_vector(bias, last(shape), "the bias")
    dtype = a_scale.dtype or b_scale.dtype
    return None if dtype is None else TensorType(dtype, shape)


@matmul_integer_to_float.lower
def lower_to_float(
    a: prim.Tensor,
    b: prim.Tensor,
    a_scale: prim.Tensor,
    b_scale: prim.Tensor,
    a_zero_point: prim.Tensor | None = None,
    b_zero_point: prim.Tensor | None = None,
    bias: prim.Tensor | None = None,
    /,
) -> prim.Tensor:
    sums = _sums(a, b, a_zero_point, b_zero_point)
    factor = prim.cast(single(a_scale), DType.FLOAT64) * prim.cast(_by_column(b_scale, b), DType.FLOAT64)
    y = prim.cast(sums, DType.FLOAT64) * known(factor)
    if bias is not None:
        y = y + prim.cast(prim.assume_shape(bias, y.shape[-1:]), DType.FLOAT64)
    return prim.cast(y, DType.FLOAT32)


@operator("DynamicQuantizeMatMul", since=1, domain=MICROSOFT)
def dynamic_quantize_matmul(
    a: Real, b: B8, b_scale: Real, b_zero_point: B8 | None = None, bias: Real | None = None, /
) -> Real:
    """The matrix product of `a`, quantised to uint8 by its own range, and what `b` stands for, plus a bias."""
    codes, scale, zero_point = dynamic_quantize_linear.evaluate(a)
    return np.asarray(
        matmul_integer_to_float.evaluate(codes, b, scale, b_scale, zero_point, b_zero_point, bias), np.float32
    )


@dynamic_quantize_matmul.infer
def infer_dynamic(
    a: Fact, b: Fact, b_scale: Fact, b_zero_point: Fact | None = None, bias: Fact | None = None, /
) -> Inferred:
    shape = product_shape(a.shape, b.shape)
    require_vector(bias, last(shape), "the bias")
    return TensorType(DType.FLOAT32, shape)


@dynamic_quantize_matmul.lower
def lower_dynamic(
    a: prim.Tensor,
    b: prim.Tensor,
    b_scale: prim.Tensor,
    b_zero_point: prim.Tensor | None = None,
    bias: prim.Tensor | None = None,
    /,
) -> prim.Tensor:
    if "lower" not in dynamic_quantize_linear.rules:
        raise prim.Refused("DynamicQuantizeLinear has no rule")
    codes, scale, zero_point = dynamic_quantize_linear.rules["lower"](a)
    y: prim.Tensor = lower_to_float(codes, b, scale, b_scale, zero_point, b_zero_point, bias)
    return y


@operator("QGemm", since=1, domain=MICROSOFT)
def qgemm(
    a: TA,
    a_scale: Scale,
    a_zero_point: TA,
    b: TB,
    b_scale: Scale,
    b_zero_point: TB,
    c: TC | None = None,
    y_scale: Scale | None = None,
    y_zero_point: TYZ | None = None,
    /,
    *,
    alpha: float = 1.0,
    transA: int = 0,  # noqa: N803
    transB: int = 0,  # noqa: N803
) -> TY:
    """`alpha * a_scale * b_scale` times the sum of `c` and the product of `a` and `b`, each less its zero point.

    The result is float32, or quantised with the scale and zero point of `y` where they are given.
    """
    if a.ndim != 2 or b.ndim != 2:
        raise ShapeError(f"a has {a.ndim} axes and b {b.ndim}, expected 2")
    left, right = a.T if transA else a, b.T if transB else b
    sums = exact_product(left, right, a_zero_point, b_zero_point)
    if c is not None:
        if broadcast(c.shape, sums.shape) != sums.shape:
            raise ShapeError(f"c has shape {list(c.shape)}, which does not broadcast to {list(sums.shape)}")
        sums = sums + c.astype(np.float64)
    y = sums * (alpha * scalar(a_scale, "a_scale") * columns(b_scale, right, "b_scale"))
    if y_scale is None or y_zero_point is None:
        if y_zero_point is not None:
            raise InputError("y_zero_point is given without y_scale")
        return np.asarray(y, np.float32)
    point = scalar(y_zero_point, "y_zero_point")
    return to_codes(np.asarray(y / scalar(y_scale, "y_scale")), point, DType.of(y_zero_point.dtype))


@qgemm.infer
def infer_qgemm(
    a: Fact,
    a_scale: Fact,
    a_zero_point: Fact,
    b: Fact,
    b_scale: Fact,
    b_zero_point: Fact,
    c: Fact | None = None,
    y_scale: Fact | None = None,
    y_zero_point: Fact | None = None,
    /,
    *,
    alpha: float,
    transA: int,  # noqa: N803
    transB: int,  # noqa: N803
) -> Inferred:
    require_rank(a, 2, "a")
    require_rank(b, 2, "b")
    left = a.shape[::-1] if a.shape and transA else a.shape
    right = b.shape[::-1] if b.shape and transB else b.shape
    shape = product_shape(left, right) or (None, None)
    if y_zero_point is None or not y_zero_point.present:
        return TensorType(DType.FLOAT32, shape)
    return None if y_zero_point.dtype is None else TensorType(y_zero_point.dtype, shape)


@qgemm.lower
def lower_qgemm(
    a: prim.Tensor,
    a_scale: prim.Tensor,
    a_zero_point: prim.Tensor,
    b: prim.Tensor,
    b_scale: prim.Tensor,
    b_zero_point: prim.Tensor,
    c: prim.Tensor | None = None,
    y_scale: prim.Tensor | None = None,
    y_zero_point: prim.Tensor | None = None,
    /,
    *,
    alpha: float,
    transA: int,  # noqa: N803
    transB: int,  # noqa: N803
) -> prim.Tensor:
    left = prim.permute(a, [1, 0]) if transA else a
    right = prim.permute(b, [1, 0]) if transB else b
    sums = prim.cast(_sums(left, right, a_zero_point, b_zero_point), DType.FLOAT64)
    if c is not None:
        sums = sums + prim.cast(c, DType.FLOAT64)
    scales = [prim.cast(each, DType.FLOAT64) for each in (single(a_scale), _by_column(b_scale, right))]
    y = sums * known(scales[0] * alpha * scales[1])
    if y_zero_point is None:
        return prim.cast(y, DType.FLOAT32)
    if y_scale is None:
        raise prim.Refused("a zero point without a scale")
    return written(y, y_scale, y_zero_point, y_zero_point.dtype)


def _sums(a: prim.Tensor, b: prim.Tensor, a_zero: prim.Tensor | None, b_zero: prim.Tensor | None) -> prim.Tensor:
    """The matrix product of bytes less their zero points, in integers that hold it."""
    point = None if a_zero is None else single(a_zero)
    points = None if b_zero is None else _by_column(b_zero, b)
    return exact_byte_product(a, b, point, points)


def _by_column(values: prim.Tensor, b: prim.Tensor) -> prim.Tensor:
    """One value, or one for each column of `b`, as which open sizes are taken."""
    if is_single(values):
        return single(values)
    return prim.assume_shape(values, b.shape[-1:] if values.rank == 1 else (*b.shape[:-2], 1, b.shape[-1]))


def exact_product(a: Array, b: Array, a_zero_point: Array | None, b_zero_point: Array | None) -> Array:
    """The matrix product of bytes less their zero points, in float64, which holds it exactly."""
    shape = product_shape(a.shape, b.shape)
    assert shape is not None
    refuse_oversized(shape, 8)
    left, right = a.astype(np.float64), b.astype(np.float64)
    if a_zero_point is not None:
        left = left - scalar(a_zero_point, "a_zero_point")
    if b_zero_point is not None:
        right = right - columns(b_zero_point, b, "b_zero_point")
    return np.asarray(np.matmul(left, right))


def columns(values: Array, b: Array, name: str) -> Array:
    """One value, or one for each column of `b`, in float64."""
    if values.size == 1:
        return values.reshape(()).astype(np.float64)
    expected = (*b.shape[:-2], 1, b.shape[-1])
    if values.shape not in ((b.shape[-1],), expected):
        raise ShapeError(f"{name} has shape {list(values.shape)}, expected one for each of {b.shape[-1]} columns")
    return values.astype(np.float64)


def _with_bias(y: Array, bias: Array | None) -> Array:
    if bias is None:
        return y
    if not y.ndim or bias.shape != y.shape[-1:]:
        raise ShapeError(f"the bias has shape {list(bias.shape)}, the product {list(y.shape)}")
    return np.asarray(y + bias.astype(np.float64))
