"""Sizes that only a run determines: which calls have to be made before what is computed with them."""

from __future__ import annotations

from collections.abc import Sequence

from ingot.dims import symbols
from ingot.prim.tensor import CallResult, HostStep, Parameter, Sizes, Tensor
from ingot.prim.walk import in_order, sizes_of


def size_calls(order: Sequence[Tensor]) -> dict[str, HostStep]:
    """The call whose result has each named size that is no axis of an input: of several, the first not to need it."""
    inputs: set[str] = set()
    calls: dict[str, dict[HostStep, None]] = {}
    for tensor in order:
        if isinstance(tensor, Parameter):
            inputs.update(_named(tensor.shape))
        elif isinstance(tensor, CallResult):
            for name in _named(tensor.shape):
                calls.setdefault(name, {})[tensor.call] = None
    sources: dict[str, HostStep] = {}
    for name in calls.keys() - inputs:
        candidates = list(calls[name])
        source = candidates[0] if len(candidates) == 1 else _first_without(candidates, name)
        if source is not None:
            sources[name] = source
    return sources


def _named(shape: Sizes) -> list[str]:
    return [str(size) for size in shape if not isinstance(size, int)]


def _first_without(calls: Sequence[HostStep], name: str) -> HostStep | None:
    return next((call for call in calls if not _needs(call, name)), None)


def _needs(call: HostStep, name: str) -> bool:
    """Whether a call depends on a size: then another call determines it."""
    arguments = [tensor for tensor in call.arguments if tensor is not None]
    return any(name in symbols(size) for tensor in in_order(arguments) for size in sizes_of(tensor))
