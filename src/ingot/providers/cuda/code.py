"""Kernels of a plan as PTX, compiled in the background and loaded, and the constants that they read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np

from ingot.codegen.executable_memory import Code
from ingot.codegen.kernel_code import KernelCode
from ingot.codegen.llvm.templates import PendingTemplate, template
from ingot.codegen.nvptx.kernel import ENTRY, Launch, Shape, emit, launch_of
from ingot.codegen.nvptx.product import FINISH, TILES
from ingot.dataclass import dataclass
from ingot.dims import Dim, substitute
from ingot.dtypes import Array
from ingot.fuse.contraction import Packed
from ingot.loops.digest import digest
from ingot.loops.ir import Buffer, Kernel
from ingot.loops.parametrise import parametrise
from ingot.prim.tensor import Constant
from ingot.providers.cuda.device import Device
from ingot.providers.cuda.launch import Launcher
from ingot.runtime.processors import processors
from ingot.runtime.rows import buffers_in
from ingot.schedule.schedule import Scheduled
from ingot.schedule.target import Target


@dataclass(frozen=True, slots=True)
class EmittedKernel:
    """A kernel whose template compiles in the background, the sizes of its parameters, and how it is launched."""

    kernel: Kernel
    template: PendingTemplate
    sizes: Mapping[str, Dim]
    launch: Launch


def emit_kernels(kernels: Iterable[Kernel], target: Target) -> dict[Kernel, EmittedKernel]:
    """Begin to compile the templates of kernels, those that are not yet: kernels of other sizes share one."""
    emitted = {}
    for kernel in kernels:
        own = parametrise(kernel)
        shared = template(digest(own.kernel), target, partial(emit, own.kernel, target))
        emitted[kernel] = EmittedKernel(kernel, shared, own.sizes, launch_of(own.kernel))
    return emitted


def link_kernels(emitted: Mapping[Kernel, EmittedKernel], device: Device) -> dict[Kernel, KernelCode]:
    """The code of kernels, once compiled and loaded: the driver compiles several at a time."""
    with ThreadPoolExecutor(processors()) as pool:
        codes = pool.map(lambda kernel: _linked(kernel, device), emitted.values())
        return dict(zip(emitted, codes, strict=True))


def _linked(emitted: EmittedKernel, device: Device) -> KernelCode:
    compiled = emitted.template.template()
    assert compiled.code.plain is not None
    names = (*TILES, FINISH) if emitted.launch.shape is Shape.PRODUCT else (ENTRY,)
    functions = {name: device.function(compiled.code.plain.code, name) for name in names}
    sizes = tuple(substitute(size, emitted.sizes) for size in (*compiled.sizes, *emitted.launch.extents))
    own = len(compiled.sizes), len(emitted.launch.extents)
    launcher = Launcher(device, functions, emitted.launch.shape, len(emitted.kernel.buffers), *own)
    return KernelCode(Code({"kernel": launcher.address}, launcher), emitted.kernel.buffers, sizes)


def constant_memory(scheduled: Scheduled) -> dict[Buffer, Array]:
    """The contents of the constant buffers that kernels read, as they are."""
    read = buffers_in(scheduled.steps)
    memory: dict[Buffer, Array] = {}
    for buffer, constant in scheduled.constants.items():
        if buffer in read:
            assert isinstance(constant, Packed | Constant)
            array = np.ascontiguousarray(constant.array)
            memory[buffer] = array.view(np.uint8) if array.dtype == np.bool_ else array
    return memory
