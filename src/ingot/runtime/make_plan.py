"""The plan stage: scheduled kernels with their code become steps, slots, allocations and guards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ingot.codegen.kernel_code import KernelCode
from ingot.dims import Dim, symbols
from ingot.dtypes import Array
from ingot.loops.ir import Buffer, Kernel
from ingot.lower.program import Program
from ingot.prim.guard import Guard
from ingot.prim.tensor import Call, CallResult, Constant, Parameter, Scatter, Sizes, Tensor
from ingot.prim.walk import in_order
from ingot.runtime.plan import MOST_TRIPS, Allocation, Arm, Body, Jump, KernelStep, Plan, Segment
from ingot.runtime.rows import JumpRow, flattened, jump_of, lifetimes_of
from ingot.schedule.schedule import Scheduled


def make_plan(
    program: Program,
    scheduled: Scheduled,
    roots: Sequence[Tensor],
    codes: Mapping[Kernel, KernelCode],
    memory: Mapping[Buffer, Array],
    threads: int,
    most_trips: int = MOST_TRIPS,
    bodies: Mapping[Call, tuple[Body | None, ...]] | None = None,
) -> Plan:
    """The plan that computes `roots` by kernels with these codes; `memory` is that of the constants they read.

    The bodies of loops are run at most `most_trips` times, all together. `bodies` are those of calls that have plans.
    """
    rows, arms = flattened(scheduled.steps)
    slots = _slots(rows, codes)
    owners = {placed.buffer: tensor for tensor, placed in scheduled.placed.items()}
    visible = {scheduled.placed[tensor].buffer: tensor for tensor in roots if tensor in scheduled.placed}
    inputs: dict[Tensor, int] = {
        tensor: slots[placed.buffer]
        for tensor, placed in scheduled.placed.items()
        if isinstance(tensor, Parameter | CallResult) and placed.buffer in slots
    }
    call_results: dict[Call, list[CallResult]] = {}
    for tensor in in_order(roots):
        if isinstance(tensor, CallResult):
            call_results.setdefault(tensor.call, []).append(tensor)
    for tensor in (*program.inputs.values(), *(result for results in call_results.values() for result in results)):
        if isinstance(tensor, Parameter | CallResult) and tensor not in inputs and tensor.shape:
            inputs[tensor] = len(slots) + len(inputs)  # no kernel reads it, but its sizes are needed
    template = np.zeros(max(1, len(slots)) + len(inputs) + 1, np.int64)
    held = tuple((slots[buffer], array) for buffer, array in memory.items() if buffer in slots)
    for slot, array in held:
        template[slot] = array.ctypes.data
    constants: dict[Tensor, Array] = {tensor: tensor.array for tensor in roots if isinstance(tensor, Constant)}
    guards: dict[tuple[Dim, Dim], Guard] = {}
    for guard in (*program.guards, *scheduled.guards):
        guards.setdefault((guard.left, guard.right), guard)
    known = {"threads"} | {
        name for tensor in program.inputs.values() for size in tensor.shape for name in symbols(size)
    }
    updates = {
        kernel: tensor.updates.shape if isinstance(tensor, Scatter) else None
        for kernel, tensor in scheduled.stores.items()
    }
    segments = _segments(rows, arms, codes, slots, owners, visible, list(guards.values()), known, call_results, updates)
    keep = tuple(code.code for code in codes.values())
    linked = {code.address: code.plain for code in keep if code.plain is not None}
    tables = (program.inputs, inputs, template, constants, call_results)
    return Plan(segments, *tables, keep, threads, held, linked, most_trips, bodies or {})


def _slots(rows: Sequence[Kernel | JumpRow | Call], codes: Mapping[Kernel, KernelCode]) -> dict[Buffer, int]:
    """A slot of the table of addresses for each buffer that a step reads or writes."""
    slots: dict[Buffer, int] = {}
    for row in rows:
        for buffer in codes[row].buffers if isinstance(row, Kernel) else ():
            slots.setdefault(buffer, len(slots))
    for row in rows:
        for buffer in row.buffers if isinstance(row, JumpRow) else ():
            slots.setdefault(buffer, len(slots))
    return slots


def _segments(
    rows: Sequence[Kernel | JumpRow | Call],
    arms: Sequence[Arm],
    codes: Mapping[Kernel, KernelCode],
    slots: Mapping[Buffer, int],
    owners: Mapping[Buffer, Tensor],
    visible: Mapping[Buffer, Tensor],
    guards: list[Guard],
    bound: set[str],
    call_results: Mapping[Call, Sequence[CallResult]],
    updates: Mapping[Kernel, Sizes | None],
) -> tuple[Segment, ...]:
    """Steps up to each call; `bound` are the sizes known from the start, each guard is checked where its sizes are.

    `updates` are kernels with nothing to do where they write nothing: a scatter, with the sizes of what it puts in,
    only where that is nothing, too, else it checks its indices. Others always check what they are given.
    """
    lifetimes = lifetimes_of(rows)
    segments: list[Segment] = []
    allocated: set[Buffer] = set()
    steps: list[KernelStep | Jump] = []
    allocations: list[Allocation] = []
    base = 0
    for number, row in enumerate([*rows, None]):
        if isinstance(row, Kernel | JumpRow):
            needed: Sequence[Buffer]
            if isinstance(row, JumpRow):
                steps.append(jump_of(row, slots, base))
                needed = row.allocates
            else:
                code = codes[row]
                read = tuple(slots[buffer] for buffer in code.buffers)
                put = updates.get(row, ())
                idle = put is None or bool(put)
                writes = tuple(slots[buffer] for buffer in row.writes if buffer in slots) if idle else ()
                steps.append(KernelStep(row.name, code.code.address, read, code.scalars, writes, put or ()))
                needed = (*row.writes, *row.scratch)
            for buffer in needed:
                if buffer in slots and buffer not in allocated:
                    allocated.add(buffer)
                    allocations.append(_allocation(buffer, slots[buffer], *lifetimes[buffer], owners, visible))
            continue
        own = tuple(Arm(arm.first - base, arm.end - base, arm.guards) for arm in arms if base <= arm.first < number)
        now = [guard for guard in guards if guard.names <= bound]
        guards = [guard for guard in guards if guard not in now]
        dims = [dim for step in steps for dim in (step.scalars if isinstance(step, KernelStep) else (step.trips,))]
        dims += [dim for allocation in allocations for dim in allocation.shape]
        dims += [dim for step in steps if isinstance(step, KernelStep) for dim in step.updates]
        names = {name for dim in dims for name in symbols(dim)}
        names |= {name for guard in (*now, *(inner for arm in own for inner in arm.guards)) for name in guard.names}
        segments.append(Segment(tuple(steps), tuple(allocations), tuple(sorted(names)), tuple(now), row, own, base))
        steps, allocations = [], []
        base = number + 1
        if row is not None:
            bound |= {name for tensor in call_results.get(row, ()) for size in tensor.shape for name in symbols(size)}
    return tuple(segments)


def _allocation(
    buffer: Buffer,
    slot: int,
    first: int,
    last: int,
    owners: Mapping[Buffer, Tensor],
    visible: Mapping[Buffer, Tensor],
) -> Allocation:
    tensor = visible.get(buffer)
    if tensor is not None:
        return Allocation(slot, buffer.dtype, tensor.shape, first, last, tensor)
    owner = owners.get(buffer)
    shape = (buffer.elements,) if owner is None else owner.shape
    return Allocation(slot, buffer.dtype, shape, first, last)
