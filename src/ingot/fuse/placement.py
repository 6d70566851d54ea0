"""Inside of which bodies a tensor is computed: of the innermost that all its readers are in, and of no loop in vain."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TypeAlias

from ingot.prim.tensor import CallResult, Constant, Iota, Parameter, Region, RegionResult, Repeat, Size, Tensor

Placement: TypeAlias = tuple[tuple[Region, int], ...]
"""The bodies around a tensor, the outermost first: each a region, and which of its bodies."""

ROOT: Placement = ()


def placements_of(order: Sequence[Tensor], results: Sequence[Tensor]) -> dict[Tensor, Placement]:
    """Where each of the tensors, given in the order of computation, is computed; `results` are outside of all bodies.

    What a branch alone needs is computed in it. What a repeated body needs, and does not depend on which run it is, is
    computed before it. What a loop starts from is computed right before the loop: its runs write over it.
    """
    bound = _bound(order)
    left = Counter(tensor.region for tensor in order if isinstance(tensor, RegionResult))
    uses: dict[Tensor, list[Placement]] = {tensor: [ROOT] for tensor in results}
    homes: dict[Tensor, Placement] = {}
    around: dict[Region, Placement] = {}
    starts: dict[Tensor, Placement] = {}
    for tensor in reversed(order):
        if isinstance(tensor, Parameter | Constant | CallResult | Iota | Size):
            homes[tensor] = ROOT
            continue
        home = _outside_of_loops(_shared(uses.get(tensor, [ROOT])), bound[tensor])
        home = homes[tensor] = starts.get(tensor, home)
        if not isinstance(tensor, RegionResult):
            for each in tensor.reads:
                uses.setdefault(each, []).append(home)
            continue
        region = tensor.region  # all it makes is made in one place, which is known at the last that is met
        around[region] = home = _shared([home, around.get(region, home)])
        left[region] -= 1
        if not left[region]:
            for each in region.before:
                uses.setdefault(each, []).append(home)
            if isinstance(region, Repeat):
                starts.update(dict.fromkeys(region.initial, home))
            for side, body in enumerate(region.bodies):
                for each in body:
                    uses.setdefault(each, []).append((*home, (region, side)))
    return {
        tensor: around[tensor.region] if isinstance(tensor, RegionResult) else home for tensor, home in homes.items()
    }


def _bound(order: Sequence[Tensor]) -> dict[Tensor, frozenset[Region]]:
    """The loops that a tensor is another in each run of."""
    regions = [each.region for each in order if isinstance(each, RegionResult)]
    loops = {region for region in regions if isinstance(region, Repeat)}
    found: dict[Tensor, frozenset[Region]] = {}
    for loop in loops:
        for inner in (loop.number, *loop.states):
            found[inner] = frozenset({loop})
    pinned = {each: loop for loop in loops for each in loop.bodies[0]}
    for tensor in order:
        if tensor not in found:
            found[tensor] = frozenset[Region]().union(*(found[each] for each in tensor.reads))
        if isinstance(tensor, RegionResult):
            found[tensor] -= {tensor.region}
        if tensor in pinned:
            found[tensor] |= {pinned[tensor]}
    return found


def _shared(homes: Sequence[Placement]) -> Placement:
    """The bodies that all of them are in."""
    first, *rest = homes
    length = len(first)
    for other in rest:
        length = min(length, len(other))
        while first[:length] != other[:length]:
            length -= 1
    return first[:length]


def _outside_of_loops(home: Placement, bound: frozenset[Region]) -> Placement:
    while home and isinstance(home[-1][0], Repeat) and home[-1][0] not in bound:
        home = home[:-1]
    return home
