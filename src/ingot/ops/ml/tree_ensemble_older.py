"""TreeEnsemble as TreeEnsembleRegressor, which came before it: trees written node by node, leaves among them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ingot.dataclass import dataclass
from ingot.dtypes import DType
from ingot.errors import UnsupportedError
from ingot.ir.value import Value
from ingot.ops.ml.forest import MEMBER, MODES, Forest
from ingot.ops.ml.tree_ensemble import forest_of_nodes, names_of, tree_ensemble
from ingot.ops.older import dtype_of

_GROWTH = 16
"""How many times as many nodes the older form may have: a set takes a node a member, each with its own branch."""


@tree_ensemble.downgrade
def downgrade(op: Any, x: Value, /, *, aggregate_function: int, post_transform: int, **attributes: Any) -> Any:
    dtype = dtype_of(x)
    if dtype is DType.FLOAT64:
        raise UnsupportedError("trees that answer in float64 came with version 5, older ones answer in float32")
    forest, targets = forest_of_nodes(attributes)
    aggregate, transform = names_of(aggregate_function, post_transform)
    rows = x if dtype is DType.FLOAT32 else op.Cast(x, to=int(DType.FLOAT32))
    scores = op.domain("ai.onnx.ml").TreeEnsembleRegressor(
        rows, n_targets=targets, aggregate_function=aggregate, post_transform=transform, **_attributes(forest)
    )
    return scores if dtype is DType.FLOAT32 else op.Cast(scores, to=int(dtype))


@dataclass(frozen=True, slots=True)
class _Node:
    """A node of a tree by its id, and where its branches lead; a leaf has its number instead."""

    tree: int
    id: int
    mode: str = "LEAF"
    feature: int = 0
    split: float = 0.0
    missing_true: int = 0
    true: int = 0
    false: int = 0
    leaf: int | None = None


def _attributes(forest: Forest) -> dict[str, Any]:
    nodes: list[_Node] = []
    most = _GROWTH * (2 * len(forest.features) + len(forest.roots))
    for tree, root in enumerate(forest.roots.tolist()):
        for node in _nodes(forest, tree, root):
            nodes.append(node)
            if len(nodes) > most:
                raise UnsupportedError(f"written out, {len(forest.features):,} nodes would become more than {most:,}")
    leaves = [(node, node.leaf) for node in nodes if node.leaf is not None]
    return {
        "nodes_treeids": [node.tree for node in nodes],
        "nodes_nodeids": [node.id for node in nodes],
        "nodes_modes": [node.mode for node in nodes],
        "nodes_featureids": [node.feature for node in nodes],
        "nodes_values": [node.split for node in nodes],
        "nodes_missing_value_tracks_true": [node.missing_true for node in nodes],
        "nodes_truenodeids": [node.true for node in nodes],
        "nodes_falsenodeids": [node.false for node in nodes],
        "target_treeids": [node.tree for node, _ in leaves],
        "target_nodeids": [node.id for node, _ in leaves],
        "target_ids": [int(forest.targets[leaf]) for _, leaf in leaves],
        "target_weights": [float(forest.weights[leaf]) for _, leaf in leaves],
    }


def _nodes(forest: Forest, tree: int, root: int) -> Iterator[_Node]:
    """The nodes of a tree, its root first; what two branches lead to is there twice.

    A node that asks for membership becomes one for each member: each true where it is equal, else on to the next.
    """
    asking = np.cumsum(forest.modes == MEMBER) - 1
    waiting = [(root, 0)]
    count = 1
    while waiting:
        place, own = waiting.pop()
        if place < 0:
            yield _Node(tree, own, leaf=-1 - place)
            continue
        mode, splits = MODES[forest.modes[place]], [float(forest.splits[place])]
        if forest.modes[place] == MEMBER:
            mode, splits = "BRANCH_EQ", forest.members[asking[place]].tolist() or [np.nan]
        feature, missing = int(forest.features[place]), int(forest.missing_true[place])
        for split in splits:
            true, false = count, count + 1
            count += 2
            yield _Node(tree, own, mode, feature, split, missing, true, false)
            waiting.append((int(forest.true[place]), true))
            own = false
        waiting.append((int(forest.false[place]), own))
