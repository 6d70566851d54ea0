"""EyeLike: ones on a diagonal."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

import numpy as np

from ingot import prim
from ingot.dtypes import Array, DType
from ingot.errors import CheckError, ShapeError, UnsupportedError
from ingot.ir.value import Value
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.limit import affordable
from ingot.ops.older import dtype_of, shape_of
from ingot.ops.shapes import product, require_rank
from ingot.ops.tensor.carriers import carried_in, carrier
from ingot.ops.tensor.convert import element_type
from ingot.ops.tensor.follow import tensor
from ingot.ops.tensor.places import MOST_COUNTED
from ingot.ops.typesets import BOOL, NUMERIC, NUMERIC_3, name_of, types
from ingot.prim.functions import ELEMENTS

_TYPES = {9: NUMERIC_3 | BOOL, 22: NUMERIC | BOOL}
T1: TypeAlias = Annotated[Array, types("T1", _TYPES)]
T2: TypeAlias = Annotated[Array, types("T2", _TYPES)]


@operator("EyeLike", since=(9, 22))
def eye_like(x: T1, /, *, dtype: int | None = None, k: int = 0) -> T2:
    """A matrix of the shape of `x` with ones where the column is the row plus `k`, zeros elsewhere.

    It has the type numbered `dtype`, else that of `x`.
    """
    if x.ndim != 2:
        raise ShapeError(f"the input has {x.ndim} axes, expected 2")
    target = DType.of(x.dtype) if dtype is None else _target(dtype)
    rows, columns = affordable(x.shape, target.numpy)
    result = np.zeros((rows, columns), target.numpy)
    row = np.arange(max(-k, 0), max(min(rows, columns - k), 0))
    result[row, row + k] = np.ones((), target.numpy)
    return result


@eye_like.infer
def infer(x: Fact, /, *, dtype: int | None, k: int) -> Inferred:
    require_rank(x, 2, "the input")
    shape = (None, None) if x.shape is None else x.shape
    return tensor(x.dtype if dtype is None else _target(dtype), shape)


@eye_like.lower
def lower(x: prim.Tensor, /, *, dtype: int | None, k: int, inferred: tuple[Fact, ...]) -> prim.Tensor:
    if x.dtype not in ELEMENTS:
        raise prim.Refused("a matrix of unknown sizes")
    is_one = prim.apply("equal", prim.iota(x.shape, 1), prim.iota(x.shape, 0) + k)
    return prim.cast(is_one, inferred[0].dtype or x.dtype)


@eye_like.downgrade
def downgrade(op: Any, x: Value, /, *, dtype: int | None, k: int, version: int) -> Any:
    source = dtype_of(x)
    target = source if dtype is None else _target(dtype)
    if version >= eye_like.since[0]:
        like = carried_in(op, x, _TYPES[eye_like.since[0]], version)
        wide = carrier(target, _TYPES[eye_like.since[0]], version)
        matrix = op.EyeLike(like, dtype=int(wide), k=k)
        return matrix if wide is target else op.Cast(matrix, to=int(target))
    shape = shape_of(x)
    if not all(isinstance(size, int) for size in shape) or product(shape) > MOST_COUNTED:  # type: ignore[operator]
        raise UnsupportedError(f"a diagonal of shape [{', '.join(map(str, shape))}] cannot be written into the model")
    return op.Identity(np.eye(*shape, k=k).astype(target.numpy))  # type: ignore[call-overload]


def _target(number: int) -> DType:
    target = element_type(number, "dtype")
    if name_of(tensor(target, None)) not in _TYPES[22]:  # type: ignore[arg-type]
        raise CheckError(f"EyeLike makes no tensors of {target}")
    return target
