"""Operands that the copy engine (TMA) walks: matrices, in batches, one of whose axes is contiguous."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from ingot.codegen.nvptx.sums import packed_load
from ingot.codegen.nvptx.variant import TensorMap
from ingot.dataclass import dataclass
from ingot.dims import Dim
from ingot.loops.ir import Buffer, Contraction, Load, Var

LINE_ELEMENTS = 64
"""Elements of 16 bits in a line of a tile."""

_MOST_BATCH = 3
_BYTES = 2
_APART = 16
"""Strides are multiples of so many bytes."""

_MOST_SIZE, _MOST_STRIDE = 1 << 31, 1 << 39


@dataclass(frozen=True, slots=True)
class Walk:
    """The axes of an operand and its strides, the contiguous one first; then batches, those that it depends on."""

    load: Load
    axes: tuple[Var, ...]
    along_k: bool
    """Whether the contiguous axis is the summed one."""

    @property
    def batch(self) -> tuple[Var, ...]:
        return self.axes[2:]

    def boxes(self, rows: int) -> int:
        """The copies that bring so many rows of a tile."""
        return 1 if self.along_k else rows // LINE_ELEMENTS


def walks_of(product: Contraction) -> tuple[Walk, Walk] | str:
    """How both operands are walked, or why one is not."""
    if len(product.k) != 1 or len(product.m) != 1 or len(product.n) != 1:
        return "an operand that is no matrix"
    right = packed_load(product) if product.packed else product.rhs
    walks = (
        walk_of(product.lhs, product.m[0], product.k[0], product.batch),
        walk_of(right, product.n[0], product.k[0], product.batch),
    )
    left, other = walks
    if isinstance(left, str):
        return left
    return other if isinstance(other, str) else (left, other)


def walk_of(load: Load, row: Var, k: Var, batch: tuple[Var, ...]) -> Walk | str:
    """How an operand is walked whose axes are rows and the summed one, or why it is not."""
    index = load.index
    if load.where:
        return "an operand that is padded"
    if any(term not in (row, k, *batch) for term, _ in index.terms):
        return "an operand at computed places"
    along_k = index.factor(k) == 1
    inner, outer = (k, row) if along_k else (row, k)
    if index.factor(inner) != 1 or index.factor(outer) == 0:
        return "an operand whose elements are apart"
    walked = tuple(var for var in reversed(batch) if index.factor(var) != 0)
    if len(walked) > _MOST_BATCH:
        return "batches along too many axes"
    return Walk(load, (inner, outer, *walked), along_k)


class Sizes(Protocol):
    """The buffers of a kernel, and what its sizes are in a run."""

    @property
    def buffers(self) -> tuple[Buffer, ...]: ...

    @property
    def size(self) -> Callable[[Dim], int]: ...


def map_of(walk: Walk, sized: Sizes, rows: int) -> TensorMap | None:
    """The tensor map for copies of `rows` rows of an operand; None where sizes or strides do not suit the engine."""
    index, size = walk.load.index, sized.size
    sizes = [size(var.extent) for var in walk.axes]
    strides = [_BYTES * size(index.factor(var)) for var in walk.axes[1:]]
    strides = [_APART if length == 1 else stride for length, stride in zip(sizes[1:], strides, strict=True)]
    offset = _BYTES * size(index.offset)
    if offset % _APART or any(stride % _APART or not 0 < stride < _MOST_STRIDE for stride in strides):
        return None
    if any(not 0 < length < _MOST_SIZE for length in sizes):
        return None
    box = (LINE_ELEMENTS, rows if walk.along_k else LINE_ELEMENTS, *(1 for _ in walk.batch))
    place = sized.buffers.index(walk.load.buffer)
    return TensorMap(place, walk.load.dtype, tuple(sizes), tuple(strides), box, offset)
