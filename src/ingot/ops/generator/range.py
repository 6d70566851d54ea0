"""Range: numbers from a start to before a limit, evenly spaced."""

from __future__ import annotations

from math import ceil, isfinite
from typing import Annotated, Any, TypeAlias

import numpy as np

from ingot import prim
from ingot.dims import Dim, maximum
from ingot.dtypes import Array, DType
from ingot.errors import CheckError, InputError, ShapeError
from ingot.ir.value import Value
from ingot.ops.define import Since, operator
from ingot.ops.facts import MOST_ELEMENTS, Fact, Inferred
from ingot.ops.limit import affordable
from ingot.ops.older import constant_of, dtype_of
from ingot.ops.tensor.computed import has_far
from ingot.ops.tensor.convert import convert, element_type
from ingot.ops.tensor.follow import followed, guarded, scalar
from ingot.ops.tensor.places import MOST_COUNTED, count_to, natural
from ingot.ops.typesets import FLOAT32, FLOAT64, FLOATS, INDICES, tensors, types
from ingot.prim.functions import FLOATING
from ingot.prim.tensor import SizeReader

_INTEGERS = INDICES | tensors(DType.INT16)
T: TypeAlias = Annotated[Array, types("T", {11: _INTEGERS | FLOAT32 | FLOAT64, 27: _INTEGERS | FLOATS})]

_STASHES: dict[int, type[np.floating[Any]]] = {int(DType.FLOAT32): np.float32, int(DType.FLOAT64): np.float64}


@operator("Range", since=(11, 27))
def range_(start: T, limit: T, delta: T, /, *, stash_type: Annotated[int, Since(27)] = 1) -> T:
    """`start`, `start + delta`, and so on up to before `limit`.

    16-bit floats are computed in the type numbered `stash_type`, float32 or float64, others in float64; all are rounded
    once.
    """
    for name, x in (("start", start), ("limit", limit), ("delta", delta)):
        if x.size != 1 or x.ndim > 1:
            raise ShapeError(f"{name} has shape {list(x.shape)}, expected a single number")
    dtype = start.dtype
    if dtype.kind in "iu":
        first, last, step = (int(x.reshape(-1)[0]) for x in (start, limit, delta))
        if step == 0:
            raise InputError("delta is 0")
        count = max(-((first - last) // step), 0)
        affordable((count,), dtype)
        return (first + np.arange(count, dtype=np.int64) * step).astype(dtype)
    return _floats(start, limit, delta, stash_type)


@range_.infer
def infer(start: Fact, limit: Fact, delta: Fact, /, *, stash_type: int) -> Inferred:
    dtype = next((x.dtype for x in (start, limit, delta) if x.dtype is not None), None)
    if dtype is not None and dtype.is_float:
        return followed(dtype, (_constant_count(start, limit, delta),), lambda: None)
    first, last, step = scalar(start), scalar(limit), scalar(delta)
    if step == 0:
        raise CheckError("delta is 0")
    count = guarded(lambda: _count(first, last, step))

    def numbers() -> Array | None:
        if not isinstance(count, int) or count > MOST_ELEMENTS or first is None or step is None:
            return None
        result = np.empty(count, np.object_)
        result[:] = [first + index * step for index in range(count)]
        return result

    return followed(dtype, (count,), numbers)


@range_.lower
def lower(
    start: prim.Tensor,
    limit: prim.Tensor,
    delta: prim.Tensor,
    /,
    *,
    stash_type: int,
    facts: tuple[Fact, ...],
    inferred: tuple[Fact, ...],
    read: SizeReader,
) -> prim.Tensor:
    dtype = inferred[0].dtype
    if dtype is None or dtype.is_integer:
        count, wide = guarded(lambda: _count(*map(scalar, facts))), DType.INT64
    else:
        count = _constant_count(*facts)
        wide = element_type(stash_type, "stash_type") if dtype.bits == 16 else DType.FLOAT64
        if dtype.bits == 16 and stash_type not in _STASHES:
            raise prim.Refused(f"numbers computed in {wide}")
    if count is None:
        (count,) = read(_counted(start, limit, delta))
    first, step = (prim.cast(prim.reshape(each, ()), wide) for each in (start, delta))
    return first + prim.cast(prim.iota((count,), 0), wide) * step


def _counted(start: prim.Tensor, limit: prim.Tensor, delta: prim.Tensor) -> prim.Tensor:
    """How many numbers there are, as int64 of one axis; -1 where there is no such range."""
    wide = DType.FLOAT64 if start.dtype in FLOATING else DType.INT64
    first, last, step = (prim.reshape(prim.cast(x, wide), (1,)) for x in (start, limit, delta))
    if wide is DType.INT64:
        forwards = prim.apply("less", 0, step)
        ahead = prim.where(forwards, last - first, first - last)
        stride = prim.apply("absolute", step)
        steps = prim.where(prim.apply("less", 0, ahead), (ahead - 1) / prim.apply("maximum", stride, 1) + 1, 0)
        is_far = has_far(prim.concat([first, last, step], 0))
        is_range = prim.apply("and", prim.apply("not_equal", step, 0), prim.apply("not", is_far))
    else:
        length = prim.apply("ceil", (last - first) / step)
        is_range = prim.apply("less", prim.apply("absolute", length), float(_MOST_COUNT))
        steps = prim.cast(prim.where(is_range, prim.apply("maximum", length, 0.0), 0.0), DType.INT64)
    return prim.where(is_range, steps, -1)


_MOST_COUNT = 1 << 62
"""More elements than a run can have, which a float still counts exactly."""


@range_.downgrade
def downgrade(op: Any, start: Value, limit: Value, delta: Value, /, *, stash_type: int, version: int) -> Any:
    """The start and so many steps: counted, or written into the model where all three are constants."""
    dtype = dtype_of(start)
    known = [constant_of(value) for value in (start, limit, delta)]
    if all(each is not None for each in known):
        numbers = range_.evaluate(*known, stash_type=stash_type)
        if numbers.size <= MOST_COUNTED:
            return op.Identity(numbers)
    if dtype is DType.INT64 and known[0] == 0 and known[2] == 1:
        return count_to(op, natural(op, op.Reshape(limit, [1])), version)
    if dtype.is_integer:
        wide = DType.INT64
    elif dtype.bits == 16:
        wide = element_type(stash_type, "stash_type")
    else:
        wide = DType.FLOAT64
    first, step = (op.Cast(op.Reshape(value, [1]), to=int(wide)) for value in (start, delta))
    steps = op.Cast(count_to(op, _steps(op, start, limit, delta, dtype), version), to=int(wide))
    return op.Cast(op.Add(first, op.Mul(steps, step)), to=int(dtype))


def _steps(op: Any, start: Value, limit: Value, delta: Value, dtype: DType) -> Any:
    """How many there are, as int64."""
    wide = DType.INT64 if dtype.is_integer else DType.FLOAT64
    first, last, step = (op.Cast(op.Reshape(value, [1]), to=int(wide)) for value in (start, limit, delta))
    way = op.Sub(last, first)
    if dtype.is_integer:
        count = op.Div(op.Sub(op.Add(way, step), op.Sign(step)), step)
    else:
        count = op.Cast(op.Ceil(op.Div(way, step)), to=int(DType.INT64))
    return natural(op, count)


def _floats(start: Array, limit: Array, delta: Array, stash_type: int) -> Array:
    first, last, step = (float(x.reshape(-1)[0]) for x in (start, limit, delta))
    if not step or not (isfinite(first) and isfinite(last) and isfinite(step)):
        raise InputError(f"there is no range from {first} to {last} in steps of {step}")
    length = (last - first) / step
    count = max(ceil(length), 0) if isfinite(length) else 2**62
    affordable((count,), np.float64)
    wide: type[np.floating[Any]] = np.float64
    if start.dtype.itemsize == 2:
        if stash_type not in _STASHES:
            raise CheckError(f"stash_type is {stash_type}, expected 1 (float32) or 11 (float64)")
        wide = _STASHES[stash_type]
    values = wide(first) + np.arange(count).astype(wide) * wide(step)
    return convert(values, DType.of(start.dtype))


def _count(first: Dim | None, last: Dim | None, step: Dim | None) -> Dim | None:
    if first is None or last is None or not isinstance(step, int):
        return None
    way = last - first if step > 0 else first - last
    return maximum((way + abs(step) - 1) // abs(step), 0)


def _constant_count(start: Fact, limit: Fact, delta: Fact) -> int | None:
    """How many floats, where the inputs are constants."""
    constants = [x.constant for x in (start, limit, delta)]
    if any(tensor is None or not tensor.is_loaded or tensor.size != 1 for tensor in constants):
        return None
    first, last, step = (float(tensor.numpy().reshape(-1)[0]) for tensor in constants if tensor is not None)
    if not step or not all(map(isfinite, (first, last, step, (last - first) / step))):
        return None
    return max(ceil((last - first) / step), 0)
