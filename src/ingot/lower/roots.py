"""The roots of a program: the tensors that fusion must store, since something outside of kernels reads them."""

from __future__ import annotations

from collections.abc import Sequence

from ingot.dims import symbols
from ingot.lower.program import Program
from ingot.prim.tensor import CallResult, Tensor
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
    after the call. A size may also be needed by a guard that compares it with one of those.
    """
    sources: list[Tensor] = []
    results = {tensor: None for tensor in program.values.values() if isinstance(tensor, CallResult)}
    while True:
        reached = in_order([*sources, *outputs])
        outside = [tensor for tensor in reached if isinstance(tensor, CallResult)] + list(program.inputs.values())
        known = {str(size) for tensor in outside for size in tensor.shape}
        names = {name for tensor in reached for size in sizes_of(tensor) for name in symbols(size)}
        compared = [guard.names for guard in program.guards]
        missing = names.union(*(pair for pair in compared if pair & names)) - known
        source = next((tensor for tensor in results if missing & {str(size) for size in tensor.shape}), None)
        if source is None:
            return sources
        sources.append(source)
