"""The schedule of a nest: neighbouring loops collapsed where memory allows, one vectorised, the outer ones parallel."""

from __future__ import annotations

from collections.abc import Sequence

from ingot.loops.ir import (
    LANES_APART,
    For,
    Index,
    Kind,
    Let,
    Nest,
    Position,
    Scalar,
    Stage,
    Staged,
    Statement,
    Store,
    Var,
)
from ingot.loops.near import near_places
from ingot.loops.rewrite import in_turn, indices, joined, joins
from ingot.loops.walk import walk
from ingot.schedule.blocked_sums import in_blocks
from ingot.schedule.columns import in_columns, in_columns_of_each
from ingot.schedule.copies import kind_of_row
from ingot.schedule.interleave import interleaved
from ingot.schedule.interleave_chains import interleave_chains
from ingot.schedule.jam import jam_of, shared_innermost
from ingot.schedule.loads_inside import loads_inside
from ingot.schedule.merge_parts import parts_in_rows
from ingot.schedule.narrow_positions import narrow_positions
from ingot.schedule.pad_rows import in_parts
from ingot.schedule.pairs import pairs_in_tiles
from ingot.schedule.repeat import repeated
from ingot.schedule.reuse_costly import reuse_costly
from ingot.schedule.target import Target
from ingot.schedule.turn import turned
from ingot.schedule.windows import staged_windows

_SCATTERED = -3
"""What is gained by lanes that lie anywhere, where contiguous ones gain 2 and one element for all of them nothing."""

_PICKED = 1
"""What is gained by lanes that are picked out of contiguous vectors."""

_NEAR = 0
"""What is gained by lanes at places that all rows share: mostly a vector, and a permutation of it."""

_ROW = 4
"""Vectors in a row from which on the sum of the lanes, at its end, hardly counts."""

_FLOAT = 4
"""Bytes of a float32, which most rows are of."""

_OFTEN = 4
"""How much more what is done for each element of a row counts than what is done once a row."""


def schedule_nest(nest: Nest, name: str, target: Target) -> tuple[Statement, ...] | Staged:
    """The loops of a nest: the rows parallel, and the axis along which most is contiguous vectorised.

    What large windows slide over is staged in scratch memory, whose name begins with `name`.
    """
    nest = _inside(collapse(nest))
    blocks = turned(nest, target) or interleaved(nest, target) or repeated(nest, target)
    if blocks is not None:
        return _shared(blocks.rows, blocks.statements)
    across, gain = contiguous_axis(nest.rows, nest.stages)
    inner = max((_along_row(stage, target) for stage in nest.stages if stage.inner), default=0.0)
    if across is not None and gain > inner:
        return _across(nest, across, name, target)
    chains = interleave_chains(nest)
    if chains is not None:
        return _shared(*chains)
    nest = reuse_costly(nest)
    return _shared(nest.rows, tuple(statement for stage in nest.stages for statement in _vectored(stage)))


def schedule_parts(nests: Sequence[Nest], target: Target) -> tuple[Statement, ...] | None:
    """The loops of nests that store parts of the same rows, a row after another; None where one is better by itself."""
    nests = [_inside(nest) for nest in nests]
    if not all(_is_row(nest, collapse(nest), target) for nest in nests):
        return None
    whole = collapse(parts_in_rows(nests))
    loops: list[Statement] = []
    for stage in whole.stages:
        if not stage.inner:
            loops += stage.body
            continue
        (along,) = stage.inner
        kind = kind_of_row(along, stage.body, target)
        loops += in_parts(stage.body, along, target) or (For(along, stage.body, kind),)
    return _shared(whole.rows, tuple(loops))


def _inside(nest: Nest) -> Nest:
    """A nest whose positions are as narrow as can be."""
    has_positions = any(isinstance(node, Position) for node in walk(nest))
    return narrow_positions(loads_inside(nest)) if has_positions else nest


def _is_row(nest: Nest, collapsed: Nest, target: Target) -> bool:
    """Whether a nest is to run along its last row, in vectors, or one by one if it stores apart."""
    if any(blocks(collapsed, target) is not None for blocks in (turned, interleaved, repeated)):
        return False
    across, _ = contiguous_axis(nest.rows, nest.stages)
    return across is None or across is nest.rows[-1]


def _across(nest: Nest, across: Var, name: str, target: Target) -> tuple[Statement, ...] | Staged:
    """The loops of a nest whose rows are vectorised, those beside them jammed where they read the same."""
    rows = [row for row in nest.rows if row is not across]
    body = _serial_body(nest.stages)
    tiles = pairs_in_tiles(nest, across, body, target)
    if tiles is not None:
        return _shared(*tiles)
    staged = staged_windows(nest, across, name, target)
    if staged is not None:
        return staged
    split = jam_of(nest, across, target.registers)
    if split is None:
        loops = _in_columns(nest, across, body, target) or in_parts(body, across, target)
        return _shared(rows, loops or (For(across, body, kind_of_row(across, body, target)),))
    body = _serial_body([shared_innermost(stage, split.var) for stage in nest.stages])
    jammed: tuple[Statement, ...] = (For(across, split.jammed(body), Kind.VECTOR),)
    if split.rest is None:
        return _shared([*rows[:-1], *([] if split.steps is None else [split.steps])], jammed)
    assert split.steps is not None
    alone = For(split.rest, (For(across, split.alone(body), Kind.VECTOR),))
    return _shared(rows[:-1], (For(split.steps, jammed), alone))


def _in_columns(nest: Nest, across: Var, body: tuple[Statement, ...], target: Target) -> tuple[Statement, ...] | None:
    """The loops of a reduction over columns, several at a time; None where it is none, or that does not pay."""
    if not any(stage.inner for stage in nest.stages):
        return None
    if len(nest.rows) > 1:
        return in_columns_of_each(nest, across, body, target)
    columns = in_columns(across, body, target)
    return None if columns is None else (columns,)


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


def _serial_body(stages: Sequence[Stage]) -> tuple[Statement, ...]:
    return tuple(statement for stage in stages for statement in _serial(stage))


def _serial(stage: Stage) -> tuple[Statement, ...]:
    blocks = in_blocks(stage)
    if blocks is not None:
        return blocks
    body = stage.body
    for var in reversed(stage.inner):
        body = (For(var, body),)
    return (*stage.starts, *body)


def _vectored(stage: Stage) -> tuple[Statement, ...]:
    vector = contiguous_axis(stage.inner, (stage,))[0] or (stage.inner[-1] if stage.inner else None)
    body = stage.body
    for var in (vector, *reversed([other for other in stage.inner if other is not vector])):
        if var is not None:
            body = (For(var, body, Kind.VECTOR if var is vector else Kind.SERIAL),)
    return (*stage.starts, *body)


def contiguous_axis(variables: Sequence[Var], stages: Sequence[Stage]) -> tuple[Var | None, int]:
    """The variable along which most of what is read and written is contiguous, and by how much; None if none is."""
    best, most = None, 0
    accesses = [(stage, [index for index in indices(*stage.body) if index.terms]) for stage in stages]
    for var in reversed(variables):
        score = sum((_OFTEN if stage.inner else 1) * _contiguity(stage.body, own, var) for stage, own in accesses)
        if score > most:
            best, most = var, score
    return best, most


def _along_row(stage: Stage, target: Target) -> float:
    """What is gained by vectors along the rows of a stage: less in short ones, after which the lanes are summed."""
    var, gain = contiguous_axis(stage.inner, (stage,))
    if var is None or not stage.starts or not isinstance(var.extent, int):
        return gain
    return gain * min(1.0, var.extent / (_ROW * target.lanes(_FLOAT)))


def _contiguity(body: Sequence[Statement], accesses: Sequence[Index], var: Var) -> int:
    """What is gained by vectors along a variable in what statements read and write, in which `accesses` are.

    A store counts twice.
    """
    score = sum(_gain(index, var) for index in accesses)
    for store in (statement for statement in body if isinstance(statement, Store)):
        if store.index.factor(var) == 1:
            score += 2
        elif _apart(store.index, var):
            score += _SCATTERED - _PICKED  # only loads pick lanes
    return score


def _gain(index: Index, var: Var) -> int:
    factor = index.factor(var)
    if any(not isinstance(term, Var) and _depends(term, var) for term, _ in index.terms):
        return _NEAR if near_places(index, var) is not None else _SCATTERED
    return 2 if factor == 1 else 0 if factor == 0 else _PICKED if _apart(index, var) else _SCATTERED


def _apart(index: Index, var: Var) -> bool:
    """Whether lanes along a variable are a few elements apart, so that a load picks them out of contiguous vectors."""
    factor = index.factor(var)
    return isinstance(factor, int) and 1 < factor <= LANES_APART


def _depends(value: Scalar, var: Var) -> bool:
    return any(index.factor(var) != 0 for index in indices(Let("", value)))


def _join(variables: tuple[Var, ...], stages: tuple[Stage, ...]) -> tuple[tuple[Var, ...], tuple[Stage, ...]]:
    seen = list(indices(*(statement for stage in stages for statement in stage.body)))
    changes = []
    for position in range(len(variables) - 2, -1, -1):
        outer, inner = variables[position : position + 2]
        if joins(outer, inner, seen):
            both, change = joined(outer, inner)
            changes.append(change)
            seen = list(map(change, seen))
            variables = (*variables[:position], both, *variables[position + 2 :])
    if not changes:
        return variables, stages
    every = in_turn(changes)
    return variables, tuple(
        Stage(stage.inner, stage.starts, tuple(map(every.statement, stage.body))) for stage in stages
    )
