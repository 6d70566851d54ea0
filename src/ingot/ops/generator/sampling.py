"""Bernoulli and Multinomial: outcomes drawn by their probabilities."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

import numpy as np

from ingot.dtypes import Array, DType
from ingot.errors import CheckError, InputError, ShapeError, UnsupportedError
from ingot.ir.types import TensorType
from ingot.ir.value import Value
from ingot.ops.define import Runtime, operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.limit import affordable
from ingot.ops.older import dtype_of
from ingot.ops.shapes import require_rank
from ingot.ops.tensor.carriers import carried_in
from ingot.ops.tensor.convert import convert, element_type
from ingot.ops.tensor.follow import tensor
from ingot.ops.typesets import BOOL, FLOAT32, FLOAT64, FLOATS, FLOATS_3, INDICES, NUMERIC, name_of, types

P: TypeAlias = Annotated[Array, types("T1", {15: FLOATS_3, 22: FLOATS})]
Drawn: TypeAlias = Annotated[Array, types("T2", NUMERIC | BOOL)]
L: TypeAlias = Annotated[Array, types("T1", {7: FLOATS_3, 22: FLOATS})]
Classes: TypeAlias = Annotated[Array, types("T2", INDICES)]


@operator("Bernoulli", since=(15, 22))
def bernoulli(x: P, /, *, dtype: int | None = None, seed: float | None = None, runtime: Runtime) -> Drawn:
    """One with the probability `x` has there, else zero, in the type numbered `dtype`, else that of `x`."""
    target = DType.of(x.dtype) if dtype is None else _target(dtype)
    chances = x.astype(np.float64)
    if not ((chances >= 0) & (chances <= 1)).all():
        raise InputError("a probability is outside 0 to 1")
    affordable(x.shape, np.float64)
    return convert(np.asarray(runtime.generator(seed).random(x.shape) < chances), target)


@bernoulli.infer
def infer_bernoulli(x: Fact, /, *, dtype: int | None, **_: object) -> Inferred:
    return tensor(x.dtype if dtype is None else _target(dtype), x.shape)


@bernoulli.downgrade
def downgrade_bernoulli(op: Any, x: Value, /, *, dtype: int | None, seed: float | None, version: int) -> Any:
    """A number drawn below the probability; before version 15, by itself."""
    target = int(dtype_of(x)) if dtype is None else dtype
    chances = carried_in(op, x, FLOATS_3 if version >= bernoulli.since[0] else FLOAT32 | FLOAT64, version)
    if version >= bernoulli.since[0]:
        return op.Bernoulli(chances, dtype=target, seed=seed)
    return op.Cast(op.Less(op.RandomUniformLike(chances, seed=seed), chances), to=target)


@operator("Multinomial", since=(7, 22))
def multinomial(
    x: L, /, *, dtype: int = 6, sample_size: int = 1, seed: float | None = None, runtime: Runtime
) -> Classes:
    """For each row of `x`, which holds logarithms of weights, `sample_size` columns drawn by their weight."""
    target = _index_type(dtype)
    if x.ndim != 2:
        raise ShapeError(f"the input has {x.ndim} axes, expected 2")
    rows, columns = x.shape
    drawn = np.zeros(affordable((rows, _samples(sample_size)), np.int64), np.int64)
    if rows and not columns:
        raise InputError("there is no class to draw from")
    source = runtime.generator(seed)
    for row, logarithms in enumerate(x.astype(np.float64)):
        highest = logarithms.max()
        if not np.isfinite(highest):
            raise InputError(f"the largest logarithm of row {row} is {highest}")
        reached = np.cumsum(np.exp(logarithms - highest))
        drawn[row] = np.searchsorted(reached / reached[-1], source.random(sample_size), side="right")
    return drawn.astype(target.numpy)


@multinomial.infer
def infer_multinomial(x: Fact, /, *, dtype: int, sample_size: int, **_: object) -> Inferred:
    require_rank(x, 2, "the input")
    return TensorType(_index_type(dtype), (None if x.shape is None else x.shape[0], _samples(sample_size)))


@multinomial.downgrade
def downgrade_multinomial(op: Any, x: Value, /, *, version: int, **attributes: Any) -> Any:
    if version < multinomial.since[0]:
        raise UnsupportedError("nothing there draws by weights")
    return op.Multinomial(carried_in(op, x, FLOATS_3, version), **attributes)


def _target(dtype: int) -> DType:
    target = element_type(dtype, "dtype")
    if name_of(TensorType(target)) not in NUMERIC | BOOL:
        raise CheckError(f"Bernoulli makes no tensors of {target}")
    return target


def _index_type(dtype: int) -> DType:
    target = element_type(dtype, "dtype")
    if target not in (DType.INT32, DType.INT64):
        raise CheckError(f"dtype is {target}, expected int32 or int64")
    return target


def _samples(sample_size: int) -> int:
    if sample_size < 0:
        raise CheckError(f"sample_size is {sample_size}")
    return sample_size
