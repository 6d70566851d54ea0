"""Scheduling: the loops of fused kernels adapted to a target.

Fusion determines what each kernel computes; the schedule, how. Elementwise loops and reductions are collapsed,
vectorised, parallelised and jammed (unroll-and-jam); long reductions become two kernels; contractions (GEMM) get tiles,
or become Winograd's; attention gets blocks; decision trees get chunks of rows; packing is hoisted out of loops.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ingot.dataclass import dataclass
from ingot.fuse.build import Fused
from ingot.fuse.contraction import Packed
from ingot.fuse.read import Placed
from ingot.loops.ir import (
    Attention,
    BranchStep,
    Buffer,
    Contraction,
    Descent,
    Kernel,
    KernelNest,
    LoopStep,
    Nest,
    Recurrence,
    RoundedRows,
    SlidingWindows,
    Sort,
    Staged,
    Step,
    Suppress,
    Winograd,
    kernels_in,
)
from ingot.loops.kernel import kernel_of, zeros_of
from ingot.prim.guard import Guards
from ingot.prim.tensor import Tensor
from ingot.schedule.alternate import alternate
from ingot.schedule.attention import schedule_attention
from ingot.schedule.contraction import rounded_before, schedule_contraction
from ingot.schedule.descent import schedule_descent
from ingot.schedule.forward_stores import forward_stores
from ingot.schedule.fusion_limits import fusion_limits
from ingot.schedule.hoist_packing import hoist_packing
from ingot.schedule.merge_epilogues import grouped, merge_epilogues
from ingot.schedule.merge_parts import parts_of_rows
from ingot.schedule.merge_reductions import merge_reductions
from ingot.schedule.nest import collapse, schedule_nest, schedule_parts
from ingot.schedule.recurrence import enclose_loops
from ingot.schedule.sequential import schedule_statements
from ingot.schedule.sort import schedule_sort
from ingot.schedule.split_reduction import split_reduction
from ingot.schedule.suppress import schedule_suppress
from ingot.schedule.target import Target
from ingot.schedule.winograd import Filters, winograd_of

ConstantMemory = Tensor | Packed | Filters
"""The contents of a constant buffer."""

_MOST_NESTS = 16
"""Loop nests of a kernel, at most: LLVM takes more than twice as long for a function of twice as many, and as much more
memory, until it has none. 42 reductions take 3.5 s as one kernel.
"""


@dataclass(frozen=True, slots=True)
class Scheduled:
    """What is compiled: steps in order, the placement of every stored tensor, and the contents of constant buffers.

    `zeros` are buffers of zeros. `stores` is the tensor that each kernel stores, and `why` the reason for storing it.
    `guards` are sizes that are assumed to be equal whichever branches are taken.
    """

    steps: tuple[Step, ...]
    placed: Mapping[Tensor, Placed]
    constants: Mapping[Buffer, ConstantMemory]
    zeros: tuple[Buffer, ...]
    stores: Mapping[Kernel, Tensor]
    why: Mapping[Tensor, str]
    guards: Guards


def schedule(fused: Fused, target: Target) -> Scheduled:
    """The kernels of a program for a target."""
    merged = merge_epilogues(fused.steps)
    constants: dict[Buffer, ConstantMemory] = {**fused.constants, **dict(grouped(fused.constants, merged.groups))}
    forwarded = forward_stores(merged.steps, fused.visible)
    alternated = alternate(forwarded.steps, constants)
    reduced = merge_reductions(alternated.steps)
    kernels: dict[Kernel, tuple[Kernel, ...]] = {}
    for kernel in kernels_in(reduced.steps):
        kernels[kernel] = _winograd(kernel, constants, target) or _schedule_kernel(kernel, target)
    hoisted = hoist_packing(replace_kernels(reduced.steps, kernels), target)
    fused_stores: dict[Kernel, Tensor] = {}
    for kernel, new_ones in kernels.items():
        last = reduced.origins.get(kernel, (kernel,))[-1]
        old = alternated.origins.get(last, last)
        last = forwarded.origins.get(old, (old,))[-1]
        fused_stores.update(dict.fromkeys(new_ones, fused.stores[merged.origins.get(last, (last,))[-1]]))
    enclosed = enclose_loops(hoisted.steps)
    owners = {placed.buffer: tensor for tensor, placed in fused.placed.items()}
    stores: dict[Kernel, Tensor] = {}
    for kernel in kernels_in(enclosed.steps):
        last = enclosed.origins.get(kernel, (kernel,))[-1]
        stores[kernel] = fused_stores[hoisted.origins.get(last, last)]
        if kernel in hoisted.packing:
            stores[kernel] = owners[kernel.reads[0]]
    nests = [nest for kernel in stores for nest in kernel.nests]
    zeros = zeros_of(nests)
    return Scheduled(enclosed.steps, fused.placed, constants, zeros, stores, fused.why, fused.guards)


def _schedule_kernel(kernel: Kernel, target: Target) -> tuple[Kernel, ...]:
    """One kernel, or the two that a long reduction becomes."""
    if len(kernel.nests) == 1 and isinstance(nest := kernel.nests[0], Nest):
        split = split_reduction(collapse(nest), kernel.name, fusion_limits(target))
        if split is not None:
            parts = kernel_of(
                f"{kernel.name}_parts",
                tuple(schedule_nest(part, kernel.name, target) for part in split.parts),
                split.buffers,
            )
            return parts, kernel_of(kernel.name, (schedule_nest(split.whole, kernel.name, target),), kernel.writes)
    return tuple(scheduled for part in _divided(kernel) for scheduled in _schedule_nests(part, target))


def _divided(kernel: Kernel) -> tuple[Kernel, ...]:
    """A kernel of many loop nests, as that of a long Concat, as several that store parts of the same."""
    is_plain = all(isinstance(nest, Nest) for nest in kernel.nests)
    if len(kernel.nests) <= _MOST_NESTS or not is_plain or not set(kernel.writes).isdisjoint(kernel.reads):
        return (kernel,)
    parts = (kernel.nests[first : first + _MOST_NESTS] for first in range(0, len(kernel.nests), _MOST_NESTS))
    return tuple(kernel_of(f"{kernel.name}_{n}", part, kernel.writes) for n, part in enumerate(parts))


def _schedule_nests(kernel: Kernel, target: Target) -> tuple[Kernel, ...]:
    nests = tuple(nest for group in parts_of_rows(kernel.nests) for nest in _schedule_group(group, kernel.name, target))
    return _with_rows_before(kernel, nests)


def _with_rows_before(kernel: Kernel, nests: Sequence[KernelNest]) -> tuple[Kernel, ...]:
    """A kernel of scheduled nests, after another one that rounds the rows which some of these multiply as bytes."""
    rounding: list[RoundedRows] = []
    reading: list[KernelNest] = []
    for nest in nests:
        if isinstance(nest, Contraction) and nest.codes is not None and nest.codes.dot is not None:
            rows, nest = rounded_before(nest, f"{kernel.name}{len(rounding) or ''}")
            rounding.append(rows)
        reading.append(nest)
    own = kernel_of(kernel.name, reading, kernel.writes)
    if not rounding:
        return (own,)
    writes = [buffer for rows in rounding for buffer in (rows.rounded, rows.scales, rows.totals)]
    return kernel_of(f"{kernel.name}_rows", rounding, writes), own


def _schedule_group(group: Sequence[KernelNest], name: str, target: Target) -> Sequence[KernelNest]:
    """Nests that store parts of the same rows, as one where that pays, else each by itself."""
    parts = [nest for nest in group if isinstance(nest, Nest)]
    together = schedule_parts(parts, target) if len(parts) > 1 else None
    return [_schedule(nest, name, target) for nest in group] if together is None else [together]


def _schedule(nest: KernelNest, name: str, target: Target) -> KernelNest:
    match nest:
        case Nest():
            return schedule_nest(nest, name, target)
        case Contraction():
            return schedule_contraction(nest, name, target)
        case Attention():
            return schedule_attention(nest, name, target)
        case Descent():
            return schedule_descent(nest, name, target)
        case Sort():
            return schedule_sort(nest, name)
        case Suppress():
            return schedule_suppress(nest, name, target)
        case Winograd() | Recurrence() | RoundedRows() | Staged() | SlidingWindows():
            raise AssertionError("fusion leaves the choice of an algorithm to the schedule")
        case _:
            return schedule_statements(nest, target)


def _winograd(kernel: Kernel, constants: dict[Buffer, ConstantMemory], target: Target) -> tuple[Kernel] | None:
    """A convolution by Winograd's algorithm, with its filters among the constants; None for any other kernel."""
    product = kernel.nests[0]
    weights = constants.get(product.rhs.buffer) if isinstance(product, Contraction) else None
    if not isinstance(product, Contraction) or not isinstance(weights, Packed):
        return None
    transformed = winograd_of(product, weights, kernel.name, target)
    if transformed is None:
        return None
    del constants[product.rhs.buffer]
    constants.update(transformed.constants)
    return (kernel_of(kernel.name, (transformed.nest,), kernel.writes),)


def replace_kernels(steps: Sequence[Step], kernels: Mapping[Kernel, tuple[Kernel, ...]]) -> tuple[Step, ...]:
    """Steps with scheduled kernels in the place of fused ones."""
    replaced: list[Step] = []
    for step in steps:
        match step:
            case Kernel():
                replaced.extend(kernels[step])
            case LoopStep():
                replaced.append(replace(step, steps=replace_kernels(step.steps, kernels)))
            case BranchStep():
                then, otherwise = replace_kernels(step.then, kernels), replace_kernels(step.otherwise, kernels)
                replaced.append(replace(step, then=then, otherwise=otherwise))
            case _:
                replaced.append(step)
    return tuple(replaced)
