"""RandomNormal and RandomUniform, and the same in the shape of a tensor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isfinite
from typing import Annotated, Any, TypeAlias

import numpy as np

from ingot import prim
from ingot.dtypes import Array, DType
from ingot.errors import CheckError
from ingot.ir.types import TensorType
from ingot.ir.value import Value
from ingot.ops.define import Runtime, operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.generator.counter import lowered_normal, lowered_uniform, normal, uniform
from ingot.ops.limit import affordable
from ingot.ops.older import dtype_of
from ingot.ops.tensor.carriers import carried_in
from ingot.ops.tensor.convert import convert, element_type
from ingot.ops.tensor.follow import tensor
from ingot.ops.typesets import ALL, ALL_3, FLOATS, FLOATS_3, types
from ingot.prim.tensor import KeyReader

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
    return _normal(runtime.key(seed), shape, _target(dtype), mean, scale)


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
    return _normal(runtime.key(seed), x.shape, target, mean, scale)


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
    return _uniform(runtime.key(seed), shape, _target(dtype), low, high)


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
    return _uniform(runtime.key(seed), x.shape, target, low, high)


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


@random_normal.lower
def lower_normal(
    *, shape: Sequence[int], dtype: int, seed: float | None, draw: KeyReader, **range_: float
) -> prim.Tensor:
    return _normal_in_primitives(draw(seed), tuple(shape), _target(dtype), **range_)


@random_normal_like.lower
def lower_normal_like(
    x: prim.Tensor,
    /,
    *,
    dtype: int | None,
    seed: float | None,
    inferred: tuple[Fact, ...],
    draw: KeyReader,
    **range_: float,
) -> prim.Tensor:
    return _normal_in_primitives(draw(seed), x.shape, _inferred(inferred), **range_)


@random_uniform.lower
def lower_uniform(
    *, shape: Sequence[int], dtype: int, seed: float | None, draw: KeyReader, **range_: float
) -> prim.Tensor:
    return _uniform_in_primitives(draw(seed), tuple(shape), _target(dtype), **range_)


@random_uniform_like.lower
def lower_uniform_like(
    x: prim.Tensor,
    /,
    *,
    dtype: int | None,
    seed: float | None,
    inferred: tuple[Fact, ...],
    draw: KeyReader,
    **range_: float,
) -> prim.Tensor:
    return _uniform_in_primitives(draw(seed), x.shape, _inferred(inferred), **range_)


def _normal_in_primitives(key: prim.Tensor, shape: prim.Sizes, dtype: DType, mean: float, scale: float) -> prim.Tensor:
    return prim.cast(lowered_normal(key, shape, dtype) * scale + mean, dtype)


def _uniform_in_primitives(key: prim.Tensor, shape: prim.Sizes, dtype: DType, low: float, high: float) -> prim.Tensor:
    if not (isfinite(low) and isfinite(high) and low <= high):
        raise prim.Refused(f"numbers from {low} to {high}")
    result = prim.cast(lowered_uniform(key, shape, dtype) * (high - low) + low, dtype)
    if low == high:
        return result
    end, below = (each.item() for each in _end(low, high, dtype))
    return prim.where(prim.apply("less", result, float(end)), result, float(below))


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


def _inferred(facts: tuple[Fact, ...]) -> DType:
    """The type of the numbers, which is known where they are lowered."""
    dtype = facts[0].dtype
    assert dtype is not None
    return _target(dtype)


def _target(dtype: int) -> DType:
    target = element_type(dtype, "dtype")
    if target not in _DTYPES:
        raise CheckError(f"random numbers are floats, not {target}", hint="set attribute dtype")
    return target


def _normal(key: int, shape: Sequence[int], dtype: DType, mean: float, scale: float) -> Array:
    drawn = normal(key, affordable(shape, np.float64), dtype)
    return convert(drawn * drawn.dtype.type(scale) + drawn.dtype.type(mean), dtype)


def _uniform(key: int, shape: Sequence[int], dtype: DType, low: float, high: float) -> Array:
    if not (isfinite(low) and isfinite(high) and low <= high):
        raise CheckError(f"the numbers are to be from {low} to {high}")
    drawn = uniform(key, affordable(shape, np.float64), dtype)
    result = convert(drawn * drawn.dtype.type(high - low) + drawn.dtype.type(low), dtype)
    if low == high:
        return result
    end, below = _end(low, high, dtype)
    return np.where(result >= end, below, result).astype(dtype.numpy).reshape(tuple(shape))


def _end(low: float, high: float, dtype: DType) -> tuple[Array, Array]:
    """The end of a range in a type, which rounding may reach, and the number below it."""
    end = np.asarray(convert(np.array([high]), dtype))
    return end, np.asarray(np.nextafter(end, np.asarray(convert(np.array([low]), dtype))))
