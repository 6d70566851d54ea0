"""The verifier of decisions: whether one can be built and run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ingot.errors import CompileError
from ingot.fuse.decision import Decision, Planned, Store, StoreBranch, StoreLoop, stores_in
from ingot.loops.ir import Buffer
from ingot.prim.coded import Coded
from ingot.prim.descent import Descent
from ingot.prim.order import Order
from ingot.prim.region import BodyArgument, RegionResult
from ingot.prim.suppression import Suppression
from ingot.prim.tensor import (
    Call,
    CallResult,
    Concat,
    Constant,
    HostStep,
    Iota,
    Parameter,
    RandomKey,
    Scan,
    Scatter,
    Size,
    SizeReading,
    Tensor,
)


def verify(decision: Decision) -> None:
    """CompileError with the first fault of a decision, if it has one."""
    for fault in faults(decision):
        raise CompileError(f"fusion decided what cannot be: {fault}")


def faults(decision: Decision) -> Iterator[str]:
    """The faults of a decision: tensors read before they are stored, stored twice, or neither stored nor fused."""
    for result in decision.results:
        if result not in decision.placed:
            yield f"a result, {type(result).__name__}, is not stored"
    names: set[str] = set()
    for store in stores_in(decision.steps):
        if store.name in names:
            yield f"there are two steps {store.name}"
        names.add(store.name)
        yield from _reading(store)
        yield from _chain(store)
    yield from _twice(decision)
    available = {
        placed.buffer
        for tensor, placed in decision.placed.items()
        if isinstance(tensor, Parameter | Constant) or tensor in decision.known
    }
    yield from _order(decision.steps, available, decision)


def _reading(store: Store) -> Iterator[str]:
    """No step computes a scan, scatter, concatenation, call or region between what it reads and what it stores."""
    whole = (Descent, Order, Suppression, Scan, Scatter, Concat, CallResult, RegionResult, BodyArgument, Parameter)
    pending, seen = list(store.tensor.reads), set[Tensor]()
    while pending:
        tensor = pending.pop()
        if tensor in store.reads or tensor in seen or isinstance(tensor, Constant | Coded | Iota | Size):
            continue
        seen.add(tensor)
        if isinstance(tensor, whole):
            yield f"{store.name} computes a {type(tensor).__name__}, which is neither stored nor fused"
            continue
        pending.extend(tensor.reads)


def _chain(store: Store) -> Iterator[str]:
    """The epilogue of a contraction follows from it step by step, up to what is stored."""
    if store.chain and store.chain[-1] is not store.tensor:
        yield f"the epilogue of {store.name} does not end with what it stores"
    for before, after in zip(store.chain, store.chain[1:], strict=False):
        pending, seen = list(after.reads), set[Tensor]()
        while pending and before not in seen:
            tensor = pending.pop()
            if tensor not in seen and tensor not in store.reads:
                seen.add(tensor)
                pending.extend(tensor.reads)
        if before not in seen:
            yield f"the epilogue of {store.name} has a gap"


def _twice(decision: Decision) -> Iterator[str]:
    """No memory is written by two steps, except region results, which each of their bodies writes."""
    shared = {placed.buffer for tensor, placed in decision.placed.items() if isinstance(tensor, RegionResult)}
    written: dict[Buffer, str] = {}
    for store in stores_in(decision.steps):
        buffer = store.target.buffer
        if buffer in written and buffer not in shared:
            yield f"{written[buffer]} and {store.name} store into {buffer.name}"
        written[buffer] = store.name


def _order(steps: Sequence[Planned], stored: set[Buffer], decision: Decision) -> Iterator[str]:
    """Every step reads what is there before it; `stored` is added to."""
    for step in steps:
        match step:
            case Store():
                for placed in step.reads.values():
                    if placed.buffer not in stored:
                        yield f"{step.name} reads {placed.buffer.name} before it is stored"
                stored.add(step.target.buffer)
            case StoreBranch():
                if step.condition not in stored:
                    yield f"{step.name} is by {step.condition.name}, which is not stored"
                for body in (step.then, step.otherwise):
                    inside = set(stored)
                    yield from _order(body, inside, decision)
                stored |= _written_buffers(decision, step)
            case StoreLoop():
                stored.add(step.number)
                for buffer in (step.trips, step.condition, *(first for first, _ in step.swapped)):
                    if isinstance(buffer, Buffer) and buffer not in stored:
                        yield f"{step.name} begins with {buffer.name}, which is not stored"
                stored |= _written_buffers(decision, step)
                yield from _order(step.steps, stored, decision)
            case Call() | SizeReading() | RandomKey():
                for argument in filter(None, step.arguments):
                    if argument not in decision.placed or decision.placed[argument].buffer not in stored:
                        yield f"{_step_name(step)} reads what is not stored"
                results = [
                    candidate
                    for candidate in decision.placed
                    if isinstance(candidate, CallResult) and candidate.call is step
                ]
                stored |= {decision.placed[result].buffer for result in results}


def _step_name(step: HostStep) -> str:
    if isinstance(step, Call):
        return f"a call of {step.node.op_type}"
    return "a reading of sizes" if isinstance(step, SizeReading) else "a key of random numbers"


def _written_buffers(decision: Decision, step: StoreBranch | StoreLoop) -> set[Buffer]:
    """The memory of a region's results."""
    results = (
        tensor for tensor in decision.placed if isinstance(tensor, RegionResult) and tensor.region is step.region
    )
    return {decision.placed[result].buffer for result in results}
