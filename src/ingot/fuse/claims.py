"""Sizes that are taken to be equal, of which a run has to make sure."""

from __future__ import annotations

from ingot.dims import Dim
from ingot.fuse.placement import Placement
from ingot.fuse.unread_indices import unseen
from ingot.fuse.uses import Uses
from ingot.prim.tensor import AssumeShape, Gather, Repeat, Scatter


def claims_in(uses: Uses, body: Placement) -> tuple[tuple[Dim, Dim], ...]:
    """The pairs of sizes of a body, and of the loops inside of it; branches have their own."""
    pairs: dict[tuple[Dim, Dim], None] = {}
    for tensor in uses.order:
        if not isinstance(tensor, AssumeShape | Gather | Scatter) or not _always(uses.placements[tensor], body):
            continue
        if isinstance(tensor, AssumeShape):
            sizes = zip(tensor.x.shape, tensor.shape, strict=True)
            pairs.update(dict.fromkeys((one, other) for one, other in sizes if one != other))
        else:
            pairs.update(dict.fromkeys(unseen(tensor)))
    return tuple(pairs)


def _always(placement: Placement, around: Placement) -> bool:
    """Whether what is computed in one body is so whenever another around it runs, but for how often loops do."""
    inside = placement[len(around) :]
    return placement[: len(around)] == around and all(isinstance(region, Repeat) for region, _ in inside)
