"""Loops as text."""

from __future__ import annotations

from collections.abc import Iterator

from ingot.lower.loops import (
    Apply,
    Attend,
    Buffer,
    Checked,
    Choose,
    For,
    Index,
    Inside,
    Kernel,
    Let,
    Load,
    Local,
    Number,
    Position,
    Product,
    Repeated,
    Scalar,
    Statement,
    Store,
    Tile,
    Told,
    Update,
    Var,
    Winograd,
)
from ingot.lower.rewrite import parts, roots_of


def show_kernel(kernel: Kernel) -> str:
    """A kernel with its buffers and loops."""
    buffers = [f"{b.name}: {b.dtype}[{b.elements}]" for b in (*kernel.reads, *kernel.writes, *kernel.scratch)]
    return "\n".join([f"kernel {kernel.name}({', '.join(buffers)})", *_lines(kernel)])


def show_loop(loop: Repeated) -> str:
    """What is said of a loop before its steps: how often they run, and what changes places after each run."""
    limit = loop.trips.name if isinstance(loop.trips, Buffer) else loop.trips
    times = "" if limit is None else f" {limit} times"
    going = "" if loop.going is None else f" while {loop.going.name}"
    swapped = ", ".join(f"{one.name} and {other.name}" for one, other in loop.swapped)
    return f"{loop.name}{times}{going} by {loop.number.name}{f', swapping {swapped}' if swapped else ''}:"


def exactly(kernel: Kernel) -> str:
    """The text of a kernel with the type of everything in it: two kernels with the same compute the same."""
    values = [value for nest in kernel.nests for value in roots_of(nest)]
    return "\n".join([show_kernel(kernel), " ".join(str(part.dtype) for part in parts(values))])


def _lines(kernel: Kernel) -> Iterator[str]:
    for nest in kernel.nests:
        match nest:
            case Product():
                shown = _product(nest)
            case Winograd():
                shown = _winograd(nest)
            case Attend():
                shown = _attend(nest)
            case _:
                shown = (line for each in nest for line in _statement(each))
        for line in shown:
            yield f"  {line}"


def _product(nest: Product) -> Iterator[str]:
    axes = [("batch", nest.batch), ("m", nest.m), ("n", nest.n)]
    shown = ", ".join(f"{role} {_vars(found)}" for role, found in axes if found)
    yield f"product {shown}{_tile(nest.tile)}:"
    packed = " packed" if nest.packed else ""
    yield f"  sum = over {_vars(nest.k)}: {scalar(nest.lhs)} * {scalar(nest.rhs)}{packed}"
    for statement in nest.body:
        for line in _statement(statement):
            yield f"  {line}"


def _winograd(nest: Winograd) -> Iterator[str]:
    lines = " and ".join(map(str, nest.lines))
    yield f"winograd {nest.side} x {nest.side}, m {_vars(nest.m)}, n {_vars(nest.n)}{_tile(nest.tile)}:"
    yield f"  {nest.block} at a time, in lines of {lines}"
    yield f"  sum = over {_vars(nest.k)}: {scalar(nest.lhs)} * {scalar(nest.plain)}, {scalar(nest.rhs)} transformed"
    for statement in nest.body:
        for line in _statement(statement):
            yield f"  {line}"


def _attend(nest: Attend) -> Iterator[str]:
    axes = [("batch", nest.batch), ("m", nest.m), ("n", (nest.n,))]
    shown = ", ".join(f"{role} {_vars(found)}" for role, found in axes if found)
    yield f"attend {shown}{_tile(nest.tile)}:"
    keys, values, scores = nest.lines
    yield f"  {nest.block} of {_vars((nest.t,))} at a time, in lines of {keys}, {values} and {scores}"
    yield f"  sum = over {_vars((nest.k,))}: {scalar(nest.queries)} * {scalar(nest.keys)}"
    yield f"  total = over {_vars((nest.t,))}: weight of {scalar(nest.score)}"
    yield f"  read = over {_vars((nest.t,))}: weight * {scalar(nest.values)}"
    for statement in nest.body:
        for line in _statement(statement):
            yield f"  {line}"


def _tile(tile: Tile | None) -> str:
    return "" if tile is None else f" in tiles of {tile.rows} x {tile.vectors} x {tile.lanes}"


def _vars(found: tuple[Var, ...]) -> str:
    return " ".join(f"{var.name}<{var.extent}" for var in found) or "()"


def _statement(statement: Statement) -> Iterator[str]:
    match statement:
        case For():
            how = "" if statement.kind.value == "serial" else f" {statement.kind.value}"
            yield f"for {statement.var.name} < {statement.var.extent}{how}:"
            for inner in statement.body:
                for line in _statement(inner):
                    yield f"  {line}"
        case Let():
            yield f"{statement.name} = {scalar(statement.value)}"
        case Update():
            yield f"{statement.name} = {statement.function}({statement.name}, {scalar(statement.value)})"
        case Store():
            yield f"{statement.buffer.name}[{index(statement.index)}] = {scalar(statement.value)}"


def scalar(value: Scalar) -> str:
    match value:
        case Number():
            return str(value.value)
        case Told():
            return " ".join(map(str, value.bits))
        case Local():
            return value.name
        case Position():
            return f"({index(value.index)})"
        case Load():
            where = f" if {_where(value.where)} else {value.fill}" if value.where else ""
            return f"{value.buffer.name}[{index(value.index)}]{where}"
        case Apply(function="cast"):
            return f"{value.dtype}({scalar(value.arguments[0])})"
        case Apply():
            return f"{value.function}({', '.join(map(scalar, value.arguments))})"
        case Choose():
            return f"({scalar(value.value)} if {_where(value.where)} else {value.fill})"
        case Checked():
            return f"checked({scalar(value.value)} < {value.size})"


def _where(where: tuple[Inside, ...]) -> str:
    return " and ".join(f"0 <= {index(each.index)} < {each.size}" for each in where)


def index(value: Index) -> str:
    parts = []
    for term, factor in value.terms:
        name = term.name if isinstance(term, Var) else scalar(term)
        parts.append(name if factor == 1 else f"{name}*{factor}" if isinstance(factor, int) else f"{name}*({factor})")
    if value.offset != 0 or not parts:
        parts.append(str(value.offset))
    return " + ".join(parts)
