"""When each thread worked on which kernel, in one run of a compiled model.

The plan is run as it is, but its kernels are called through a function that notes the time before and after. That takes
some microseconds of each piece, so that times of short kernels are longer here than in `measured`.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from math import inf
from time import perf_counter
from typing import Any

from ingot.compile import Artifacts
from ingot.ir.model import Model
from ingot.providers import evaluators_of, resolve
from ingot.runtime.evaluate import Evaluation
from ingot.runtime.executable import Executable
from ingot.runtime.guards import GuardFailed, KernelError
from ingot.runtime.plan import Jump, KernelStep, Plan
from ingot.session import Session

_KERNEL = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_void_p] * 4, *[ctypes.c_int64] * 3)
"""Slots, slot numbers, sizes, state; the thread, the piece, the number of pieces."""

_ASKING = -1
"""The piece of a call that only asks how many there should be."""

_MOST_BYTES = 1 << 62
_RUNS = 5
"""The first binds sizes and starts threads; others may be interrupted by who else uses the machine."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of a kernel that a thread ran: when it began, after the run did, and how long it took."""

    kernel: str
    thread: int
    begin: float
    seconds: float


def pieces_by_thread(session: Session, compiled: Artifacts, feeds: Mapping[str, Any]) -> tuple[Piece, ...]:
    """The pieces of the kernels of one run, the shortest of some, in the order in which they began.

    Kernels of bodies that are called one by one are left out, and all of them where a device runs them. Empty where a
    guard fails for these inputs.
    """
    if compiled.plan.device is not None:
        return ()
    notes: list[Piece] = []
    lock = threading.Lock()

    def note(kernel: str, thread: int, begin: float, end: float) -> None:
        with lock:
            notes.append(Piece(kernel, thread, begin, end - begin))

    plan = _noted(compiled.plan, note)
    model = compiled.optimised.model
    evaluators = evaluators_of(resolve(("reference",)))

    def evaluation(of: Model) -> Evaluation:
        return Evaluation(of, session.catalog, limits=session.limits, evaluators=evaluators)

    executable = Executable(plan, compiled.outputs, lambda: model, _MOST_BYTES)
    best: tuple[Piece, ...] = ()
    least = inf
    for _ in range(_RUNS):
        notes.clear()
        begin = perf_counter()
        try:
            executable.run(feeds, evaluation, None)
        except (GuardFailed, KernelError):
            return ()
        if perf_counter() - begin < least:
            least = perf_counter() - begin
            best = tuple(replace(piece, begin=piece.begin - begin) for piece in notes)
    return tuple(sorted(best, key=lambda piece: piece.begin))


def _noted(plan: Plan, note: Callable[[str, int, float, float], None]) -> Plan:
    """A plan whose kernels report when they ran."""
    functions: list[Any] = []

    def noted(step: KernelStep | Jump) -> KernelStep | Jump:
        if not isinstance(step, KernelStep):
            return step
        functions.append(function := _KERNEL(_noting(step, note)))
        address = ctypes.cast(function, ctypes.c_void_p).value
        assert address is not None
        return replace(step, address=address)

    segments = tuple(replace(segment, steps=tuple(map(noted, segment.steps))) for segment in plan.segments)
    return replace(plan, segments=segments, keep=(*plan.keep, functions), codes={})


def _noting(step: KernelStep, note: Callable[[str, int, float, float], None]) -> Callable[..., int]:
    kernel, name = _KERNEL(step.address), step.name

    def called(slots: int, numbers: int, sizes: int, state: int, thread: int, piece: int, pieces: int) -> int:
        begin = perf_counter()
        result: int = kernel(slots, numbers, sizes, state, thread, piece, pieces)
        if piece != _ASKING:
            note(name, thread, begin, perf_counter())
        return result

    return called
