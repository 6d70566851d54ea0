"""Contractions that a loop runs over and over: panels are read to and fro, and states of zeros are not multiplied.

What a cache holds at the end of a run is read first in the next one: of panels that are larger than the cache, a part
is still there, where always reading them from the first to the last would find none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from ingot.dataclass import dataclass
from ingot.dtypes import DType
from ingot.fuse.contraction import Packed
from ingot.loops.ir import (
    BranchStep,
    Buffer,
    Contraction,
    Index,
    Kernel,
    Literal,
    Load,
    LoopStep,
    Nest,
    Stage,
    Step,
    Store,
    kernels_in,
)
from ingot.loops.kernel import kernel_of
from ingot.prim.tensor import Constant


@dataclass(frozen=True, slots=True)
class Alternated:
    """Steps, and for each new kernel the one that it replaces."""

    steps: tuple[Step, ...]
    origins: Mapping[Kernel, Kernel]


def alternate(steps: Sequence[Step], constants: Mapping[Buffer, object]) -> Alternated:
    """Steps in which contractions whose right operand is invariant in the loop around them know the number of the run.

    One of a state that begins with zeros, by finite constants, sums nothing in the first run.
    """
    origins: dict[Kernel, Kernel] = {}
    zeros = {buffer for kernel in kernels_in(steps) for buffer in _zeros_of(kernel, constants)}

    def changed(steps: Sequence[Step], loop: LoopStep | None = None) -> Iterator[Step]:
        written = set() if loop is None else _written(loop)
        for step in steps:
            match step:
                case LoopStep():
                    yield replace(step, steps=tuple(changed(step.steps, step)))
                case BranchStep():
                    yield replace(step, then=tuple(changed(step.then)), otherwise=tuple(changed(step.otherwise)))
                case Kernel(nests=(Contraction() as product,)) if loop and product.rhs.buffer not in written:
                    states = {initial for initial, _ in loop.swapped if initial in zeros}
                    weights = constants.get(product.rhs.buffer)
                    number = Load(DType.INT64, loop.number, Index())
                    from_zeros = product.lhs.buffer in states and _is_finite(weights)
                    nest = replace(product, number=number, from_zeros=from_zeros)
                    kernel = kernel_of(step.name, (nest,), step.writes)
                    origins[kernel] = step
                    yield kernel
                case _:
                    yield step

    return Alternated(tuple(changed(steps)), origins)


def _written(loop: LoopStep) -> set[Buffer]:
    swapped = {buffer for pair in loop.swapped for buffer in pair}
    return swapped.union(buffer for kernel in kernels_in(loop.steps) for buffer in kernel.writes)


def _zeros_of(kernel: Kernel, constants: Mapping[Buffer, object]) -> Iterator[Buffer]:
    """The buffer that a kernel fills with zeros, or with a constant of zeros."""
    match kernel.nests:
        case (Nest(stages=(Stage(body=(Store(buffer=buffer, value=Literal(value=0)),)),)),):
            yield buffer
        case (Nest(stages=(Stage(body=(Store(buffer=buffer, value=Load(buffer=source, fill=0)),)),)),):
            constant = constants.get(source)
            if isinstance(constant, Constant) and not constant.array.any():
                yield buffer


def _is_finite(weights: object) -> bool:
    return isinstance(weights, Packed) and bool(np.isfinite(weights.array).all())
