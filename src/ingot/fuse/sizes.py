"""Sizes that only a run determines: which calls have to be made before what is computed with them."""

from __future__ import annotations

from collections.abc import Sequence

from ingot.dims import symbols
from ingot.prim.tensor import CallResult, HostStep, Parameter, Tensor
from ingot.prim.walk import in_order, sizes_of


def size_calls(order: Sequence[Tensor]) -> dict[str, HostStep]:
    """The call whose result has each named size; None for a size that is an axis of an input."""
    sources: dict[str, HostStep | None] = {}  # None: an input
    for tensor in sorted(order, key=lambda candidate: isinstance(candidate, CallResult)):
        if isinstance(tensor, Parameter | CallResult):
            call = tensor.call if isinstance(tensor, CallResult) else None
            for name in (str(size) for size in tensor.shape if not isinstance(size, int)):
                if name not in sources and (call is None or not _needs(call, name)):
                    sources[name] = call
    return {name: call for name, call in sources.items() if call is not None}


def _needs(call: HostStep, name: str) -> bool:
    """Whether a call depends on a size: then another call determines it."""
    arguments = [tensor for tensor in call.arguments if tensor is not None]
    return any(name in symbols(size) for tensor in in_order(arguments) for size in sizes_of(tensor))
