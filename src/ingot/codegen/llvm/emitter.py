"""The interface of code generators: one for each kind of nest."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field
from typing import Generic, TypeVar

from ingot.codegen.llvm import ir
from ingot.codegen.llvm.builder import Builder
from ingot.codegen.llvm.share import Share, Sharing
from ingot.codegen.llvm.types import I1, I32, I64
from ingot.dataclass import dataclass
from ingot.dims import Dim
from ingot.loops.ir import Buffer, Var
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
    compact: bool = False
    """Whether little code counts for more than fast code."""
    variables: Mapping[Var, ir.Value] = field(default_factory=dict)
    """The values of loop variables around a nest."""


@dataclass(frozen=True, slots=True)
class NestEmitter(Generic[Nest]):
    """The code generator of a kind of nest."""

    emit: Callable[[Builder, Frame, Nest], None]
    """Emits one piece of a nest, that of the frame."""
    share: Callable[[Builder, Sharing, Nest], Share]
    """How the work of a nest is divided into pieces."""


@contextmanager
def unless_empty(b: Builder, frame: Frame, sizes: Sequence[Dim]) -> Iterator[None]:
    """What is emitted while it is open runs unless a size is zero: no index is valid there, which is an error."""
    unknown = [size for size in sizes if not isinstance(size, int) or size == 0]
    if not unknown:
        yield
        return
    empty: ir.Value = ir.Constant(I1, 0)
    for size in unknown:
        empty = b.or_(empty, b.icmp_signed("==", frame.size(size), I64(0)))
    with b.if_else(empty, likely=False) as (then, otherwise):
        with then:
            b.store(I32(1), frame.state)
        with otherwise:
            yield
