"""Limits on fusion: where a long expression is cut, so that a tensor in it is stored and computed once."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from ingot.fuse.gemv import is_gemv
from ingot.fuse.uses import External, Uses
from ingot.prim.region import RegionResult
from ingot.prim.tensor import Contract, Expand, Gather, Map, Tensor


def cuts(uses: Uses, stored: Collection[Tensor], fixed: Collection[Tensor], most: int) -> list[Tensor]:
    """The tensors to store besides `stored`, none of `fixed`, so that no expression has more than `most` primitives."""
    chosen: list[Tensor] = []
    inlined: dict[Tensor, frozenset[Tensor]] = {}
    for tensor in uses.order:
        if tensor in stored or isinstance(tensor, External | RegionResult):
            inlined[tensor] = frozenset()
            continue
        inlined[tensor] = _with_reads(tensor, inlined)
        if len(inlined[tensor]) > most and tensor not in fixed:
            narrow = _narrowest(tensor, inlined[tensor], uses, fixed)
            if narrow is None:
                continue
            chosen.append(narrow)
            behind = sorted(inlined[tensor] - inlined[narrow], key=lambda later: uses.positions[later])
            inlined[narrow] = frozenset()
            for later in behind:
                inlined[later] = _with_reads(later, inlined)
    return chosen


def nested_gathers(uses: Uses, stored: Collection[Tensor], fixed: Collection[Tensor], most: int) -> list[Tensor]:
    """The gathers to store besides `stored`, none of `fixed`, so that no element takes more than `most` gathers.

    A gather reads what it gathers at other places than the rest of the expression does, so that nothing is shared: of
    `x[x]`, taken again and again, each is twice as long as the one before.
    """
    chosen: list[Tensor] = []
    if not any(isinstance(tensor, Gather) for tensor in uses.order):
        return chosen
    inlined: dict[Tensor, frozenset[Tensor]] = {}
    counts: dict[Tensor, int] = {}
    for tensor in uses.order:
        if tensor in stored or isinstance(tensor, External | RegionResult):
            inlined[tensor] = frozenset()
        elif isinstance(tensor, Gather):
            counts[tensor] = 1 + sum(counts[gather] for read in tensor.reads for gather in inlined[read])
            is_long = counts[tensor] > most and tensor not in fixed
            inlined[tensor] = frozenset() if is_long else frozenset((tensor,))
            if is_long:
                chosen.append(tensor)
        else:
            inlined[tensor] = frozenset[Tensor]().union(*(inlined[read] for read in tensor.reads))
    return chosen


def _narrowest(tensor: Tensor, inside: frozenset[Tensor], uses: Uses, fixed: Collection[Tensor]) -> Tensor | None:
    """The tensor that cuts an expression shortest if it is stored; of several that are equal, the last."""
    best, least = None, len(inside)
    for candidate in sorted(inside - {tensor}, key=lambda inner: -uses.positions[inner]):
        if not isinstance(candidate, Map | Gather) or candidate in fixed:
            continue
        left, pending = {tensor}, [tensor]
        while pending and len(left) < least:
            reads = pending.pop().reads
            fresh = [read for read in reads if read in inside and read is not candidate and read not in left]
            left.update(fresh)
            pending += fresh
        if len(left) < least:
            best, least = candidate, len(left)
        if least == 1:
            break
    return best


def _with_reads(tensor: Tensor, inlined: Mapping[Tensor, frozenset[Tensor]]) -> frozenset[Tensor]:
    """The primitives inlined where a tensor is read: those of its reads and, unless it is an Expand, itself.

    A contraction reads what is stored, so that an expression begins with it.
    """
    if isinstance(tensor, Contract) and not is_gemv(tensor):
        return frozenset((tensor,))
    own = () if isinstance(tensor, Expand) else (tensor,)
    return frozenset(own).union(*(inlined[operand] for operand in tensor.reads))
