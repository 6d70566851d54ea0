"""Packing hoisted out of loops: a right operand that is invariant in a loop is packed into panels once, before it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from ingot.dataclass import dataclass
from ingot.loops.ir import BranchStep, Buffer, Contraction, Kernel, LoopStep, Step, kernels_in
from ingot.loops.kernel import kernel_of
from ingot.schedule.contraction import packed_before
from ingot.schedule.target import Target


@dataclass(frozen=True, slots=True)
class Hoisted:
    """Steps, and for each new kernel the one it replaces; `packing` are those that pack."""

    steps: tuple[Step, ...]
    origins: Mapping[Kernel, Kernel]
    packing: frozenset[Kernel]


def hoist_packing(steps: Sequence[Step], target: Target) -> Hoisted:
    """Steps in which a contraction inside of a loop reads panels that are packed right before the loop.

    It is the outermost loop that the right operand is invariant in.
    """
    origins: dict[Kernel, Kernel] = {}
    packing: set[Kernel] = set()

    def hoisted(steps: Sequence[Step]) -> Iterator[Step]:
        for step in steps:
            if isinstance(step, LoopStep):
                reading: dict[Kernel, Kernel] = {}
                for kernel in _invariant(step):
                    pack, reading[kernel] = _in_two(kernel, target)
                    origins.update(dict.fromkeys((pack, reading[kernel]), kernel))
                    packing.add(pack)
                    yield pack
                yield replace(step, steps=tuple(hoisted(_replaced(step.steps, reading))))
            elif isinstance(step, BranchStep):
                yield replace(step, then=tuple(hoisted(step.then)), otherwise=tuple(hoisted(step.otherwise)))
            else:
                yield step

    return Hoisted(tuple(hoisted(steps)), origins, frozenset(packing))


def _invariant(loop: LoopStep) -> Iterator[Kernel]:
    """The kernels in a loop that pack an invariant right operand."""
    written: set[Buffer] = {loop.number, *loop.collected, *(buffer for pair in loop.swapped for buffer in pair)}
    kernels = list(kernels_in(loop.steps))
    written.update(buffer for kernel in kernels for buffer in kernel.writes)
    written.update(buffer for inner in _loops_in(loop.steps) for pair in inner.swapped for buffer in pair)
    for kernel in kernels:
        match kernel.nests:
            case (Contraction(packed=False, panels=None) as product,) if product.rhs.buffer not in written:
                yield kernel


def _loops_in(steps: Sequence[Step]) -> Iterator[LoopStep]:
    for step in steps:
        if isinstance(step, LoopStep):
            yield step
            yield from _loops_in(step.steps)
        elif isinstance(step, BranchStep):
            yield from _loops_in((*step.then, *step.otherwise))


def _in_two(kernel: Kernel, target: Target) -> tuple[Kernel, Kernel]:
    """The kernel that packs the right operand of a contraction, and the one that reads the panels."""
    (product,) = kernel.nests
    assert isinstance(product, Contraction)
    packing, product = packed_before(product, kernel.name, target)
    assert packing.panels is not None
    pack = kernel_of(f"{kernel.name}_pack", (packing,), (packing.panels,))
    return pack, kernel_of(kernel.name, (product,), kernel.writes)


def _replaced(steps: Sequence[Step], kernels: Mapping[Kernel, Kernel]) -> tuple[Step, ...]:
    """Steps with kernels in the place of others."""
    return tuple(_step(step, kernels) for step in steps)


def _step(step: Step, kernels: Mapping[Kernel, Kernel]) -> Step:
    match step:
        case Kernel():
            return kernels.get(step, step)
        case LoopStep():
            return replace(step, steps=_replaced(step.steps, kernels))
        case BranchStep():
            then, otherwise = _replaced(step.then, kernels), _replaced(step.otherwise, kernels)
            return replace(step, then=then, otherwise=otherwise)
    return step
