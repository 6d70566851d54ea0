"""RandomNormal and RandomUniform, and the same in the shape of a tensor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isfinite
from typing import Annotated, Any, TypeAlias

import numpy as np

from ingot.dtypes import Array, DType
from ingot.errors import CheckError
from ingot.ir.types import TensorType
from ingot.ir.value import Value
from ingot.ops.define import Runtime, operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.limit import affordable
from ingot.ops.older import dtype_of
from ingot.ops.tensor.carriers import carried_in
from ingot.ops.tensor.convert import convert, element_type
from ingot.ops.tensor.follow import tensor
from ingot.ops.typesets import ALL, ALL_3, FLOATS, FLOATS_3, types

T: TypeAlias = Annotated[Array, types("T", {1: FLOATS_3, 22: FLOATS})]
T1: TypeAlias = Annotated[Array, types("T1", {1: ALL_3, 22: ALL})]
T2: TypeAlias = Annotated[Array, types("T2", {1: FLOATS_3, 22: FLOATS})]

_DTYPES = (DType.FLOAT16, DType.FLOAT32, DType.FLOAT64, DType.BFLOAT16)


@operator("RandomNormal", since=(1, 22))
def random_normal(
    *,
    shape: Sequence[int],
    dtype: int = 1,
    mean: float = 0.0,
    scale: float = 1.0,
    seed: float | None = None,
    runtime: Runtime,
) -> T:
    """Numbers around `mean` from a normal distribution with standard deviation `scale`."""
    return _normal(runtime.generator(seed), shape, _target(dtype), mean, scale)


@operator("RandomNormalLike", since=(1, 22))
def random_normal_like(
    x: T1,
    /,
    *,
    dtype: int | None = None,
    mean: float = 0.0,
    scale: float = 1.0,
    seed: float | None = None,
    runtime: Runtime,
) -> T2:
    """The same in the shape of `x`, and in its type if none is numbered."""
    target = _target(DType.of(x.dtype) if dtype is None else dtype)
    return _normal(runtime.generator(seed), x.shape, target, mean, scale)


@operator("RandomUniform", since=(1, 22))
def random_uniform(
    *,
    shape: Sequence[int],
    dtype: int = 1,
    low: float = 0.0,
    high: float = 1.0,
    seed: float | None = None,
    runtime: Runtime,
) -> T:
    """Numbers from `low` to below `high`, all equally likely."""
    return _uniform(runtime.generator(seed), shape, _target(dtype), low, high)


@operator("RandomUniformLike", since=(1, 22))
def random_uniform_like(
    x: T1,
    /,
    *,
    dtype: int | None = None,
    low: float = 0.0,
    high: float = 1.0,
    seed: float | None = None,
    runtime: Runtime,
) -> T2:
    """The same in the shape of `x`, and in its type if none is numbered."""
    target = _target(DType.of(x.dtype) if dtype is None else dtype)
    return _uniform(runtime.generator(seed), x.shape, target, low, high)


@random_normal.infer
@random_uniform.infer
def infer(*, shape: Sequence[int], dtype: int, **_: object) -> Inferred:
    if any(size < 0 for size in shape):
        raise CheckError(f"a size is negative: {list(shape)}")
    return TensorType(_target(dtype), tuple(shape))


@random_normal_like.infer
@random_uniform_like.infer
def infer_like(x: Fact, /, *, dtype: int | None, **_: object) -> Inferred:
    if dtype is None and x.dtype is None:
        return None
    return tensor(_target(x.dtype if dtype is None else dtype), x.shape)  # type: ignore[arg-type]


@random_normal.downgrade
def downgrade_normal(op: Any, /, *, dtype: int, **attributes: Any) -> Any:
    return _drawn(op, dtype, lambda dtype: op.RandomNormal(dtype=dtype, **attributes))


@random_uniform.downgrade
def downgrade_uniform(op: Any, /, *, dtype: int, **attributes: Any) -> Any:
    return _drawn(op, dtype, lambda dtype: op.RandomUniform(dtype=dtype, **attributes))


@random_normal_like.downgrade
def downgrade_normal_like(op: Any, x: Value, /, *, dtype: int | None, version: int, **attributes: Any) -> Any:
    like = carried_in(op, x, ALL_3, version)
    return _drawn(op, dtype or int(dtype_of(x)), lambda dtype: op.RandomNormalLike(like, dtype=dtype, **attributes))


@random_uniform_like.downgrade
def downgrade_uniform_like(op: Any, x: Value, /, *, dtype: int | None, version: int, **attributes: Any) -> Any:
    like = carried_in(op, x, ALL_3, version)
    return _drawn(op, dtype or int(dtype_of(x)), lambda dtype: op.RandomUniformLike(like, dtype=dtype, **attributes))


def _drawn(op: Any, dtype: int, draw: Callable[[int], Any]) -> Any:
    """Numbers of a type; bfloat16, which came with version 22, is rounded from float32."""
    if dtype != DType.BFLOAT16:
        return draw(dtype)
    return op.Cast(draw(int(DType.FLOAT32)), to=dtype)


def _target(dtype: int) -> DType:
    target = element_type(dtype, "dtype")
    if target not in _DTYPES:
        raise CheckError(f"random numbers are floats, not {target}", hint="set attribute dtype")
    return target


def _normal(source: np.random.Generator, shape: Sequence[int], dtype: DType, mean: float, scale: float) -> Array:
    drawn = np.asarray(source.standard_normal(affordable(shape, np.float64)))
    return convert(drawn * scale + mean, dtype)


def _uniform(source: np.random.Generator, shape: Sequence[int], dtype: DType, low: float, high: float) -> Array:
    if not (isfinite(low) and isfinite(high) and low <= high):
        raise CheckError(f"the numbers are to be from {low} to {high}")
    drawn = np.asarray(source.random(affordable(shape, np.float64)))
    result = convert(drawn * (high - low) + low, dtype)
    if low == high:
        return result
    end = np.asarray(convert(np.array([high]), dtype))
    below = np.nextafter(end, np.asarray(convert(np.array([low]), dtype)))  # rounding may reach the end
    return np.where(result >= end, below, result).astype(dtype.numpy).reshape(tuple(shape))
