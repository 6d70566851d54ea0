"""What the optimisers take: a learning rate, how many steps were made, and groups of tensors to update."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, TypeAlias

import numpy as np

from ingot import prim
from ingot.dtypes import Array, DType
from ingot.errors import CheckError, ShapeError
from ingot.ops.define import Heterogeneous
from ingot.ops.facts import Fact, Inferred
from ingot.ops.shapes import unify
from ingot.ops.typesets import FLOAT32, FLOAT64, INT64, types

Rate: TypeAlias = Annotated[Array, types("T1", FLOAT32 | FLOAT64)]
Steps: TypeAlias = Annotated[Array, types("T2", INT64)]
Updated: TypeAlias = Annotated[Array, types("T3", FLOAT32 | FLOAT64), Heterogeneous()]
Results: TypeAlias = Annotated[tuple[Annotated[Array, types("T3", FLOAT32 | FLOAT64)], ...], Heterogeneous()]


def scalar(x: Array, name: str) -> float:
    """The only element of a tensor; ShapeError if it has another number of them."""
    if x.size != 1:
        raise ShapeError(f"{name} has {x.size} elements, expected 1")
    return float(x.reshape(-1)[0])


def groups(inputs: Sequence[Array], kinds: int) -> list[tuple[Array, ...]]:
    """The tensors that are updated together, each with its gradient and its states, in float64.

    Inputs come kind by kind: all tensors, then all gradients, and so on. CheckError if their number is no multiple of
    the kinds, ShapeError if those of a group differ in shape.
    """
    count = _count(len(inputs), kinds)
    grouped = [tuple(inputs[i::count]) for i in range(count)]
    for group in grouped:
        if len({x.shape for x in group}) > 1:
            raise ShapeError(f"a tensor, its gradient and its states differ in shape: {[x.shape for x in group]}")
    return [tuple(x.astype(np.float64) for x in group) for group in grouped]


def number(x: prim.Tensor) -> prim.Tensor:
    """The only element of a tensor, in float64; Refused if it has another number of them."""
    if prim.count(x.shape) != 1:
        raise prim.Refused(f"{prim.count(x.shape)} elements where one is expected")
    return prim.cast(prim.reshape(x, ()), DType.FLOAT64)


def tensor_groups(inputs: Sequence[prim.Tensor], kinds: int) -> list[tuple[prim.Tensor, ...]]:
    """The same groups in primitives: those of a group are assumed to have one shape."""
    count = _count(len(inputs), kinds)
    grouped = [inputs[i::count] for i in range(count)]
    return [tuple(prim.cast(prim.assume_shape(x, group[0].shape), DType.FLOAT64) for x in group) for group in grouped]


def infer(r: Fact, t: Fact, /, *inputs: Fact, kinds: int) -> tuple[Inferred, ...]:
    """The new tensors and states are as the old ones, the gradients are left out."""
    count = _count(len(inputs), kinds)
    for i in range(count):
        shapes = [x.shape for x in inputs[i::count] if x.shape is not None]
        if len({len(shape) for shape in shapes}) > 1:
            raise ShapeError(f"a tensor, its gradient and its states differ in rank: {[len(s) for s in shapes]}")
        for column in zip(*shapes, strict=True):
            for dim in column:
                unify(column[0], dim)
    return tuple(x.type for x in (*inputs[:count], *inputs[2 * count :]))


def _count(inputs: int, kinds: int) -> int:
    if not inputs or inputs % kinds:
        raise CheckError(f"there are {inputs} tensors, no multiple of {kinds}: the tensors, gradients and states")
    return inputs // kinds
