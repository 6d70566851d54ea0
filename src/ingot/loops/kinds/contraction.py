"""Contractions: matrix products (GEMM) and convolutions, with their epilogues."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from operator import attrgetter

from ingot.dtypes import DType
from ingot.loops.expressions import ExpressionText
from ingot.loops.ir import LANES, Buffer, Contraction, extent
from ingot.loops.kinds import statements
from ingot.loops.kinds.kind import NestKind
from ingot.loops.kinds.text import definitions, indented, roles, tile, variables
from ingot.loops.parameters import Parameters
from ingot.loops.scope import Scope
from ingot.loops.tally import Tally
from ingot.prim.functions import NARROW_FLOATS


def _show(nest: Contraction, text: ExpressionText) -> Iterator[str]:
    if nest.panels is not None:
        axes = roles({"batch": nest.batch, "n": nest.n, "k": nest.k})
        lines, (rhs,) = text.of(nest.rhs)
        yield f"{nest.panels.name} = panels of {axes}{tile(nest.tile)}: {rhs}"
        yield from definitions(lines)
        return
    yield f"product {roles({'batch': nest.batch, 'm': nest.m, 'n': nest.n})}{tile(nest.tile)}:"
    lines, (lhs, rhs) = text.of(nest.lhs, nest.rhs, factors=True)
    sums = f"{', '.join(nest.sums)} = over {variables(nest.k)}"
    read = " packed" if nest.packed else " in place" if nest.in_place else ""
    yield f"  {sums}: {lhs} * {rhs}{read}{_codes(nest)}{_runs(nest, text)}"
    yield from definitions(lines)
    yield from indented(statements.show(nest.body, text))


def _codes(nest: Contraction) -> str:
    codes = nest.codes
    if codes is None:
        return ""
    return f" in {codes.bits} bits by {'columns' if codes.block == 0 else f'blocks of {codes.block}'}"


def _runs(nest: Contraction, text: ExpressionText) -> str:
    if nest.number is None:
        return ""
    _, (number,) = text.of(nest.number)
    return f", to and fro by {number}{' from zeros' if nest.from_zeros else ''}"


def _parametrise(nest: Contraction, parameters: Parameters) -> Contraction:
    return replace(
        nest,
        batch=parameters.variables(nest.batch),
        m=parameters.variables(nest.m),
        n=parameters.variables(nest.n),
        k=parameters.windows(nest.k) if nest.in_place else parameters.reduced(nest.k),
        lhs=parameters.load(nest.lhs),
        rhs=parameters.load(nest.rhs),
        body=parameters.statements(nest.body),
        scratch=parameters.buffers(nest.scratch),
        zeros=parameters.optional(nest.zeros),
        panels=parameters.optional(nest.panels),
        number=None if nest.number is None else parameters.scalar(nest.number),
        rounded=None if nest.rounded is None else (parameters.load(nest.rounded[0]), parameters.load(nest.rounded[1])),
    )


def _cost(nest: Contraction, tally: Tally) -> None:
    if nest.panels is not None:
        tally.read(nest.rhs)
        tally.write(nest.panels, extent((*nest.batch, *nest.n, *nest.k)) * nest.groups)
        return
    places = extent((*nest.batch, *nest.m, *nest.n))
    tally.compute(places * nest.groups * extent(nest.k) * 2)
    for load in (nest.lhs, *(nest.rounded or ())):
        tally.read(load)
    if nest.packed:
        tally.read_whole(nest.rhs.buffer)
    else:
        tally.read(nest.rhs)
    tally.statements(nest.body, places)


def _verify(nest: Contraction, scope: Scope) -> None:
    with scope.inside("right side", (*nest.batch, *nest.n, *nest.k)):
        scope.expression(nest.rhs, bounded=not nest.packed)
    if nest.panels is not None:
        scope.stored[nest.panels] = None
        return
    with scope.inside("left side", (*nest.batch, *nest.m, *nest.k)):
        for load in (nest.lhs, *(nest.rounded or ())):
            scope.expression(load)
    if nest.zeros is not None:
        scope.loaded[nest.zeros] = None
    if nest.tile is not None:  # it is scheduled
        if nest.zeros is None and nest.lhs.where:
            scope.refuse("a padded left side has no zeros to read")
        if not nest.packed and not nest.in_place and len(nest.scratch) != 1:
            scope.refuse("a right side that is not packed has no buffer for its panels")
    if nest.codes is not None:
        rows = (DType.FLOAT32, *NARROW_FLOATS) if nest.rounded is None else (DType.INT8,)
        kinds = nest.rhs.dtype, nest.dtype
        if not nest.packed or nest.lhs.dtype not in rows or kinds != (DType.UINT8, DType.FLOAT32):
            scope.refuse(f"a product of {nest.lhs.dtype} and codes in {nest.rhs.dtype} summed as {nest.dtype}")
    elif nest.is_of_bytes:
        right = DType.INT32 if nest.packed and nest.rhs.buffer.dtype is DType.INT32 else DType.INT8
        if nest.rhs.dtype is not right:
            scope.refuse(f"a product of {nest.lhs.dtype} and {nest.rhs.dtype}")
    else:
        narrow = NARROW_FLOATS if nest.dtype is DType.FLOAT32 else ()
        for operand in (nest.lhs, nest.rhs):
            if operand.dtype is not nest.dtype and operand.dtype not in narrow:
                scope.refuse(f"a product of {operand.dtype} summed as {nest.dtype}")
    if nest.number is not None:
        scope.expression(nest.number)
    elif nest.from_zeros:
        scope.refuse("a contraction that begins with zeros and does not know when")
    if nest.in_place and (nest.packed or nest.rhs.where or nest.rhs.index.factor(nest.n[0]) not in LANES):
        scope.refuse("columns that are far apart are read in place")
    if nest.groups > 1 and len(nest.n) != 1:
        scope.refuse("groups of columns in several axes")
    with scope.inside("epilogue", (*nest.batch, *nest.m, *nest.n), dict.fromkeys(nest.sums, nest.dtype)):
        scope.statements(nest.body)


def _zeros(nest: Contraction) -> tuple[Buffer, ...]:
    return () if nest.zeros is None else (nest.zeros,)


KIND = NestKind(_show, _parametrise, _cost, _verify, attrgetter("scratch"), _zeros)
