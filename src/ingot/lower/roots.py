"""The roots of a program: the tensors that fusion must store, since something outside of kernels reads them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from heapq import heappop, heappush

from ingot.dims import symbols
from ingot.lower.program import Program
from ingot.prim.tensor import CallResult, Parameter, Tensor
from ingot.prim.walk import in_order, sizes_of


def roots_of(program: Program, outputs: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """The outputs, the arguments of calls on the way to them, and results of calls whose sizes alone are needed."""
    wanted = [*_size_sources(program, outputs), *outputs]
    roots: dict[Tensor, None] = {}
    for tensor in in_order(wanted):
        if isinstance(tensor, CallResult):
            roots.update(dict.fromkeys(argument for argument in tensor.call.arguments if argument is not None))
    roots.update(dict.fromkeys(wanted))
    return tuple(roots)


def _size_sources(program: Program, outputs: Sequence[Tensor]) -> list[Tensor]:
    """Results of calls that nothing on the way to the outputs reads, but whose sizes are needed there.

    For example `y = zeros(Shape(NonZero(x)))`: no kernel reads the result of NonZero, and the size of `y` is known only
    after the call. A size may also be needed by a guard that compares it with one of those. Of several results of one
    size the first is its source: the arguments of the other calls may need it.
    """
    first: dict[str, Tensor] = {}
    for tensor in (*program.inputs.values(), *program.readings, *program.values.values()):
        if isinstance(tensor, (CallResult, Parameter)):
            for size in tensor.shape:
                if not isinstance(size, int):
                    first.setdefault(str(size), tensor)
    compared: dict[str, set[str]] = {}
    for names in (guard.names for guard in program.guards):
        for name in names:
            compared.setdefault(name, set()).update(names)
    places = {name: place for place, name in enumerate(first)}
    candidates = list(first.values())
    sources: list[Tensor] = []
    inputs, known = set(program.inputs.values()), set[Tensor]()
    needed: list[int] = []  # a heap: sources are in the order of their names
    reached: Iterable[Tensor] = in_order(outputs)
    seen: set[str] = set()
    while True:
        known.update(reached)
        fresh = {name for tensor in reached for size in sizes_of(tensor) for name in symbols(size)} - seen
        seen |= fresh
        for name in fresh:
            for other in {name} | compared.get(name, set()):
                if other in places:
                    heappush(needed, places[other])
        while needed and (candidates[needed[0]] in known or candidates[needed[0]] in inputs):
            heappop(needed)
        if not needed:
            return sources
        sources.append(candidates[heappop(needed)])
        reached = _reached(sources[-1], known)


def _reached(tensor: Tensor, known: Collection[Tensor]) -> list[Tensor]:
    """A tensor and everything that it is computed from, without what is known, and what that is computed from."""
    reached, pending = {tensor: None}, [tensor]
    while pending:
        fresh = [read for read in pending.pop().reads if read not in known and read not in reached]
        reached.update(dict.fromkeys(fresh))
        pending += fresh
    return list(reached)
