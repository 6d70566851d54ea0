"""Elements a few places apart from each other, picked out of contiguous vectors."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ingot.codegen.llvm import ir
from ingot.codegen.llvm.builder import Builder
from ingot.codegen.llvm.types import I32


def picked_of(b: Builder, piece: Callable[[int], ir.Value], starts: Sequence[int], places: Sequence[int]) -> ir.Value:
    """The elements at ascending places, out of contiguous vectors of as many that begin at given ones."""
    result: ir.Value | None = None
    lanes = len(places)
    for number, start in enumerate(starts):
        at_lane = {lane: place - start for lane, place in enumerate(places) if owner(place, starts, lanes) == number}
        contiguous = piece(start)
        before, offset = (contiguous, 0) if result is None else (result, lanes)
        result = shuffled(b, before, contiguous, [offset + at_lane.get(lane, lane - offset) for lane in range(lanes)])
    assert result is not None
    return result


def owner(place: int, starts: Sequence[int], lanes: int) -> int:
    """Out of which of the contiguous vectors an element is picked: the first that has it."""
    return next(number for number, start in enumerate(starts) if place < start + lanes)


def shuffled(b: Builder, one: ir.Value, other: ir.Value, lanes: Sequence[int]) -> ir.Value:
    """The lanes of two vectors, those of the second counted on."""
    return b.shuffle_vector(one, other, ir.Constant(ir.VectorType(I32, len(lanes)), list(lanes)))
