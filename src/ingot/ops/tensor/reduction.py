"""How scattered updates meet what is there, and each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ingot import prim
from ingot.dtypes import Array, DType
from ingot.errors import CheckError, InputError
from ingot.ir.types import TensorType
from ingot.ir.value import Value
from ingot.ops.facts import Fact
from ingot.ops.older import dtype_of, shape_of
from ingot.ops.tensor.moved import in_own_type

REDUCTIONS = ("none", "add", "mul", "max", "min")

_UFUNCS: dict[str, np.ufunc] = {"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}
_PRIMITIVES = {"add": "add", "mul": "multiply", "max": "maximum", "min": "minimum"}
_OPERATORS = {"add": "Add", "mul": "Mul", "max": "Max", "min": "Min"}


def scattered(data: Array, at: tuple[Any, ...], updates: Array, reduction: str) -> Array:
    """A copy of `data` with `updates` put in, or combined with what is there, at index `at`.

    Where an index comes twice, the last update is put in, and all are combined; 16-bit floats are rounded at the end.
    """
    check_reduction(reduction)
    if updates.dtype != data.dtype:
        raise InputError(f"updates are {updates.dtype}, data is {data.dtype}")
    if reduction == "none":
        result = data.copy()
        result[at] = updates
        return result
    if data.dtype == np.object_ or (data.dtype.kind == "c" and reduction in ("max", "min")):
        raise InputError(f"reduction '{reduction}' is not defined for this element type")
    narrow = data.dtype.itemsize == 2 and data.dtype.kind not in "iu"
    result = data.astype(np.float32) if narrow else data.copy()
    with np.errstate(all="ignore"):
        _UFUNCS[reduction].at(result, at, updates.astype(result.dtype))
        return result.astype(data.dtype)


def scattered_in_primitives(
    data: prim.Tensor, places: Sequence[prim.Tensor | int], updates: prim.Tensor, reduction: str, result: Fact
) -> prim.Tensor:
    """The same at computed places. Sums of 16-bit floats are taken in wider ones, what is put in is in its own type."""
    if reduction == "none":
        return prim.scatter(in_own_type(data, result), in_own_type(updates, result), places)
    if data.dtype is DType.BOOL:  # sums and products of truths are "or" and "and"
        reduction = {"add": "max", "mul": "min"}.get(reduction, reduction)
    if updates.dtype is not data.dtype:
        raise prim.Refused(f"updates of {updates.dtype} for {data.dtype}")
    return prim.scatter(data, updates, places, _PRIMITIVES[reduction])


def check_reduction(reduction: str) -> None:
    """CheckError unless there is such a reduction."""
    if reduction not in REDUCTIONS:
        raise CheckError(f"reduction is '{reduction}', expected one of {', '.join(REDUCTIONS)}")


def one_by_one(
    op: Any,
    pick: Callable[..., Any],
    put: Callable[..., Any],
    values: tuple[Value, Value, Any],
    *,
    axis: int,
    reduction: str,
) -> Any:
    """Combining updates as plain scatters: a Loop along `axis` of indices and updates, each step of which meets none.

    `values` are the data, the indices and the updates; `pick(data, indices)` gets what `put` puts in. 16-bit floats are
    rounded at the end.
    """
    data: Any
    data, indices, updates = values
    dtype = dtype_of(data)
    narrow = dtype in (DType.FLOAT16, DType.BFLOAT16)
    wide = TensorType(DType.FLOAT32 if narrow else dtype, shape_of(data))
    if narrow:
        data, updates = (op.Cast(each, to=int(DType.FLOAT32)) for each in (data, updates))
        data.value.type = wide
    combine = getattr(op, _OPERATORS[reduction])
    sizes = list(shape_of(indices))
    sizes[axis] = 1
    part = TensorType(dtype_of(indices), tuple(sizes))

    def step(index: Any, there: Any) -> Any:
        there.value.type = wide  # no step changes its shape
        at = op.Reshape(index, [1])
        where = op.Gather(indices, at, axis=axis)
        where.value.type = part
        new = op.Gather(updates, at, axis=axis)
        return put(there, where, combine(pick(there, where), new))

    count = op.Gather(op.Shape(indices), np.int64(axis), axis=0)
    result = op.Loop(count, None, data, body=step)
    return op.Cast(result, to=int(dtype)) if narrow else result
