"""The provider `cpu`: kernels compiled for the processor at hand, and everything about memory that sizes leave open."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from ingot.codegen.executable_memory import Code
from ingot.codegen.llvm.kernel import buffers_of, emit
from ingot.codegen.llvm.pack import packed
from ingot.codegen.llvm.templates import Template, template
from ingot.dims import Dim, substitute, symbols
from ingot.dtypes import Array
from ingot.format.pages import release
from ingot.fuse.contraction import Packed
from ingot.loops.digest import digest
from ingot.loops.ir import Buffer, Contraction, Kernel, Tile, Winograd
from ingot.loops.parametrise import parametrise
from ingot.lower.program import Program
from ingot.prim.guard import Guard
from ingot.prim.tensor import Call, CallResult, Constant, Parameter, Scatter, Tensor
from ingot.prim.walk import in_order
from ingot.providers.cpu.rows import JumpRow, flattened, jump_of, lives_of
from ingot.runtime.frame import aligned
from ingot.runtime.plan import MOST_TRIPS, Allocation, Arm, Body, Jump, KernelStep, Plan, Segment
from ingot.runtime.thread_pool import begin_thread_pool, processors
from ingot.schedule.schedule import Scheduled
from ingot.schedule.target import Target
from ingot.schedule.winograd import Filters


@dataclass(frozen=True, slots=True)
class CompiledKernel:
    """A kernel in machine code: the buffers it takes, in order, and the sizes it is told."""

    code: Code
    buffers: tuple[Buffer, ...]
    sizes: tuple[Dim, ...]


def plan_of(
    program: Program,
    scheduled: Scheduled,
    stored: Sequence[Tensor],
    target: Target,
    threads: int,
    most_trips: int = MOST_TRIPS,
    bodies: Mapping[Call, tuple[Body | None, ...]] | None = None,
) -> Plan:
    """The kernels compiled, and everything about memory that does not depend on sizes.

    The bodies of loops are run at most `most_trips` times, all together. `bodies` are those of calls that have plans.
    """
    slots: dict[Buffer, int] = {}
    rows, arms = flattened(scheduled.steps)
    kernels = [row for row in rows if isinstance(row, Kernel)]
    begun = {kernel: _begun(kernel, target) for kernel in kernels}
    begin_thread_pool(target)
    for kernel in kernels:
        for buffer in buffers_of(kernel):
            slots.setdefault(buffer, len(slots))
    for row in rows:
        if isinstance(row, JumpRow):
            for buffer in row.buffers:
                slots.setdefault(buffer, len(slots))
    owners = {placed.buffer: tensor for tensor, placed in scheduled.placed.items()}
    visible = {scheduled.placed[tensor].buffer: tensor for tensor in stored if tensor in scheduled.placed}
    template = np.zeros(max(1, len(slots)), np.int64)
    constants: dict[Tensor, Array] = {}
    products = [nest for kernel in kernels for nest in kernel.nests if isinstance(nest, Contraction | Winograd)]
    columns = {product.rhs.buffer: product.tile for product in products if product.tile is not None}
    zeros = np.zeros(64 + max((_length(buffer) for buffer in scheduled.zeros), default=0), np.uint8)
    memory = [(slots[buffer], zeros) for buffer in scheduled.zeros]
    held = {buffer: constant for buffer, constant in scheduled.constants.items() if buffer in slots}
    with ThreadPoolExecutor(processors()) as crew:  # numpy copies without holding the others up
        arrays = crew.map(lambda item: _memory(item[1], columns.get(item[0]), target), held.items())
        memory += [(slots[buffer], array) for buffer, array in zip(held, arrays, strict=True)]
    for slot, array in memory:
        template[slot] = array.ctypes.data
    for tensor in stored:
        if isinstance(tensor, Constant):
            constants[tensor] = tensor.array
    given: dict[Tensor, int] = {
        tensor: slots[placed.buffer]
        for tensor, placed in scheduled.placed.items()
        if isinstance(tensor, Parameter | CallResult) and placed.buffer in slots
    }
    made: dict[Call, list[CallResult]] = {}
    for tensor in in_order(stored):
        if isinstance(tensor, CallResult):
            made.setdefault(tensor.call, []).append(tensor)
    for tensor in (*program.inputs.values(), *(each for some in made.values() for each in some)):
        if isinstance(tensor, Parameter | CallResult) and tensor not in given and tensor.shape:
            given[tensor] = len(slots) + len(given)  # nobody reads it, but its sizes are told
    template = np.concatenate([template, np.zeros(len(given) + 1, np.int64)])
    bound = {"threads"} | {
        name for tensor in program.inputs.values() for size in tensor.shape for name in symbols(size)
    }
    guards: dict[tuple[Dim, Dim], Guard] = {}
    for guard in (*program.guards, *scheduled.guards):
        guards.setdefault((guard.left, guard.right), guard)
    codes = {kernel: _finished(kernel, *template) for kernel, template in begun.items()}
    keep = tuple(code.code for code in codes.values())
    idle = {kernel for kernel, tensor in scheduled.stores.items() if not isinstance(tensor, Scatter)}
    segments = _segments(rows, arms, codes, slots, owners, visible, list(guards.values()), bound, made, idle)
    plain = {code.address: code.plain for code in keep if code.plain is not None}
    seen = (program.inputs, given, template, constants, made)
    return Plan(segments, *seen, keep, threads, tuple(memory), plain, most_trips, bodies or {})


def _segments(
    rows: Sequence[Kernel | JumpRow | Call],
    arms: Sequence[Arm],
    codes: Mapping[Kernel, CompiledKernel],
    slots: Mapping[Buffer, int],
    owners: Mapping[Buffer, Tensor],
    visible: Mapping[Buffer, Tensor],
    guards: list[Guard],
    bound: set[str],
    call_results: Mapping[Call, Sequence[CallResult]],
    idle: Collection[Kernel],
) -> tuple[Segment, ...]:
    """Steps up to each call; `bound` are the sizes known from the start, each guard is checked where its sizes are.

    `idle` are kernels with nothing to do where they write nothing; others still check what they are given.
    """
    lives = lives_of(rows)
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
                writes = tuple(slots[buffer] for buffer in row.writes if buffer in slots) if row in idle else ()
                steps.append(KernelStep(row.name, code.code.address, read, code.sizes, writes))
                needed = (*row.writes, *row.scratch)
            for buffer in needed:
                if buffer in slots and buffer not in allocated:
                    allocated.add(buffer)
                    allocations.append(_allocation(buffer, slots[buffer], *lives[buffer], owners, visible))
            continue
        own = tuple(Arm(arm.first - base, arm.end - base, arm.guards) for arm in arms if base <= arm.first < number)
        now = [guard for guard in guards if guard.names <= bound]
        guards = [guard for guard in guards if guard not in now]
        dims = [dim for step in steps for dim in (step.scalars if isinstance(step, KernelStep) else (step.trips,))]
        dims += [dim for allocation in allocations for dim in allocation.shape]
        names = {name for dim in dims for name in symbols(dim)}
        names |= {name for guard in (*now, *(each for arm in own for each in arm.guards)) for name in guard.names}
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


def _length(buffer: Buffer) -> int:
    assert isinstance(buffer.elements, int)
    return buffer.elements * buffer.dtype.numpy.itemsize


def _memory(constant: Tensor | Packed | Filters, tile: Tile | None, target: Target) -> Array:
    """What a constant buffer holds: weights as kernels read them, or an array as it is, where it is if possible."""
    if not isinstance(constant, Tensor):
        assert tile is not None
        found = packed(constant, tile)
        release(constant.array)  # or a model would be in memory twice
        return found
    assert isinstance(constant, Constant)
    array = np.ascontiguousarray(constant.array)
    if array.dtype == np.bool_:
        array = array.view(np.uint8)
    if target.unaligned or array.ctypes.data % array.dtype.itemsize == 0:
        return array
    memory = aligned(array.nbytes)
    memory[: array.nbytes] = array.reshape(-1).view(np.uint8)
    return memory


def compiled(kernel: Kernel, target: Target) -> CompiledKernel:
    """The code of a kernel, with its own buffers and sizes; kernels of one form share it."""
    return _finished(kernel, *_begun(kernel, target))


def _begun(kernel: Kernel, target: Target) -> tuple[Future[Template], Mapping[str, Dim]]:
    """The form of a kernel, which others may be about to make, and what it calls its sizes."""
    general = parametrise(kernel)
    return template(digest(general.kernel), target, lambda: emit(general.kernel, target)), general.sizes


def _finished(kernel: Kernel, template: Future[Template], names: Mapping[str, Dim]) -> CompiledKernel:
    found = template.result()
    return CompiledKernel(found.code, buffers_of(kernel), tuple(substitute(size, names) for size in found.sizes))
