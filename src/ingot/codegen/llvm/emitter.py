"""How code is generated for a kind of nest, and what that has at hand."""

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
    """What a kernel has at hand: where its buffers are, its sizes, what to report errors to, and which piece it does.

    What a thread needs its own of is found by its number; a piece is the same whoever does it.
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
    """Emits the piece of a nest that the frame tells."""
    share: Callable[[Builder, Sharing, Nest], Share]
    """How the work of a nest can be divided into pieces."""
