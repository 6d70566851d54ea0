"""Recurrences on a GPU: a loop over products with packed weights is one kernel, whose blocks wait for each other.

Blocks hold the weights of their columns in shared memory, so that a loop may have as many as a GPU has room for. Which
loops can be enclosed is as on the processor (`schedule/recurrence.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ingot.dtypes import DType
from ingot.fuse.build import Fused
from ingot.loops.ir import BranchStep, Buffer, Contraction, Kernel, LoopStep, Recurrence, Step, kernels_in
from ingot.loops.kernel import kernel_of
from ingot.prim.tensor import Tensor
from ingot.schedule.forward_stores import forward_stores
from ingot.schedule.merge_epilogues import grouped, merge_epilogues
from ingot.schedule.recurrence import enclose_loops

_MOST = 1 << 22
"""Weights of a loop up to which the multiprocessors of a large GPU hold those of two."""

ARRIVALS = 1 << 10
"""Gangs of blocks that wait for each other, at most, with a count for each."""


def enclose_gpu_loops(fused: Fused) -> Fused:
    """A program with its loops enclosed; as it is, where not all products with gates are enclosed."""
    merged = merge_epilogues(fused.steps)
    forwarded = forward_stores(merged.steps, fused.visible)
    enclosed = enclose_loops(forwarded.steps, _MOST)
    kernels = list(kernels_in(enclosed.steps))
    recurrences = [kernel for kernel in kernels if isinstance(kernel.nests[0], Recurrence)]
    if not recurrences or not all(map(_has_kernels, kernels)):
        return fused
    counted = {kernel: _counted(kernel) for kernel in recurrences}
    stores: dict[Kernel, Tensor] = {}
    for kernel in kernels:
        inner = kernel
        for origins in (enclosed.origins, forwarded.origins, merged.origins):
            inner = origins.get(inner, (inner,))[-1]
        stores[counted.get(kernel, kernel)] = fused.stores[inner]
    constants = {**fused.constants, **dict(grouped(fused.constants, merged.groups))}
    return replace(fused, steps=_replaced(enclosed.steps, counted), constants=constants, stores=stores)


def _has_kernels(kernel: Kernel) -> bool:
    """Whether a GPU has a kernel for what became of a loop: gates are columns of recurrences alone."""
    for nest in kernel.nests:
        if isinstance(nest, Recurrence):
            if not all(_is_held(inner) for cycle in nest.cycles for inner in cycle.nests):
                return False
        elif isinstance(nest, Contraction) and nest.groups > 1:
            return False
    return True


def _is_held(nest: object) -> bool:
    return isinstance(nest, Contraction) and nest.dtype is nest.rhs.dtype is nest.lhs.dtype is DType.FLOAT32


def _counted(kernel: Kernel) -> Kernel:
    """A recurrence with memory for counts of arrivals, that of the first of its products."""
    (nest,) = kernel.nests
    assert isinstance(nest, Recurrence)
    arrivals = Buffer(f"{kernel.name}_arrivals", DType.INT32, ARRIVALS)
    first, *rest = nest.cycles
    inner = first.nests[0]
    assert isinstance(inner, Contraction)
    counted = replace(first, nests=(replace(inner, scratch=(arrivals,)), *first.nests[1:]))
    return kernel_of(kernel.name, (replace(nest, cycles=(counted, *rest)),), kernel.writes)


def _replaced(steps: Sequence[Step], kernels: Mapping[Kernel, Kernel]) -> tuple[Step, ...]:
    replaced: list[Step] = []
    for step in steps:
        match step:
            case Kernel():
                replaced.append(kernels.get(step, step))
            case LoopStep():
                replaced.append(replace(step, steps=_replaced(step.steps, kernels)))
            case BranchStep():
                then, otherwise = _replaced(step.then, kernels), _replaced(step.otherwise, kernels)
                replaced.append(replace(step, then=then, otherwise=otherwise))
            case _:
                replaced.append(step)
    return tuple(replaced)
