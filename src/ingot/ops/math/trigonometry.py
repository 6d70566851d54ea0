"""Trigonometric and hyperbolic functions and their inverses; angles are in radians."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

import numpy as np

from ingot.dtypes import Array, DType
from ingot.ir.value import Value
from ingot.ops.define import operator
from ingot.ops.math.elementwise import elementwise
from ingot.ops.math.legacy import consuming
from ingot.ops.math.precision import rounded
from ingot.ops.math.restated import in_float32, number, restated, wide_float
from ingot.ops.older import dtype_of
from ingot.ops.shapes import same
from ingot.ops.typesets import FLOATS, FLOATS_3, types

T: TypeAlias = Annotated[Array, types("T", {7: FLOATS_3, 22: FLOATS})]
T13: TypeAlias = Annotated[Array, types("T", {6: FLOATS_3, 13: FLOATS})]


@operator("Sin", since=(7, 22))
def sin(x: T, /) -> T:
    """The sine."""
    return rounded(np.sin, x)


@operator("Cos", since=(7, 22))
def cos(x: T, /) -> T:
    """The cosine."""
    return rounded(np.cos, x)


@operator("Tan", since=(7, 22))
def tan(x: T, /) -> T:
    """The tangent."""
    return rounded(np.tan, x)


@operator("Asin", since=(7, 22))
def asin(x: T, /) -> T:
    """The angle between -pi/2 and pi/2 of this sine; NaN outside of -1 to 1."""
    return rounded(np.arcsin, x)


@operator("Acos", since=(7, 22))
def acos(x: T, /) -> T:
    """The angle between 0 and pi of this cosine; NaN outside of -1 to 1."""
    return rounded(np.arccos, x)


@operator("Atan", since=(7, 22))
def atan(x: T, /) -> T:
    """The angle between -pi/2 and pi/2 of this tangent."""
    return rounded(np.arctan, x)


@operator("Sinh", since=(9, 22))
def sinh(x: T, /) -> T:
    """The hyperbolic sine."""
    return rounded(np.sinh, x)


@operator("Cosh", since=(9, 22))
def cosh(x: T, /) -> T:
    """The hyperbolic cosine."""
    return rounded(np.cosh, x)


@operator("Tanh", since=(6, 13))
def tanh(x: T13, /) -> T13:
    """The hyperbolic tangent."""
    return rounded(np.tanh, x)


@operator("Asinh", since=(9, 22))
def asinh(x: T, /) -> T:
    """The number of this hyperbolic sine."""
    return rounded(np.arcsinh, x)


@operator("Acosh", since=(9, 22))
def acosh(x: T, /) -> T:
    """The number, not negative, of this hyperbolic cosine; NaN below 1."""
    return rounded(np.arccosh, x)


@operator("Atanh", since=(9, 22))
def atanh(x: T, /) -> T:
    """The number of this hyperbolic tangent; NaN outside of -1 to 1."""
    return rounded(np.arctanh, x)


sin.infer(same)
cos.infer(same)
tan.infer(same)
asin.infer(same)
acos.infer(same)
atan.infer(same)
sinh.infer(same)
cosh.infer(same)
tanh.infer(same)
asinh.infer(same)
acosh.infer(same)
atanh.infer(same)

sin.lower(elementwise("sin"))
cos.lower(elementwise("cos"))
tan.lower(elementwise("tan"))
asin.lower(elementwise("asin"))
acos.lower(elementwise("acos"))
atan.lower(elementwise("atan"))
sinh.lower(elementwise("sinh"))
cosh.lower(elementwise("cosh"))
tanh.lower(elementwise("tanh"))
asinh.lower(elementwise("asinh"))
acosh.lower(elementwise("acosh"))
atanh.lower(elementwise("atanh"))

sin.downgrade(restated("Sin"))
cos.downgrade(restated("Cos"))
tan.downgrade(restated("Tan"))
asin.downgrade(restated("Asin"))
acos.downgrade(restated("Acos"))
atan.downgrade(restated("Atan"))
tanh.downgrade(restated("Tanh"))
asinh.downgrade(restated("Asinh"))
acosh.downgrade(restated("Acosh"))
atanh.downgrade(restated("Atanh"))


@cosh.downgrade
def downgrade_cosh(op: Any, x: Value, /, *, version: int) -> Any:
    if version >= 9:
        return in_float32(op, op.Cosh, x)
    dtype = wide_float(dtype_of(x))
    return in_float32(op, lambda x: _cosh(op, x, dtype), x)


@sinh.downgrade
def downgrade_sinh(op: Any, x: Value, /, *, version: int) -> Any:
    if version >= 9:
        return in_float32(op, op.Sinh, x)
    dtype = wide_float(dtype_of(x))
    return in_float32(op, lambda x: op.Mul(op.Tanh(x), _cosh(op, x, dtype)), x)


def _cosh(op: Any, x: Any, dtype: DType) -> Any:
    """The hyperbolic cosine from roots of the exponential, which do not overflow before it does."""
    half = number(0.5, dtype)
    root = op.Exp(op.Mul(op.Abs(x), half))
    return op.Add(op.Mul(op.Mul(root, half), root), op.Mul(op.Reciprocal(op.Mul(root, root)), half))


tanh_1 = consuming("Tanh")
