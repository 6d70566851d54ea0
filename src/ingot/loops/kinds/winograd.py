"""Convolutions by filters of 3 x 3 by Winograd's algorithm."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from operator import attrgetter

from ingot.dims import Dim
from ingot.loops.expressions import ExpressionText
from ingot.loops.ir import Buffer, Winograd, extent
from ingot.loops.kinds import statements
from ingot.loops.kinds.kind import NestKind
from ingot.loops.kinds.text import definitions, indented, tile, variables
from ingot.loops.parameters import Parameters
from ingot.loops.scope import Scope
from ingot.loops.tally import Tally
from ingot.prim.functions import NARROW_FLOATS


def _show(nest: Winograd, text: ExpressionText) -> Iterator[str]:
    yield f"winograd {nest.side} x {nest.side}, m {variables(nest.m)}, n {variables(nest.n)}{tile(nest.tile)}:"
    yield f"  {nest.block} at a time, in lines of {' and '.join(map(str, nest.lines))}"
    lines, (lhs, plain, rhs) = text.of(nest.lhs, nest.plain, nest.rhs, factors=True)
    yield f"  sum = over {variables(nest.k)}: {lhs} * {plain}, {rhs} transformed"
    yield from definitions(lines)
    yield from indented(statements.show(nest.body, text))


def _parametrise(nest: Winograd, parameters: Parameters) -> Winograd:
    return replace(
        nest,
        m=parameters.variables(nest.m),
        n=parameters.variables(nest.n),
        k=parameters.reduced(nest.k),
        lhs=parameters.load(nest.lhs),
        rhs=parameters.load(nest.rhs),
        plain=parameters.load(nest.plain),
        body=parameters.statements(nest.body),
        block=parameters.size(nest.block, "block"),
        lines=(parameters.size(nest.lines[0], 0), parameters.size(nest.lines[1], 1)),
        scratch=parameters.buffers(nest.scratch),
        zeros=parameters.buffer(nest.zeros),
    )


def _cost(nest: Winograd, tally: Tally) -> None:
    tally.compute(_products(nest) * 2)
    tally.read(nest.lhs)
    tally.read_whole(nest.rhs.buffer)
    tally.statements(nest.body, extent((*nest.m, *nest.n)))


def _products(nest: Winograd) -> Dim:
    """How many products of transformed elements there are."""
    *images, row, column = nest.m
    tiles = extent(images)
    for var in (row, column):
        tiles = tiles * ((var.extent + (nest.side - 1)) // nest.side)
    return tiles * (nest.side + 2) ** 2 * nest.k[-1].extent * extent(nest.n)


def _verify(nest: Winograd, scope: Scope) -> None:
    with scope.inside("left side", (*nest.m, *nest.k)):
        scope.expression(nest.lhs)
    with scope.inside("right side", (*nest.n, *nest.k)):
        scope.expression(nest.plain)
        scope.expression(nest.rhs, bounded=False)
    scope.loaded[nest.zeros] = None
    for operand in (nest.lhs, nest.rhs, nest.plain):
        if operand.dtype is not nest.dtype and (operand is nest.rhs or operand.dtype not in NARROW_FLOATS):
            scope.refuse(f"a product of {operand.dtype} summed as {nest.dtype}")
    with scope.inside("epilogue", (*nest.m, *nest.n), {"sum": nest.dtype}):
        scope.statements(nest.body)


def _zeros(nest: Winograd) -> tuple[Buffer, ...]:
    return (nest.zeros,)


KIND = NestKind(_show, _parametrise, _cost, _verify, attrgetter("scratch"), _zeros)
