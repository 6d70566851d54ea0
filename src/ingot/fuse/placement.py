"""Placement: a tensor is computed in the innermost body around all its readers; invariants are hoisted out of loops."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TypeAlias

from ingot.prim.region import Region, RegionResult, Repeat
from ingot.prim.tensor import CallResult, Constant, Iota, Parameter, Size, Tensor

Placement: TypeAlias = tuple[tuple[Region, int], ...]
"""The bodies around a tensor, the outermost first: each a region, and which of its bodies."""

ROOT: Placement = ()


def placements_of(order: Sequence[Tensor], results: Sequence[Tensor]) -> dict[Tensor, Placement]:
    """Where each of the tensors, given in the order of computation, is computed; `results` are outside of all bodies.

    What a branch alone needs is computed in it. What is invariant in a loop is hoisted out of it. What a loop starts
    from is computed right before the loop: its runs write over it.
    """
    left = Counter(tensor.region for tensor in order if isinstance(tensor, RegionResult))
    if not left:
        return dict.fromkeys(order, ROOT)
    bound = _bound(order)
    uses: dict[Tensor, list[Placement]] = {tensor: [ROOT] for tensor in results}
    placements: dict[Tensor, Placement] = {}
    around: dict[Region, Placement] = {}
    starts: dict[Tensor, Placement] = {}
    for tensor in reversed(order):
        if isinstance(tensor, Parameter | Constant | CallResult | Iota | Size):
            placements[tensor] = ROOT
            continue
        placement = _outside_of_loops(_shared(uses.get(tensor, [ROOT])), bound[tensor])
        placement = placements[tensor] = starts.get(tensor, placement)
        if not isinstance(tensor, RegionResult):
            for operand in tensor.reads:
                uses.setdefault(operand, []).append(placement)
            continue
        region = tensor.region  # all its results have one placement, known once the last of them is met
        around[region] = placement = _shared([placement, around.get(region, placement)])
        left[region] -= 1
        if not left[region]:
            for operand in region.before:
                uses.setdefault(operand, []).append(placement)
            if isinstance(region, Repeat):
                starts.update(dict.fromkeys(region.initial, placement))
            for arm, body in enumerate(region.bodies):
                for operand in body:
                    uses.setdefault(operand, []).append((*placement, (region, arm)))
    return {
        tensor: around[tensor.region] if isinstance(tensor, RegionResult) else placement
        for tensor, placement in placements.items()
    }


def _bound(order: Sequence[Tensor]) -> dict[Tensor, frozenset[Region]]:
    """The loops that a tensor is not invariant in."""
    regions = [result.region for result in order if isinstance(result, RegionResult)]
    loops = {region for region in regions if isinstance(region, Repeat)}
    varying: dict[Tensor, frozenset[Region]] = {}
    for loop in loops:
        for inner in (loop.number, *loop.states):
            varying[inner] = frozenset({loop})
    pinned = {result: loop for loop in loops for result in loop.bodies[0]}
    for tensor in order:
        if tensor not in varying:
            varying[tensor] = frozenset[Region]().union(*(varying[result] for result in tensor.reads))
        if isinstance(tensor, RegionResult):
            varying[tensor] -= {tensor.region}
        if tensor in pinned:
            varying[tensor] |= {pinned[tensor]}
    return varying


def _shared(placements: Sequence[Placement]) -> Placement:
    """The bodies that all of them are in."""
    first, *rest = placements
    length = len(first)
    for other in rest:
        length = min(length, len(other))
        while first[:length] != other[:length]:
            length -= 1
    return first[:length]


def _outside_of_loops(placement: Placement, bound: frozenset[Region]) -> Placement:
    while placement and isinstance(placement[-1][0], Repeat) and placement[-1][0] not in bound:
        placement = placement[:-1]
    return placement
