"""Windows over scratch memory in LLVM: each thread copies what the windows of a row slide over, and reduces it."""

from __future__ import annotations

from dataclasses import replace

from ingot.codegen.llvm.builder import Builder
from ingot.codegen.llvm.emitter import Frame, NestEmitter
from ingot.codegen.llvm.loops import Loops, share_of
from ingot.codegen.llvm.share import Share, Sharing
from ingot.codegen.llvm.types import I64, stored
from ingot.loops.ir import Staged


def _emit(b: Builder, frame: Frame, nest: Staged) -> None:
    """The rows of a piece."""
    own = {
        buffer: b.gep(frame.buffers[buffer], [b.mul(frame.thread, I64(nest.length))], source_etype=stored(buffer.dtype))
        for buffer in nest.scratch
    }
    loops = Loops(b, replace(frame, buffers={**frame.buffers, **own}))
    loops.rows(nest.rows, (*nest.copied, *nest.body), before=nest.filled)


def _share(b: Builder, sharing: Sharing, nest: Staged) -> Share:
    return share_of(b, sharing, nest.rows, nest.body)


EMITTER = NestEmitter(_emit, _share)
"""The interface to kernels."""
