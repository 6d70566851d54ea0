"""The roots of a program: the tensors that fusion must store, since something outside of kernels reads them."""

from __future__ import annotations

from collections.abc import Sequence

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
    sources: list[Tensor] = []
    first: dict[str, Tensor] = {}
    for tensor in (*program.inputs.values(), *program.readings, *program.values.values()):
        if isinstance(tensor, CallResult | Parameter):
            for size in tensor.shape:
                first.setdefault(str(size), tensor)
    while True:
        reached = in_order([*sources, *outputs])
        names = {name for tensor in reached for size in sizes_of(tensor) for name in symbols(size)}
        compared = [guard.names for guard in program.guards]
        needed = names.union(*(pair for pair in compared if pair & names))
        known = {*reached, *program.inputs.values()}
        source = next((tensor for name, tensor in first.items() if name in needed and tensor not in known), None)
        if source is None:
            return sources
        sources.append(source)
