"""Attention: scores, their softmax, and the mean of values by these weights, without storing the scores."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from operator import attrgetter

from ingot.dtypes import DType
from ingot.loops.expressions import ExpressionText
from ingot.loops.ir import Attention, extent, paired_load
from ingot.loops.kinds import statements
from ingot.loops.kinds.kind import NestKind
from ingot.loops.kinds.text import definitions, indented, roles, tile, variables
from ingot.loops.parameters import Parameters
from ingot.loops.scope import Scope
from ingot.loops.tally import Tally
from ingot.prim.functions import NARROW_FLOATS

_SOFTMAX = 4
"""Operations that turn a score into a weight and count it: the greatest, the difference, the exponential, the sum."""


def _show(nest: Attention, text: ExpressionText) -> Iterator[str]:
    yield f"attend {roles({'batch': nest.batch, 'm': nest.m, 'n': (nest.n,)})}{tile(nest.tile)}:"
    if nest.block:
        keys, values, scores = nest.lines
        yield f"  {nest.block} of {variables((nest.t,))} at a time, in lines of {keys}, {values} and {scores}"
    lines, (query, key, score, value) = text.of(nest.queries, nest.keys, nest.score, nest.values, factors=True)
    of_scores, of_means = ("" if dot is None else " in pairs" for dot in nest.dots)
    yield f"  sum = over {variables((nest.k,))}{of_scores}: {query} * {key}"
    yield f"  total = over {variables((nest.t,))}: weight of {score}"
    yield f"  read = over {variables((nest.t,))}{of_means}: weight * {value}"
    yield from definitions(lines)
    yield from indented(statements.show(nest.body, text))


def _parametrise(nest: Attention, parameters: Parameters) -> Attention:
    queries = parameters.load(nest.queries)  # first, for its variables are then in the order in which it has them
    keys, values, scores = (parameters.size(line, number) for number, line in enumerate(nest.lines))
    return replace(
        nest,
        batch=parameters.variables(nest.batch),
        m=parameters.variables(nest.m),
        n=parameters.var(nest.n),
        k=parameters.var(nest.k),
        t=parameters.var(nest.t),
        queries=queries,
        keys=parameters.scalar(nest.keys),
        values=parameters.scalar(nest.values),
        score=parameters.scalar(nest.score),
        body=parameters.statements(nest.body),
        lines=(keys, values, scores),
        scratch=parameters.buffers(nest.scratch),
    )


def _cost(nest: Attention, tally: Tally) -> None:
    scores = extent((*nest.batch, *nest.m, nest.t))
    tally.compute(scores * ((nest.k.extent + nest.n.extent) * 2 + _SOFTMAX))
    tally.expressions([nest.queries, nest.keys, nest.values], 0)
    tally.expressions([nest.score], scores)
    tally.statements(nest.body, extent((*nest.batch, *nest.m, nest.n)))


def _verify(nest: Attention, scope: Scope) -> None:
    with scope.inside("queries", (*nest.batch, *nest.m, nest.k)):
        scope.expression(nest.queries)
    with scope.inside("keys", (*nest.batch, nest.t, nest.k)):
        scope.expression(nest.keys)
    with scope.inside("values", (*nest.batch, nest.t, nest.n)):
        scope.expression(nest.values)
    with scope.inside("score", (*nest.batch, *nest.m, nest.t), {"sum": nest.dtype}):
        scope.expression(nest.score)
    for operand in (nest.queries, nest.keys, nest.values, nest.score):
        if operand.dtype is not nest.dtype and (operand is not nest.queries or operand.dtype not in NARROW_FLOATS):
            scope.refuse(f"attention of {operand.dtype} computed in {nest.dtype}")
    of_scores, of_means = nest.dots
    pairs = ((of_scores, (nest.queries, nest.keys)), (of_means, (nest.values,)))
    if any(dot is not None and any(paired_load(operand) is None for operand in operands) for dot, operands in pairs):
        scope.refuse("pairs of what is not loaded as bfloat16")
    if of_means is not None and nest.weights is not DType.BFLOAT16:
        scope.refuse("pairs of weights that are not rounded to bfloat16")
    with scope.inside("epilogue", (*nest.batch, *nest.m, nest.n), {"read": nest.dtype, "total": nest.dtype}):
        scope.statements(nest.body)


KIND = NestKind(_show, _parametrise, _cost, _verify, attrgetter("scratch"))
