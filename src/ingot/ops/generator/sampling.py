"""Bernoulli and Multinomial: outcomes drawn by their probabilities."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

import numpy as np

from ingot import prim
from ingot.dtypes import Array, DType
from ingot.errors import CheckError, InputError, ShapeError, UnsupportedError
from ingot.ir.types import TensorType
from ingot.ir.value import Value
from ingot.ops.define import Runtime, operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.generator.counter import lowered_uniform, uniform
from ingot.ops.limit import affordable
from ingot.ops.older import dtype_of
from ingot.ops.shapes import require_rank
from ingot.ops.tensor.carriers import carried_in
from ingot.ops.tensor.convert import convert, element_type
from ingot.ops.tensor.follow import tensor
from ingot.ops.typesets import BOOL, FLOAT32, FLOAT64, FLOATS, FLOATS_3, INDICES, NUMERIC, name_of, types
from ingot.prim.functions import ELEMENTS
from ingot.prim.tensor import KeyReader

P: TypeAlias = Annotated[Array, types("T1", {15: FLOATS_3, 22: FLOATS})]
Drawn: TypeAlias = Annotated[Array, types("T2", NUMERIC | BOOL)]
L: TypeAlias = Annotated[Array, types("T1", {7: FLOATS_3, 22: FLOATS})]
Classes: TypeAlias = Annotated[Array, types("T2", INDICES)]


@operator("Bernoulli", since=(15, 22))
def bernoulli(x: P, /, *, dtype: int | None = None, seed: float | None = None, runtime: Runtime) -> Drawn:
    """One with the probability `x` has there, else zero, in the type numbered `dtype`, else that of `x`."""
    target = DType.of(x.dtype) if dtype is None else _target(dtype)
    chances = x if x.dtype == np.float64 else x.astype(np.float32)
    if not ((chances >= 0) & (chances <= 1)).all():
        raise InputError("a probability is outside 0 to 1")
    affordable(x.shape, np.float64)
    return convert(np.asarray(uniform(runtime.key(seed), x.shape, DType.of(x.dtype)) < chances), target)


@bernoulli.infer
def infer_bernoulli(x: Fact, /, *, dtype: int | None, **_: object) -> Inferred:
    return tensor(x.dtype if dtype is None else _target(dtype), x.shape)


@bernoulli.lower
def lower_bernoulli(
    x: prim.Tensor, /, *, dtype: int | None, seed: float | None, inferred: tuple[Fact, ...], draw: KeyReader
) -> prim.Tensor:
    """An index of zero and one; a probability outside of these has an index that the run reports."""
    target = inferred[0].dtype
    if target not in ELEMENTS:
        raise prim.Refused(f"elements of {target}")
    drawn = prim.apply("less", lowered_uniform(draw(seed), x.shape, x.dtype), x)
    is_chance = prim.apply("and", prim.apply("less_equal", 0.0, x), prim.apply("less_equal", x, 1.0))
    place = prim.where(is_chance, prim.cast(drawn, DType.INT64), -1)
    return prim.gather(prim.constant(np.array([0, 1]).astype(target.numpy)), [place], x.shape)


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
    chances = uniform(runtime.key(seed), drawn.shape, DType.FLOAT64)
    for row, logarithms in enumerate(x.astype(np.float64)):
        highest = logarithms.max()
        if not np.isfinite(highest):
            raise InputError(f"the largest logarithm of row {row} is {highest}")
        reached = np.cumsum(np.exp(logarithms - highest))
        drawn[row] = np.searchsorted(reached[:-1], chances[row] * reached[-1], side="right")
    return drawn.astype(target.numpy)


@multinomial.infer
def infer_multinomial(x: Fact, /, *, dtype: int, sample_size: int, **_: object) -> Inferred:
    require_rank(x, 2, "the input")
    return TensorType(_index_type(dtype), (None if x.shape is None else x.shape[0], _samples(sample_size)))


@multinomial.lower
def lower_multinomial(
    x: prim.Tensor, /, *, dtype: int, sample_size: int, seed: float | None, draw: KeyReader
) -> prim.Tensor:
    """How many of the sums of weights, but for the last, are not above what is drawn; a run reports infinite ones."""
    rows, columns = x.shape
    wide = prim.cast(x, DType.FLOAT64)
    highest = prim.reduce_("maximum", wide, [1])
    is_finite = prim.apply("less", prim.apply("absolute", highest), np.inf)
    reached = prim.scan("add", prim.apply("exp", wide - highest), 1)
    last = prim.gather(reached, [0, prim.size(columns) - 1], (rows, 1))
    limit = lowered_uniform(draw(seed), (rows, sample_size), DType.FLOAT64) * last
    is_passed = prim.apply("less_equal", prim.unsqueeze(reached, [1]), prim.unsqueeze(limit, [2]))
    is_passed = prim.apply("and", is_passed, prim.apply("less", prim.iota((1, 1, columns), 2), prim.size(columns) - 1))
    passed = prim.squeeze(prim.reduce_("add", prim.cast(is_passed, DType.INT64), [2]), [2])
    classes = prim.cast(prim.iota((columns,), 0), _index_type(dtype))
    return prim.gather(classes, [prim.where(is_finite, passed, -1)], (rows, sample_size))


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
