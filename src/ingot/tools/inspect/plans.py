"""A plan as text: the steps in order, the slots they read and write, and where these lie in memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ingot.codegen.jumps import BEGIN, GO, NEXT_RUN
from ingot.compile import Artifacts
from ingot.dims import Dim
from ingot.loops.ir import BranchStep, Buffer, Kernel, LoopStep, Step, kernels_in
from ingot.prim.show import typed
from ingot.prim.tensor import Call, CallResult, Parameter, RandomKey, SizeReading, Tensor
from ingot.runtime.bind import Binder
from ingot.runtime.guards import GuardFailed
from ingot.runtime.plan import Jump, Placement, Plan, Segment
from ingot.schedule.threads import THREADS
from ingot.tools.inspect.bodies import bodies_text
from ingot.tools.inspect.titles import number


def plan_text(compiled: Artifacts, sizes: Mapping[str, int]) -> str:
    """The plan of a model for sizes by name; where a size is missing, offsets are left out."""
    return "\n".join(line.rstrip() for line in _lines(compiled, {**sizes, THREADS: compiled.plan.threads}))


def _lines(compiled: Artifacts, sizes: Mapping[str, int]) -> Iterator[str]:
    plan = compiled.plan
    kernels = {step.name: step for step in kernels_in(compiled.scheduled.steps)}
    calls = sum(isinstance(segment.call, Call) for segment in plan.segments)
    many = f"{plan.threads} threads, which take pieces of each kernel as they come free"
    threads = "one thread" if plan.threads == 1 else many
    yield f"kernels {len(kernels)}, calls {calls}, run by {threads}"
    sizes_text = [f"{name} = {size:,}" for name, size in sizes.items() if name != THREADS]
    yield f"sizes {', '.join(sizes_text) or 'all fixed'}"
    buffers = _buffers(plan, kernels)
    yield ""
    yield "from outside"
    yield from _table(_inputs(plan, buffers), right=(0,))
    step = 0
    named = _named(compiled.scheduled.steps)
    for segment in plan.segments:
        if not segment.steps and segment.call is None:
            continue
        if segment.allocations:
            yield ""
            yield from _allocations(segment, buffers, sizes)
        yield ""
        yield "steps"
        rows: list[tuple[str, ...]] = []
        first = step
        rows += _copies(segment, buffers, to_host=False)
        for native in segment.steps:
            if isinstance(native, Jump):
                rows.append((str(step), native.name, _jump(native, named[native.name], first)))
                step += 1
                continue
            kernel = kernels[native.name]
            reads = " ".join(buffer.name for buffer in kernel.reads) or "nothing"
            rows.append((str(step), native.name, f"{reads} -> {' '.join(buffer.name for buffer in kernel.writes)}"))
            step += 1
        rows += _copies(segment, buffers, to_host=True)
        if isinstance(segment.call, SizeReading):
            (result,) = plan.call_results[segment.call]
            rows.append((str(step), "read", ", ".join(map(str, result.shape))))
            step += 1
        elif isinstance(segment.call, RandomKey):
            rows.append((str(step), "draw", "a key of random numbers"))
            step += 1
        elif segment.call is not None:
            node = segment.call.node
            bodies = bodies_text(segment.call, compiled)
            reason = f"{segment.call.reason}; {bodies}" if bodies else segment.call.reason
            rows.append((str(step), "call", f"{node.op_type} '{node.label}': {reason}"))
            step += 1
        yield from _table(rows, right=(0,))


def _copies(segment: Segment, buffers: Mapping[int, Buffer], to_host: bool) -> list[tuple[str, ...]]:
    """The copies before the steps of a segment, or after them."""
    where = "host" if to_host else "device"
    own = [copy for copy in segment.copies if copy.to_host == to_host]
    return [("", "copy", f"{_name(copy.slot, buffers)} to the {where}") for copy in own]


def _name(slot: int, buffers: Mapping[int, Buffer]) -> str:
    """What is in a slot: a buffer of a kernel, or a number that only jumps read."""
    return buffers[slot].name if slot in buffers else "number"


def _named(steps: Sequence[Step]) -> dict[str, LoopStep | BranchStep]:
    """Loops and choices by their names, those inside of others too."""
    named: dict[str, LoopStep | BranchStep] = {}
    for step in steps:
        if isinstance(step, LoopStep):
            named |= {step.name: step, **_named(step.steps)}
        elif isinstance(step, BranchStep):
            named |= {step.name: step, **_named(step.then), **_named(step.otherwise)}
    return named


def _jump(jump: Jump, step: LoopStep | BranchStep, first: int) -> str:
    """What a jump does, as text."""
    yes, no = jump.target + first, jump.otherwise + first
    if jump.kind == GO:
        return f"to {yes}"
    if isinstance(step, BranchStep):
        return f"{step.condition.name}: to {yes}, else to {no}"
    limit = step.trips.name if isinstance(step.trips, Buffer) else step.trips
    going = step.condition if jump.kind == BEGIN else step.going
    asked = [] if limit is None else [f"{step.number.name} < {limit}"]
    asked += [] if going is None else [going.name]
    swapped = [f"{one.name} and {other.name} change places; " for one, other in step.swapped if jump.kind == NEXT_RUN]
    return f"{''.join(swapped)}{' and '.join(asked) or 'always'}: to {yes}, else to {no}"


def _buffers(plan: Plan, kernels: Mapping[str, Kernel]) -> dict[int, Buffer]:
    """The buffer of each slot."""
    buffers: dict[int, Buffer] = {}
    for segment in plan.segments:
        for native in segment.steps:
            if isinstance(native, Jump):
                continue
            kernel = kernels[native.name]
            buffers.update(zip(native.slots, kernel.buffers, strict=True))
    return buffers


def _inputs(plan: Plan, buffers: Mapping[int, Buffer]) -> Iterator[tuple[str, ...]]:
    """The slots that no kernel writes: inputs, constants, and results of calls."""
    allocated = {allocation.slot for segment in plan.segments for allocation in segment.allocations}
    tensors = {slot: tensor for tensor, slot in plan.placed.items()}
    for slot, buffer in buffers.items():
        if slot not in allocated:
            tensor = tensors.get(slot)
            kind = f"{buffer.dtype}[{buffer.elements}]" if tensor is None else typed(tensor)
            yield str(slot), buffer.name, kind, _origin(tensor)


def _origin(tensor: Tensor | None) -> str:
    match tensor:
        case Parameter():
            return "input"
        case CallResult(call=Call() as call):
            return f"from {call.node.op_type} '{call.node.label}'"
    return "constant"


def _allocations(segment: Segment, buffers: Mapping[int, Buffer], sizes: Mapping[str, int]) -> Iterator[str]:
    """The buffers that a segment allocates, where they lie and which steps need them."""
    unknown = [name for name in segment.names if name not in sizes]
    places: dict[int, int] = {}
    if unknown:
        yield f"memory: its places follow from {', '.join(unknown)}, which are statically unknown"
    else:
        try:
            binder = Binder(segment)
            layout = binder.bind(sizes).layout
        except GuardFailed as failed:
            yield f"memory: none, as {failed}"
        else:
            places = {placed.slot: start for placed, start in zip(binder.arena, layout.offsets, strict=True)}
            yield f"arena of {layout.total:,} bytes"
    device_slots: dict[Tensor | None, int] = {copy.tensor: copy.slot for copy in segment.copies if copy.to_host}
    rows = [("slot", "buffer", "bytes", "place", "steps")]
    for allocation in segment.allocations:
        place = f"{places[allocation.slot]:,}" if allocation.slot in places else "?"
        if allocation.placement is Placement.SHARED:
            place = "shared"
        place = place if allocation.tensor is None else "returned"
        size = _bytes(allocation.shape, allocation.dtype.numpy.itemsize, sizes)
        rows.append(
            (
                str(allocation.slot),
                _name(device_slots.get(allocation.tensor, allocation.slot), buffers),
                size,
                place,
                f"{allocation.first} to {allocation.last}",
            )
        )
    yield from _table(rows, right=(0, 2, 3))


def _bytes(shape: Sequence[Dim], width: int, sizes: Mapping[str, int]) -> str:
    total: Dim = width
    for dim in shape:
        total = total * number(dim, sizes)
    return f"{total:,}" if isinstance(total, int) else str(total)


def _table(rows: Iterator[tuple[str, ...]] | Sequence[tuple[str, ...]], right: Sequence[int]) -> Iterator[str]:
    """Rows in columns; those numbered in `right` are set to the right."""
    listed = list(rows)
    widths = [max(map(len, column)) for column in zip(*listed, strict=True)]
    for row in listed:
        cells = (
            f"{cell:>{w}}" if i in right else f"{cell:<{w}}"
            for i, (cell, w) in enumerate(zip(row, widths, strict=True))
        )
        yield f"  {'  '.join(cells)}"
