"""Who reads a tensor, and in which order tensors are computed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from ingot.dataclass import dataclass
from ingot.fuse.placement import Placement, placements_of
from ingot.prim.region import BodyArgument, RegionResult
from ingot.prim.tensor import CallResult, Constant, Expand, Parameter, Tensor
from ingot.prim.walk import in_order

External: TypeAlias = Parameter | Constant | CallResult | BodyArgument
"""Tensors that no kernel computes."""

_MOVING = (Parameter, CallResult, BodyArgument, RegionResult)


def is_spread(tensor: Tensor) -> bool:
    """Whether a tensor is a number, or one repeated along axes."""
    return isinstance(tensor, Expand) or (isinstance(tensor, Constant) and tensor.array.size == 1)


@dataclass(frozen=True, slots=True)
class Uses:
    """The tensors that `results` are computed from, in the order of computation, and what reads each of them.

    `placements` are the bodies that each is computed in; those that are `moving` depend on an input, a call or a
    region, so that they cannot be folded when compiling.
    """

    results: tuple[Tensor, ...]
    order: tuple[Tensor, ...]
    positions: Mapping[Tensor, int]
    readers: Mapping[Tensor, tuple[Tensor, ...]]
    placements: Mapping[Tensor, Placement]
    moving: frozenset[Tensor]

    def readers_of(self, tensor: Tensor) -> tuple[Tensor, ...]:
        return self.readers.get(tensor, ())


def uses_of(results: Sequence[Tensor]) -> Uses:
    """The uses of all tensors that `results` are computed from."""
    order = in_order(results)
    readers: dict[Tensor, list[Tensor]] = {}
    moving: set[Tensor] = set()
    for tensor in order:
        reads = tensor.reads
        for read in reads:
            readers.setdefault(read, []).append(tensor)
        if isinstance(tensor, _MOVING) or not moving.isdisjoint(reads):
            moving.add(tensor)
    return Uses(
        tuple(results),
        tuple(order),
        {tensor: position for position, tensor in enumerate(order)},
        {tensor: tuple(readers) for tensor, readers in readers.items()},
        placements_of(order, results),
        frozenset(moving),
    )
