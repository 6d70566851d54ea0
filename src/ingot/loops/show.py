"""Loops as text."""

from __future__ import annotations

from collections.abc import Iterator

from ingot.loops.expressions import ExpressionText
from ingot.loops.ir import Buffer, Kernel, LoopStep
from ingot.loops.kinds import kind_of
from ingot.loops.kinds.text import indented

_WIDE = 118
"""Up to how many columns the buffers of a kernel are in one line."""


def show_kernel(kernel: Kernel) -> str:
    """A kernel with its buffers and loops."""
    buffers = [f"{b.name}: {b.dtype}[{b.elements}]" for b in kernel.buffers]
    lines = list(_filled(f"kernel {kernel.name}(", buffers))
    text = ExpressionText()
    for nest in kernel.nests:
        lines += indented(kind_of(nest).show(nest, text))
    return "\n".join(lines)


def show_loop(loop: LoopStep) -> str:
    """The head of a loop, without its steps: how often they run, and what changes places after each run."""
    limit = loop.trips.name if isinstance(loop.trips, Buffer) else loop.trips
    times = "" if limit is None else f" {limit} times"
    going = "" if loop.going is None else f" while {loop.going.name}"
    swapped = ", ".join(f"{one.name} and {other.name}" for one, other in loop.swapped)
    return f"{loop.name}{times}{going} by {loop.number.name}{f', swapping {swapped}' if swapped else ''}:"


def _filled(start: str, items: list[str]) -> Iterator[str]:
    """`start`, items and a closing bracket, in as many lines as they need."""
    line = start
    for place, item in enumerate(items, 1):
        part = item + (", " if place < len(items) else "")
        if len(line) + len(part) > _WIDE and line != start:
            yield line.rstrip()
            line = " " * len(start)
        line += part
    yield f"{line})"
