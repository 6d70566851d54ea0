"""Kernels of a plan as PTX, compiled in the background and loaded, and the constants that they read.

A product has many functions, of which sizes choose: those for the sizes that are known are compiled with the model,
others when a run needs them first.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import field
from functools import partial
from threading import Lock
from typing import Protocol

import numpy as np

from ingot.codegen.elf import LinkedCode
from ingot.codegen.executable_memory import Code
from ingot.codegen.kernel_code import KernelCode
from ingot.codegen.llvm.kernel import Emitted
from ingot.codegen.llvm.templates import PendingTemplate, Template, template
from ingot.codegen.nvptx import attention, recurrence_plans, window_plans
from ingot.codegen.nvptx.attention import SizedAttention
from ingot.codegen.nvptx.kernel import ENTRY, Launch, Shape, emit, launch_of
from ingot.codegen.nvptx.variant import Plan, Sized, Step
from ingot.codegen.nvptx.variants import cheapest
from ingot.dataclass import dataclass
from ingot.dims import Dim, evaluate, symbol, symbols
from ingot.dims.expr import terms_of
from ingot.dims.substitution import value_of
from ingot.dtypes import Array, DType
from ingot.fuse.contraction import Packed
from ingot.loops.digest import digest
from ingot.loops.ir import Attention, Buffer, Contraction, Kernel, Recurrence, SlidingWindows
from ingot.loops.parametrise import parametrise
from ingot.prim.coded import Coded
from ingot.prim.tensor import Constant
from ingot.providers.cuda.device import Device
from ingot.providers.cuda.launch import grid_of
from ingot.providers.cuda.launcher import Launcher, Launches, SizesOf, sizes_for
from ingot.providers.cuda.stored import StoredKernel
from ingot.runtime.processors import processors
from ingot.runtime.rows import buffers_in
from ingot.schedule.code_tiles import tiled_codes
from ingot.schedule.gpu import line_of
from ingot.schedule.schedule import Scheduled
from ingot.schedule.target import Target


class Compile(Protocol):
    """Begins to compile a function, by its digest, unless that was done before."""

    def __call__(self, digest: str, target: Target, emit: Callable[[], Emitted], /) -> PendingTemplate: ...


@dataclass(frozen=True, eq=False, slots=True)
class EmittedKernel:
    """A kernel whose functions compile in the background, those that are needed; its template, and its sizes."""

    kernel: Kernel
    own: Kernel
    """The kernel with parameters for its sizes."""
    sizes: Mapping[str, Dim]
    """What its parameters are."""
    launch: Launch
    target: Target
    digest: str
    compile: Compile
    _functions: dict[str, PendingTemplate] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    @property
    def begun(self) -> tuple[str, ...]:
        """The functions that are compiled, or about to be."""
        return tuple(self._functions)

    def function(self, name: str) -> PendingTemplate:
        """A function; it begins to compile if it was not needed before."""
        with self._lock:
            pending = self._functions.get(name)
            if pending is None:
                key = self.digest if name == ENTRY else f"{self.digest}:{name}"
                begin = partial(emit, self.own, self.target, name)
                pending = self._functions[name] = self.compile(key, self.target, begin)
            return pending

    def plan(self, device: Device, values: Sequence[int]) -> Plan:
        """What is launched where the parameters have these values."""
        size = _evaluated(dict(zip(self.sizes, values, strict=True)))
        (nest,) = self.own.nests
        if isinstance(nest, Attention):
            return attention.plan(SizedAttention(nest, self.own.buffers, size, device.gpu, self.target))
        if isinstance(nest, Recurrence):
            return recurrence_plans.plan(nest, size, device.gpu)
        if isinstance(nest, SlidingWindows):
            return window_plans.plan(nest, size, device.gpu)
        if self.launch.shape is Shape.PLANNED:
            assert isinstance(nest, Contraction)
            return cheapest(Sized(nest, self.own.buffers, size, device.gpu), self.target)
        grid = grid_of(self.launch.shape, [size(extent) for extent in self.launch.extents], device.multiprocessors)
        return Plan(0.0, () if grid is None else (Step(ENTRY, (grid[0], 1, 1), grid[1]),))


def emit_kernels(
    kernels: Iterable[Kernel], target: Target, device: Device, compiled: Compile = template
) -> dict[Kernel, EmittedKernel]:
    """Begin to compile kernels, those that are not yet: kernels of other sizes share one.

    Where sizes are not known, the functions of a product are those for a run in which each such size is one.
    """
    emitted = {}
    for kernel in kernels:
        own = parametrise(kernel)
        key = digest(own.kernel)
        entry = EmittedKernel(kernel, own.kernel, own.sizes, launch_of(own.kernel), target, key, compiled)
        emitted[kernel] = entry
        if entry.launch.shape is not Shape.PLANNED:
            entry.function(ENTRY)
            continue
        for step in entry.plan(device, [_with_ones(size) for size in own.sizes.values()]).steps:
            entry.function(step.function)
    return emitted


def link_kernels(emitted: Mapping[Kernel, EmittedKernel], device: Device) -> dict[Kernel, KernelCode]:
    """The code of kernels, once compiled and loaded: the driver compiles several at a time."""
    templates = {entry.digest: entry for entry in emitted.values()}
    with ThreadPoolExecutor(processors()) as pool:
        launchers = dict(zip(templates, pool.map(partial(_launcher, device=device), templates.values()), strict=True))
    codes = {}
    for kernel, entry in emitted.items():
        launcher, scalars = launchers[entry.digest], tuple(entry.sizes.values())
        launcher.prepare(scalars)
        codes[kernel] = KernelCode(Code({"kernel": launcher.address}, launcher), kernel.buffers, scalars)
    return codes


def _launcher(emitted: EmittedKernel, device: Device) -> Launcher:
    loaded = LoadedKernel(emitted, device)
    for name in emitted.begun:
        loaded.function(name)
    return Launcher(device, loaded, len(emitted.kernel.buffers), len(emitted.sizes))


class LoadedKernel:
    """A kernel on a device: its plans, and its functions, which are loaded when they are needed."""

    def __init__(self, emitted: EmittedKernel, device: Device) -> None:
        self._emitted, self._device = emitted, device

    def plan(self, values: Sequence[int]) -> Plan:
        return self._emitted.plan(self._device, values)

    def function(self, name: str) -> tuple[int, SizesOf]:
        compiled = self._emitted.function(name).template()
        assert compiled.code.plain is not None
        names = tuple(self._emitted.sizes)
        return self._device.function(compiled.code.plain.code, name), partial(sizes_for, compiled.sizes, names)

    def stored(self, launches: Launches) -> StoredKernel:
        own = self._emitted
        functions = {}
        for name in own.begun:
            compiled = own.function(name).template()
            assert compiled.code.plain is not None
            functions[name] = compiled.code.plain.code, compiled.sizes
        template = pickle.dumps((own.own, own.launch, own.target, own.digest))
        return StoredKernel(len(own.own.buffers), tuple(own.sizes), functions, launches, template)


def loaded_from(stored: StoredKernel, device: Device, compiled: Compile = template) -> LoadedKernel:
    """A kernel from a plan file, whose functions are compiled where a run needs others than it had."""
    own, launch, target, key = pickle.loads(stored.template)
    functions = {name: settled(image, sizes) for name, (image, sizes) in stored.functions.items()}
    sizes = {name: symbol(name) for name in stored.names}
    return LoadedKernel(EmittedKernel(own, own, sizes, launch, target, key, compiled, functions), device)


def settled(image: bytes, sizes: tuple[Dim, ...]) -> PendingTemplate:
    """A function that is compiled already."""
    pending = PendingTemplate()
    pending.settle(Template(Code({}, None, LinkedCode(image, {})), sizes))
    return pending


def _evaluated(values: Mapping[str, int]) -> Callable[[Dim], int]:
    """What sizes are where the parameters have these values, of which offsets may be negative."""
    return lambda dim: value_of(terms_of(dim), values.__getitem__)


def _with_ones(size: Dim) -> int:
    """A size in which those that are not known are one."""
    return evaluate(size, dict.fromkeys(symbols(size), 1))


def constant_memory(scheduled: Scheduled) -> dict[Buffer, Array]:
    """The contents of the constant buffers that kernels read, as they are."""
    read = buffers_in(scheduled.steps)
    memory: dict[Buffer, Array] = {}
    for buffer, constant in scheduled.constants.items():
        if buffer in read:
            if isinstance(constant, Coded):
                memory[buffer] = tiled_codes(constant)
                continue
            assert isinstance(constant, Packed | Constant)
            array = _in_lines(constant) if isinstance(constant, Packed) else np.ascontiguousarray(constant.array)
            memory[buffer] = array.view(np.uint8) if array.dtype == np.bool_ else array
    return memory


def _in_lines(weights: Packed) -> Array:
    """The weights of a product with zeros behind each row, so that all begin at multiples of 16 bytes."""
    array = weights.array.reshape(weights.shape)
    *rows, columns = array.shape
    line = line_of(columns, DType.of(array.dtype))
    assert isinstance(line, int)
    if line == columns:
        return np.ascontiguousarray(array)
    padded = np.zeros((*rows, line), array.dtype)
    padded[..., :columns] = array
    return padded
