"""Loops as text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ingot.loops.expressions import ExpressionText, updated
from ingot.loops.ir import (
    Attention,
    Buffer,
    Contraction,
    For,
    Kernel,
    Let,
    LoopStep,
    Nest,
    Position,
    Statement,
    Store,
    Tile,
    Update,
    Var,
    Winograd,
    serial_loops,
)

_WIDE = 118
"""Up to how many columns the buffers of a kernel are in one line."""


def show_kernel(kernel: Kernel) -> str:
    """A kernel with its buffers and loops."""
    buffers = [f"{b.name}: {b.dtype}[{b.elements}]" for b in (*kernel.reads, *kernel.writes, *kernel.scratch)]
    return "\n".join([*_filled(f"kernel {kernel.name}(", buffers), *_lines(kernel)])


def show_loop(loop: LoopStep) -> str:
    """What is said of a loop before its steps: how often they run, and what changes places after each run."""
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


def _lines(kernel: Kernel) -> Iterator[str]:
    said = ExpressionText()
    for nest in kernel.nests:
        match nest:
            case Contraction():
                shown = _product(nest, said)
            case Winograd():
                shown = _winograd(nest, said)
            case Attention():
                shown = _attend(nest, said)
            case Nest():
                shown = _statements(serial_loops(nest), said)
            case _:
                shown = _statements(nest, said)
        yield from _further(shown)


def _product(nest: Contraction, said: ExpressionText) -> Iterator[str]:
    if nest.panels is not None:
        axes = [("batch", nest.batch), ("n", nest.n), ("k", nest.k)]
        shown = ", ".join(f"{role} {_vars(found)}" for role, found in axes if found)
        lines, (rhs,) = said.of(nest.rhs)
        yield f"{nest.panels.name} = panels of {shown}{_tile(nest.tile)}: {rhs}"
        yield from _with(lines)
        return
    axes = [("batch", nest.batch), ("m", nest.m), ("n", nest.n)]
    shown = ", ".join(f"{role} {_vars(found)}" for role, found in axes if found)
    yield f"product {shown}{_tile(nest.tile)}:"
    lines, (lhs, rhs) = said.of(nest.lhs, nest.rhs, factors=True)
    yield f"  sum = over {_vars(nest.k)}: {lhs} * {rhs}{' packed' if nest.packed else ''}"
    yield from _with(lines)
    yield from _further(_statements(nest.body, said))


def _winograd(nest: Winograd, said: ExpressionText) -> Iterator[str]:
    widths = " and ".join(map(str, nest.lines))
    yield f"winograd {nest.side} x {nest.side}, m {_vars(nest.m)}, n {_vars(nest.n)}{_tile(nest.tile)}:"
    yield f"  {nest.block} at a time, in lines of {widths}"
    lines, (lhs, plain, rhs) = said.of(nest.lhs, nest.plain, nest.rhs, factors=True)
    yield f"  sum = over {_vars(nest.k)}: {lhs} * {plain}, {rhs} transformed"
    yield from _with(lines)
    yield from _further(_statements(nest.body, said))


def _attend(nest: Attention, said: ExpressionText) -> Iterator[str]:
    axes = [("batch", nest.batch), ("m", nest.m), ("n", (nest.n,))]
    shown = ", ".join(f"{role} {_vars(found)}" for role, found in axes if found)
    yield f"attend {shown}{_tile(nest.tile)}:"
    if nest.block:
        keys, values, scores = nest.lines
        yield f"  {nest.block} of {_vars((nest.t,))} at a time, in lines of {keys}, {values} and {scores}"
    lines, (query, key, score, value) = said.of(nest.queries, nest.keys, nest.score, nest.values, factors=True)
    yield f"  sum = over {_vars((nest.k,))}: {query} * {key}"
    yield f"  total = over {_vars((nest.t,))}: weight of {score}"
    yield f"  read = over {_vars((nest.t,))}: weight * {value}"
    yield from _with(lines)
    yield from _further(_statements(nest.body, said))


def _with(lines: Iterable[str]) -> Iterator[str]:
    """What the names in the lines above are."""
    return (f"    with {line}" for line in lines)


def _further(lines: Iterable[str]) -> Iterator[str]:
    return (f"  {line}" for line in lines)


def _tile(tile: Tile | None) -> str:
    return "" if tile is None else f" in tiles of {tile.rows} x {tile.vectors} x {tile.lanes}"


def _vars(found: tuple[Var, ...]) -> str:
    return " ".join(f"{var.name}<{var.extent}" for var in found) or "()"


def _statements(statements: Iterable[Statement], said: ExpressionText) -> Iterator[str]:
    for statement in statements:
        match statement:
            case For():
                how = "" if statement.kind.value == "serial" else f" {statement.kind.value}"
                yield f"for {statement.var.name} < {statement.var.extent}{how}:"
                yield from _further(_statements(statement.body, said))
            case Let():
                lines, (value,) = said.of(statement.value)
                yield from (*lines, f"{statement.name} = {value}")
            case Update():
                lines, (value,) = said.of(statement.value)
                yield from (*lines, updated(statement.function, statement.name, value))
            case Store():
                lines, (value, place) = said.of(statement.value, Position(statement.index))
                yield from (*lines, f"{statement.buffer.name}[{place}] = {value}")
