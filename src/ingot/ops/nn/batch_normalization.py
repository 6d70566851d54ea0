"""BatchNormalization: each channel shifted and scaled by its mean and variance, estimated before or taken now."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, TypeAlias

import numpy as np

from ingot import prim
from ingot.dtypes import Array, DType
from ingot.errors import CheckError, ShapeError
from ingot.ir.value import Value
from ingot.ops.define import operator, superseded
from ingot.ops.facts import Fact, Inferred
from ingot.ops.nn.moments import alike, along_channels, mean_of
from ingot.ops.nn.precision import mean, widened
from ingot.ops.nn.results import dim, tensor, vector_of
from ingot.ops.nn.through import cast, wide_of
from ingot.ops.older import dtype_of, rank_of
from ingot.ops.shapes import require_flags
from ingot.ops.typesets import FLOATS, FLOATS_3, types

T: TypeAlias = Annotated[Array, types("T", FLOATS)]
Scale: TypeAlias = Annotated[Array, types("T1", {14: FLOATS, 15: FLOATS})]
Moment: TypeAlias = Annotated[Array, types("T2", FLOATS)]
T9: TypeAlias = Annotated[Array, types("T", FLOATS_3)]


@operator("BatchNormalization", since=15)
def batch_normalization(
    x: T,
    scale: Scale,
    b: Scale,
    input_mean: Moment,
    input_var: Moment,
    /,
    *,
    epsilon: float = 1e-05,
    momentum: float = 0.9,
    training_mode: int = 0,
) -> tuple[T, Moment | None, Moment | None]:
    """`(x - mean) / sqrt(variance + epsilon) * scale + b` for each channel.

    In training mode mean and variance are those of this batch, and those given are moved towards them.
    """
    channels = x.shape[1] if x.ndim > 1 else 1
    for name, vector in (("scale", scale), ("B", b), ("input_mean", input_mean), ("input_var", input_var)):
        if vector.shape != (channels,):
            raise ShapeError(
                f"{name} has shape {list(vector.shape)}, expected one value for each of {channels} channels"
            )
    values, factor, shift, average, variance = widened(x, scale, b, input_mean, input_var)
    along = (-1, *(1,) * (x.ndim - 2)) if x.ndim > 1 else (1,) * x.ndim
    running: tuple[Array | None, Array | None] = (None, None)
    if training_mode:
        others = tuple(axis for axis in range(x.ndim) if axis != 1)
        now = mean(values, others)
        spread = mean(np.square(values - now), others).reshape(channels)
        now = now.reshape(channels)
        weight = average.dtype.type(momentum)
        moved = (average * weight + now * (1 - weight), variance * weight + spread * (1 - weight))
        running = (moved[0].astype(input_mean.dtype), moved[1].astype(input_var.dtype))
        average, variance = now, spread
    root = np.sqrt(variance + average.dtype.type(epsilon))
    y = (values - average.reshape(along)) / root.reshape(along) * factor.reshape(along) + shift.reshape(along)
    return np.asarray(y, x.dtype), *running


@batch_normalization.infer
def infer(
    x: Fact,
    scale: Fact,
    b: Fact,
    input_mean: Fact,
    input_var: Fact,
    /,
    *,
    epsilon: float,
    momentum: float,
    training_mode: int,
    outputs: int,
) -> tuple[Inferred, ...]:
    require_flags(training_mode=training_mode)
    if outputs > 1 and not training_mode:
        raise CheckError(
            f"outside of training there is one output, the node has {outputs}", hint="set training_mode to 1"
        )
    channels = 1 if x.rank is not None and x.rank < 2 else dim(x.shape, 1)
    named = (("scale", scale), ("B", b), ("input_mean", input_mean), ("input_var", input_var))
    for name, fact in named:
        vector_of(fact, channels, name)
        if channels is None:
            channels = dim(fact.shape, 0)
    if not training_mode:
        return (tensor(x.dtype, x.shape),)
    return tensor(x.dtype, x.shape), tensor(input_mean.dtype, (channels,)), tensor(input_var.dtype, (channels,))


@batch_normalization.lower
def lower(
    x: prim.Tensor,
    scale: prim.Tensor,
    b: prim.Tensor,
    input_mean: prim.Tensor,
    input_var: prim.Tensor,
    /,
    *,
    epsilon: float,
    momentum: float,
    training_mode: int,
) -> tuple[prim.Tensor, ...]:
    values, factor, shift, average, variance = alike(x, scale, b, input_mean, input_var)
    running: list[prim.Tensor] = []
    if training_mode:
        others = [axis for axis in range(x.rank) if axis != 1]
        now = mean_of(values, others)
        spread = mean_of((values - now) * (values - now), others)
        weight = np.float32(momentum) if values.dtype is DType.FLOAT32 else momentum
        for running_moment, batch_moment in ((average, now), (variance, spread)):
            running.append(
                running_moment * float(weight) + prim.reshape(batch_moment, running_moment.shape) * float(1 - weight)
            )
        average, variance = (prim.reshape(moment, average.shape) for moment in (now, spread))
    scaled = factor / prim.apply("sqrt", variance + epsilon)
    if x.rank < 2:
        average, scaled, shift = (prim.reshape(each, (1,) * x.rank) for each in (average, scaled, shift))
    else:
        average, scaled, shift = (along_channels(each, x.rank) for each in (average, scaled, shift))
    return (values - average) * scaled + shift, *running


@batch_normalization.downgrade
def downgrade(op: Any, x: Value, scale: Value, b: Value, *moments: Value, outputs: int, **attributes: Any) -> Any:
    """Scale and bias have the type of `x`: where they differ, all of them have that to compute in."""
    dtypes = [dtype_of(value) for value in (x, scale, b)]
    inside = dtypes[0] if len(set(dtypes)) == 1 else wide_of(*dtypes)
    values = [cast(op, value, dtype, inside) for value, dtype in zip((x, scale, b), dtypes, strict=True)]
    y, *running = _several(op.BatchNormalization(*values, *moments, outputs=outputs, **attributes))
    return cast(op, y, inside, dtypes[0]), *running


@operator("BatchNormalization", since=14)
def batch_normalization_14(
    x: T,
    scale: T,
    b: T,
    input_mean: Annotated[Array, types("U", FLOATS)],
    input_var: Annotated[Array, types("U", FLOATS)],
    /,
    *,
    epsilon: float = 1e-05,
    momentum: float = 0.9,
    training_mode: int = 0,
) -> tuple[T, Annotated[Array, types("U", FLOATS)] | None, Annotated[Array, types("U", FLOATS)] | None]:
    """The same, with scale and bias of the type of `x`."""
    raise superseded()


@batch_normalization_14.upgrade
def upgrade_14(op: Any, *inputs: Value, training_mode: int, **attributes: Any) -> Any:
    outputs = 3 if training_mode else 1
    return op.BatchNormalization(*inputs, training_mode=training_mode, outputs=outputs, **attributes)


@batch_normalization_14.downgrade
def downgrade_14(op: Any, *inputs: Value, epsilon: float, momentum: float, training_mode: int, outputs: int) -> Any:
    """All of one type; in training, with the mean and the variance of this batch for those given."""
    dtypes = [dtype_of(value) for value in inputs]
    inside = wide_of(*dtypes) if training_mode or len(set(dtypes)) > 1 or DType.BFLOAT16 in dtypes else dtypes[0]
    x, scale, b, *moments = (cast(op, value, dtype, inside) for value, dtype in zip(inputs, dtypes, strict=True))
    running: list[Any] = []
    if training_mode:
        axes = [axis for axis in range(rank_of(inputs[0])) if axis != 1]
        centred = op.Sub(x, op.ReduceMean(x, axes=axes, keepdims=1))
        now = op.ReduceMean(x, axes=axes, keepdims=0), op.ReduceMean(op.Mul(centred, centred), axes=axes, keepdims=0)
        if len(axes) == rank_of(inputs[0]):  # one axis alone is a batch of one channel
            now = op.Reshape(now[0], [1]), op.Reshape(now[1], [1])
        weight = np.asarray(momentum, inside.numpy)
        for moment, batch_moment in zip(moments, now, strict=True):
            running.append(op.Add(op.Mul(moment, weight), op.Mul(batch_moment, np.asarray(1 - weight, inside.numpy))))
        moments = list(now)
    y = op.BatchNormalization(x, scale, b, *moments, epsilon=epsilon)
    return (cast(op, y, inside, dtypes[0]), *(cast(op, moment, inside, dtypes[3]) for moment in running))[:outputs]


@operator("BatchNormalization", since=9)
def batch_normalization_9(
    x: T9, scale: T9, b: T9, mean: T9, var: T9, /, *, epsilon: float = 1e-05, momentum: float = 0.9
) -> tuple[T9, T9 | None, T9 | None, T9 | None, T9 | None]:
    """The same outside of training; five outputs mean training."""
    raise superseded()


@operator("BatchNormalization", since=7)
def batch_normalization_7(
    x: T9, scale: T9, b: T9, mean: T9, var: T9, /, *, epsilon: float = 1e-05, momentum: float = 0.9, spatial: int = 1
) -> tuple[T9, T9 | None, T9 | None, T9 | None, T9 | None]:
    """The same; without `spatial`, each element of an image has its own mean and variance."""
    raise superseded()


@operator("BatchNormalization", since=6)
def batch_normalization_6(
    x: T9,
    scale: T9,
    b: T9,
    mean: T9,
    var: T9,
    /,
    *,
    epsilon: float = 1e-05,
    is_test: int = 0,
    momentum: float = 0.9,
    spatial: int = 1,
) -> tuple[T9, T9 | None, T9 | None, T9 | None, T9 | None]:
    """The same, in training unless `is_test` is set."""
    raise superseded()


@operator("BatchNormalization", since=1)
def batch_normalization_1(
    x: T9,
    scale: T9,
    b: T9,
    mean: T9,
    var: T9,
    /,
    *,
    consumed_inputs: Sequence[int],
    epsilon: float = 1e-05,
    is_test: int = 0,
    momentum: float = 0.9,
    spatial: int = 1,
) -> tuple[T9, T9 | None, T9 | None, T9 | None, T9 | None]:
    """The same, with a hint which inputs may be overwritten."""
    raise superseded()


@batch_normalization_9.downgrade
def downgrade_9(op: Any, *inputs: Value, outputs: int, **attributes: Any) -> Any:
    return op.BatchNormalization(*inputs, outputs=outputs, **attributes)


@batch_normalization_7.downgrade
def downgrade_7(op: Any, *inputs: Value, outputs: int, **attributes: Any) -> Any:
    """Five outputs mean training."""
    return op.BatchNormalization(*inputs, is_test=int(outputs == 1), outputs=outputs, **attributes)


@batch_normalization_6.downgrade
def downgrade_6(op: Any, *inputs: Value, outputs: int, **attributes: Any) -> Any:
    """None of the inputs may be overwritten."""
    return op.BatchNormalization(*inputs, consumed_inputs=[0] * 5, outputs=outputs, **attributes)


@batch_normalization_9.upgrade
@batch_normalization_7.upgrade
@batch_normalization_6.upgrade
@batch_normalization_1.upgrade
def upgrade(
    op: Any,
    x: Value,
    *parameters: Value,
    epsilon: float,
    momentum: float,
    spatial: int = 1,
    is_test: int = 1,
    consumed_inputs: Sequence[int] = (),
) -> Any:
    """Elements with means of their own are channels of an image that is one row of them."""
    numbers = {"epsilon": epsilon, "momentum": momentum, "training_mode": int(not is_test)}
    if not spatial:
        flat = [op.Reshape(parameter, [-1]) for parameter in parameters]
        y, *moments = _several(
            op.BatchNormalization(op.Flatten(x, axis=1), *flat, outputs=1 if is_test else 3, **numbers)
        )
        back = [op.Reshape(m, op.Shape(old)) for m, old in zip(moments, parameters[2:], strict=False)]
        return op.Reshape(y, op.Shape(x)), *back
    return op.BatchNormalization(x, *parameters, outputs=1 if is_test else 3, **numbers)


def _several(results: Any) -> Sequence[Any]:
    return results if isinstance(results, tuple) else (results,)
