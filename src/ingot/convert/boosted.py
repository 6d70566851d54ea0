"""Boosted trees, whatever library grew them: what is added up, and what a score becomes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ingot.builder import Var, op
from ingot.convert.forests import Tree, leaves, summed, summed_rows
from ingot.convert.request import Request, checked_names
from ingot.convert.source import Source, Tolerance
from ingot.convert.tables import build_table, table_of
from ingot.dtypes import Array, DType
from ingot.errors import InputError


@dataclass(frozen=True, slots=True)
class LinearLeaves:
    """Leaves whose value is a line: `constants`, plus `factors` times the features at `places`.

    A row each for the leaves of all trees, one after the other; a place past the last feature is no feature. A leaf one
    of whose features is missing has its value alone.
    """

    constants: Array
    places: Array
    factors: Array


@dataclass(frozen=True, slots=True)
class Boosted:
    """The trees of a booster, the group each adds to, and where every group starts from.

    `zero_missing` and `truncated` are features where zero counts as missing, and whose fractions are cut off.
    `weights` and `bias` are those of a linear booster, which has no trees. `rows` says that leaves have a value for
    each group.
    """

    objective: str
    features: int
    groups: int
    start: Array
    trees: list[Tree] = field(default_factory=list)
    targets: list[int] = field(default_factory=list)
    zero_missing: tuple[int, ...] = ()
    truncated: tuple[int, ...] = ()
    missing: float = float("nan")
    weights: Array | None = None
    single: bool = False
    """Whether features are rounded to float32 before they are compared."""
    rows: bool = False
    lines: LinearLeaves | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)


def scores(boosted: Boosted, x: Var) -> Var:
    """The sum of the leaves that rows come to, in each group: float64 [batch, groups]."""
    rows = _prepared(boosted, x)
    if boosted.weights is not None:
        return op.MatMul(rows, boosted.weights.astype(np.float64)) + boosted.start[None].astype(np.float64)
    start = boosted.start.reshape(1, -1).astype(np.float64)
    if boosted.lines is not None:
        return _lined(boosted, boosted.lines, x, rows) + start
    if not boosted.trees:
        sizes = op.Concat(op.Shape(x, start=0, end=1), np.array([boosted.groups], np.int64), axis=0)
        return op.Expand(start, sizes)
    if boosted.rows:
        return summed_rows(rows, boosted.trees, np.float64) + start
    return summed(rows, boosted.trees, boosted.targets, boosted.groups, np.float64) + start


def _lined(boosted: Boosted, lines: LinearLeaves, x: Var, rows: Var) -> Var:
    """What trees with linear leaves add up to; the lines are of the features as they are given."""
    wide_rows = x if x.dtype is DType.FLOAT64 else op.Cast(x, to=int(DType.FLOAT64))
    nothing = op.Expand(np.zeros((1, 1)), op.Concat(op.Shape(x, start=0, end=1), np.array([1], np.int64), axis=0))
    wide = op.Concat(wide_rows, nothing, axis=1)
    leaf_numbers = leaves(rows, boosted.trees, np.float64)
    trees, terms = len(boosted.trees), lines.places.shape[1]
    asked = op.Reshape(op.Gather(lines.places.astype(np.int64), leaf_numbers), np.array([-1, trees * terms], np.int64))
    named = op.Reshape(op.GatherElements(wide, asked, axis=1), np.array([-1, trees, terms], np.int64))
    missing = op.Greater(op.ReduceSum(op.Cast(op.IsNaN(named), to=int(DType.INT64)), [2], keepdims=0), np.int64(0))
    added = op.ReduceSum(named * op.Gather(lines.factors, leaf_numbers), [2], keepdims=0)
    values = np.concatenate([each.values.reshape(-1) for each in boosted.trees]).astype(np.float64)
    leaf = op.Where(missing, op.Gather(values, leaf_numbers), op.Gather(lines.constants, leaf_numbers) + added)
    groups = np.eye(boosted.groups)[boosted.targets]
    return op.MatMul(leaf, groups)


def _prepared(boosted: Boosted, x: Var) -> Var:
    """Features as the trees compare them."""
    if boosted.single and x.dtype is not DType.FLOAT32:
        x = op.Cast(x, to=int(DType.FLOAT32))
    rows = x if x.dtype is DType.FLOAT64 else op.Cast(x, to=int(DType.FLOAT64))
    if not np.isnan(boosted.missing):
        rows = op.Where(op.Equal(rows, np.float64(np.float32(boosted.missing))), np.float64(np.nan), rows)
    if boosted.zero_missing:
        zero = op.Abs(rows) <= np.float64(1e-35)  # what LightGBM takes for zero
        rows = op.Where(op.And(zero, _mask(boosted.features, boosted.zero_missing)), np.float64(np.nan), rows)
    if boosted.truncated:
        whole = op.Sign(rows) * op.Floor(op.Abs(rows))
        rows = op.Where(_mask(boosted.features, boosted.truncated), whole, rows)
    return rows


def _mask(width: int, places: tuple[int, ...]) -> Array:
    mask = np.zeros((1, width), bool)
    mask[0, list(places)] = True
    return mask


def _side_by_side(inputs: tuple[Var, ...]) -> Var:
    kinds = {part.dtype for part in inputs}
    common = DType.FLOAT32 if kinds == {DType.FLOAT32} else DType.FLOAT64
    wide = [part if part.dtype is common else op.Cast(part, to=int(common)) for part in inputs]
    return wide[0] if len(wide) == 1 else op.Concat(*wide, axis=1)


@dataclass(frozen=True, slots=True)
class Answers:
    """What a booster without scikit-learn's interface gives: `outputs` by name, and the same from the original."""

    outputs: Callable[[Var], dict[str, Var]]
    original: Callable[[Any], list[Any]]
    names: tuple[str, ...]


def booster_source(
    boosted: Boosted,
    answers: Answers,
    example: Any,
    request: Request,
    name: str,
    *,
    prepare: Callable[[tuple[Var, ...]], Var] | None = None,
) -> Source:
    """The model of a booster, and how to compare it; numbers come in the type of the example's.

    `prepare` makes of the inputs the rows that the trees compare, where they are not numbers side by side.
    """
    table = table_of(example, request, boosted.features)
    if prepare is None and table.columns is not None and len(table.columns) != boosted.features:
        raise InputError(f"the example has {len(table.columns)} columns, the model was fitted to {boosted.features}")
    names = checked_names("output", request.output_names, answers.names)
    real = DType.FLOAT64 if DType.FLOAT64 in table.dtypes else DType.FLOAT32

    def fn(inputs: tuple[Var, ...]) -> dict[str, Var]:
        answered = answers.outputs((prepare or _side_by_side)(inputs)).values()
        return {
            name: op.Cast(value, to=int(real)) if value.dtype is DType.FLOAT64 and real is not value.dtype else value
            for name, value in zip(names, answered, strict=True)
        }

    return Source(
        build_table(fn, table, name),
        lambda feeds: answers.original(table.restore(feeds)),
        table.examples(request.seed),
        tolerance=Tolerance(1e-5, 1e-5),
    )
