"""A plan as text: the steps in order, the slots they read and write, and where these lie in memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ingot.compile import Compiled
from ingot.lower.loops import Buffer, Kernel
from ingot.prim.tensor import Parameter, Result, Tensor
from ingot.runtime.plan import Plan, Room, Segment, bind
from ingot.tools.inside.titles import number


def plan_text(compiled: Compiled, sizes: Mapping[str, int]) -> str:
    """The plan of a model for sizes by name; where one that is needed is not given, offsets are left out."""
    return "\n".join(_lines(compiled, {**sizes, "threads": compiled.plan.threads}))


def _lines(compiled: Compiled, sizes: Mapping[str, int]) -> Iterator[str]:
    plan = compiled.plan
    kernels = {step.name: step for step in compiled.fused.steps if isinstance(step, Kernel)}
    calls = sum(segment.call is not None for segment in plan.segments)
    yield f"{len(kernels)} kernels and {calls} calls for {plan.threads} threads, which meet after each kernel"
    yield f"sizes: {', '.join(f'{name} = {size:,}' for name, size in sizes.items() if name != 'threads') or 'none'}"
    names = _slots(plan, kernels)
    yield from _given(compiled, names)
    for place, segment in enumerate(plan.segments):
        yield ""
        yield f"segment {place}"
        yield from _rooms(segment, names, sizes)
        for native in segment.kernels:
            kernel = kernels[native.name]
            told = ", ".join(f"{size} = {number(size, sizes):,}" if not isinstance(size, int) else f"{size:,}"
                             for size in native.sizes)
            reads = " ".join(buffer.name for buffer in kernel.reads) or "nothing"
            writes = " ".join(buffer.name for buffer in kernel.writes)
            yield f"  {native.name}: {reads} -> {writes}{f', told {told}' if told else ''}"
        if segment.call is not None:
            yield f"  call {segment.call.node.op_type} '{segment.call.node.label}': {segment.call.reason}"


def _slots(plan: Plan, kernels: Mapping[str, Kernel]) -> dict[int, Buffer]:
    """The buffer that each slot holds the place of."""
    found: dict[int, Buffer] = {}
    for segment in plan.segments:
        for native in segment.kernels:
            kernel = kernels[native.name]
            buffers = dict.fromkeys((*kernel.reads, *kernel.writes, *kernel.scratch))
            found.update(zip(native.which, buffers, strict=True))
    return found


def _given(compiled: Compiled, names: Mapping[int, Buffer]) -> Iterator[str]:
    """The slots that are filled from outside: inputs, constants, and what the reference makes."""
    roomed = {room.slot for segment in compiled.plan.segments for room in segment.rooms}
    constants = 0
    moved = 0
    tensors = {slot: tensor for tensor, slot in compiled.plan.placed.items()}
    for slot, buffer in names.items():
        tensor = tensors.get(slot)
        if slot in roomed:
            continue
        if tensor is not None:
            yield f"slot {slot}: {buffer.name} {_kind(tensor)}"
        else:
            constants += 1
            moved += buffer.elements * buffer.dtype.numpy.itemsize if isinstance(buffer.elements, int) else 0
    if constants:
        yield f"{constants} slots of constants: {moved:,} bytes"


def _kind(tensor: Tensor) -> str:
    shape = f"{tensor.dtype}[{', '.join(map(str, tensor.shape))}]"
    match tensor:
        case Parameter():
            return f"{shape}, an input"
        case Result():
            return f"{shape}, from {tensor.call.node.op_type} '{tensor.call.node.label}'"
    return shape


def _rooms(segment: Segment, names: Mapping[int, Buffer], sizes: Mapping[str, int]) -> Iterator[str]:
    """The buffers that a segment makes room for."""
    unknown = [name for name in segment.names if name not in sizes]
    places: dict[int, int] = {}
    if unknown:
        yield f"  offsets follow from {', '.join(unknown)}, which a run tells"
    else:
        bound = bind(segment, sizes)
        places = dict(zip(bound.slots.tolist(), bound.offsets.tolist(), strict=True))
        yield f"  arena of {bound.arena:,} bytes"
    steps = {room.slot: _life(room, segment) for room in segment.rooms}
    for room in segment.rooms:
        elements = _count(room.shape, sizes)
        size = f"{elements * room.dtype.numpy.itemsize:,} bytes" if isinstance(elements, int) else f"{elements} elements"
        where = "memory of its own, returned" if room.fresh is not None else f"at {places.get(room.slot, '?')}"
        yield f"  slot {room.slot}: {names[room.slot].name} {room.dtype}, {size} {where}, {steps[room.slot]}"


def _life(room: Room, segment: Segment) -> str:
    return f"steps {room.first} to {room.last}" if segment.kernels else ""


def _count(shape: Sequence[object], sizes: Mapping[str, int]) -> object:
    total: object = 1
    for dim in shape:
        total = total * number(dim, sizes)  # type: ignore[operator,arg-type]
    return total
