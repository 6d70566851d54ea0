"""A forest of decision trees as flat arrays, and which leaf of each tree every row comes to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ingot.dataclass import dataclass
from ingot.dtypes import Array
from ingot.errors import CheckError, InputError
from ingot.ops.ml.rows import affordable, chunks

MODES = (
    "BRANCH_LEQ",
    "BRANCH_LT",
    "BRANCH_GTE",
    "BRANCH_GT",
    "BRANCH_EQ",
    "BRANCH_NEQ",
    "BRANCH_MEMBER",
)
"""Comparisons by their number; a node is true where the feature compares so with its split."""

MEMBER = MODES.index("BRANCH_MEMBER")
AGGREGATES = ("AVERAGE", "SUM", "MIN", "MAX")
"""What is done with the votes for a target, by its number."""


@dataclass(frozen=True, slots=True)
class Forest:
    """Inner nodes as parallel arrays; a child of `-1 - k` is leaf `k`, and so may a root be.

    Leaf `k` casts the votes `starts[k]` to `starts[k + 1]`: a weight for a target each.
    """

    roots: Array
    features: Array
    modes: Array
    splits: Array
    missing_true: Array
    true: Array
    false: Array
    starts: Array
    targets: Array
    weights: Array
    members: tuple[Array, ...] = ()
    """The set of each node that asks for membership, in the order of the nodes."""


def checked(forest: Forest, n_targets: int) -> Forest:
    """The forest, if it is one: CheckError for a child, a target or a mode out of range, and for a cycle."""
    nodes, leaves = len(forest.features), len(forest.starts) - 1
    for name in "modes", "splits", "missing_true", "true", "false":
        if len(getattr(forest, name)) != nodes:
            raise CheckError(f"there are {nodes} nodes, but {len(getattr(forest, name))} of their {name}")
    for name, ids in ("root", forest.roots), ("true branch", forest.true), ("false branch", forest.false):
        wrong = ids[(ids >= nodes) | (ids < -leaves)]
        if wrong.size:
            place = int(wrong[0])
            shown = f"leaf {-1 - place}" if place < 0 else f"node {place}"
            raise CheckError(f"a {name} leads to {shown}, of {nodes} nodes and {leaves} leaves")
    if forest.modes.size and not 0 <= int(forest.modes.min()) <= int(forest.modes.max()) < len(MODES):
        raise CheckError(f"the modes lie between {forest.modes.min()} and {forest.modes.max()}, outside 0 to 6")
    if forest.features.size and int(forest.features.min()) < 0:
        raise CheckError(f"a node asks for feature {forest.features.min()}")
    if forest.targets.size and not 0 <= int(forest.targets.min()) <= int(forest.targets.max()) < n_targets:
        shown = f"{forest.targets.min()} and {forest.targets.max()}"
        raise CheckError(f"the targets of leaves lie between {shown}, of {n_targets}")
    if int((forest.modes == MEMBER).sum()) != len(forest.members):
        asked = int((forest.modes == MEMBER).sum())
        raise CheckError(f"{asked} nodes ask for membership, {len(forest.members)} sets are given")
    _check_acyclic(forest)
    return forest


def aggregated(forest: Forest, x: Array, n_targets: int, aggregate: str) -> Array:
    """The votes of the leaves that each row of `x` comes to, put together for each target; float64.

    A target that no leaf votes for has zero. InputError if a row lacks a feature that a node asks for.
    """
    if aggregate not in AGGREGATES:
        raise CheckError(f"aggregate_function is '{aggregate}'", hint=f"one of {', '.join(AGGREGATES)}")
    if forest.features.size and int(forest.features.max()) >= x.shape[1]:
        raise InputError(f"a node asks for feature {forest.features.max()}, the input has {x.shape[1]}")
    affordable(len(x) * n_targets, 8)
    result = np.zeros((len(x), n_targets))
    most = int(np.diff(forest.starts).max(initial=1))
    for part in chunks(len(x), max(len(forest.roots) * most, n_targets)):
        row, vote = _votes(forest, _leaves(forest, x[part]))
        place = row * n_targets + forest.targets[vote]
        result[part] = _gathered(place, forest.weights[vote], result[part].size, aggregate).reshape(-1, n_targets)
    return result / max(1, len(forest.roots)) if aggregate == "AVERAGE" else result


def split_sets(values: Array) -> Iterator[Array]:
    """The sets that a list of members delimits with NaN."""
    ends = np.flatnonzero(np.isnan(values))
    start = 0
    for end in ends.tolist():
        yield values[start:end]
        start = end + 1
    if start < len(values):
        yield values[start:]


def modes_of(names: Sequence[str]) -> Array:
    """Modes as numbers, -1 for a leaf; CheckError for a name that is none."""
    numbers = {name: number for number, name in enumerate(MODES)} | {"LEAF": -1}
    unknown = sorted(set(names).difference(numbers))
    if unknown:
        raise CheckError(f"a node has mode '{unknown[0]}'", hint=f"one of {', '.join(numbers)}")
    return np.fromiter((numbers[name] for name in names), np.int64, len(names))


def _check_acyclic(forest: Forest) -> None:
    """Nodes are taken away once nothing leads to them; what cannot be taken away lies on a cycle or behind one."""
    inner = np.concatenate([forest.true, forest.false])
    waiting = np.bincount(inner[inner >= 0], minlength=len(forest.true))
    ready = np.flatnonzero(waiting == 0)
    visited = 0
    while ready.size:
        visited += ready.size
        children = np.concatenate([forest.true[ready], forest.false[ready]])
        children = children[children >= 0]
        np.subtract.at(waiting, children, 1)
        ready = np.unique(children[waiting[children] == 0])
    if visited < len(forest.true):
        raise CheckError(f"the branches of the trees form a cycle, through node {np.flatnonzero(waiting > 0)[0]}")


def _leaves(forest: Forest, x: Array) -> Array:
    """The leaf each row comes to in each tree, shape [rows, trees]; all rows go down all trees in step."""
    current = np.broadcast_to(forest.roots, (len(x), len(forest.roots))).reshape(-1).copy()
    rows = np.repeat(np.arange(len(x)), len(forest.roots))
    moving = np.flatnonzero(current >= 0)
    while moving.size:
        nodes = current[moving]
        values = x[rows[moving], forest.features[nodes]]
        current[moving] = np.where(_branches(forest, nodes, values), forest.true[nodes], forest.false[nodes])
        moving = moving[current[moving] >= 0]
    return (-1 - current).reshape(len(x), len(forest.roots))


def _branches(forest: Forest, nodes: Array, values: Array) -> Array:
    """Whether each value takes the true branch of its node; NaN goes where the node sends missing values."""
    modes, splits = forest.modes[nodes], forest.splits[nodes]
    used = np.unique(modes).tolist()
    answers = (_compare(forest, mode, nodes, values, splits) for mode in used)
    answer = next(answers) if len(used) == 1 else np.select([modes == mode for mode in used], list(answers))
    return np.where(np.isnan(values), forest.missing_true[nodes], answer)


def _compare(forest: Forest, mode: int, nodes: Array, values: Array, splits: Array) -> Array:
    match MODES[mode]:
        case "BRANCH_LEQ":
            return np.asarray(values <= splits)
        case "BRANCH_LT":
            return np.asarray(values < splits)
        case "BRANCH_GTE":
            return np.asarray(values >= splits)
        case "BRANCH_GT":
            return np.asarray(values > splits)
        case "BRANCH_EQ":
            return np.asarray(values == splits)
        case "BRANCH_NEQ":
            return np.asarray(values != splits)
    return _is_member(forest, nodes, values)


def _is_member(forest: Forest, nodes: Array, values: Array) -> Array:
    """Pairs of node and value are numbered, so that all sets are searched at once."""
    known = np.unique(np.concatenate([np.zeros(1), *forest.members]))
    asking = np.cumsum(forest.modes == MEMBER) - 1
    sets = np.repeat(np.arange(len(forest.members)), [len(members) for members in forest.members])
    pairs = sets * len(known) + np.searchsorted(known, np.concatenate(forest.members))
    place = np.minimum(np.searchsorted(known, values), len(known) - 1)
    return np.asarray(np.isin(asking[nodes] * len(known) + place, pairs) & (known[place] == values))


def _votes(forest: Forest, leaves: Array) -> tuple[Array, Array]:
    """Rows and the votes cast in them, one after another."""
    flat = leaves.reshape(-1)
    counts = forest.starts[flat + 1] - forest.starts[flat]
    rows = np.repeat(np.arange(len(leaves)), leaves.shape[1])
    before = np.cumsum(counts) - counts
    votes = np.arange(int(counts.sum())) + np.repeat(forest.starts[flat] - before, counts)
    return np.repeat(rows, counts), votes


def _gathered(place: Array, weights: Array, size: int, aggregate: str) -> Array:
    if aggregate in ("SUM", "AVERAGE"):
        return np.bincount(place, weights, size)
    extreme, start = (np.minimum, np.inf) if aggregate == "MIN" else (np.maximum, -np.inf)
    result = np.full(size, start)
    extreme.at(result, place, weights)
    return np.where(np.bincount(place, minlength=size) > 0, result, 0)
