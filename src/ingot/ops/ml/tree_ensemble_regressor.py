"""TreeEnsembleRegressor, deprecated: decision trees whose leaves cast any number of votes.

It becomes TreeEnsemble where that can express it; where a leaf votes more than once, it cannot, and the operator stays.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np

from ingot import prim
from ingot.dtypes import Array, DType
from ingot.errors import CheckError
from ingot.ir.tensor import Tensor
from ingot.ir.types import TensorType
from ingot.ir.value import Value
from ingot.ops.define import Since, operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.ml import descent, lower_scores
from ingot.ops.ml.element_types import Float32, Numbers
from ingot.ops.ml.forest import Forest, aggregated
from ingot.ops.ml.post_transform import checked, transformed
from ingot.ops.ml.rows import as_rows, row_count
from ingot.ops.ml.tree_ensemble_attributes import raw_scores
from ingot.ops.ml.voting_trees import Votes, as_floats, forest_of, numbers, set_attributes, without_repeats


def _regressor(
    x: Numbers,
    /,
    *,
    aggregate_function: str = "SUM",
    base_values: Sequence[float] | None = None,
    base_values_as_tensor: Annotated[Tensor | None, Since(3)] = None,
    n_targets: int | None = None,
    nodes_falsenodeids: Sequence[int] | None = None,
    nodes_featureids: Sequence[int] | None = None,
    nodes_hitrates: Sequence[float] | None = None,
    nodes_hitrates_as_tensor: Annotated[Tensor | None, Since(3)] = None,
    nodes_missing_value_tracks_true: Sequence[int] | None = None,
    nodes_modes: Sequence[str] | None = None,
    nodes_nodeids: Sequence[int] | None = None,
    nodes_treeids: Sequence[int] | None = None,
    nodes_truenodeids: Sequence[int] | None = None,
    nodes_values: Sequence[float] | None = None,
    nodes_values_as_tensor: Annotated[Tensor | None, Since(3)] = None,
    post_transform: str = "NONE",
    target_ids: Sequence[int] | None = None,
    target_nodeids: Sequence[int] | None = None,
    target_treeids: Sequence[int] | None = None,
    target_weights: Sequence[float] | None = None,
    target_weights_as_tensor: Annotated[Tensor | None, Since(3)] = None,
) -> Float32:
    """Each row goes down every tree; the votes of the leaves it comes to are put together for each target.

    Base values are added then, and the scores transformed. Leaves may cast several votes, which is why this operator
    is still evaluated: TreeEnsemble has one.
    """
    attributes = dict(locals())
    targets = target_count(n_targets, target_ids)
    scores = aggregated(
        forest_of_targets(attributes, targets), as_rows(x).astype(np.float64), targets, aggregate_function
    )
    base = numbers(base_values, base_values_as_tensor)
    return transformed(scores + base_of_targets(base, targets), post_transform).astype(np.float32)


tree_ensemble_regressor = operator("TreeEnsembleRegressor", since=5, domain="ai.onnx.ml", deprecated=True)(_regressor)
tree_ensemble_regressor_3 = operator("TreeEnsembleRegressor", since=(1, 3), domain="ai.onnx.ml")(_regressor)


@tree_ensemble_regressor.infer
@tree_ensemble_regressor_3.infer
def infer(
    x: Fact, /, *, n_targets: int | None, target_ids: Sequence[int] | None, post_transform: str, **_: object
) -> Inferred:
    checked(post_transform)
    return TensorType(DType.FLOAT32, (row_count(x), target_count(n_targets, target_ids)))


@tree_ensemble_regressor.lower
def lower(
    x: prim.Tensor,
    /,
    *,
    aggregate_function: str,
    n_targets: int | None,
    target_ids: Sequence[int] | None,
    post_transform: str,
    **attributes: Any,
) -> prim.Tensor:
    targets = target_count(n_targets, target_ids)
    forest = forest_of_targets({**attributes, "target_ids": target_ids}, targets)
    base = base_of_targets(numbers(attributes["base_values"], attributes["base_values_as_tensor"]), targets)
    scores = descent.scores(descent.rows_of(x), forest, targets, aggregate_function) + prim.constant(base[None])
    return prim.cast(lower_scores.transformed(scores, post_transform), DType.FLOAT32)


@tree_ensemble_regressor.downgrade
def downgrade(op: Any, x: Value, /, **attributes: Any) -> Any:
    return op.domain("ai.onnx.ml").TreeEnsembleRegressor(x, **set_attributes(attributes))


@tree_ensemble_regressor_3.downgrade
def downgrade_3(op: Any, x: Value, /, **attributes: Any) -> Any:
    return op.domain("ai.onnx.ml").TreeEnsembleRegressor(x, **set_attributes(as_floats(attributes)))


@tree_ensemble_regressor_3.upgrade
def upgrade(op: Any, x: Value, /, **attributes: Any) -> Any:
    targets = target_count(attributes["n_targets"], attributes["target_ids"])
    transform = checked(attributes["post_transform"])
    if transform in ("NONE", "LOGISTIC", "SOFTMAX"):
        wide = attributes["nodes_values_as_tensor"] is not None or attributes["target_weights_as_tensor"] is not None
        forest = forest_of_targets(attributes, targets)
        scores = raw_scores(op, x, forest, targets, attributes["aggregate_function"], wide=wide)
        if scores is not None:
            base = base_of_targets(numbers(attributes["base_values"], attributes["base_values_as_tensor"]), targets)
            if base.any():
                scores = op.Add(scores, base.astype(np.float32))
            if transform == "NONE":
                return scores
            return op.Sigmoid(scores) if transform == "LOGISTIC" else op.Softmax(scores, axis=-1)
    return op.domain("ai.onnx.ml").TreeEnsembleRegressor(x, **set_attributes(attributes))


def forest_of_targets(attributes: dict[str, Any], n_targets: int) -> Forest:
    """The forest in the attributes of a node; CheckError if it is none.

    Where there is one target, a vote that repeats the one before it is left out, as in onnxruntime: skl2onnx writes
    the place of a leaf as often as there are classes.
    """
    weights = numbers(attributes["target_weights"], attributes["target_weights_as_tensor"])
    trees, nodes, targets = (attributes[f"target_{name}"] or () for name in ("treeids", "nodeids", "ids"))
    splits = numbers(attributes["nodes_values"], attributes["nodes_values_as_tensor"])
    votes = Votes(trees, nodes, targets, weights)
    return forest_of(attributes, splits, without_repeats(votes) if n_targets == 1 else votes, n_targets)


def target_count(n_targets: int | None, target_ids: Sequence[int] | None) -> int:
    """The number of targets: the attribute, or else as many as the leaves vote for."""
    count = n_targets if n_targets is not None else max(target_ids or (0,)) + 1
    if count < 1:
        raise CheckError(f"n_targets is {count}, expected at least 1")
    return count


def base_of_targets(base: Array, targets: int) -> Array:
    """What is added to the votes; CheckError if it fits not the targets."""
    if len(base) not in (0, 1, targets):
        raise CheckError(f"there are {len(base)} base values for {targets} targets")
    return base if len(base) else np.zeros(1)
