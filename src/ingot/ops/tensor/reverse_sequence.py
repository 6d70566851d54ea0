"""ReverseSequence: the beginning of each sequence of a batch turned round."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

import numpy as np

from ingot import prim
from ingot.dims import lower_bound
from ingot.dtypes import Array
from ingot.errors import CheckError, InputError, ShapeError
from ingot.ir.value import Value
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.shapes import require_rank, unify
from ingot.ops.tensor import places
from ingot.ops.tensor.carriers import carried
from ingot.ops.tensor.moved import in_own_type
from ingot.ops.typesets import ALL, ALL_3, INT64, types

T: TypeAlias = Annotated[Array, types("T", {10: ALL_3, 28: ALL})]
Lengths: TypeAlias = Annotated[Array, types("", INT64)]


@operator("ReverseSequence", since=(10, 28))
def reverse_sequence(x: T, sequence_lens: Lengths, /, *, batch_axis: int = 1, time_axis: int = 0) -> T:
    """For each index of the batch, the first `sequence_lens` elements along time in reverse, the others as they are."""
    _check(x.ndim, batch_axis, time_axis)
    batch, time = x.shape[batch_axis], x.shape[time_axis]
    if sequence_lens.shape != (batch,):
        raise ShapeError(f"sequence_lens has shape {list(sequence_lens.shape)} for a batch of {batch}")
    if batch and not (sequence_lens.min() >= 0 and sequence_lens.max() <= time):
        worst = sequence_lens.max() if sequence_lens.max() > time else sequence_lens.min()
        raise InputError(f"a sequence length is {worst}, outside 0 to {time}")
    steps = np.arange(time, dtype=np.int64)
    lengths = sequence_lens[:, None]
    order = np.where(steps < lengths, lengths - 1 - steps, steps)
    if time_axis == 0:
        order = order.T
    return np.take_along_axis(x, order.reshape(order.shape + (1,) * (x.ndim - 2)), time_axis)


@reverse_sequence.infer
def infer(x: Fact, sequence_lens: Fact, /, *, batch_axis: int, time_axis: int) -> Inferred:
    require_rank(sequence_lens, 1, "sequence_lens")
    if x.shape is not None:
        _check(len(x.shape), batch_axis, time_axis)
        if sequence_lens.shape is not None:
            unify(x.shape[batch_axis], sequence_lens.shape[0], "the batch and the number of sequence lengths")
    return x.type


@reverse_sequence.lower
def lower(
    x: prim.Tensor,
    sequence_lens: prim.Tensor,
    /,
    *,
    batch_axis: int,
    time_axis: int,
    inferred: tuple[Fact, ...],
) -> prim.Tensor:
    """Read at the mirrored step; a length that is negative, or too large, gives a step that is outside."""
    x = in_own_type(x, inferred[0])
    if sequence_lens.shape != (x.shape[batch_axis],):
        if not lower_bound(x.shape[time_axis]):  # of no steps, none would be read at a length that is too large
            raise prim.Refused("sequence lengths that are not known to fit the batch")
        sequence_lens = prim.assume_shape(sequence_lens, (x.shape[batch_axis],))
    lengths = prim.reshape(sequence_lens, tuple(x.shape[a] if a == batch_axis else 1 for a in range(x.rank)))
    steps = prim.iota(x.shape, time_axis)
    mirrored = prim.where(prim.apply("less", steps, lengths), lengths - 1 - steps, steps)
    at: list[prim.Tensor | int] = list(range(x.rank))
    at[time_axis] = prim.where(prim.apply("less", lengths, 0), -1, mirrored)
    return prim.gather(x, at, x.shape)


@reverse_sequence.downgrade
def downgrade(op: Any, x: Value, sequence_lens: Value, /, *, batch_axis: int, time_axis: int, version: int) -> Any:
    """A Gather of rows, the first two axes taken as one."""
    if version >= reverse_sequence.since[0]:
        return carried(
            op,
            lambda each: op.ReverseSequence(each, sequence_lens, batch_axis=batch_axis, time_axis=time_axis),
            x,
            supported=ALL_3,
            version=version,
        )
    steps = places.spread(op, places.counted(op, x, time_axis, version), [batch_axis], version)
    lengths = op.Unsqueeze(sequence_lens, axes=[time_axis])
    order = op.Where(op.Less(steps, lengths), op.Sub(op.Sub(lengths, np.ones(1, np.int64)), steps), steps)
    which = places.spread(op, places.counted(op, x, batch_axis, version), [time_axis], version)
    first, second = (which, order) if batch_axis == 0 else (order, which)
    at = op.Add(places.scaled(op, first, places.size(op, x, 1)), second)
    return op.Gather(places.rows(op, x, 2), at, axis=0)


def _check(rank: int, batch_axis: int, time_axis: int) -> None:
    if {batch_axis, time_axis} != {0, 1}:
        raise CheckError(f"batch_axis is {batch_axis} and time_axis is {time_axis}, expected 0 and 1 in some order")
    if rank < 2:
        raise ShapeError(f"the input has {rank} axes, expected 2 or more")
