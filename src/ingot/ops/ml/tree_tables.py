"""Forests as the tables of `prim.descent`: nodes as records in pairs, and their votes."""

from __future__ import annotations

from typing import Any

import numpy as np

from ingot import prim
from ingot.dataclass import dataclass
from ingot.dtypes import Array, DType
from ingot.ops.ml.comparisons import Comparisons, comparisons, intervals
from ingot.ops.ml.forest import Forest
from ingot.ops.ml.leaf_bits import leaf_bits
from ingot.prim.descent import TOGETHER, UNIT, Trees
from ingot.prim.tensor import Refused

_MOST_VOTES = 1 << 26
"""Of nodes by targets, where leaves vote for several."""

IDENTITY = {"add": 0.0, "minimum": np.inf, "maximum": -np.inf}
"""What a leaf votes that does not vote."""


def trees_of(forest: Forest, features: int, n_targets: int, function: str, key: DType) -> Trees:
    """The tables of a forest that is asked about so many features, with its votes reduced by a function.

    Refused where they would be too large.
    """
    asked = intervals(forest, key)
    tests = comparisons(asked, key)
    missing = tuple(sorted({bool(each) for each in (*tests.missing, *asked.nodes.missing)})) or (False,)
    slots, own_slots = (
        each.features + np.where(each.missing & (len(missing) > 1), features, 0) for each in (tests, asked.nodes)
    )
    records = _records(tests)
    nodes, wide, shift = _nodes(tests, records, slots, features * len(missing), key)
    cast = _votes(forest, n_targets, function)
    targets, by_leaf = _targets(cast, records, n_targets)
    votes = _narrow(_by_record(cast.weights, records, IDENTITY[function]))
    filled = -(-len(forest.roots) // TOGETHER) * TOGETHER
    roots = np.zeros(filled, np.int32)
    roots[: len(forest.roots)] = records.roots
    in_one = by_leaf or (targets is None and n_targets > 1)
    bits = leaf_bits(asked, own_slots * UNIT, key, None if in_one else cast.weights[:, 0], records.place_of_leaf)
    return Trees(
        key,
        missing,
        prim.constant(nodes),
        wide,
        shift,
        prim.constant(roots),
        prim.constant(votes),
        None if targets is None else prim.constant(_filled(targets, filled)),
        by_leaf,
        len(forest.roots),
        records.steps,
        bits,
    )


@dataclass(frozen=True, slots=True)
class _Records:
    """The order of nodes in memory: two by two those behind a comparison, tree by tree and level by level.

    `holds` is for each record the node or leaf in it, as in `Comparisons`; the first two, and those behind roots, are
    `nothing`, a leaf that never votes. `pairs` is where the two behind each node are.
    """

    held: Array
    pairs: Array
    roots: Array
    trees: Array
    steps: int
    shared: bool
    """Whether trees have nodes in common."""
    place_of_leaf: Array
    """A record of each leaf."""


def _records(tests: Comparisons) -> _Records:
    count, trees = len(tests.keys), len(tests.roots)
    level_of, tree_of = np.full(count, -1), np.full(count, -1)
    owners, nodes, level = np.arange(trees), tests.roots, 0
    shared, leaves, depths = False, 0, 0
    while True:
        inner = nodes >= 0
        leaves, depths = leaves + int((~inner).sum()), depths + level * int((~inner).sum())
        owners, nodes = owners[inner], nodes[inner]
        fresh = level_of[nodes] < 0
        shared = shared or not fresh.all()
        nodes, first = np.unique(nodes[fresh], return_index=True)
        owners = owners[fresh][first]
        if not nodes.size:
            break
        level_of[nodes], tree_of[nodes] = level, owners
        nodes, owners = np.concatenate([tests.fails[nodes], tests.holds[nodes]]), np.tile(owners, 2)
        level += 1
    reached = np.flatnonzero(level_of >= 0)
    order = np.lexsort(
        (np.concatenate([np.full(trees, -1), level_of[reached]]), np.concatenate([np.arange(trees), tree_of[reached]]))
    )
    place = np.empty(len(order), np.int64)
    place[order] = 2 + 2 * np.arange(len(order))
    roots, pairs = place[:trees], np.zeros(count, np.int64)
    pairs[reached] = place[trees:]
    nothing = min([0, *tests.roots.tolist()], default=0)
    nothing = int(min(nothing, tests.holds.min(initial=0), tests.fails.min(initial=0))) - 1
    held = np.full(2 + 2 * len(order), nothing)
    owner = np.zeros(len(held), np.int64)
    held[roots], owner[roots] = tests.roots, np.arange(trees)
    for after, children in enumerate((tests.fails, tests.holds)):
        held[pairs[reached] + after], owner[pairs[reached] + after] = children[reached], tree_of[reached]
    place_of_leaf = np.zeros(-nothing, np.int64)
    at = np.flatnonzero(held < 0)
    place_of_leaf[-1 - held[at]] = at
    return _Records(held, pairs, roots, owner, max(1, round(depths / max(1, leaves))), shared, place_of_leaf)


def _nodes(tests: Comparisons, records: _Records, slots: Array, n_slots: int, key: DType) -> tuple[Array, bool, int]:
    """The records of nodes, whether they are wide, and the bits of slots in them."""
    inner = np.flatnonzero(records.held >= 0)
    nodes = records.held[inner]
    keys = np.full(len(records.held), np.iinfo(key.numpy).min, np.int64)
    links, offsets = np.arange(len(records.held)), np.zeros(len(records.held), np.int64)
    keys[inner], links[inner], offsets[inner] = tests.keys[nodes], records.pairs[nodes], slots[nodes] * UNIT
    shift = max(1, (n_slots * UNIT - 1).bit_length())
    if key is DType.INT32 and shift < 32 and len(records.held) < 1 << (32 - shift):
        return (links << shift | offsets) << 32 | (keys & 0xFFFFFFFF), False, shift
    return np.stack([keys, links << 32 | offsets], axis=1), True, 32


@dataclass(frozen=True, slots=True)
class _Cast:
    """The votes of each leaf: a row of weights for all targets, or one weight for a target, -1 if it does not vote."""

    weights: Array
    targets: Array | None


def _votes(forest: Forest, n_targets: int, function: str) -> _Cast:
    leaves = len(forest.starts) - 1
    voting = np.repeat(np.arange(leaves), np.diff(forest.starts))
    pairs, which = np.unique(voting * n_targets + forest.targets, return_inverse=True)
    weights = np.full(len(pairs), IDENTITY[function])
    reduce: Any = {"add": np.add, "minimum": np.minimum, "maximum": np.maximum}[function]
    reduce.at(weights, which.reshape(-1), forest.weights)
    owner, target = pairs // n_targets, pairs % n_targets
    if len(np.unique(owner)) == len(owner):
        single = np.full((leaves, 1), IDENTITY[function])
        targets = np.full(leaves, -1)
        single[owner, 0], targets[owner] = weights, target
        return _Cast(single, targets)
    if 2 * leaves * n_targets > _MOST_VOTES:
        raise Refused(f"{leaves:,} leaves that vote for several of {n_targets:,} targets")
    rows = np.full((leaves, n_targets), IDENTITY[function])
    rows[owner, target] = weights
    return _Cast(rows, None)


def _targets(cast: _Cast, records: _Records, n_targets: int) -> tuple[Array | None, bool]:
    """The target of each tree, if each has one; else of each record; None if leaves vote for all, or there is one."""
    if n_targets == 1 or cast.targets is None:
        return None, False
    own = _by_record(cast.targets[:, None], records, -1)[:, 0]
    voting = own >= 0
    low, high = np.full(len(records.roots), n_targets), np.full(len(records.roots), -1)
    np.minimum.at(low, records.trees[voting], own[voting])
    np.maximum.at(high, records.trees[voting], own[voting])
    if records.shared or (low < high).any():
        return np.maximum(own, 0).astype(np.int32), True
    return np.maximum(high, 0).astype(np.int32), False


def _by_record(rows: Array, records: _Records, nothing: Any) -> Array:
    """The row of the leaf in each record, `nothing` where there is none."""
    table = np.full((len(records.held), rows.shape[1]), nothing, rows.dtype)
    leaf = -1 - records.held
    voting = np.flatnonzero((leaf >= 0) & (leaf < len(rows)))
    table[voting] = rows[leaf[voting]]
    return table


def _narrow(weights: Array) -> Array:
    """Weights as float32, if each of them is one."""
    with np.errstate(over="ignore", invalid="ignore"):
        narrow = weights.astype(np.float32)
    return narrow if np.array_equal(narrow.astype(np.float64), weights, equal_nan=True) else weights


def _filled(targets: Array, least: int) -> Array:
    return np.concatenate([targets, np.zeros(max(0, least - len(targets)), targets.dtype)])
