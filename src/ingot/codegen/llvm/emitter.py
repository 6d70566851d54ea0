"""The interface of code generators: one for each kind of nest."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from ingot.codegen.llvm import ir
from ingot.codegen.llvm.builder import Builder
from ingot.codegen.llvm.share import Share, Sharing
from ingot.dims import Dim
from ingot.loops.ir import Buffer
from ingot.schedule.target import Target

Nest = TypeVar("Nest")


@dataclass(frozen=True, slots=True)
class Frame:
    """The arguments of a kernel: its buffers, its runtime scalars, the state for errors, and its piece of the work.

    Scratch memory belongs to a thread, by its number; a piece gives the same results on any thread.
    """

    buffers: Mapping[Buffer, ir.Value]
    size: Callable[[Dim], ir.Value]
    state: ir.Value
    thread: ir.Value
    piece: ir.Value
    pieces: ir.Value
    target: Target


@dataclass(frozen=True, slots=True)
class NestEmitter(Generic[Nest]):
    """The code generator of a kind of nest."""

    emit: Callable[[Builder, Frame, Nest], None]
    """Emits one piece of a nest, that of the frame."""
    share: Callable[[Builder, Sharing, Nest], Share]
    """How the work of a nest is divided into pieces."""
