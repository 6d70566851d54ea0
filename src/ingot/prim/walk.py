"""Traversal of primitives, operands first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ingot.dims import Dim, Expr
from ingot.prim.region import RegionResult, Repeat
from ingot.prim.tensor import Pad, Size, Slice, Tensor


def in_order(results: Sequence[Tensor]) -> list[Tensor]:
    """Everything that `results` are computed from, each once, after what it reads."""
    done: dict[Tensor, None] = {}
    pending = list(reversed(results))
    while pending:
        tensor = pending[-1]
        operands = [] if tensor in done else [operand for operand in reversed(tensor.reads) if operand not in done]
        if operands:
            pending += operands
        else:
            done[pending.pop()] = None
    return list(done)


def reachable(tensor: Tensor) -> Iterator[Tensor]:
    """A tensor and everything that it is computed from, each once, as far as it is asked for."""
    pending, seen = [tensor], {tensor}
    while pending:
        reached = pending.pop()
        yield reached
        fresh = [read for read in reached.reads if read not in seen]
        seen.update(fresh)
        pending.extend(fresh)


def sizes_of(tensor: Tensor) -> tuple[Dim, ...]:
    """The sizes that a tensor is computed with."""
    match tensor:
        case Size():
            return (tensor.size,)
        case RegionResult(region=Repeat(trips=int() | Expr() as trips)):
            return (*tensor.shape, trips)
        case Slice():
            return (*tensor.shape, *tensor.starts)
        case Pad():
            return (*tensor.shape, *tensor.before)
    return tensor.shape
