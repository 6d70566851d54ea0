"""Decision trees as TreeEnsemble nodes, whatever library grew them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from ingot.builder import Var, op
from ingot.dtypes import Array
from ingot.ir.tensor import Tensor
from ingot.ops.ml.forest import MEMBER, MODES

LEQ, LT, GTE, EQ = (MODES.index(f"BRANCH_{name}") for name in ("LEQ", "LT", "GTE", "EQ"))


@dataclass(frozen=True, slots=True)
class Tree:
    """One tree: inner nodes as parallel arrays, the root first; a child of `-1 - k` is leaf `k`.

    A tree without inner nodes is its leaf 0. `values` are those of the leaves: one each, or a row each. `members` has
    the set of each node that asks for membership, by the node.
    """

    features: Array
    thresholds: Array
    modes: Array
    true: Array
    false: Array
    missing_true: Array
    values: Array
    members: dict[int, Array]


def tree(
    features: Any,
    thresholds: Any,
    true: Any,
    false: Any,
    values: Any,
    *,
    mode: int = LEQ,
    modes: Any = None,
    missing_true: Any = None,
    members: dict[int, Array] | None = None,
) -> Tree:
    """A tree from whatever can be made arrays."""
    asked = np.asarray(features, np.int64)
    count = len(asked)
    return Tree(
        asked,
        np.asarray(thresholds, np.float64),
        np.full(count, mode, np.uint8) if modes is None else np.asarray(modes, np.uint8),
        np.asarray(true, np.int64),
        np.asarray(false, np.int64),
        np.zeros(count, np.int64) if missing_true is None else np.asarray(missing_true, np.int64),
        np.asarray(values, np.float64),
        members or {},
    )


def grown(features: Any, thresholds: Any, left: Any, right: Any, is_leaf: Any, values: Any, **named: Any) -> Tree:
    """A tree from lists that hold leaves and inner nodes together, the root first."""
    leaf = np.asarray(is_leaf, bool)
    inner = np.flatnonzero(~leaf)
    place = np.empty(len(leaf), np.int64)
    place[inner] = np.arange(len(inner))
    place[leaf] = -1 - np.arange(int(leaf.sum()))
    members = named.pop("members", None) or {}
    picked: dict[str, Any] = {name: np.asarray(part)[inner] for name, part in named.items() if not np.isscalar(part)}
    picked |= {name: part for name, part in named.items() if np.isscalar(part)}
    return tree(
        np.asarray(features)[inner],
        np.asarray(thresholds)[inner],
        place[np.asarray(left)[inner]],
        place[np.asarray(right)[inner]],
        np.asarray(values)[leaf],
        members={int(place[node]): values for node, values in members.items()},
        **picked,
    )


def summed(x: Var, trees: Sequence[Tree], targets: Sequence[int], n_targets: int, dtype: Any) -> Var:
    """For each row the sum of the leaves it comes to, in each target: shape [batch, n_targets]; of type `dtype`.

    `targets` has the target that each tree adds to.
    """
    return _ensemble(x, trees, targets, [tree.values.reshape(-1) for tree in trees], n_targets, dtype)


def leaves(x: Var, trees: Sequence[Tree], dtype: Any) -> Var:
    """The number of the leaf that each row comes to in each tree, counted through all: int64 [batch, trees]."""
    starts = np.cumsum([0, *(len(tree.values) for tree in trees)])
    numbers = [np.arange(first, last) for first, last in pairwise(starts.tolist())]
    numbered = _ensemble(x, trees, range(len(trees)), numbers, len(trees), dtype)
    return op.Cast(numbered, to=7)


def summed_rows(x: Var, trees: Sequence[Tree], dtype: Any) -> Var:
    """For each row the sum of the rows of values of the leaves it comes to: shape [batch, values]."""
    table = np.concatenate([tree.values for tree in trees]).astype(dtype)
    return op.ReduceSum(op.Gather(table, leaves(x, trees, dtype), axis=0), [1], keepdims=0)


def _ensemble(
    x: Var, trees: Sequence[Tree], targets: Sequence[int], weights: Sequence[Array], n_targets: int, dtype: Any
) -> Var:
    real = np.dtype(dtype)
    whole = [_with_root(tree) for tree in trees]
    nodes = np.cumsum([0, *(len(tree.features) for tree in whole)])
    ends = np.cumsum([0, *(len(tree.values) for tree in whole)])
    true, false = (
        np.concatenate([_moved(getattr(tree, side), node, leaf) for tree, node, leaf in _with(whole, nodes, ends)])
        for side in ("true", "false")
    )
    members = [tree.members[at] for tree in whole for at in np.flatnonzero(tree.modes == MEMBER).tolist()]
    modes = np.concatenate([tree.modes for tree in whole])
    attributes: dict[str, Any] = {} if not members else {"membership_values": Tensor(_delimited(members, real))}
    scores: Var = op.domain("ai.onnx.ml").TreeEnsemble(
        x,
        tree_roots=nodes[:-1].tolist(),
        n_targets=n_targets,
        aggregate_function=1,
        post_transform=0,
        nodes_featureids=np.concatenate([tree.features for tree in whole]).tolist(),
        nodes_splits=Tensor(_splits(np.concatenate([tree.thresholds for tree in whole]), modes, real)),
        nodes_modes=Tensor(modes.astype(np.uint8)),
        nodes_truenodeids=np.where(true < 0, -1 - true, true).tolist(),
        nodes_falsenodeids=np.where(false < 0, -1 - false, false).tolist(),
        nodes_trueleafs=(true < 0).astype(int).tolist(),
        nodes_falseleafs=(false < 0).astype(int).tolist(),
        nodes_missing_value_tracks_true=np.concatenate([tree.missing_true for tree in whole]).tolist(),
        leaf_targetids=[target for target, tree in zip(targets, whole, strict=True) for _ in tree.values],
        leaf_weights=Tensor(np.concatenate([np.asarray(part) for part in weights]).astype(real)),
        **attributes,
    )
    return scores


def _with(trees: Sequence[Tree], nodes: Array, ends: Array) -> list[tuple[Tree, int, int]]:
    return list(zip(trees, nodes[:-1].tolist(), ends[:-1].tolist(), strict=True))


def _moved(children: Array, node: int, leaf: int) -> Array:
    return np.where(children < 0, children - leaf, children + node)


def _with_root(grown_tree: Tree) -> Tree:
    """A tree with an inner node at least: one that leads to the single leaf on either side."""
    if len(grown_tree.features):
        return grown_tree
    return tree([0], [0.0], [-1], [-1], grown_tree.values)


def _splits(thresholds: Array, modes: Array, real: np.dtype[Any]) -> Array:
    """Thresholds in the type of the features, so rounded that those of that type decide as they did."""
    rounded = thresholds.astype(real)
    if real == np.float64:
        return rounded
    with np.errstate(over="ignore", invalid="ignore"):
        up, down = rounded.astype(np.float64) > thresholds, rounded.astype(np.float64) < thresholds
    lower = np.isin(modes, [LEQ])  # x <= t holds for the same numbers as x <= the next one below
    higher = np.isin(modes, [LT, GTE])
    rounded = np.where(up & lower, np.nextafter(rounded, real.type(-np.inf)), rounded)
    return np.where(down & higher, np.nextafter(rounded, real.type(np.inf)), rounded).astype(real)


def _delimited(members: Sequence[Array], real: np.dtype[Any]) -> Array:
    end = np.array([np.nan])
    return np.concatenate([part for values in members for part in (np.asarray(values, np.float64), end)]).astype(real)
