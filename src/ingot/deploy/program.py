"""A model as one executable: code, weights and plan, for inputs of given shapes, with nothing else needed to run it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ingot.codegen.elf import LinkedCode, alignment
from ingot.codegen.job import JobEntry, JobLayout, StepLayout
from ingot.codegen.llvm.compile import code_of
from ingot.codegen.llvm.kernel import ENTRY
from ingot.codegen.llvm.thread_pool import walk_text
from ingot.compile import Artifacts
from ingot.dataclass import dataclass
from ingot.deploy.compiled import compiled_for
from ingot.deploy.elf import MACHINES, READ, RUN, WRITE, Segment, executable
from ingot.deploy.start import START, WORDS, entry_code, start_text, system_code
from ingot.dtypes import Array
from ingot.errors import CheckError, CompileError, InputError, UnsupportedError
from ingot.format.load import ModelSource, load
from ingot.ir.interface import set_shapes
from ingot.ir.model import Model
from ingot.ops.catalog import Catalog
from ingot.prim.tensor import Parameter, RandomKey, SizeReading, Tensor
from ingot.runtime.bind import Binder, Binding
from ingot.runtime.entry import Entry
from ingot.runtime.guards import GuardFailed
from ingot.runtime.plan import KernelStep, Plan
from ingot.schedule.target import Target
from ingot.schedule.threads import THREADS

_CODE, _DATA, _ZEROS = 1 << 22, 1 << 32, 1 << 36
"""Where code, what is known, and what is computed lie."""

_LINE = 64
"""What buffers lie at multiples of, and how many bytes may be read past their end."""


@dataclass(frozen=True, slots=True)
class Port:
    """An input or output of a program: its bytes are those of an array of this type and shape."""

    name: str
    dtype: np.dtype[np.generic]
    shape: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Program:
    """An executable. It reads its inputs from stdin, one after another, and writes its outputs to stdout.

    It ends with 0; with 1 if an index was out of range; with 2 if there was too little to read or nowhere to write.
    """

    file: bytes
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]


def program(
    source: Model | ModelSource,
    target: Target,
    shapes: Mapping[str, Sequence[int]],
    *,
    catalog: Catalog | None = None,
    optimise: int = 2,
) -> Program:
    """A model as an executable for one thread, for inputs of these shapes; those that have defaults are constants.

    UnsupportedError if the target is not Linux on x86-64 or AArch64, or if the model has a node that cannot be
    compiled, or is too large; InputError if the shapes do not fit the model.
    """
    if target.machine not in MACHINES or "linux" not in target.triple:
        raise UnsupportedError(f"programs are written for Linux on {' and '.join(MACHINES)}, not for {target.triple}")
    compiled = _compiled(source if isinstance(source, Model) else load(source), target, shapes, catalog, optimise)
    plan = compiled.plan
    for segment in plan.segments:
        if isinstance(segment.call, SizeReading):
            raise UnsupportedError("the model computes sizes of tensors while it runs")
        if isinstance(segment.call, RandomKey):
            raise UnsupportedError("the model draws random numbers", hint="set the attribute seed of its nodes")
        if segment.call is not None:
            node = segment.call.node
            raise UnsupportedError(f"node '{node.label}' ({node.op_type}) has no machine code: {segment.call.reason}")
    feeds = {name: _example(name, tensor, shapes) for name, tensor in plan.inputs.items()}
    (segment,) = plan.segments
    binder = Binder(segment, plan.most_trips)
    try:
        binding = binder.bind(_sizes(plan, feeds))
    except GuardFailed:
        listed = ", ".join(f"{name} {list(array.shape)}" for name, array in feeds.items())
        raise InputError(f"the model takes no inputs of these shapes: {listed}") from None
    names = [value.name for value in compiled.optimised.model.graph.outputs]
    return _laid_out(plan, binder, binding, feeds, dict(zip(names, compiled.outputs, strict=True)), target)


def _compiled(
    model: Model, target: Target, shapes: Mapping[str, Sequence[int]], catalog: Catalog | None, level: int
) -> Artifacts:
    """The model compiled for these shapes; for any, where a branch whose condition is data does not fit them."""
    fixed = model.copy()
    set_shapes(fixed, {name: tuple(shape) for name, shape in shapes.items()})
    try:
        return compiled_for(fixed, target, catalog=catalog, optimise=level)
    except (CheckError, CompileError):
        return compiled_for(model, target, catalog=catalog, optimise=level)


def _example(name: str, tensor: Tensor, shapes: Mapping[str, Sequence[int]]) -> Array:
    shape = shapes.get(name)
    if shape is None and all(isinstance(size, int) for size in tensor.shape):
        shape = [size for size in tensor.shape if isinstance(size, int)]
    if shape is None:
        raise InputError(f"the shape of input '{name}' is open", hint="give its shape")
    return np.zeros(tuple(shape), tensor.dtype.numpy)


def _sizes(plan: Plan, feeds: Mapping[str, Array]) -> dict[str, int]:
    """The named sizes that inputs have; GuardFailed if these are not what was compiled for."""
    entries = [Entry(tensor, number, plan.placed.get(tensor)) for number, tensor in enumerate(plan.inputs.values())]
    values: list[Array] = list(feeds.values())
    sizes = {THREADS: plan.threads}
    for entry, array in zip(entries, feeds.values(), strict=True):
        entry.admit(array, values, sizes, plan.template.copy())
    known = frozenset(sizes)
    for check in (check for entry in entries for check in entry.checks(known)):
        check.require(values, sizes)
    return sizes


def _laid_out(
    plan: Plan,
    binder: Binder,
    binding: Binding,
    feeds: Mapping[str, Array],
    outputs: Mapping[str, Tensor],
    target: Target,
) -> Program:
    """Everything at its address: the table of the start first, then what it leads to."""
    code = _Code(alignment(target.triple))
    table = np.zeros(WORDS + 2 * (len(feeds) + len(outputs)), np.int64)
    data, zeros = _Data(table.nbytes), _Zeros()
    entry = code.add(bytes(16))
    system = code.add(system_code(target.machine))
    walker = code_of(walk_text(target), target)
    walk = code.add(walker.code) + walker.entries[JobEntry.WALK]
    begin = code_of(start_text(target, _DATA), target)
    start = code.add(begin.code) + begin.entries[START]
    code.put(entry, entry_code(target.machine, entry, start))
    slots, places = _slots(plan, binder, binding, feeds, data, zeros)
    state = zeros.add(_LINE)
    job = np.zeros(JobLayout.ONE_THREAD_WORDS, np.int64)
    steps = _steps(plan.codes, binder, binding, code, data)
    job[JobLayout.STEPS], job[JobLayout.STEP_COUNT] = data.add(steps), len(steps)
    job[JobLayout.SLOTS], job[JobLayout.STATE], job[JobLayout.THREADS] = data.add(slots), state, 1
    table[:WORDS] = walk, data.add(job), state, system, len(feeds), len(outputs)
    arrays = {
        each.tensor: (shape, each.dtype.numpy) for each, shape in zip(binder.results, binding.shapes, strict=True)
    }
    ports: list[Port] = []
    for number, (name, tensor) in enumerate((*((name, plan.inputs[name]) for name in feeds), *outputs.items())):
        if tensor in plan.constants:
            array = np.ascontiguousarray(plan.constants[tensor])
            places[tensor] = data.add(array)
            shape, dtype = array.shape, array.dtype
        elif isinstance(tensor, Parameter):
            fed = next(feeds[each] for each, own in plan.inputs.items() if own is tensor)
            shape, dtype = fed.shape, fed.dtype
        else:
            shape, dtype = arrays[tensor]
        ports.append(Port(name, dtype, shape))
        size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
        table[WORDS + 2 * number : WORDS + 2 * number + 2] = places[tensor], size
    data.put(_DATA, table.tobytes())
    if _CODE + len(code.content) > _DATA or _DATA + len(data.content) > _ZEROS:
        raise UnsupportedError(
            f"a program has room for {_DATA - _CODE:,} bytes of code and {_ZEROS - _DATA:,} of weights, "
            f"the model takes {len(code.content):,} and {len(data.content):,}"
        )
    segments = (
        Segment(_CODE, code.content, len(code.content), READ | RUN),
        Segment(_DATA, data.content, len(data.content), READ | WRITE),
        Segment(_ZEROS, b"", zeros.size, READ | WRITE),
    )
    file = executable(target.machine, entry, segments)
    return Program(file, tuple(ports[: len(feeds)]), tuple(ports[len(feeds) :]))


def _slots(
    plan: Plan, binder: Binder, binding: Binding, feeds: Mapping[str, Array], data: _Data, zeros: _Zeros
) -> tuple[Array, dict[Tensor, int]]:
    """The table of addresses, and where inputs and results lie."""
    slots = np.zeros_like(plan.template)
    known: dict[int, int] = {}
    for slot, array in plan.memory:
        if id(array) not in known:
            known[id(array)] = data.add(array)
        slots[slot] = known[id(array)]
    arena = zeros.add(binding.layout.total)
    for allocation, offset in zip(binder.arena, binding.layout.offsets, strict=True):
        slots[allocation.slot] = arena + offset
    places: dict[Tensor, int] = {}
    for result, shape in zip(binder.results, binding.shapes, strict=True):
        assert result.tensor is not None
        size = int(np.prod(shape, dtype=np.int64)) * result.dtype.numpy.itemsize
        slots[result.slot] = places[result.tensor] = zeros.add(size)
    for name, array in feeds.items():
        tensor = plan.inputs[name]
        places[tensor] = zeros.add(array.nbytes)
        if tensor in plan.placed:
            slots[plan.placed[tensor]] = places[tensor]
    return slots, places


def _steps(codes: Mapping[int, LinkedCode], binder: Binder, binding: Binding, code: _Code, data: _Data) -> Array:
    """The steps of a job, a row of words for each; a jump has 0 in place of code."""
    entries: dict[int, int] = {}
    scalars = data.add(np.frombuffer(binding.scalars, np.int64))
    rows = np.zeros((len(binder.segment.steps), StepLayout.WORDS), np.int64)
    for row, step, place in zip(rows, binder.segment.steps, binder.places, strict=True):
        row[StepLayout.SLOT_NUMBERS] = data.add(np.asarray(step.slots or (-1,), np.int32))
        row[StepLayout.SIZES] = scalars + 8 * place
        if isinstance(step, KernelStep):
            address = step.address
            if address not in entries:
                entries[address] = code.add(codes[address].code) + codes[address].entries[ENTRY]
            row[StepLayout.CODE] = entries[address]
    rows[list(binding.replaced), StepLayout.CODE] = 0
    return rows


class _Code:
    """Machine code from `_CODE` on, each part at a multiple of `align`."""

    def __init__(self, align: int) -> None:
        self.content = bytearray()
        self._align = align

    def add(self, code: bytes) -> int:
        """The address that code gets."""
        self.content += bytes(-len(self.content) % self._align)
        address = _CODE + len(self.content)
        self.content += code
        return address

    def put(self, address: int, code: bytes) -> None:
        self.content[address - _CODE : address - _CODE + len(code)] = code


class _Data:
    """What is known when a program is made, from `_DATA` on, after so many bytes that are `put` later."""

    def __init__(self, before: int) -> None:
        self.content = bytearray(before)

    def add(self, array: Array) -> int:
        """The address that the elements of an array get."""
        self.content += bytes(-len(self.content) % _LINE)
        address = _DATA + len(self.content)
        self.content += np.ascontiguousarray(array).tobytes()
        self.content += bytes(_LINE)
        return address

    def put(self, address: int, content: bytes) -> None:
        self.content[address - _DATA : address - _DATA + len(content)] = content


class _Zeros:
    """Memory that a program begins with as zeros, from `_ZEROS` on."""

    def __init__(self) -> None:
        self.size = 0

    def add(self, size: int) -> int:
        """The address of so many bytes."""
        address = _ZEROS + self.size
        self.size += -(-(size + _LINE) // _LINE) * _LINE
        return address
