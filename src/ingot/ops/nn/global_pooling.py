"""Pools over everything: one number for each channel, its spatial axes kept with size one."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

import numpy as np

from ingot import prim
from ingot.dims import lower_bound
from ingot.dtypes import Array, DType
from ingot.errors import CheckError, InputError
from ingot.ir.value import Value
from ingot.ops.define import operator, superseded
from ingot.ops.facts import Fact, Inferred
from ingot.ops.nn.moments import mean_of, norm_of
from ingot.ops.nn.pooling import norm, whole
from ingot.ops.nn.precision import mean, widened
from ingot.ops.nn.results import tensor
from ingot.ops.nn.through import by_float32, through_float32
from ingot.ops.nn.windows import spatial_rank
from ingot.ops.typesets import FLOATS, FLOATS_3, types

T: TypeAlias = Annotated[Array, types("T", {1: FLOATS_3, 22: FLOATS})]
T1: TypeAlias = Annotated[Array, types("T", FLOATS_3)]


@operator("GlobalAveragePool", since=(1, 22))
def global_average_pool(x: T, /) -> T:
    """The mean of each channel; NaN where it is empty."""
    return mean(widened(x)[0], _spatial(x)).astype(x.dtype, copy=False)


@operator("GlobalMaxPool", since=(1, 22))
def global_max_pool(x: T, /) -> T:
    """The greatest element of each channel, NaN if it holds one; InputError where it is empty."""
    axes = _spatial(x)
    if 0 in x.shape[2:] and 0 not in x.shape[:2]:
        raise InputError(f"nothing in x, of shape {list(x.shape)}, is the greatest")
    return np.asarray(widened(x)[0].max(axis=axes, keepdims=True, initial=-np.inf), x.dtype)


@operator("GlobalLpPool", since=(2, 22))
def global_lp_pool(x: T, /, *, p: int = 2) -> T:
    """The `p`-norm of each channel."""
    return norm(widened(x)[0], p, _spatial(x), keepdims=True).astype(x.dtype, copy=False)


@global_average_pool.infer
@global_max_pool.infer
@global_lp_pool.infer
def infer(x: Fact, /, *, p: int = 2) -> Inferred:
    if p < 1:
        raise CheckError(f"p is {p}, it must be 1 or more")
    if x.shape is None:
        return tensor(x.dtype, None)
    return tensor(x.dtype, (*x.shape[:2], *(1,) * spatial_rank("x", len(x.shape))))


@global_average_pool.lower
def lower_average(x: prim.Tensor, /) -> prim.Tensor:
    return mean_of(x, range(2, x.rank))


@global_lp_pool.lower
def lower_lp(x: prim.Tensor, /, *, p: int) -> prim.Tensor:
    return norm_of(x, p, range(2, x.rank))


@global_max_pool.lower
def lower_max(x: prim.Tensor, /) -> prim.Tensor:
    """The first element is read by its index too, which a run that has none of them reports."""
    greatest = prim.reduce_("maximum", x, range(2, x.rank))
    if all((lower_bound(size) or 0) > 0 for size in x.shape[2:]):
        return greatest
    first = [prim.scalar(0, DType.INT64)] * (x.rank - 2)
    return prim.apply("maximum", greatest, prim.gather(x, [0, 1, *first], greatest.shape))


by_float32(global_average_pool)
by_float32(global_max_pool)


@global_lp_pool.downgrade
def downgrade(op: Any, x: Value, /, *, p: int, version: int) -> Any:
    if version < global_lp_pool.since[0]:
        return op.GlobalLpPool(x, p=float(p))
    return through_float32(op, global_lp_pool, (x,), {"p": p}, version=version)


@operator("GlobalLpPool", since=1)
def global_lp_pool_1(x: T1, /, *, p: float = 2.0) -> T1:
    """The same with a `p` that need not be whole."""
    raise superseded()


@global_lp_pool_1.upgrade
def upgrade(op: Any, x: Value, /, *, p: float) -> Any:
    return op.GlobalLpPool(x, p=whole(p))


def _spatial(x: Array) -> tuple[int, ...]:
    return tuple(range(2, 2 + spatial_rank("x", x.ndim)))
