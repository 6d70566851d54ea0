"""What is interpolated and is an interpolation itself, as resized rows are: stored, not computed each time."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from ingot.dims import evaluate, symbols
from ingot.fuse.uses import External, Uses
from ingot.prim.region import RegionResult
from ingot.prim.tensor import Gather, Map, Tensor, View

_MANY = 4
"""Gathers that an element takes from which on it is stored however often it is read: two lines of two pixels, or a
cubic line. One of two pixels is computed again where an image grows: a large one has no place in the caches then."""

_FEW = 2
"""Gathers from which on it is stored if each element is read up to twice: that of a line of pixels is contiguous, and
what was computed where it is read would gather all of its pixels."""


_LARGE = 1024
"""What a size that only a run knows is taken for, to compare it with parts or multiples of it."""


def interpolated(uses: Uses, stored: Collection[Tensor]) -> Iterator[Tensor]:
    """The tensors that several gathers read, and whose elements take gathers themselves, if storing them pays."""
    if not any(isinstance(tensor, Gather) for tensor in uses.order):
        return
    gathers: dict[Tensor, int] = {}
    """The gathers of an element, where it is computed where it is read."""
    for tensor in uses.order:
        gathers[tensor] = 0
        if tensor in stored or isinstance(tensor, External | RegionResult) or tensor.is_constant:
            continue
        if isinstance(tensor, Gather):
            gathers[tensor] = 1 + gathers[tensor.x]
        elif isinstance(tensor, Map | View):
            gathers[tensor] = sum(gathers[read] for read in tensor.reads)
            readers = [each for each in uses.readers_of(tensor) if isinstance(each, Gather) and each.x is tensor]
            if len(readers) > 1 and gathers[tensor] >= _FEW and _pays(tensor, readers, gathers[tensor]):
                yield tensor
                gathers[tensor] = 0


def _pays(tensor: Tensor, readers: Sequence[Gather], gathers: int) -> bool:
    times = sum(_times(reader, tensor) for reader in readers)
    return times >= 1 if gathers >= _MANY else 0.5 <= times <= 2


def _times(reader: Gather, tensor: Tensor) -> float:
    """How often a gather reads each element on average, of large sizes; once, where that is not known."""
    if reader.rank != tensor.rank:
        return 1
    times = 1.0
    for new, old in zip(reader.shape, tensor.shape, strict=True):
        if new == old:
            continue
        names = symbols(old)
        if names != symbols(new) or old == 0:
            return 1
        bindings = dict.fromkeys(names, _LARGE)
        times *= evaluate(new, bindings) / max(1, evaluate(old, bindings))
    return times
