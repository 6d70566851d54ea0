"""Rows of floats rounded to bytes, block by block."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ingot.dtypes import DType
from ingot.loops.expressions import ExpressionText
from ingot.loops.ir import RoundedRows, extent
from ingot.loops.kinds.kind import NestKind
from ingot.loops.kinds.text import definitions, roles
from ingot.loops.parameters import Parameters
from ingot.loops.scope import Scope
from ingot.loops.tally import Tally

_OPERATIONS = 5
"""Operations for each element: compared, scaled, rounded, converted and summed."""


def _show(nest: RoundedRows, text: ExpressionText) -> Iterator[str]:
    lines, (x,) = text.of(nest.x)
    by = "rows" if nest.codes.block == 0 else f"blocks of {nest.codes.block}"
    stored = ", ".join(buffer.name for buffer in (nest.rounded, nest.scales, nest.totals))
    yield f"{stored} = bytes, scales and sums of {roles({'m': nest.m, 'k': (nest.k,)})} by {by}: {x}"
    yield from definitions(lines)


def _parametrise(nest: RoundedRows, parameters: Parameters) -> RoundedRows:
    rounded, scales, totals = parameters.buffers((nest.rounded, nest.scales, nest.totals))
    return replace(
        nest,
        m=parameters.variables(nest.m),
        k=parameters.var(nest.k),
        x=parameters.load(nest.x),
        rounded=rounded,
        scales=scales,
        totals=totals,
    )


def _cost(nest: RoundedRows, tally: Tally) -> None:
    tally.compute(extent((*nest.m, nest.k)) * _OPERATIONS)
    tally.expressions([nest.x], 0)
    tally.write(nest.rounded, extent(nest.m) * nest.line)
    for buffer in (nest.scales, nest.totals):
        tally.write(buffer, extent(nest.m) * nest.blocks)


def _verify(nest: RoundedRows, scope: Scope) -> None:
    with scope.inside("rows", (*nest.m, nest.k)):
        scope.expression(nest.x)
    if nest.x.dtype is not DType.FLOAT32 or (nest.k.extent != 1 and nest.x.index.factor(nest.k) != 1):
        scope.refuse("rows to be rounded that are no floats side by side")
    for buffer in (nest.rounded, nest.scales, nest.totals):
        scope.stored[buffer] = None


KIND = NestKind(_show, _parametrise, _cost, _verify)
