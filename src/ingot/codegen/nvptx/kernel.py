"""A kernel for a GPU: its parameters are the addresses of its buffers, the state of the run, and its sizes.

The grid that it is launched with is no part of it: see `Launch`.
"""

from __future__ import annotations

from enum import Enum
from functools import partial

from ingot.codegen.llvm import ir
from ingot.codegen.llvm.builder import Builder
from ingot.codegen.llvm.emitter import Frame, unless_empty
from ingot.codegen.llvm.kernel import Emitted
from ingot.codegen.llvm.types import I64, PTR
from ingot.codegen.nvptx import attention, recurrence_plans, window_plans
from ingot.codegen.nvptx.grid import KernelFunction, module_text
from ingot.codegen.nvptx.memory import lanes_along
from ingot.codegen.nvptx.nest import emit_nest
from ingot.codegen.nvptx.scan import GROUP, scan_in
from ingot.codegen.nvptx.variant import Function
from ingot.codegen.nvptx.variants import functions_of
from ingot.dataclass import dataclass
from ingot.dims import Dim
from ingot.loops.ir import Attention, Contraction, For, Kernel, Kind, Recurrence, SlidingWindows, Statement, extent
from ingot.loops.nest_shape import has_vectors, innermost_parallel, is_vector, parallel_chain
from ingot.loops.rewrite import sizes_indexed, within
from ingot.schedule.target import Target

ENTRY = "kernel"

THREADS = 256
"""Threads of a block that work alone."""

MOST_GROUP = 512


class Shape(Enum):
    """How threads share a kernel, and what its extents are."""

    THREADS = "threads"
    """A number of vectors or elements, one for each thread."""
    GROUPS = "groups"
    """A number of rows, one for each group, and the vectors of a row."""
    PLANNED = "planned"
    """That of a plan, which decides by all sizes: it has no extents."""


@dataclass(frozen=True, slots=True)
class Launch:
    """What the grid of a kernel follows from: how threads share it, and its extents, sizes that a run knows."""

    shape: Shape
    extents: tuple[Dim, ...]


def launch_of(kernel: Kernel) -> Launch:
    """How a scheduled kernel is launched."""
    (nest,) = kernel.nests
    if isinstance(nest, Contraction | Attention | SlidingWindows | Recurrence):
        return Launch(Shape.PLANNED, ())
    assert isinstance(nest, tuple)
    chain, body = parallel_chain(nest)
    if is_vector(body):
        assert isinstance(body[0], For)
        lanes = lanes_along(body[0].body, body[0].var)
        return Launch(Shape.THREADS, (extent(chain) * -(-body[0].var.extent // lanes),))
    if has_vectors(body):
        return Launch(Shape.GROUPS, (extent(chain), _longest(body)))
    if chain and scan_in(body) is not None:
        return Launch(Shape.GROUPS, (extent(chain), GROUP))
    if chain:
        return Launch(Shape.THREADS, (extent(chain),))
    inner = innermost_parallel(body)
    return Launch(Shape.THREADS, (1 if inner is None else inner.extent,))


def _longest(body: tuple[Statement, ...]) -> Dim:
    """The vectors of the first loop in vectors: those of a row are about as long as each other."""
    loop = next(inner for inner in within(body) if isinstance(inner, For) and inner.kind is Kind.VECTOR)
    return -(-loop.var.extent // lanes_along(loop.body, loop.var))


def emit(kernel: Kernel, target: Target, name: str = ENTRY) -> Emitted:
    """A function of a scheduled kernel of one nest as LLVM IR: of a product one of those that its variants have."""
    (nest,) = kernel.nests
    if isinstance(nest, Contraction):
        function = functions_of(nest, target)[name]
    elif isinstance(nest, Attention):
        function = attention.functions(nest, target)[name]
    elif isinstance(nest, Recurrence):
        function = recurrence_plans.functions(nest)[name]
    elif isinstance(nest, SlidingWindows):
        function = window_plans.functions(nest)[name]
    else:
        threads = MOST_GROUP if launch_of(kernel).shape is Shape.GROUPS else THREADS
        function = Function(partial(emit_nest, statements=nest), threads)  # type: ignore[arg-type]
    module = ir.Module(name)
    module.triple = target.triple
    sizes: dict[Dim, int] = {}
    own = KernelFunction(module, name)
    b = Builder(own.append_basic_block("entry"))
    begin = b.append_basic_block("begin")
    b.branch(begin)
    b.position_at_end(begin)
    buffers = {buffer: ir.Value(PTR, f"%b{place}") for place, buffer in enumerate(kernel.buffers)}
    nothing = I64(0)
    frame = Frame(buffers, lambda dim: _size(dim, sizes), ir.Value(PTR, "%state"), nothing, nothing, nothing, target)
    with unless_empty(b, frame, sizes_indexed(nest)):
        function.emit(b, frame)
    b.ret_void()
    written = {*kernel.writes, *kernel.scratch}
    alone = "" if isinstance(nest, Recurrence) else "noalias "  # other blocks store what this one reads
    own.parameters = [
        *(
            f"ptr {alone}{'' if buffer in written else 'readonly '}align 16 %b{place}"
            for place, buffer in enumerate(kernel.buffers)
        ),
        "ptr %state",
        *(f"i64 %s{place}" for place in range(len(sizes))),
        *(f"i64 %{scalar}" for scalar in function.scalars),
        *(f"ptr byval([128 x i8]) align 64 %{tensor_map}" for tensor_map in function.maps),
    ]
    return Emitted(module_text(module, own, function), kernel.buffers, tuple(sizes))


def _size(dim: Dim, places: dict[Dim, int]) -> ir.Value:
    return I64(dim) if isinstance(dim, int) else ir.Value(I64, f"%s{places.setdefault(dim, len(places))}")
