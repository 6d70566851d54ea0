"""The statements of a kernel for a GPU: see `schedule/gpu.py` for what its loops mean."""

from __future__ import annotations

from collections.abc import Sequence

from ingot.codegen.llvm.builder import Builder
from ingot.codegen.llvm.emitter import Frame
from ingot.codegen.llvm.types import I64
from ingot.codegen.nvptx.elements import ElementLoops
from ingot.codegen.nvptx.loops import ThreadLoops
from ingot.codegen.nvptx.rows import RowLoops
from ingot.codegen.nvptx.scan import ScanLoops, scan_in
from ingot.loops.ir import For, Statement, Var, extent
from ingot.loops.nest_shape import has_vectors, innermost_parallel, is_vector, parallel_chain


def emit_nest(b: Builder, frame: Frame, statements: Sequence[Statement]) -> None:
    """Elements in vectors, rows of groups, or single iterations, each for a thread; all for one if none is parallel."""
    chain, body = parallel_chain(statements)
    if is_vector(body):
        assert isinstance(body[0], For)
        ElementLoops(b, frame).elements_of(chain, body[0])
    elif has_vectors(body):
        RowLoops(b, frame).rows_of(chain, body)
    elif chain and (scan := scan_in(body)) is not None:
        ScanLoops(b, frame).scans_of(chain, scan)
    elif chain:
        loops = ThreadLoops(b, frame)
        with loops.loop(*loops.strided(frame.size(extent(chain)))) as number:
            loops.unflatten(chain, number)
            loops.statements(body)
    elif (inner := innermost_parallel(body)) is not None:
        loops = ThreadLoops(b, frame)
        with loops.loop(*loops.strided(frame.size(inner.extent))) as number:
            loops.variables[inner] = number
            loops.statements(_without(body, inner))
    else:
        loops = ThreadLoops(b, frame)
        with b.if_then(b.icmp_signed("==", loops.thread_of_grid(), I64(0))):
            loops.statements(body)


def _without(body: Sequence[Statement], var: Var) -> tuple[Statement, ...]:
    """Nested loops without the one over a variable, whose body stays."""
    (loop,) = body
    assert isinstance(loop, For)
    return loop.body if loop.var is var else (For(loop.var, _without(loop.body, var), loop.kind),)
