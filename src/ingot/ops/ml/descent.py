"""Forests in primitives: what the leaves vote that rows come to, reduced for each target."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ingot import prim
from ingot.dtypes import DType
from ingot.ops.ml.forest import MODES, Forest
from ingot.ops.ml.tree_tables import trees_of
from ingot.prim.descent import Descent
from ingot.prim.tensor import Map, Refused

_NARROW = (DType.FLOAT32, DType.FLOAT16)
_ABOVE = (MODES.index("BRANCH_LEQ"), MODES.index("BRANCH_GT"))
_WIDE = 64
"""Features of a row from which on leaving some out may save more than a kernel that picks the others costs."""
_FUNCTIONS = {"SUM": "add", "AVERAGE": "add", "MIN": "minimum", "MAX": "maximum"}


def scores(x: prim.Tensor, forest: Forest, n_targets: int, aggregate: str) -> prim.Tensor:
    """What the leaves that each row comes to vote for each target, put together: float64, shape [rows, targets].

    Refused for forests that are too large, and for rows of unknown length.
    """
    features, function = x.shape[1], _FUNCTIONS[aggregate]
    if not isinstance(features, int):
        raise Refused("a statically unknown number of features")
    if forest.features.size and int(forest.features.max()) >= features:
        raise Refused(f"a node that asks for feature {forest.features.max()} of {features}")
    if not len(forest.roots) or not features:
        raise Refused("no trees, or no features")
    if function != "add" and np.isnan(forest.weights).any():
        raise Refused(f"votes that are no numbers, of which the {aggregate.lower()} is taken")
    x, forest = _asked(x, forest, features)
    x = _narrowed(x)
    total = _reduced(x, forest, n_targets, function)
    if aggregate == "AVERAGE":
        return total / float(len(forest.roots))
    if function == "add" or _always_vote(forest, n_targets):
        return total
    votes = _reduced(x, replace(forest, weights=np.ones(len(forest.weights))), n_targets, "add")
    return prim.where(prim.apply("less", 0.0, votes), total, 0.0)


def _asked(x: prim.Tensor, forest: Forest, features: int) -> tuple[prim.Tensor, Forest]:
    """The features that nodes ask for, and a forest that asks for these; all, where most of them are asked for."""
    asked = np.unique(forest.features) if forest.features.size else np.zeros(1, np.int64)
    if features < _WIDE or 2 * len(asked) > features:
        return x, forest
    columns = prim.gather(x, [0, prim.constant(asked.astype(np.int64)[None])], (x.shape[0], len(asked)))
    return columns, replace(forest, features=np.searchsorted(asked, forest.features))


def _reduced(x: prim.Tensor, forest: Forest, n_targets: int, function: str) -> prim.Tensor:
    features = x.shape[1]
    assert isinstance(features, int)
    key = DType.INT32 if x.dtype is DType.FLOAT32 or _is_narrow(forest) else DType.INT64
    trees = trees_of(forest, features, n_targets, function, key)
    return Descent(DType.FLOAT64, (x.shape[0], n_targets), function, x, trees)


def _is_narrow(forest: Forest) -> bool:
    """Whether any number may be rounded up to a float32: if it is above splits, which all are such, or not."""
    with np.errstate(over="ignore", invalid="ignore"):
        splits = forest.splits.astype(np.float32).astype(np.float64)
    return bool(np.isin(forest.modes, _ABOVE).all()) and np.array_equal(splits, forest.splits, equal_nan=True)


def _always_vote(forest: Forest, n_targets: int) -> bool:
    """Whether each leaf votes for each target, so that none is without a vote."""
    leaves = len(forest.starts) - 1
    voting = np.repeat(np.arange(leaves), np.diff(forest.starts))
    return len(np.unique(voting * n_targets + forest.targets)) == leaves * n_targets


def _narrowed(x: prim.Tensor) -> prim.Tensor:
    """The rows as float32 if they are no more than that, even if something has widened them; else as they are."""
    while isinstance(x, Map) and x.function == "cast" and x.arguments[0].dtype in _NARROW:
        x = x.arguments[0]
    return prim.cast(x, DType.FLOAT32) if x.dtype in _NARROW else x


def rows_of(x: prim.Tensor) -> prim.Tensor:
    """A table of features as floats, of which integers of 64 bits take the wider kind."""
    wide = x.dtype in (DType.FLOAT64, DType.INT64, DType.INT32)
    rows = prim.cast(x, DType.FLOAT64 if wide else DType.FLOAT32)
    return prim.unsqueeze(rows, [0]) if x.rank == 1 else rows
