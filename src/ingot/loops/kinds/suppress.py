"""Non-maximum suppression: boxes from the best score down, without those that overlap one before."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from operator import attrgetter

from ingot.dtypes import DType
from ingot.loops.expressions import ExpressionText
from ingot.loops.ir import COUNT, PLACE, Suppress, extent
from ingot.loops.kinds import statements
from ingot.loops.kinds.kind import NestKind
from ingot.loops.kinds.text import definitions, indented, variables
from ingot.loops.parameters import Parameters
from ingot.loops.scope import Scope
from ingot.loops.tally import Tally

_BOX = 32
"""Operations for each box of a class: its score is compared, a part of them sorted and compared with others."""


def _show(nest: Suppress, text: ExpressionText) -> Iterator[str]:
    yield f"suppress {variables((nest.batch, nest.group))}:"
    floor = () if nest.floor is None else (nest.floor,)
    lines, (boxes, scores, most, overlap, *above) = text.of(nest.boxes, nest.scores, nest.most, nest.overlap, *floor)
    how = "centre and size" if nest.centred else "corners"
    yield f"  count, place = at most {most} of {variables((nest.box,))}, apart by {overlap}"
    yield f"    by {scores}{''.join(f' above {each}' for each in above)}, {how} {boxes}"
    yield from definitions(lines)
    yield from indented(statements.show((*nest.counted, *nest.selected), text))


def _parametrise(nest: Suppress, parameters: Parameters) -> Suppress:
    return replace(
        nest,
        batch=parameters.var(nest.batch),
        group=parameters.var(nest.group),
        box=parameters.var(nest.box),
        corner=parameters.var(nest.corner, 4),
        rank=parameters.var(nest.rank),
        boxes=parameters.load(nest.boxes),
        scores=parameters.load(nest.scores),
        most=parameters.scalar(nest.most),
        overlap=parameters.scalar(nest.overlap),
        floor=None if nest.floor is None else parameters.scalar(nest.floor),
        counted=parameters.statements(nest.counted),
        selected=parameters.statements(nest.selected),
        lines=(parameters.size(nest.lines[0], 0), parameters.size(nest.lines[1], 1)),
        scratch=parameters.buffers(nest.scratch),
    )


def _cost(nest: Suppress, tally: Tally) -> None:
    rows = extent((nest.batch, nest.group))
    tally.compute(rows * nest.box.extent * _BOX)
    tally.expressions([nest.boxes, nest.scores], 0)
    tally.statements(nest.counted, rows)
    tally.statements(nest.selected, rows * nest.rank.extent)


def _verify(nest: Suppress, scope: Scope) -> None:
    with scope.inside("boxes", (nest.batch, nest.box, nest.corner)):
        scope.expression(nest.boxes)
    with scope.inside("scores", (nest.batch, nest.group, nest.box)):
        scope.expression(nest.scores)
    for number, dtype in ((nest.most, DType.INT64), (nest.overlap, DType.FLOAT32), (nest.floor, DType.FLOAT32)):
        if number is not None:
            scope.expression(number)
            if number.dtype is not dtype:
                scope.refuse(f"a limit of a suppression is {number.dtype}")
    if nest.box.extent != 1 and nest.scores.index.factor(nest.box) != 1:
        scope.refuse("a suppression by scores that do not lie side by side")
    with scope.inside("count", (nest.batch, nest.group), {COUNT: DType.INT64}):
        scope.statements(nest.counted)
    with scope.inside("selected", (nest.batch, nest.group, nest.rank), {PLACE: DType.INT64}):
        scope.statements(nest.selected)


KIND = NestKind(_show, _parametrise, _cost, _verify, attrgetter("scratch"))
