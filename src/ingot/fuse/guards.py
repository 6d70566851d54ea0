"""Guards: what is assumed of sizes where tensors are computed, to be checked by each run."""

from __future__ import annotations

from ingot.fuse.placement import Placement
from ingot.fuse.unread_indices import unread_guards
from ingot.fuse.uses import Uses
from ingot.prim.guard import Guard, Guards, assumed_equal
from ingot.prim.region import Repeat
from ingot.prim.size_guards import size_guards
from ingot.prim.tensor import AssumeShape, Gather, Scatter


def guards_in(uses: Uses, body: Placement) -> Guards:
    """The guards of a body, and of the loops inside of it; branches have their own."""
    guards: dict[Guard, None] = {}
    for tensor in uses.order:
        placement = uses.placements[tensor]
        if placement is not body and not _always(placement, body):
            continue
        for guard in size_guards(tensor):
            guards[guard] = None
        if isinstance(tensor, AssumeShape):
            guards.update(dict.fromkeys(assumed_equal(tensor.x.shape, tensor.shape)))
        elif isinstance(tensor, (Gather, Scatter)):
            guards.update(dict.fromkeys(Guard(*pair) for pair in unread_guards(tensor, uses.moving)))
    return tuple(guards)


def _always(placement: Placement, around: Placement) -> bool:
    """Whether one body runs whenever another around it does, apart from how often loops run."""
    inside = placement[len(around) :]
    return placement[: len(around)] == around and all(isinstance(region, Repeat) for region, _ in inside)
