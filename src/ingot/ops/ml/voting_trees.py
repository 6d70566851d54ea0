"""Trees as the deprecated operators spell them, by tree id and node id, made into a forest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ingot.dataclass import dataclass
from ingot.dtypes import Array
from ingot.errors import CheckError, UnsupportedError
from ingot.ir.tensor import Tensor
from ingot.ops.ml.forest import MEMBER, Forest, checked, modes_of

NODE_LISTS = (
    "nodes_treeids",
    "nodes_nodeids",
    "nodes_featureids",
    "nodes_truenodeids",
    "nodes_falsenodeids",
    "nodes_modes",
)


def numbers(floats: Sequence[float] | None, tensor: Tensor | None) -> Array:
    """A list of floats that may also be given as a tensor of doubles, in float64."""
    if tensor is not None:
        return tensor.numpy().reshape(-1).astype(np.float64)
    return np.array(floats or (), np.float64)


def set_attributes(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """The attributes that are set: neither None nor empty."""
    return {name: value for name, value in attributes.items() if value is not None and value != ()}


def as_floats(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """The attributes with lists of floats for tensors; UnsupportedError for a tensor of doubles that are no floats."""
    converted = dict(attributes)
    for name, value in attributes.items():
        if not isinstance(value, Tensor):
            continue
        exact = numbers(None, value)
        if not np.array_equal(exact.astype(np.float32), exact, equal_nan=True):
            raise UnsupportedError(f"'{name}' holds numbers that no float32 is, and came with version 3")
        converted |= {name: None, name.removesuffix("_as_tensor"): exact.tolist()}
    return converted


@dataclass(frozen=True, slots=True)
class Votes:
    """Which leaf, by tree and node, adds which weight to which target."""

    trees: Sequence[int]
    nodes: Sequence[int]
    targets: Sequence[int]
    weights: Array


def without_repeats(votes: Votes) -> Votes:
    """The votes but for those that say the same of the same leaf as the one before."""
    columns = [np.asarray(each) for each in (votes.trees, votes.nodes, votes.targets, votes.weights)]
    if len({len(column) for column in columns}) > 1 or not len(votes.weights):
        return votes  # which `forest_of` refuses
    is_new = np.ones(len(votes.weights), bool)
    is_new[1:] = np.any([column[1:] != column[:-1] for column in columns], axis=0)
    trees, nodes, targets, weights = (column[is_new] for column in columns)
    return votes if is_new.all() else Votes(trees.tolist(), nodes.tolist(), targets.tolist(), weights)


def forest_of(nodes: Mapping[str, Any], splits: Array, votes: Votes, n_targets: int) -> Forest:
    """The forest of these nodes (`nodes_*` attributes by name); a tree begins with the first node of its id.

    CheckError if lists differ in length, an id is named twice or not at all, or it is no forest. Votes of nodes that
    are no leaves are left out: old converters wrote some.
    """
    lists = {name: nodes[name] or () for name in NODE_LISTS}
    lengths = {name: len(items) for name, items in lists.items()} | {"nodes_values": len(splits)}
    if len(set(lengths.values())) > 1:
        raise CheckError(f"the lists of nodes differ in length: {lengths}")
    casts = {len(votes.trees), len(votes.nodes), len(votes.targets), len(votes.weights)}
    if len(casts) > 1:
        raise CheckError(f"the lists of votes differ in length: {sorted(casts)}")
    ids = _Ids(np.array(lists["nodes_treeids"], np.int64), np.array(lists["nodes_nodeids"], np.int64))
    modes = modes_of(lists["nodes_modes"])
    if (modes == MEMBER).any():
        raise CheckError("a node asks for membership, which this operator has no sets for")
    inner = modes >= 0
    place = np.where(inner, np.cumsum(inner) - 1, -np.cumsum(np.where(inner, 0, 1)))
    trees = np.array(lists["nodes_treeids"], np.int64)
    true, false = (
        place[ids.find(trees[inner], np.array(lists[name], np.int64)[inner])]
        for name in ("nodes_truenodeids", "nodes_falsenodeids")
    )
    missing = nodes["nodes_missing_value_tracks_true"] or [0] * len(trees)
    if len(missing) != len(trees):
        raise CheckError(f"nodes_missing_value_tracks_true has {len(missing)} numbers for {len(trees)} nodes")
    starts, targets, weights = _by_leaf(votes, ids, place, int((~inner).sum()))
    forest = Forest(
        roots=place[np.sort(np.unique(trees, return_index=True)[1])],
        features=np.array(lists["nodes_featureids"], np.int64)[inner],
        modes=modes[inner],
        splits=splits[inner],
        missing_true=np.array(missing, np.int64)[inner] != 0,
        true=true,
        false=false,
        starts=starts,
        targets=targets,
        weights=weights,
    )
    return checked(forest, n_targets)


class _Ids:
    """Positions of nodes by tree id and node id."""

    def __init__(self, trees: Array, nodes: Array) -> None:
        self._trees, tree_ranks = np.unique(trees, return_inverse=True)
        self._nodes, node_ranks = np.unique(nodes, return_inverse=True)
        codes = tree_ranks * len(self._nodes) + node_ranks
        self._order = np.argsort(codes, kind="stable")
        self._codes = codes[self._order]
        twice = np.flatnonzero(self._codes[1:] == self._codes[:-1])
        if twice.size:
            place = self._order[twice[0]]
            raise CheckError(f"tree {trees[place]} has two nodes {nodes[place]}")

    def find(self, trees: Array, nodes: Array) -> Array:
        """The positions of nodes; CheckError for one that is not there."""
        if not self._codes.size:
            if trees.size:
                raise CheckError(f"tree {trees[0]} has no node {nodes[0]}")
            return np.zeros(0, np.int64)
        tree = np.minimum(np.searchsorted(self._trees, trees), len(self._trees) - 1)
        node = np.minimum(np.searchsorted(self._nodes, nodes), len(self._nodes) - 1)
        codes = tree * len(self._nodes) + node
        index = np.minimum(np.searchsorted(self._codes, codes), len(self._codes) - 1)
        wrong = (self._trees[tree] != trees) | (self._nodes[node] != nodes) | (self._codes[index] != codes)
        if wrong.any():
            raise CheckError(f"tree {trees[wrong][0]} has no node {nodes[wrong][0]}")
        return self._order[index]


def _by_leaf(votes: Votes, ids: _Ids, place: Array, leaves: int) -> tuple[Array, Array, Array]:
    owner = place[ids.find(np.array(votes.trees, np.int64), np.array(votes.nodes, np.int64))]
    order = np.argsort(-1 - owner, kind="stable")
    order = order[owner[order] < 0]
    starts = np.searchsorted((-1 - owner)[order], np.arange(leaves + 1))
    return starts, np.array(votes.targets, np.int64)[order], votes.weights[order]
