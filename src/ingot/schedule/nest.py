"""The schedule of a nest: neighbouring loops collapsed where memory allows, one vectorised, the outer ones parallel."""

from __future__ import annotations

from collections.abc import Sequence

from ingot.loops.ir import For, Index, Kind, Let, Nest, Scalar, Stage, Statement, Store, Var, strides_in_registers
from ingot.loops.rewrite import indices, joined, joins
from ingot.schedule.interleave_chains import interleave_chains
from ingot.schedule.jam import jam_of
from ingot.schedule.reuse_costly import reuse_costly
from ingot.schedule.target import Target

_OFTEN = 4
"""How much more what is done for each element of a row counts than what is done once a row."""

_STRIDED = 1
"""What a read of every second to fourth element counts, beside 2 for neighbours: as many loads, and a shuffle each."""


def schedule_nest(nest: Nest, target: Target) -> tuple[Statement, ...]:
    """The loops of a nest: the rows parallel, and the axis along which most is contiguous vectorised."""
    nest = collapse(nest)
    lanes = target.lanes(4)
    across, gain = _vector(nest.rows, nest.stages, lanes)
    inner = max((_vector(stage.inner, [stage], lanes)[1] for stage in nest.stages if stage.inner), default=0)
    if across is not None and gain > inner:
        return _across(nest, across, target)
    chains = interleave_chains(nest)
    if chains is not None:
        return _shared(*chains)
    nest = reuse_costly(nest)
    return _shared(nest.rows, tuple(statement for stage in nest.stages for statement in _vectored(stage, lanes)))


def _across(nest: Nest, across: Var, target: Target) -> tuple[Statement, ...]:
    """The loops of a nest whose rows are vectorised, those beside them jammed where they read the same."""
    body = tuple(statement for stage in nest.stages for statement in _serial(stage))
    rows = [row for row in nest.rows if row is not across]
    split = jam_of(nest, across, target.registers)
    if split is None:
        return _shared(rows, (For(across, body, Kind.VECTOR),))
    jammed: tuple[Statement, ...] = (For(across, split.jammed(body), Kind.VECTOR),)
    if split.rest is None:
        return _shared([*rows[:-1], *([] if split.steps is None else [split.steps])], jammed)
    assert split.steps is not None
    alone = For(split.rest, (For(across, split.alone(body), Kind.VECTOR),))
    return _shared(rows[:-1], (For(split.steps, jammed), alone))


def _shared(rows: Sequence[Var], loops: tuple[Statement, ...]) -> tuple[Statement, ...]:
    for var in reversed(rows):
        loops = (For(var, loops, Kind.PARALLEL),)
    return loops


def collapse(nest: Nest) -> Nest:
    """Neighbouring loops collapsed into one where every index moves through them as through one."""
    rows, stages = _join(nest.rows, nest.stages)
    return Nest(rows, tuple(map(_collapsed, stages)))


def _collapsed(stage: Stage) -> Stage:
    inner, (joined,) = _join(stage.inner, (stage,))
    return Stage(inner, joined.starts, joined.body)


def _serial(stage: Stage) -> tuple[Statement, ...]:
    body = stage.body
    for var in reversed(stage.inner):
        body = (For(var, body),)
    return (*stage.starts, *body)


def _vectored(stage: Stage, lanes: int) -> tuple[Statement, ...]:
    vector = _vector(stage.inner, [stage], lanes)[0] or (stage.inner[-1] if stage.inner else None)
    body = stage.body
    for var in (vector, *reversed([other for other in stage.inner if other is not vector])):
        if var is not None:
            body = (For(var, body, Kind.VECTOR if var is vector else Kind.SERIAL),)
    return (*stage.starts, *body)


def _vector(variables: Sequence[Var], stages: Sequence[Stage], lanes: int) -> tuple[Var | None, float]:
    """The variable along which most of what is read and written is contiguous, and by how much; None if none is.

    Of vectors of so many lanes, those that a short variable leaves empty count for nothing.
    """
    best, most = None, 0.0
    for var in reversed(variables):
        score = sum((_OFTEN if stage.inner else 1) * _score(stage.body, var) for stage in stages)
        if score > 0 and isinstance(var.extent, int):
            score *= var.extent / max(1, -(-var.extent // lanes) * lanes)
        if score > most:
            best, most = var, score
    return best, most


def _score(body: Sequence[Statement], var: Var) -> float:
    """How much of what statements read and write is contiguous along a variable."""
    written = [statement.index for statement in body if isinstance(statement, Store)]
    read = [index for index in indices(*body) if index.terms and not any(index is own for own in written)]
    stores = sum(4 if index.factor(var) == 1 else _gain(index, var) for index in written if index.terms)
    return stores + sum(_STRIDED if strides_in_registers(index.factor(var)) else _gain(index, var) for index in read)


def _gain(index: Index, var: Var) -> int:
    factor = index.factor(var)
    if any(not isinstance(term, Var) and _depends(term, var) for term, _ in index.terms):
        return -3
    return 2 if factor == 1 else 0 if factor == 0 else -3


def _depends(value: Scalar, var: Var) -> bool:
    return any(index.factor(var) != 0 for index in indices(Let("", value)))


def _join(variables: tuple[Var, ...], stages: tuple[Stage, ...]) -> tuple[tuple[Var, ...], tuple[Stage, ...]]:
    position = len(variables) - 2
    while position >= 0:
        outer, inner = variables[position], variables[position + 1]
        if joins(outer, inner, indices(*(statement for stage in stages for statement in stage.body))):
            both, change = joined(outer, inner)
            stages = tuple(
                Stage(stage.inner, stage.starts, tuple(map(change.statement, stage.body))) for stage in stages
            )
            variables = (*variables[:position], both, *variables[position + 2 :])
        position -= 1
    return variables, stages
