"""Sequences: back to front, and with the steps that a mask counts put together in front."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ingot.builder import Var, op
from ingot.convert.keras.conversion import cast
from ingot.dtypes import DType


def flipped(x: Var, axis: int) -> Var:
    """The elements along an axis back to front."""
    return op.Slice(x, [-1], [np.iinfo(np.int64).min + 1], [axis], [-1])


@dataclass(frozen=True, slots=True)
class Compact:
    """A sequence whose counted steps come first, in their order, and the places they had.

    `lengths` are how many there are, int64 of shape [batch]; `reached` is true from the first that counts on.
    """

    sequence: Var
    mask: Var
    lengths: Var
    reached: Var
    places: Var

    def spread(self, steps: Var) -> Var:
        """At each step what the last counted one up to it gave."""
        return op.GatherND(steps, self.places, batch_dims=1)


def compacted(x: Var, mask: Var) -> Compact:
    """`x`, of shape [batch, time, ...], with the steps in front where `mask`, of shape [batch, time], is true."""
    mask = cast(mask, DType.BOOL)
    number = op.Cast(mask, to=int(DType.INT64))
    count = op.CumSum(number, np.array(1, np.int64))
    length = op.Shape(x, start=1, end=2)
    steps = op.Range(np.array(0, np.int64), op.Squeeze(length, [0]), np.array(1, np.int64))
    key = steps + op.Cast(op.Not(mask), to=int(DType.INT64)) * length  # those that do not count, after all others
    _, order = op.TopK(key, length, axis=1, largest=0, outputs=2)
    sequence = op.GatherND(x, op.Unsqueeze(order, [2]), batch_dims=1)
    zero = np.array(0, np.int64)
    places = op.Unsqueeze(op.Max(count - 1, zero), [2])
    return Compact(sequence, mask, op.ReduceSum(number, [1], keepdims=0), count > 0, places)
