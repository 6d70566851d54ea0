"""The plan stage: scheduled kernels with their code become steps, slots, allocations, copies and guards."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from itertools import chain, count

import numpy as np

from ingot.codegen.kernel_code import KernelCode
from ingot.dataclass import dataclass
from ingot.dims import Dim, symbols
from ingot.dtypes import Array
from ingot.format.pages import unmapped
from ingot.loops.ir import Buffer, Kernel
from ingot.lower.program import Program
from ingot.prim.functions import STORED
from ingot.prim.guard import Guard
from ingot.prim.tensor import Call, CallResult, Constant, HostStep, Parameter, Scatter, Sizes, Tensor
from ingot.prim.walk import in_order
from ingot.runtime.device import constants_on
from ingot.runtime.plan import MOST_TRIPS, Allocation, Arm, Body, Copy, Jump, KernelStep, Placement, Plan, Segment
from ingot.runtime.provider import DeviceMemory
from ingot.runtime.rows import JumpRow, Row, flattened, jump_of, lifetimes_of, swapped_groups
from ingot.schedule.schedule import Scheduled
from ingot.schedule.threads import THREADS


def make_plan(
    program: Program,
    scheduled: Scheduled,
    roots: Sequence[Tensor],
    codes: Mapping[Kernel, KernelCode],
    constants: Mapping[Buffer, Array],
    threads: int,
    most_trips: int = MOST_TRIPS,
    bodies: Mapping[Call, tuple[Body | None, ...]] | None = None,
    device: DeviceMemory | None = None,
) -> Plan:
    """The plan that computes `roots` by kernels with these codes; `constants` are the contents of buffers they read.

    The bodies of loops are run at most `most_trips` times, all together. `bodies` are those of calls that have plans.
    Kernels read and write the memory of `device`, to which constants are copied now; None for that of the host.
    """
    planning = _planning(scheduled, roots, codes, device)
    call_results: dict[HostStep, list[CallResult]] = {}
    for tensor in in_order(roots):
        if isinstance(tensor, CallResult):
            call_results.setdefault(tensor.call, []).append(tensor)
    inputs = dict(planning.inputs)
    for tensor in (*program.inputs.values(), *(result for results in call_results.values() for result in results)):
        if isinstance(tensor, Parameter | CallResult) and tensor not in inputs and _is_checked(tensor):
            inputs[tensor] = planning.fresh()  # no kernel reads it, but its sizes are needed
    guards: dict[tuple[Dim, Dim], Guard] = {}
    for guard in (*program.guards, *scheduled.guards):
        guards.setdefault((guard.left, guard.right), guard)
    known = {THREADS} | {name for tensor in program.inputs.values() for size in tensor.shape for name in symbols(size)}
    segments = planning.segments(list(guards.values()), known, call_results)
    template = np.zeros(planning.fresh() + 1, np.int64)  # the last slot is nobody's
    keep: list[object] = [code.code for code in codes.values()]
    held: tuple[tuple[int, Array], ...] = tuple(
        (planning.slots[buffer], array) for buffer, array in constants.items() if buffer in planning.slots
    )
    for slot, array in held:
        template[slot] = array.ctypes.data
    shared = frozenset(planning.slots[buffer] for buffer in planning.shared if buffer in planning.slots)
    if device is not None:
        addresses, blocks = constants_on(device, held, shared)
        for slot, address in addresses.items():
            template[slot] = address
        keep.extend(blocks)
    linked = {code.code.address: code.code.plain for code in codes.values() if code.code.plain is not None}
    return Plan(
        segments,
        program.inputs,
        inputs,
        template,
        {tensor: unmapped(tensor.array) for tensor in roots if isinstance(tensor, Constant)},
        call_results,
        tuple(keep),
        threads,
        held,
        linked,
        most_trips,
        bodies or {},
        device,
        shared.intersection(slot for slot, _ in held),
    )


def _is_checked(tensor: Parameter | CallResult) -> bool:
    """Whether the rank and sizes of a value were assumed: those of a scalar that a call gives, too."""
    return bool(tensor.shape) or (isinstance(tensor, CallResult) and not tensor.opaque and tensor.dtype in STORED)


def _planning(
    scheduled: Scheduled, roots: Sequence[Tensor], codes: Mapping[Kernel, KernelCode], device: DeviceMemory | None
) -> _Planning:
    rows, arms = flattened(scheduled.steps)
    slots = _slots(rows, codes)
    numbers = count(len(slots))
    inputs: dict[Tensor, int] = {}
    uploads: dict[Buffer, Tensor] = {}
    for tensor, placed in scheduled.placed.items():
        if isinstance(tensor, Parameter | CallResult) and placed.buffer in slots:
            inputs[tensor] = slots[placed.buffer] if device is None else next(numbers)
            if device is not None:
                uploads[placed.buffer] = tensor
    return _Planning(
        rows=rows,
        arms=arms,
        codes=codes,
        slots=slots,
        numbers=numbers,
        inputs=inputs,
        owners={placed.buffer: tensor for tensor, placed in scheduled.placed.items()},
        visible={scheduled.placed[tensor].buffer: tensor for tensor in roots if tensor in scheduled.placed},
        updates={
            kernel: tensor.updates.shape if isinstance(tensor, Scatter) else None
            for kernel, tensor in scheduled.stores.items()
        },
        is_copied=device is not None,
        uploads=uploads,
        shared=frozenset() if device is None else _shared(rows),
        swapped={buffer: group for group in swapped_groups(rows) for buffer in group},
        lifetimes=lifetimes_of(rows, uploads),
    )


def _slots(rows: Sequence[Row], codes: Mapping[Kernel, KernelCode]) -> dict[Buffer, int]:
    """A slot of the table of addresses for each buffer that a step reads or writes."""
    slots: dict[Buffer, int] = {}
    for row in rows:
        for buffer in codes[row].buffers if isinstance(row, Kernel) else ():
            slots.setdefault(buffer, len(slots))
    for row in rows:
        for buffer in row.buffers if isinstance(row, JumpRow) else ():
            slots.setdefault(buffer, len(slots))
    return slots


def _shared(rows: Sequence[Row]) -> frozenset[Buffer]:
    """The buffers that jumps, which run on the host, look into; and those that take their places in a loop."""
    jumps = [row for row in rows if isinstance(row, JumpRow)]
    shared = {buffer for jump in jumps for buffer in jump.inspects}
    groups = [group for group in swapped_groups(rows) if not shared.isdisjoint(group)]
    return frozenset(shared.union(*groups))


@dataclass(slots=True)
class _Planning:
    """What the segments of a plan are made of.

    `inputs` are the slots of the arrays that come from outside; where they are copied, kernels read the slot of their
    buffer instead, in `uploads`. `owners` are the tensors that buffers hold, `visible` those seen from outside. The
    kernels in `updates` have nothing to do where they write nothing: a scatter, with the sizes of its updates, only
    where there is none of these, else it checks its indices. Others always check their inputs.
    """

    rows: Sequence[Row]
    arms: Sequence[Arm]
    codes: Mapping[Kernel, KernelCode]
    slots: Mapping[Buffer, int]
    numbers: Iterator[int]
    inputs: Mapping[Tensor, int]
    owners: Mapping[Buffer, Tensor]
    visible: Mapping[Buffer, Tensor]
    updates: Mapping[Kernel, Sizes | None]
    is_copied: bool
    uploads: Mapping[Buffer, Tensor]
    shared: frozenset[Buffer]
    swapped: Mapping[Buffer, list[Buffer]]
    lifetimes: Mapping[Buffer, tuple[int, int]]
    allocated: set[Buffer] = field(default_factory=set)

    def fresh(self) -> int:
        """A slot that no kernel uses."""
        return next(self.numbers)

    def segments(
        self, guards: list[Guard], bound: set[str], call_results: Mapping[HostStep, Sequence[CallResult]]
    ) -> tuple[Segment, ...]:
        """Steps up to each call; `bound` are the sizes known at first. A guard is checked where its sizes are known."""
        segments: list[Segment] = []
        steps: list[KernelStep | Jump] = []
        needed: dict[Buffer, None] = {}
        base = 0
        for number, row in enumerate([*self.rows, None]):
            if isinstance(row, Kernel | JumpRow):
                steps.append(jump_of(row, self.slots, base) if isinstance(row, JumpRow) else self._step(row))
                needed.update(dict.fromkeys(self._allocated_by(row)))
                continue
            arms = tuple(
                Arm(arm.first - base, arm.end - base, arm.guards) for arm in self.arms if base <= arm.first < number
            )
            now = [guard for guard in guards if guard.names <= bound]
            guards = [guard for guard in guards if guard not in now]
            allocations = [allocation for buffer in needed for allocation in self._allocations(buffer, base, number)]
            dims = [dim for step in steps for dim in (step.scalars if isinstance(step, KernelStep) else (step.trips,))]
            dims += [dim for allocation in allocations for dim in allocation.shape]
            dims += [dim for step in steps if isinstance(step, KernelStep) for dim in step.updates]
            names = {name for dim in dims for name in symbols(dim)}
            names |= {
                name for guard in (*now, *(inner for arm in arms for inner in arm.guards)) for name in guard.names
            }
            copies = sorted((copy for buffer in needed for copy in self._copies(buffer)), key=lambda copy: copy.to_host)
            own = (tuple(steps), tuple(allocations), tuple(sorted(names)), tuple(now))
            segments.append(Segment(*own, row, arms, base, tuple(copies)))
            steps, needed = [], {}
            base = number + 1
            if row is not None:
                results = call_results.get(row, ())
                bound |= {name for tensor in results for size in tensor.shape for name in symbols(size)}
        return tuple(segments)

    def _step(self, kernel: Kernel) -> KernelStep:
        code = self.codes[kernel]
        used = tuple(self.slots[buffer] for buffer in code.buffers)
        writes = tuple(self.slots[buffer] for buffer in kernel.writes if buffer in self.slots)
        updates = self.updates.get(kernel, ())
        idle = updates is None or bool(updates)
        return KernelStep(kernel.name, code.code.address, used, code.scalars, writes if idle else (), updates or ())

    def _allocated_by(self, row: Kernel | JumpRow) -> list[Buffer]:
        """The buffers that need memory from this step on: those it writes, and copies that it is the first to read.

        With them all that swap their memory with them: in another segment they would be placed again without them.
        """
        written = row.allocates if isinstance(row, JumpRow) else (*row.writes, *row.scratch)
        read = [buffer for buffer in row.buffers if buffer in self.uploads] if self.uploads else []
        together = chain.from_iterable(self.swapped.get(buffer, (buffer,)) for buffer in (*written, *read))
        buffers = [
            buffer for buffer in dict.fromkeys(together) if buffer in self.slots and buffer not in self.allocated
        ]
        self.allocated.update(buffers)
        return buffers

    def _allocations(self, buffer: Buffer, base: int, end: int) -> list[Allocation]:
        """The memory of a buffer in a segment from step `base` to `end`; on a device, with an array for a result."""
        slot, (first, last) = self.slots[buffer], self.lifetimes[buffer]
        alike = self.swapped.get(buffer, (buffer,))[0]  # all that are swapped have its size, if by other names
        tensor, owner = self._returned(buffer), self.owners.get(alike)
        shape = tensor.shape if tensor is not None else (alike.elements,) if owner is None else owner.shape
        if not self.is_copied:
            return [Allocation(slot, buffer.dtype, shape, first, last, tensor)]
        placement = Placement.SHARED if buffer in self.shared else Placement.DEVICE
        if buffer in self.uploads:
            return [Allocation(slot, buffer.dtype, shape, base, last, None, placement)]
        if tensor is None:
            return [Allocation(slot, buffer.dtype, shape, first, last, None, placement)]
        own = Allocation(slot, buffer.dtype, shape, first, max(last, end), None, placement)
        return [own, Allocation(self.fresh(), buffer.dtype, shape, first, last, tensor)]

    def _copies(self, buffer: Buffer) -> list[Copy]:
        if not self.is_copied:
            return []
        if buffer in self.uploads:
            return [Copy(self.uploads[buffer], self.slots[buffer], to_host=False)]
        tensor = self._returned(buffer)
        return [] if tensor is None else [Copy(tensor, self.slots[buffer], to_host=True)]

    def _returned(self, buffer: Buffer) -> Tensor | None:
        """The tensor seen from outside that a step stores in a buffer."""
        return None if buffer in self.uploads else self.visible.get(buffer)
