"""Dropout: in training, elements are zeroed at random and the others scaled up; else nothing happens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, TypeAlias

import numpy as np

from ingot import prim
from ingot.dtypes import Array, DType
from ingot.errors import InputError, UnsupportedError
from ingot.ir.value import Value
from ingot.ops.define import Runtime, operator, superseded
from ingot.ops.facts import Fact, Inferred
from ingot.ops.generator.counter import lowered_uniform, uniform
from ingot.ops.generator.twister import twisted_uniform
from ingot.ops.limit import affordable
from ingot.ops.nn.precision import widened
from ingot.ops.nn.results import tensor
from ingot.ops.nn.through import through_float32
from ingot.ops.older import constant_of, dtype_of
from ingot.ops.shapes import require_rank
from ingot.ops.typesets import BOOL, FLOAT8, FLOATS, FLOATS_3, types
from ingot.prim.tensor import KeyReader

T: TypeAlias = Annotated[Array, types("T", {12: FLOATS_3, 13: FLOATS, 22: FLOATS | FLOAT8})]
Ratio: TypeAlias = Annotated[Array, types("T1", {12: FLOATS_3, 22: FLOATS | FLOAT8})]
Bool: TypeAlias = Annotated[Array, types("T2", BOOL)]
T10: TypeAlias = Annotated[Array, types("T", FLOATS_3)]
Mask10: TypeAlias = Annotated[Array, types("T1", BOOL)]


@operator("Dropout", since=(12, 13, 22))
def dropout(
    x: T,
    ratio: Ratio | None = None,
    training_mode: Bool | None = None,
    /,
    *,
    seed: int | None = None,
    runtime: Runtime,
) -> tuple[T, Bool | None]:
    """In training, `x / (1 - ratio)` where a draw is not below `ratio`, else zero; and where that is.

    A seed draws as the standard's test data do, from a Mersenne twister.
    """
    for name, scalar in (("ratio", ratio), ("training_mode", training_mode)):
        if scalar is not None and scalar.shape not in ((), (1,)):
            raise InputError(f"{name} has shape {list(scalar.shape)}, expected one number")
    rate = 0.5 if ratio is None else float(ratio.reshape(()).astype(np.float64))
    if training_mode is None or not training_mode.reshape(()) or rate == 0:
        return x, np.ones(x.shape, np.bool_)
    if not 0 <= rate < 1:
        raise InputError(f"ratio is {rate}, it must be at least 0 and below 1")
    affordable(x.shape, np.float64)
    if seed is None:
        drawn = uniform(runtime.key(None), x.shape, DType.FLOAT32)
    else:
        drawn = np.random.RandomState(seed % 2**32).uniform(0, 1, x.shape)
    mask = np.asarray(drawn.astype(np.float64) >= rate)
    values = widened(x)[0]
    return np.asarray(np.where(mask, values * values.dtype.type(1 / (1 - rate)), 0), x.dtype), mask


@dropout.infer
def infer(
    x: Fact, ratio: Fact | None = None, training_mode: Fact | None = None, /, *, seed: int | None
) -> tuple[Inferred, Inferred]:
    for name, fact in (("ratio", ratio), ("training_mode", training_mode)):
        if fact is not None and fact.rank != 1:
            require_rank(fact, 0, name)
    return tensor(x.dtype, x.shape), tensor(DType.BOOL, x.shape)


@dropout.lower
def lower(
    x: prim.Tensor,
    ratio: prim.Tensor | None = None,
    training_mode: prim.Tensor | None = None,
    /,
    *,
    seed: int | None,
    facts: tuple[Fact, ...],
    draw: KeyReader,
) -> tuple[prim.Tensor, prim.Tensor]:
    """Where a run decides whether it is training, elements are kept where it is not; it reports a wrong ratio."""
    for scalar in (ratio, training_mode):
        if scalar is not None and scalar.shape not in ((), (1,)):
            raise prim.Refused(f"a ratio or mode of shape {list(map(str, scalar.shape))}")
    known = None if training_mode is None else facts[2].constant
    if training_mode is None or (known is not None and not known.numpy().any()):
        return x, prim.full(True, x.shape, DType.BOOL)
    rate: prim.Tensor = prim.scalar(0.5, DType.FLOAT64)
    if ratio is not None:
        rate = prim.cast(prim.reshape(ratio, ()), DType.FLOAT64)
    training = prim.reshape(training_mode, ())
    is_right = prim.apply("and", prim.apply("less_equal", 0.0, rate), prim.apply("less", rate, 1.0))
    is_right = prim.apply("or", is_right, prim.apply("not", training))
    rate = prim.gather(prim.reshape(rate, (1,)), [prim.where(is_right, prim.full(0, (), DType.INT64), -1)], ())
    if seed is None:
        drawn, limit = lowered_uniform(draw(None), x.shape, DType.FLOAT32), rate
        if ratio is not None and ratio.dtype is DType.FLOAT64:
            drawn = prim.cast(drawn, DType.FLOAT64)
        else:
            limit = prim.cast(rate, DType.FLOAT32)
    else:
        drawn, limit = twisted_uniform(seed % 2**32, x.shape), rate
    mask = prim.apply("or", prim.apply("less_equal", limit, drawn), prim.apply("not", training))
    factor = prim.where(training, prim.cast(1.0 / (1.0 - rate), x.dtype), 1.0)
    return prim.where(mask, x * factor, 0.0), mask


@dropout.downgrade
def downgrade(
    op: Any,
    x: Value,
    ratio: Value | None = None,
    training_mode: Value | None = None,
    /,
    *,
    seed: int | None,
    version: int,
    outputs: int,
) -> Any:
    if version >= dropout.since[0]:
        inputs = (x, ratio, training_mode)
        return through_float32(op, dropout, inputs, {"seed": seed}, version=version, outputs=outputs)
    training = None if training_mode is None else constant_of(training_mode)
    rate = None if ratio is None else constant_of(ratio)
    if training_mode is not None and (training is None or training.all()) and (rate is None or rate.any()):
        raise UnsupportedError("training came with version 12")
    probability = 0.5 if rate is None else float(rate.reshape(()))
    return op.Dropout(x, ratio=probability), *([_everywhere(op, x)] if outputs > 1 else ())


def _everywhere(op: Any, x: Value) -> Any:
    """True for each element; old versions leave the mask outside of training undefined."""
    nonzero = op.Cast(x, to=int(DType.BOOL))
    return op.Or(nonzero, op.Not(nonzero))


@operator("Dropout", since=10)
def dropout_10(x: T10, /, *, ratio: float = 0.5) -> tuple[T10, Mask10 | None]:
    """The same outside of training."""
    raise superseded()


@operator("Dropout", since=7)
def dropout_7(x: T10, /, *, ratio: float = 0.5) -> tuple[T10, T10 | None]:
    """The same, with a mask of numbers."""
    raise superseded()


@operator("Dropout", since=6)
def dropout_6(x: T10, /, *, is_test: int = 0, ratio: float = 0.5) -> tuple[T10, T10 | None]:
    """The same, in training unless `is_test` is set."""
    raise superseded()


@operator("Dropout", since=1)
def dropout_1(
    x: T10, /, *, consumed_inputs: Sequence[int] | None = None, is_test: int = 0, ratio: float = 0.5
) -> tuple[T10, T10 | None]:
    """The same, with a hint which inputs may be overwritten."""
    raise superseded()


@dropout_10.downgrade
def downgrade_10(op: Any, x: Value, /, *, ratio: float, outputs: int) -> Any:
    return op.Dropout(x, ratio=ratio), *([_everywhere(op, x)] if outputs > 1 else ())


@dropout_7.downgrade
def downgrade_7(op: Any, x: Value, /, *, ratio: float, outputs: int) -> Any:
    mask = [op.Cast(_everywhere(op, x), to=int(dtype_of(x)))] if outputs > 1 else ()
    return op.Dropout(x, is_test=1, ratio=ratio), *mask


@dropout_6.downgrade
def downgrade_6(op: Any, x: Value, /, *, is_test: int, ratio: float, outputs: int) -> Any:
    return op.Dropout(x, is_test=is_test, ratio=ratio, outputs=outputs)


@dropout_10.upgrade
def upgrade_10(op: Any, x: Value, /, *, ratio: float) -> Any:
    return op.Dropout(x, outputs=2)


@dropout_7.upgrade
@dropout_6.upgrade
@dropout_1.upgrade
def upgrade(op: Any, x: Value, /, *, ratio: float, is_test: int = 1, **_: object) -> Any:
    y, mask = op.Dropout(x, outputs=2) if is_test else op.Dropout(x, np.float32(ratio), np.bool_(True), outputs=2)
    return y, op.CastLike(mask, x)
