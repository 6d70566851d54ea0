"""The schedule for a GPU: the same loops, of which those in vectors are shared by the threads of a group.

Loops that are `PARALLEL` are distributed over the grid. A loop in vectors directly inside of them gives every thread
one vector of neighbours: that is an elementwise kernel, or a reduction whose rows are contiguous. Where loops in
vectors are further inside, a group of threads computes a row together, and reduces what its threads have. How many
threads a group has is decided when a kernel is launched, by the sizes of the run: no kernel depends on it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from ingot.dims import Dim
from ingot.dtypes import DType
from ingot.errors import CompileError
from ingot.fuse.build import Fused
from ingot.fuse.contraction import Packed
from ingot.fuse.limits import FusionLimits
from ingot.loops.ir import (
    Attention,
    Buffer,
    CodeBlocks,
    Contraction,
    For,
    Kernel,
    KernelNest,
    Kind,
    Nest,
    Recurrence,
    SlidingWindows,
    Stage,
    Statement,
    Var,
    extent,
    kernels_in,
)
from ingot.loops.join_axes import join_axes
from ingot.loops.kernel import kernel_of
from ingot.loops.rewrite import stores
from ingot.prim.coded import Coded
from ingot.prim.tensor import Tensor
from ingot.schedule.code_tiles import CODE_ROWS, CodeTiles, blocks_of, line_parts, needs_lines, refuses_codes
from ingot.schedule.gpu_attention import WIDEST, schedule_gpu_attention
from ingot.schedule.gpu_recurrence import enclose_gpu_loops
from ingot.schedule.gpu_windows import sliding_windows
from ingot.schedule.nest import collapse, contiguous_axis
from ingot.schedule.schedule import Scheduled, replace_kernels
from ingot.schedule.split_reduction import SplitReduction, split_reduction
from ingot.schedule.stored_halves import stored_halves

SPLIT_ELEMENTS = 1 << 20
"""Partial sums of a product whose summed axis is divided among blocks: memory for so many is part of its kernel."""

_SHORT = 32
"""Elements of an axis that leave most threads of a group without work."""

_FEW_ROWS = 64
_LONG_ROW = 1 << 14
"""A reduction of at most so many rows, each at least so long, is divided among groups."""

_FEW_THREADS = 1 << 16
_SHORTEST_PART = 128
_MOST_PARTS = 256
"""Threads that leave a GPU idle where each has a row of its own; what a part of their rows has at least, and how many
parts there are at most."""

_LINE_BYTES = 16

_SHORTEST_SHARED = 1 << 12
_MOST_SHARED = 1 << 9
"""What a part of a few long rows has at least, which a group reduces, and how many there are at most."""

_HALVES = (DType.FLOAT16, DType.BFLOAT16)
"""Types that are summed as float32."""

_INLINED = 96
_FOLDED = 1 << 20


def gpu_limits() -> FusionLimits:
    """The numbers that fusion decides by for a GPU, on which every thread checks padding."""
    return FusionLimits(
        padded_row=1,
        columns=0,
        attention_rows=1,
        folded_bytes=_FOLDED,
        inlined=_INLINED,
        few_rows=_FEW_ROWS,
        long_row=_LONG_ROW,
        refuses_codes=refuses_codes,
        attention_width=WIDEST,
    )


def schedule_for_gpu(fused: Fused) -> Scheduled:
    """The kernels of a program for a GPU, each of one nest."""
    fused = enclose_gpu_loops(fused)
    limits, laid = gpu_limits(), _laid_out(fused)
    converted = stored_halves(fused)
    kernels = {
        kernel: tuple(part for own in converted.get(kernel, (kernel,)) for part in _schedule_kernel(own, limits, laid))
        for kernel in kernels_in(fused.steps)
    }
    written: dict[Kernel, Tensor] = {new: fused.stores[old] for old, parts in kernels.items() for new in parts}
    steps = replace_kernels(fused.steps, kernels)
    constants = {
        laid[buffer][0] if buffer in laid else buffer: constant for buffer, constant in fused.constants.items()
    }
    return Scheduled(steps, fused.placed, constants, (), written, fused.why, fused.guards)


def line_of(columns: Dim, dtype: DType) -> Dim:
    """The elements from one row of a constant right operand to the next: rows begin at multiples of 16 bytes."""
    each = max(1, _LINE_BYTES // dtype.numpy.itemsize)
    return -(-columns // each) * each


_Laid = Mapping[Buffer, tuple[Buffer, CodeBlocks | None]]


def _laid_out(fused: Fused) -> _Laid:
    """The buffers of weights: in the place of each the one that has them as a GPU reads them, and how codes lie."""
    laid: dict[Buffer, tuple[Buffer, CodeBlocks | None]] = {}
    for buffer, constant in fused.constants.items():
        if isinstance(constant, Coded):
            codes, (columns, depth) = blocks_of(constant), constant.shape
            laid[buffer] = Buffer(buffer.name, buffer.dtype, CodeTiles(codes, columns, depth).nbytes), codes
        elif isinstance(constant, Packed):
            *rows, columns = constant.shape
            size = int(np.prod(rows)) * line_of(columns, buffer.dtype)
            laid[buffer] = Buffer(buffer.name, buffer.dtype, size), None
    return laid


def _schedule_kernel(kernel: Kernel, limits: FusionLimits, laid: _Laid) -> tuple[Kernel, ...]:
    """A kernel for each of its nests, which are independent; two for a long reduction."""
    parts: list[Kernel] = []
    if isinstance(recurrence := kernel.nests[0], Recurrence):
        return (kernel_of(kernel.name, (_with_laid_out(recurrence, laid),), kernel.writes),)
    for number, nest in enumerate(kernel.nests):
        name = kernel.name if len(kernel.nests) == 1 else f"{kernel.name}_{number}"
        split = _split(collapse(nest), name, limits) if isinstance(nest, Nest) else None
        if split is None:
            scheduled = _schedule(_as_laid_out(nest, laid), name)
            parts.append(kernel_of(name, (scheduled,), _written(scheduled)))
            continue
        for place, part in enumerate(split.parts):
            parts.append(kernel_of(f"{name}_parts{place or ''}", (schedule_rows(part),), split.buffers))
        whole = schedule_rows(split.whole)
        parts.append(kernel_of(name, (whole,), _written(whole)))
    return tuple(parts)


def _split(nest: Nest, name: str, limits: FusionLimits) -> SplitReduction | None:
    """A long reduction of few rows divided among groups; of contiguous rows, whose threads work alone, of more."""
    if is_across(nest):
        limits = replace(limits, few_rows=_FEW_THREADS, long_row=_SHORTEST_PART * 4)
        return split_reduction(nest, name, limits, _SHORTEST_PART, _MOST_PARTS)
    return split_reduction(nest, name, limits, _SHORTEST_SHARED, _MOST_SHARED)


def _schedule(nest: KernelNest, name: str) -> KernelNest:
    match nest:
        case Nest():
            return sliding_windows(collapse(nest)) or schedule_rows(nest)
        case Contraction():
            partial = Buffer(f"{name}_partial", DType.FLOAT32 if nest.dtype in _HALVES else nest.dtype, SPLIT_ELEMENTS)
            joined = join_axes(nest)
            return replace(joined, scratch=(partial, *_code_scratch(joined, name)))
        case Attention():
            return schedule_gpu_attention(nest, name)
        case tuple():
            return nest
        case _:
            raise CompileError(f"there is no GPU kernel for {type(nest).__name__}")


def _code_scratch(product: Contraction, name: str) -> tuple[Buffer, ...]:
    """Memory of a product with codes: for rows as lines, and for weights unpacked where there may be many rows."""
    codes, rows, buffers = product.codes, extent(product.m), []
    if codes is None:
        return ()
    tiles = CodeTiles(codes, extent(product.n), extent(product.k))
    if codes.has_lines:
        size = CODE_ROWS * line_parts(product.lhs.dtype) * tiles.step * tiles.steps
        buffers.append(Buffer(f"{name}_lines", DType.INT16, size))
    if not isinstance(rows, int) or rows > CODE_ROWS:
        buffers.append(Buffer(f"{name}_unpacked", product.lhs.dtype, extent(product.n) * extent(product.k)))
    return tuple(buffers)


def _with_laid_out(nest: Recurrence, laid: _Laid) -> Recurrence:
    """A recurrence whose products read their weights as they lie in the memory of a GPU."""
    return replace(
        nest,
        cycles=tuple(
            replace(cycle, nests=tuple(_laid_out_product(inner, laid) for inner in cycle.nests))
            for cycle in nest.cycles
        ),
    )


def _laid_out_product(nest: tuple[Statement, ...] | Contraction, laid: _Laid) -> tuple[Statement, ...] | Contraction:
    own = _as_laid_out(nest, laid)
    assert isinstance(own, tuple | Contraction)
    return own


def _as_laid_out(nest: KernelNest, laid: _Laid) -> KernelNest:
    """A product that reads its weights as they lie in the memory of a GPU."""
    if not isinstance(nest, Contraction) or nest.rhs.buffer not in laid:
        return nest
    buffer, codes = laid[nest.rhs.buffer]
    if codes is not None:
        codes = replace(codes, has_lines=needs_lines(nest))
    return replace(nest, rhs=replace(nest.rhs, buffer=buffer), codes=codes)


def _written(nest: KernelNest) -> tuple[Buffer, ...]:
    """The buffers that a nest stores into, each once."""
    assert isinstance(nest, Contraction | Attention | SlidingWindows | tuple)
    body = nest if isinstance(nest, tuple) else nest.ends if isinstance(nest, SlidingWindows) else nest.body
    return tuple(dict.fromkeys(store.buffer for store in stores(body)))


def schedule_rows(nest: Nest) -> tuple[Statement, ...]:
    """The loops of a nest: threads along its contiguous rows, or groups along what each row reads."""
    nest = collapse(nest)
    is_elementwise = not any(stage.inner for stage in nest.stages)
    if is_elementwise or (is_across(nest) and not _has_few(nest)):
        across = contiguous_axis(nest.rows, nest.stages)[0] or (nest.rows[-1] if nest.rows else None)
        body = tuple(statement for stage in nest.stages for statement in (*stage.starts, *_serial(stage)))
        if across is None:
            return body
        return _parallel([row for row in nest.rows if row is not across], (For(across, body, Kind.VECTOR),))
    return _parallel(
        list(nest.rows), tuple(statement for stage in nest.stages for statement in (*stage.starts, *_shared(stage)))
    )


def is_across(nest: Nest) -> bool:
    """Whether what a nest reduces lies contiguous along its rows rather than in each of them."""
    across, gain = contiguous_axis(nest.rows, nest.stages)
    lengths = [contiguous_axis(stage.inner, (stage,))[1] for stage in nest.stages if stage.inner]
    return across is not None and bool(lengths) and gain > max(lengths)


def _has_few(nest: Nest) -> bool:
    """Whether there are too few rows for a thread each, and they are long."""
    rows, lengths = extent(nest.rows), [extent(stage.inner) for stage in nest.stages if stage.inner]
    is_long = any(not isinstance(length, int) or length >= _SHORT for length in lengths)
    return isinstance(rows, int) and rows <= _FEW_ROWS and is_long


def _serial(stage: Stage) -> tuple[Statement, ...]:
    body = stage.body
    for var in reversed(stage.inner):
        body = (For(var, body),)
    return body


def _shared(stage: Stage) -> tuple[Statement, ...]:
    """The loops of a stage, one of them shared by a group: the contiguous one, or a longer one where that is short."""
    if not stage.inner:
        return stage.body
    along = contiguous_axis(stage.inner, (stage,))[0] or stage.inner[-1]
    if isinstance(along.extent, int) and along.extent < _SHORT:
        along = max(stage.inner, key=_length)
    body: tuple[Statement, ...] = (For(along, stage.body, Kind.VECTOR),)
    for var in reversed([var for var in stage.inner if var is not along]):
        body = (For(var, body),)
    return body


def _length(var: Var) -> int:
    return var.extent if isinstance(var.extent, int) else 1 << 10


def _parallel(rows: list[Var], body: tuple[Statement, ...]) -> tuple[Statement, ...]:
    for var in reversed(rows):
        body = (For(var, body, Kind.PARALLEL),)
    return body
