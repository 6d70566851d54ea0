"""Machine code of kernels for a processor, and their constants, packed as the kernels read them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from types import MappingProxyType

import numpy as np

from ingot.codegen.kernel_code import KernelCode
from ingot.codegen.llvm.kernel import emit
from ingot.codegen.llvm.templates import Draft, PendingTemplate, template
from ingot.dataclass import dataclass
from ingot.dims import Dim, evaluate, substitute, symbols
from ingot.dtypes import Array
from ingot.format.pages import release, unmapped
from ingot.fuse.contraction import Packed
from ingot.loops.cost import operations_of
from ingot.loops.digest import digest
from ingot.loops.ir import Buffer, Contraction, Kernel, Winograd, kernels_in, nests_in
from ingot.loops.parametrise import parametrise
from ingot.prim.coded import Coded
from ingot.prim.tensor import Constant, Parameter, Tensor
from ingot.providers.cpu.panels import code_panels_of, panels_of
from ingot.runtime.frame import aligned
from ingot.runtime.processors import processors
from ingot.runtime.rows import buffers_in
from ingot.schedule.schedule import ConstantMemory, Scheduled
from ingot.schedule.target import Target
from ingot.schedule.winograd import Filters

_TYPICAL_SIZE = 16
"""What a size that only a run knows is taken for."""

_TYPICAL_BATCH = 4
"""What it is taken for if it is the first of inputs: mostly one, and now and then many, in the mean of first runs."""

_TYPICAL_SIDE = 128
"""What it is taken for if it is a side of images: lines of text have some 50, photographs up to 640."""

_MOST_CHANNELS = 4
"""Channels that images come with at most."""


@dataclass(frozen=True, slots=True)
class EmittedKernel:
    """A kernel whose template compiles in the background, and the sizes of the template's parameters."""

    kernel: Kernel
    template: PendingTemplate
    sizes: Mapping[str, Dim]


def emit_kernels(
    kernels: Iterable[Kernel], target: Target, draft: bool, typical: Mapping[str, int] = MappingProxyType({})
) -> dict[Kernel, EmittedKernel]:
    """Begin to compile the templates of kernels, those that are not yet: kernels of other sizes share one.

    With `draft`, drafts may come first; `typical` are sizes in a first run by name, where more is known of them than
    that they are sizes.
    """
    parametrised = {kernel: parametrise(kernel) for kernel in kernels}
    digests = {kernel: digest(own.kernel) for kernel, own in parametrised.items()}
    work = _work(digests, typical) if draft else {}
    emitted = {}
    for kernel, own in parametrised.items():
        name = digests[kernel]
        compact = Draft(partial(emit, own.kernel, target, compact=True), work[name]) if name in work else None
        shared = template(name, target, partial(emit, own.kernel, target), compact)
        emitted[kernel] = EmittedKernel(kernel, shared, own.sizes)
    return emitted


def emit_kernel(kernel: Kernel, target: Target) -> EmittedKernel:
    """The same of one kernel."""
    return emit_kernels((kernel,), target, draft=False)[kernel]


def typical_sizes(scheduled: Scheduled) -> dict[str, int]:
    """Sizes that first runs are likely to have, by name: of batches, which only first axes have, and of images."""
    shapes = [tensor.shape for tensor in scheduled.placed if isinstance(tensor, Parameter)]
    first = {name for shape in shapes for size in shape[:1] for name in symbols(size)}
    later = {name for shape in shapes for size in shape[1:] for name in symbols(size)}
    sides = {name for shape in shapes if _is_of_images(shape) for size in shape[1:] for name in symbols(size)}
    return dict.fromkeys(sides, _TYPICAL_SIDE) | dict.fromkeys(first - later, _TYPICAL_BATCH)


def _is_of_images(shape: Sequence[Dim]) -> bool:
    """Whether an input of this shape has few channels, in front of two sides or behind them."""
    channels = [shape[1], shape[3]] if len(shape) == 4 else []
    return any(isinstance(size, int) and size <= _MOST_CHANNELS for size in channels)


def _work(digests: Mapping[Kernel, str], typical: Mapping[str, int]) -> dict[str, int]:
    """The operations of all kernels of a template in a run; those of unknown number leave the template out."""
    work: dict[str, int] = dict.fromkeys(digests.values(), 0)
    unknown = set()
    for kernel, name in digests.items():
        operations = operations_of(kernel)
        sizes = {size: typical.get(size, _TYPICAL_SIZE) for size in symbols(operations)}
        try:
            work[name] += evaluate(operations, sizes)
        except ArithmeticError:  # a size that divides by another less something
            unknown.add(name)
    return {name: operations for name, operations in work.items() if name not in unknown}


def link_kernel(emitted: EmittedKernel, draft: bool = False) -> KernelCode:
    """The code of a kernel, or a draft of it, once compiled, with its own buffers and runtime scalars."""
    compiled = emitted.template.soonest() if draft else emitted.template.template()
    scalars = tuple(substitute(size, emitted.sizes) for size in compiled.sizes)
    return KernelCode(compiled.code, emitted.kernel.buffers, scalars)


def constant_memory(scheduled: Scheduled, target: Target) -> dict[Buffer, Array]:
    """The contents of constant buffers, zeros too: weights packed in panels, others as they are."""
    kernels = list(kernels_in(scheduled.steps))
    read = buffers_in(scheduled.steps)
    products = [nest for kernel in kernels for nest in nests_in(kernel) if isinstance(nest, Contraction | Winograd)]
    readers = {product.rhs.buffer: product for product in products if product.tile is not None}
    zeros = np.zeros(64 + max((_bytes(buffer) for buffer in scheduled.zeros), default=0), np.uint8)
    memory: dict[Buffer, Array] = dict.fromkeys(scheduled.zeros, zeros)
    wanted = {buffer: constant for buffer, constant in scheduled.constants.items() if buffer in read}
    with ThreadPoolExecutor(processors()) as pool:  # numpy copies without holding the GIL
        arrays = pool.map(lambda item: _held(item[1], readers.get(item[0]), target), wanted.items())
        memory.update(zip(wanted, arrays, strict=True))
    return memory


def _held(constant: ConstantMemory, reader: Contraction | Winograd | None, target: Target) -> Array:
    """A constant as kernels read it: packed weights, or an array as it is, copied if it is in a mapped file."""
    if isinstance(constant, Coded):
        assert isinstance(reader, Contraction)
        panels = code_panels_of(constant, reader)
        release(constant.codes)
        return panels
    if isinstance(constant, Packed | Filters):
        assert reader is not None
        assert reader.tile is not None
        inner = reader.k[-1].extent
        assert isinstance(inner, int)
        panels = panels_of(constant, reader.tile, inner)
        release(constant.array)  # or a model would be in memory twice
        return panels
    assert isinstance(constant, Tensor)
    assert isinstance(constant, Constant)
    array = np.ascontiguousarray(unmapped(constant.array))
    if array.dtype == np.bool_:
        array = array.view(np.uint8)
    if target.unaligned or array.ctypes.data % array.dtype.itemsize == 0:
        return array
    memory = aligned(array.nbytes)
    memory[: array.nbytes] = array.reshape(-1).view(np.uint8)
    return memory


def _bytes(buffer: Buffer) -> int:
    assert isinstance(buffer.elements, int)
    return buffer.elements * buffer.dtype.numpy.itemsize
