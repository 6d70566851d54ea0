"""The schedule for a GPU: the same loops, of which those in vectors are shared by the threads of a group.

Loops that are `PARALLEL` are distributed over the grid. A loop in vectors directly inside of them gives every thread
one vector of neighbours: that is an elementwise kernel, or a reduction whose rows are contiguous. Where loops in
vectors are further inside, a group of threads computes a row together, and reduces what its threads have. How many
threads a group has is decided when a kernel is launched, by the sizes of the run: no kernel depends on it.
"""

from __future__ import annotations

from dataclasses import replace

from ingot.dtypes import DType
from ingot.errors import CompileError
from ingot.fuse.build import Fused
from ingot.fuse.limits import FusionLimits
from ingot.loops.ir import (
    Attention,
    Buffer,
    Contraction,
    For,
    Kernel,
    KernelNest,
    Kind,
    Nest,
    Recurrence,
    Stage,
    Statement,
    Var,
    extent,
    kernels_in,
)
from ingot.loops.join_axes import join_axes
from ingot.loops.kernel import kernel_of
from ingot.loops.rewrite import stores
from ingot.prim.tensor import Tensor
from ingot.schedule.gpu_attention import WIDEST, schedule_gpu_attention
from ingot.schedule.gpu_recurrence import enclose_gpu_loops
from ingot.schedule.nest import collapse, contiguous_axis
from ingot.schedule.schedule import Scheduled, replace_kernels
from ingot.schedule.split_reduction import SplitReduction, split_reduction

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
        reads_codes=False,
        attention_width=WIDEST,
    )


def schedule_for_gpu(fused: Fused) -> Scheduled:
    """The kernels of a program for a GPU, each of one nest."""
    limits = gpu_limits()
    looped = enclose_gpu_loops(fused)
    kernels = {kernel: _schedule_kernel(kernel, limits) for kernel in kernels_in(looped.steps)}
    written: dict[Kernel, Tensor] = {
        new: fused.stores[looped.origins.get(old, (old,))[-1]] for old, parts in kernels.items() for new in parts
    }
    steps = replace_kernels(looped.steps, kernels)
    return Scheduled(steps, fused.placed, looped.constants, (), written, fused.why, fused.guards)


def _schedule_kernel(kernel: Kernel, limits: FusionLimits) -> tuple[Kernel, ...]:
    """A kernel for each of its nests, which are independent; two for a long reduction."""
    parts: list[Kernel] = []
    if isinstance(kernel.nests[0], Recurrence):
        return (kernel,)
    for number, nest in enumerate(kernel.nests):
        name = kernel.name if len(kernel.nests) == 1 else f"{kernel.name}_{number}"
        split = _split(collapse(nest), name, limits) if isinstance(nest, Nest) else None
        if split is None:
            scheduled = _schedule(nest, name)
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
    return split_reduction(nest, name, limits)


def _schedule(nest: KernelNest, name: str) -> KernelNest:
    match nest:
        case Nest():
            return schedule_rows(nest)
        case Contraction():
            partial = Buffer(f"{name}_partial", DType.FLOAT32 if nest.dtype in _HALVES else nest.dtype, SPLIT_ELEMENTS)
            return replace(join_axes(nest), scratch=(partial,))
        case Attention():
            return schedule_gpu_attention(nest, name)
        case tuple():
            return nest
        case _:
            raise CompileError(f"there is no GPU kernel for {type(nest).__name__}")


def _written(nest: KernelNest) -> tuple[Buffer, ...]:
    """The buffers that a nest stores into, each once."""
    assert isinstance(nest, Contraction | Attention | tuple)
    body = nest if isinstance(nest, tuple) else nest.body
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
