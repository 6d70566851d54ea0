"""Trigonometric and hyperbolic functions and their inverses; angles are in radians."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import numpy as np

from ingot.dtypes import Array
from ingot.ops.define import operator
from ingot.ops.math.legacy import consuming
from ingot.ops.math.precision import rounded
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

tanh_1 = consuming("Tanh")
