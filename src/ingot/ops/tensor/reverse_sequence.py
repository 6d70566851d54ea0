"""ReverseSequence: the beginning of each sequence of a batch turned round."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import numpy as np

from ingot.dtypes import Array
from ingot.errors import CheckError, InputError, ShapeError
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.shapes import require_rank, unify
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


def _check(rank: int, batch_axis: int, time_axis: int) -> None:
    if {batch_axis, time_axis} != {0, 1}:
        raise CheckError(f"batch_axis is {batch_axis} and time_axis is {time_axis}, expected 0 and 1 in some order")
    if rank < 2:
        raise ShapeError(f"the input has {rank} axes, expected 2 or more")
