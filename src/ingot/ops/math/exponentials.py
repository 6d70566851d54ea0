"""Exp, Log, Sqrt and Reciprocal; outside of where they are defined they give NaN, at their poles infinities."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import numpy as np

from ingot import prim
from ingot.dtypes import Array
from ingot.ops.define import operator
from ingot.ops.math.elementwise import elementwise
from ingot.ops.math.legacy import consuming
from ingot.ops.math.precision import rounded
from ingot.ops.math.restated import restated
from ingot.ops.shapes import same
from ingot.ops.typesets import FLOATS, FLOATS_3, types

T: TypeAlias = Annotated[Array, types("T", {6: FLOATS_3, 13: FLOATS})]


@operator("Exp", since=(6, 13))
def exp(x: T, /) -> T:
    """*e* to the power of `x`."""
    return rounded(np.exp, x)


@operator("Log", since=(6, 13))
def log(x: T, /) -> T:
    """The natural logarithm."""
    return rounded(np.log, x)


@operator("Sqrt", since=(6, 13))
def sqrt(x: T, /) -> T:
    """The square root."""
    return rounded(np.sqrt, x)


@operator("Reciprocal", since=(6, 13))
def reciprocal(x: T, /) -> T:
    """One divided by `x`."""
    return rounded(np.reciprocal, x)


exp.infer(same)
log.infer(same)
sqrt.infer(same)
reciprocal.infer(same)

exp.lower(elementwise("exp"))
log.lower(elementwise("log"))
sqrt.lower(elementwise("sqrt"))


@reciprocal.lower
def lower_reciprocal(x: prim.Tensor, /) -> prim.Tensor:
    return 1 / x


exp.downgrade(restated("Exp"))
log.downgrade(restated("Log"))
sqrt.downgrade(restated("Sqrt"))
reciprocal.downgrade(restated("Reciprocal"))

exp_1 = consuming("Exp")
log_1 = consuming("Log")
sqrt_1 = consuming("Sqrt")
reciprocal_1 = consuming("Reciprocal")
