"""Floor, Ceil and Round: floats to whole floats; infinities and NaN stay."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

import numpy as np

from ingot.dtypes import Array, DType
from ingot.ir.value import Value
from ingot.ops.define import operator
from ingot.ops.math.elementwise import elementwise
from ingot.ops.math.legacy import consuming
from ingot.ops.math.precision import rounded
from ingot.ops.math.restated import in_type, number, restated
from ingot.ops.older import dtype_of
from ingot.ops.shapes import same
from ingot.ops.typesets import FLOATS, FLOATS_3, types

T: TypeAlias = Annotated[Array, types("T", {6: FLOATS_3, 13: FLOATS})]
T22: TypeAlias = Annotated[Array, types("T", {11: FLOATS_3, 22: FLOATS})]


@operator("Floor", since=(6, 13))
def floor(x: T, /) -> T:
    """The largest whole number that is not above `x`."""
    return rounded(np.floor, x)


@operator("Ceil", since=(6, 13))
def ceil(x: T, /) -> T:
    """The smallest whole number that is not below `x`."""
    return rounded(np.ceil, x)


@operator("Round", since=(11, 22))
def round_(x: T22, /) -> T22:
    """The nearest whole number; halves go to the even one."""
    return rounded(np.rint, x)


floor.infer(same)
ceil.infer(same)
round_.infer(same)

floor.lower(elementwise("floor"))
ceil.lower(elementwise("ceil"))
round_.lower(elementwise("round"))

floor.downgrade(restated("Floor"))
ceil.downgrade(restated("Ceil"))


@round_.downgrade
def downgrade_round(op: Any, x: Value, /, *, version: int) -> Any:
    if version >= 11:
        return in_type(op, DType.FLOAT32, op.Round, x)
    half = number(0.5, dtype_of(x))
    size = op.Abs(x)
    whole = op.Floor(size)
    rest = op.Sub(size, whole)
    halved = op.Mul(whole, half)
    is_odd = op.Greater(halved, op.Floor(halved))
    up = op.Or(op.Greater(rest, half), op.And(op.Not(op.Less(rest, half)), is_odd))
    return op.Mul(op.Add(whole, op.Cast(up, to=int(dtype_of(x)))), op.Sign(x))


floor_1 = consuming("Floor")
ceil_1 = consuming("Ceil")
