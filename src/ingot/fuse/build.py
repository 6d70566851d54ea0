"""Building: from a decision to kernels. It is total: every step that a decision has gets its kernels, and no other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ingot.dataclass import dataclass
from ingot.fuse.contraction import Packed
from ingot.fuse.decision import Decision, Planned, Reading, Store, StoreBranch, StoreLoop, stores_in
from ingot.fuse.kernels import read
from ingot.fuse.limits import FusionLimits
from ingot.fuse.read import Placed
from ingot.loops.ir import BranchStep, Buffer, Kernel, LoopStep, Step
from ingot.prim.evaluate import evaluate
from ingot.prim.guard import Guards
from ingot.prim.make import constant
from ingot.prim.tensor import Constant, HostStep, Tensor


@dataclass(frozen=True, slots=True)
class Fused:
    """Steps in order, the placement of every stored tensor, and the contents of constant buffers.

    No kernel is scheduled. `stores` is the tensor that each kernel stores, `why` the reason for storing it. `guards`
    are sizes that are assumed to be equal whichever branches are taken. `visible` are the buffers that are also read
    outside of kernels: results, and arguments of steps of the host.
    """

    steps: tuple[Step, ...]
    placed: Mapping[Tensor, Placed]
    constants: Mapping[Buffer, Tensor | Packed]
    stores: Mapping[Kernel, Tensor]
    why: Mapping[Tensor, str]
    guards: Guards
    visible: frozenset[Buffer]


def build(decision: Decision) -> Fused:
    """The steps of a decision with their kernels, and the contents of constant buffers."""
    readings = {
        store: decision.readings.get(store) or _read(store, decision.limits) for store in stores_in(decision.steps)
    }
    constants: dict[Buffer, Tensor | Packed] = {
        placed.buffer: tensor for tensor, placed in decision.placed.items() if isinstance(tensor, Constant)
    }
    for tensor in decision.known:
        (array,) = evaluate([tensor], {}, {})
        constants[decision.placed[tensor].buffer] = constant(array)
    for reading in readings.values():
        constants.update(reading.constants)
    stores = {kernel: store.tensor for store, reading in readings.items() for kernel in reading.kernels}
    steps = tuple(_steps(decision.steps, readings))
    arguments = [tensor for step in decision.steps if isinstance(step, HostStep) for tensor in step.arguments]
    read = [decision.placed.get(tensor) for tensor in (*decision.results, *arguments) if tensor is not None]
    visible = frozenset(placed.buffer for placed in read if placed is not None)
    return Fused(steps, decision.placed, constants, stores, decision.why, decision.guards, visible)


def _read(store: Store, limits: FusionLimits) -> Reading:
    """The kernels of a step, which loads nothing but what the decision says."""
    reading = read(store, store.reads, limits)
    assert isinstance(reading, Reading), f"{store.name} requires more than was decided: {reading.why}"
    return reading


def _steps(planned: Sequence[Planned], readings: Mapping[Store, Reading]) -> list[Step]:
    steps: list[Step] = []
    for step in planned:
        match step:
            case Store():
                steps.extend(readings[step].kernels)
            case StoreBranch():
                then, otherwise = (tuple(_steps(body, readings)) for body in (step.then, step.otherwise))
                steps.append(BranchStep(step.name, step.condition, then, otherwise, step.guards))
            case StoreLoop():
                body = tuple(_steps(step.steps, readings))
                loop = (step.name, step.number, step.trips, step.condition, step.going)
                steps.append(LoopStep(*loop, body, step.swapped, step.collected))
            case _:
                steps.append(step)
    return steps
