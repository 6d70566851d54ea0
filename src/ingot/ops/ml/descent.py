"""Forests in primitives: every row goes down every tree step by step, which takes tables and not one branch.

A step looks up what a node asks for, compares, and takes a child: `children[2 * node + (x[feature] <= split)]`. A leaf
is a node whose children are itself, so that all trees take as many steps as the deepest. Every test of a node is
that one comparison: `x < s` is `x <= t` for the number t before s, and for `x > s` the branches change places.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ingot import prim
from ingot.dataclass import dataclass
from ingot.dims import Dim
from ingot.dtypes import Array, DType
from ingot.ops.ml.forest import MODES, Forest
from ingot.ops.ml.post_transform import checked
from ingot.prim.tensor import Map, Refused

_MOST_STEPS = 256
_MOST_PATHS = 1 << 24
"""Places in trees, where several branches may lead to the same."""
_MOST_WEIGHTS = 1 << 22
"""Of leaves by targets, where the leaves of a tree vote for different ones; of roots by targets, where they do not."""
_MOST_MEMBERS = 1 << 22
_NARROW = (DType.FLOAT32, DType.FLOAT16)


def scores(x: prim.Tensor, forest: Forest, n_targets: int, aggregate: str) -> prim.Tensor:
    """What the leaves that each row comes to vote for each target, put together: float64, shape [rows, targets].

    Refused for tests that tables cannot express.
    """
    if aggregate not in ("SUM", "AVERAGE"):
        raise Refused(f"votes of which the {aggregate.lower()} is taken")
    features = x.shape[1]
    if not isinstance(features, int):
        raise Refused("a statically unknown number of features")
    if forest.features.size and int(forest.features.max()) >= features:
        raise Refused(f"a node that asks for feature {forest.features.max()} of {features}")
    x = _narrowed(x)
    tables, paths = _tables(forest, x.dtype.numpy), _paths(forest)
    roots = _roots_by_target(forest, paths, n_targets)
    if roots is None:
        total = _by_leaf(x, tables, forest, paths, n_targets)
    else:
        total = _by_target(x, tables, forest, paths, roots)
    return total / float(max(1, len(forest.roots))) if aggregate == "AVERAGE" else total


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


def transformed(scores: prim.Tensor, transform: str) -> prim.Tensor:
    """Scores, a row for each example, transformed; Refused where that takes functions there are not."""
    match checked(transform):
        case "NONE":
            return scores
        case "LOGISTIC":
            return prim.apply("sigmoid", scores)
        case "SOFTMAX":
            away = scores - prim.reduce_("maximum", scores, [1])
            exponentials = prim.apply("exp", away)
            return exponentials / prim.reduce_("add", exponentials, [1])
    raise Refused(f"scores transformed by {transform.lower()}")


@dataclass(frozen=True, slots=True)
class _Tables:
    """What is looked up of a node; leaves come first, then a leaf that votes for nothing, then inner nodes."""

    asks: Array
    """Twice the feature, and one more if a missing value takes the true branch."""
    splits: Array
    children: Array
    """Of each node the one where the comparison fails, then the one where it holds."""
    exact: Array | None
    """Which nodes ask whether a feature is equal to their split, if some do."""
    sets: _Sets | None


@dataclass(frozen=True, slots=True)
class _Sets:
    """For each node where its set begins in `held`, and the least and the greatest integer that it is about."""

    asked: Array
    starts: Array
    low: Array
    high: Array
    held: Array


@dataclass(frozen=True, slots=True)
class _Paths:
    """The leaves of each tree, by the number of the tree, and how many steps the deepest takes."""

    trees: Array
    leaves: Array
    steps: int


def _tables(forest: Forest, real: np.dtype[Any]) -> _Tables:
    modes = np.array([MODES[mode].removeprefix("BRANCH_") for mode in forest.modes.tolist()], np.str_)
    turned = np.isin(modes, ("GT", "GTE", "NEQ"))
    before = np.isin(modes, ("LT", "GTE"))
    exact = np.isin(modes, ("EQ", "NEQ"))
    splits = _rounded_down(forest.splits, before, exact, real)
    first = len(forest.starts)  # inner nodes come behind the leaves and the one without a vote
    ids = [np.where(side < 0, -1 - side, side + first) for side in (forest.true, forest.false)]
    holds, fails = np.where(turned, ids[1], ids[0]), np.where(turned, ids[0], ids[1])
    leaves = np.arange(first)
    children = np.concatenate([np.stack([leaves, leaves], 1), np.stack([fails, holds], 1)]).reshape(-1)
    missing = forest.missing_true ^ turned
    nothing = np.zeros(first, np.int64)
    return _Tables(
        np.concatenate([nothing, 2 * forest.features + missing]).astype(np.int32),
        np.concatenate([nothing, splits]).astype(real),
        children.astype(np.int32),
        np.concatenate([nothing, exact]).astype(bool) if exact.any() else None,
        _sets(forest, modes == "MEMBER", first) if len(forest.members) else None,
    )


def _rounded_down(splits: Array, before: Array, exact: Array, real: np.dtype[Any]) -> Array:
    """The greatest number of a type that is not above a split, or is below it; NaN where there is none.

    For comparisons that ask for equality, the split itself, or NaN if it is none of the type.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        near = splits.astype(real)
        wide = near.astype(np.float64)
        above = (wide > splits) | (before & (wide == splits))
        down = np.where(above, np.nextafter(near, real.type(-np.inf)), near)
        rounded = np.where(exact, np.where(wide == splits, near, np.nan), down)
        return np.where(before & (splits == -np.inf), np.nan, rounded)


def _sets(forest: Forest, asked: Array, first: int) -> _Sets:
    nodes = np.flatnonzero(asked) + first
    size = first + len(forest.features)
    starts, low, high = (np.full(size, fill, np.int64) for fill in (0, 1, 0))
    held = [np.zeros(1, bool)]
    length = 1
    for node, members in zip(nodes.tolist(), forest.members, strict=True):
        known = members[~np.isnan(members)]
        if not known.size:
            continue
        if not (np.isfinite(known).all() and (known == np.rint(known)).all() and np.abs(known).max() < 1 << 31):
            raise Refused("sets of numbers that are no integers")
        numbers = known.astype(np.int64)
        starts[node], low[node], high[node] = length, numbers.min(), numbers.max()
        length += int(high[node] - low[node]) + 1
        if length > _MOST_MEMBERS:
            raise Refused(f"sets that span more than {_MOST_MEMBERS:,} integers")
        bits = np.zeros(high[node] - low[node] + 1, bool)
        bits[numbers - low[node]] = True
        held.append(bits)
    every = np.zeros(size, bool)
    every[nodes] = True
    return _Sets(every, starts, low, high, np.concatenate(held))


def _paths(forest: Forest) -> _Paths:
    """All trees are gone down at once, a level at a time."""
    trees, nodes = np.arange(len(forest.roots)), forest.roots
    ends: list[tuple[Array, Array]] = []
    steps = met = 0
    while True:
        inner = nodes >= 0
        ends.append((trees[~inner], -1 - nodes[~inner]))
        if not inner.any():
            break
        trees, nodes, steps, met = trees[inner], nodes[inner], steps + 1, met + int(inner.sum())
        if steps > _MOST_STEPS or met > _MOST_PATHS:
            raise Refused(f"trees deeper than {_MOST_STEPS} nodes" if steps > _MOST_STEPS else "too many branches")
        trees, nodes = np.tile(trees, 2), np.concatenate([forest.true[nodes], forest.false[nodes]])
    return _Paths(np.concatenate([tree for tree, _ in ends]), np.concatenate([leaf for _, leaf in ends]), steps)


def _roots_by_target(forest: Forest, paths: _Paths, n_targets: int) -> Array | None:
    """The roots of the trees that vote for each target, filled up with leaves that vote for nothing.

    None if a tree has votes for several targets, or a few targets have most of the trees.
    """
    votes = np.diff(forest.starts)
    if votes.size and votes.max() > 1:
        return None
    voting = votes[paths.leaves] == 1
    targets = forest.targets[forest.starts[:-1][paths.leaves[voting]]]
    lowest, highest = np.full(len(forest.roots), n_targets), np.full(len(forest.roots), -1)
    np.minimum.at(lowest, paths.trees[voting], targets)
    np.maximum.at(highest, paths.trees[voting], targets)
    if (lowest < highest).any():
        return None
    of = [np.flatnonzero(lowest == target) for target in range(n_targets)]
    most = max([1, *(len(trees) for trees in of)])
    most = most if most < 8 else -(-most // 8) * 8  # as many as can go on together
    if n_targets * most > max(4 * len(forest.roots), _MOST_WEIGHTS >> 10):
        return None
    first = len(forest.starts)
    roots = np.where(forest.roots < 0, -1 - forest.roots, forest.roots + first)
    table = np.full((n_targets, most), first - 1)
    for target, trees in enumerate(of):
        table[target, : len(trees)] = roots[trees]
    return table


def _by_target(x: prim.Tensor, tables: _Tables, forest: Forest, paths: _Paths, roots: Array) -> prim.Tensor:
    """Each tree votes for one target: the votes of those for the same are added."""
    weights = np.zeros(len(forest.starts))
    voting = np.flatnonzero(np.diff(forest.starts))
    weights[voting] = forest.weights[forest.starts[:-1][voting]]
    shape = (x.shape[0], *roots.shape)
    leaf = _leaves(x, tables, roots, shape, paths.steps)
    votes = prim.gather(prim.constant(weights), [leaf], shape, in_range=True)
    return prim.squeeze(prim.reduce_("add", votes, [2]), [2])


def _by_leaf(x: prim.Tensor, tables: _Tables, forest: Forest, paths: _Paths, n_targets: int) -> prim.Tensor:
    """Leaves vote for any number of targets: what each votes for each is a table."""
    if len(forest.starts) * n_targets > _MOST_WEIGHTS:
        raise Refused(f"{len(forest.starts) - 1:,} leaves that vote for any of {n_targets:,} targets")
    weights = np.zeros((len(forest.starts), n_targets))
    leaves = np.repeat(np.arange(len(forest.starts) - 1), np.diff(forest.starts))
    np.add.at(weights, (leaves, forest.targets), forest.weights)
    first = len(forest.starts)
    roots = np.where(forest.roots < 0, -1 - forest.roots, forest.roots + first)
    leaf = _leaves(x, tables, roots, (x.shape[0], len(roots)), paths.steps)
    shape = (x.shape[0], n_targets, len(roots))
    votes = prim.gather(prim.constant(weights), [prim.unsqueeze(leaf, [1]), 1], shape, in_range=True)
    return prim.squeeze(prim.reduce_("add", votes, [2]), [2])


def _leaves(x: prim.Tensor, tables: _Tables, roots: Array, shape: tuple[Dim, ...], steps: int) -> prim.Tensor:
    """The leaf that each row comes to from each root; `shape` is that of the roots, with the rows in front."""
    node = prim.expand(prim.constant(roots.astype(np.int32)[None]), shape)

    held: dict[int, prim.Tensor] = {}

    def looked_up(table: Array, place: prim.Tensor) -> prim.Tensor:
        constant = held.setdefault(id(table), prim.constant(table))  # one for all steps
        return prim.gather(constant, [place], shape, in_range=True)

    missing = bool((tables.asks & 1).any())
    for _ in range(steps):
        node = prim.cast(node, DType.INT64)
        asked = looked_up(tables.asks, node)
        feature = prim.apply("shift_right", asked, 1)
        value = prim.gather(x, [0, feature], shape, in_range=True)
        split = looked_up(tables.splits, node)
        holds = prim.apply("less_equal", value, split)
        if tables.exact is not None:
            holds = prim.where(looked_up(tables.exact, node), prim.apply("equal", value, split), holds)
        if tables.sets is not None:
            member = _is_member(value, node, tables.sets, looked_up)
            holds = prim.where(looked_up(tables.sets.asked, node), member, holds)
        if missing:
            sent = prim.apply("equal", prim.apply("and", asked, 1), 1)
            holds = prim.where(prim.apply("is_nan", value), sent, holds)
        node = looked_up(tables.children, node * 2 + prim.cast(holds, DType.INT64))
    return node


def _is_member(
    value: prim.Tensor, node: prim.Tensor, sets: _Sets, looked_up: Callable[[Array, prim.Tensor], prim.Tensor]
) -> prim.Tensor:
    start, low, high = (looked_up(table, node) for table in (sets.starts, sets.low, sets.high))
    number = prim.cast(value, DType.INT64)
    inside = prim.apply("and", prim.apply("less_equal", low, number), prim.apply("less_equal", number, high))
    held = looked_up(sets.held, prim.where(inside, start + (number - low), 0))
    return prim.apply("and", held, prim.apply("equal", prim.cast(number, value.dtype), value))
