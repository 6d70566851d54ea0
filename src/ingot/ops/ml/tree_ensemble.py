"""TreeEnsemble: decision trees whose leaves vote for targets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, TypeAlias

import numpy as np

from ingot import prim
from ingot.dtypes import Array
from ingot.errors import CheckError, ShapeError
from ingot.ir.tensor import Tensor
from ingot.ir.types import TensorType
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.ml import descent, lower_scores
from ingot.ops.ml.forest import AGGREGATES, Forest, aggregated, checked, split_sets
from ingot.ops.ml.post_transform import NAMES, transformed
from ingot.ops.shapes import require_rank
from ingot.ops.typesets import FLOATS_3, types

T: TypeAlias = Annotated[Array, types("T", FLOATS_3)]


@operator("TreeEnsemble", since=5, domain="ai.onnx.ml")
def tree_ensemble(
    x: T,
    /,
    *,
    leaf_targetids: Sequence[int],
    leaf_weights: Tensor,
    nodes_falseleafs: Sequence[int],
    nodes_falsenodeids: Sequence[int],
    nodes_featureids: Sequence[int],
    nodes_modes: Tensor,
    nodes_splits: Tensor,
    nodes_trueleafs: Sequence[int],
    nodes_truenodeids: Sequence[int],
    tree_roots: Sequence[int],
    aggregate_function: int = 1,
    membership_values: Tensor | None = None,
    n_targets: int | None = None,
    nodes_hitrates: Tensor | None = None,
    nodes_missing_value_tracks_true: Sequence[int] | None = None,
    post_transform: int = 0,
) -> T:
    """Each row of `x` goes down every tree; the weights of the leaves it comes to are put together for each target.

    A node compares one feature with its split, or asks whether it is in a set; NaN takes the branch the node names
    for missing values. Branches that lead in a circle or nowhere are refused.
    """
    attributes = dict(locals())
    if x.ndim != 2:
        raise ShapeError(f"the input has {x.ndim} axes, expected 2")
    forest, targets = forest_of_nodes(attributes)
    aggregate, transform = names_of(aggregate_function, post_transform)
    return transformed(aggregated(forest, x.astype(np.float64), targets, aggregate), transform).astype(x.dtype)


@tree_ensemble.infer
def infer(
    x: Fact,
    /,
    *,
    leaf_targetids: Sequence[int],
    n_targets: int | None,
    aggregate_function: int,
    post_transform: int,
    **_: object,
) -> Inferred:
    require_rank(x, 2, "the input")
    names_of(aggregate_function, post_transform)
    rows = x.shape[0] if x.shape else None
    return None if x.dtype is None else TensorType(x.dtype, (rows, _targets(n_targets, leaf_targetids)))


@tree_ensemble.lower
def lower(x: prim.Tensor, /, *, aggregate_function: int, post_transform: int, **attributes: Any) -> prim.Tensor:
    forest, targets = forest_of_nodes(attributes)
    aggregate, transform = names_of(aggregate_function, post_transform)
    return prim.cast(lower_scores.transformed(descent.scores(x, forest, targets, aggregate), transform), x.dtype)


def forest_of_nodes(attributes: Mapping[str, Any]) -> tuple[Forest, int]:
    """The forest in the attributes of a node, and its number of targets; CheckError if it is none."""
    true, false, true_leaf, false_leaf = (
        attributes[f"nodes_{name}"] for name in ("truenodeids", "falsenodeids", "trueleafs", "falseleafs")
    )
    members = attributes["membership_values"]
    targets = _targets(attributes["n_targets"], attributes["leaf_targetids"])
    nodes = len(attributes["nodes_featureids"])
    forest = Forest(
        roots=_roots(attributes["tree_roots"], true, false, true_leaf, false_leaf),
        features=np.array(attributes["nodes_featureids"], np.int64),
        modes=attributes["nodes_modes"].numpy().reshape(-1).astype(np.int64),
        splits=_floats(attributes["nodes_splits"]),
        missing_true=np.array(attributes["nodes_missing_value_tracks_true"] or [0] * nodes, np.int64) != 0,
        true=_children(true, true_leaf),
        false=_children(false, false_leaf),
        starts=np.arange(len(attributes["leaf_targetids"]) + 1),
        targets=np.array(attributes["leaf_targetids"], np.int64),
        weights=_floats(attributes["leaf_weights"]),
        members=() if members is None else tuple(split_sets(_floats(members))),
    )
    if len(forest.weights) != len(forest.targets):
        raise CheckError(f"there are {len(forest.targets)} targets of leaves and {len(forest.weights)} weights")
    return checked(forest, targets), targets


def _targets(n_targets: int | None, targets: Sequence[int]) -> int:
    count = n_targets if n_targets is not None else max(targets, default=0) + 1
    if count < 1:
        raise CheckError(f"n_targets is {count}, expected at least 1")
    return count


def names_of(aggregate: int, transform: int) -> tuple[str, str]:
    """What is done with votes and with scores; CheckError for a number that stands for nothing."""
    if not 0 <= aggregate < len(AGGREGATES):
        raise CheckError(f"aggregate_function is {aggregate}, expected 0 to {len(AGGREGATES) - 1}")
    if not 0 <= transform < len(NAMES):
        raise CheckError(f"post_transform is {transform}, expected 0 to {len(NAMES) - 1}")
    return AGGREGATES[aggregate], NAMES[transform]


def _roots(
    roots: Sequence[int], true: Sequence[int], false: Sequence[int], true_leaf: Sequence[int], false_leaf: Sequence[int]
) -> Array:
    """Where the trees begin; a tree that is one leaf is a node with both branches to it, which is a tree as any."""
    lengths = {len(true), len(false), len(true_leaf), len(false_leaf)}
    if len(lengths) > 1:
        raise CheckError(f"the lists of branches differ in length: {sorted(lengths)}")
    indices = np.array(roots, np.int64)
    if indices.size and int(indices.min()) < 0:
        raise CheckError(f"a tree begins at node {indices.min()}")
    return indices


def _children(ids: Sequence[int], leaf: Sequence[int]) -> Array:
    indices = np.array(ids, np.int64)
    if indices.size and int(indices.min()) < 0:
        raise CheckError(f"a branch leads to {indices.min()}")
    return np.where(np.array(leaf, np.int64) != 0, -1 - indices, indices)


def _floats(tensor: Tensor) -> Array:
    return tensor.numpy().reshape(-1).astype(np.float64)
