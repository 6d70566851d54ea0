"""Regions in a decision: branches and loops as steps with steps inside, and the memory that they share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ingot.fuse.decision import Planned, StoreBranch, StoreLoop
from ingot.fuse.guards import guards_in
from ingot.fuse.memory import Memory
from ingot.fuse.placement import Placement
from ingot.fuse.read import Placed
from ingot.fuse.uses import Uses
from ingot.loops.ir import Buffer, Index, Load
from ingot.prim.make import count
from ingot.prim.region import Branch, RegionResult, Repeat
from ingot.prim.tensor import AssumeShape, Tensor

BRANCH_RESULT = "what a branch gives is stored"
ROW = "what is kept of each run is stored"
COPY = "it is a result, and what it is copied from is not"


class Deciding(Protocol):
    """A decision in progress, as regions see it."""

    uses: Uses
    memory: Memory
    steps: dict[Placement, list[Planned]]

    def store_all(self, body: Placement) -> None:
        """Add the steps of a body: every tensor that is stored in it."""

    def write(self, tensor: Tensor, target: Placed, body: Placement, why: str, start: Index | None = None) -> None:
        """Add the step to a body that stores a tensor at a given place."""


def branch_step(deciding: Deciding, region: Branch, results: Sequence[RegionResult], body: Placement) -> StoreBranch:
    """The step of a branch in a body: either arm stores its results into the same memory."""
    memory = deciding.memory
    name = memory.name("if")
    for tensor in results:
        memory.allocate(tensor, memory.name("b"))
    arms = [(*body, (region, arm)) for arm in (0, 1)]
    for arm, values in zip(arms, region.bodies, strict=True):
        deciding.steps[arm] = []
        deciding.store_all(arm)
        for tensor in results:
            deciding.write(values[tensor.index], memory.placed[tensor], arm, BRANCH_RESULT)
    then, otherwise = (tuple(deciding.steps[arm]) for arm in arms)
    guards = [(*region.guards[number], *guards_in(deciding.uses, arm)) for number, arm in enumerate(arms)]
    return StoreBranch(name, region, memory.buffer(region.condition), then, otherwise, (guards[0], guards[1]))


def loop_step(deciding: Deciding, region: Repeat, results: Sequence[RegionResult], body: Placement) -> StoreLoop:
    """The step of a loop in a body: its states are double-buffered, swapped after each run."""
    memory = deciding.memory
    name = memory.name("loop")
    number = memory.allocate(region.number, f"{name}_number").buffer
    rows = [tensor for tensor in results if tensor.is_rows]
    for tensor in rows:
        memory.allocate(tensor, memory.name("b"))
    last = [(tensor, region.initial[tensor.index]) for tensor in results if not tensor.is_rows]
    for state, initial in (*zip(region.states, region.initial, strict=True), *last):
        memory.put(state, memory.placed[initial], memory.orders[initial])
    inner = (*body, (region, 0))
    deciding.steps[inner] = []
    deciding.store_all(inner)
    for tensor in rows:
        row, placed = region.rows[tensor.index - len(region.states)], memory.placed[tensor]
        start = Index(((Load(region.number.dtype, number, Index()), placed.strides[0]),))
        deciding.write(row, Placed(placed.buffer, placed.strides[1:]), inner, ROW, start)
    pairs = zip(region.initial, region.results, strict=True)
    return StoreLoop(
        name,
        region,
        number,
        memory.buffer(region.trips) if isinstance(region.trips, Tensor) else region.trips,
        None if region.condition is None else memory.buffer(region.condition),
        None if region.going is None else memory.buffer(region.going),
        tuple(deciding.steps[inner]),
        tuple((memory.buffer(first), memory.buffer(result)) for first, result in pairs),
        tuple(map(memory.buffer, rows)),
    )


def copy_result(deciding: Deciding, tensor: RegionResult, body: Placement) -> None:
    """Copy the result of a loop to memory of its own: that of states is swapped."""
    memory = deciding.memory
    source = AssumeShape(tensor.dtype, tensor.shape, tensor)
    buffer = Buffer(memory.name("b"), tensor.dtype, count(tensor.shape))
    target = Placed(buffer, memory.placed[tensor].strides)
    deciding.write(source, target, body, COPY)
    memory.put(tensor, target, memory.orders[tensor])
