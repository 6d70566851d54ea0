"""A forest written as the attributes of TreeEnsemble, for models that have the deprecated operators."""

from __future__ import annotations

from typing import Any

import numpy as np

from ingot.dtypes import DType
from ingot.ir.tensor import Tensor
from ingot.ir.types import TensorType
from ingot.ir.value import Value
from ingot.ops.ml.forest import AGGREGATES, Forest


def raw_scores(op: Any, x: Value, forest: Forest, n_targets: int, aggregate: str, *, wide: bool) -> Any | None:
    """TreeEnsemble of the forest, as float32; None where it cannot express it.

    TreeEnsemble takes two axes, one vote a leaf, and floats whose type its splits share: `wide` if those are doubles.
    """
    votes = np.diff(forest.starts)
    if not isinstance(x.type, TensorType) or x.type.rank != 2 or x.type.dtype is DType.UNDEFINED:
        return None
    if (votes > 1).any() or ((votes == 0).any() and aggregate in ("MIN", "MAX")):
        return None
    wide = wide or x.type.dtype is not DType.FLOAT32
    features = op.Cast(x, to=int(DType.FLOAT64)) if wide and x.type.dtype is not DType.FLOAT64 else x
    scores = op.domain("ai.onnx.ml").TreeEnsemble(
        features,
        n_targets=n_targets,
        aggregate_function=AGGREGATES.index(aggregate),
        **_attributes(forest, votes, np.dtype(np.float64 if wide else np.float32)),
    )
    return op.Cast(scores, to=int(DType.FLOAT32)) if wide else scores


def _attributes(forest: Forest, votes: Any, dtype: np.dtype[Any]) -> dict[str, Any]:
    """Inner nodes as they are, and one more for each tree that is a leaf, with both branches to it."""
    alone = forest.roots[forest.roots < 0]
    nodes = len(forest.features)
    zeros = np.zeros(len(alone))
    true, false = (np.concatenate([side, alone]) for side in (forest.true, forest.false))
    roots = forest.roots.copy()
    roots[roots < 0] = nodes + np.arange(len(alone))
    one = votes == 1
    weights, targets = np.zeros(len(votes), dtype), np.zeros(len(votes), np.int64)
    weights[one], targets[one] = forest.weights, forest.targets
    return {
        "tree_roots": roots.tolist(),
        "nodes_featureids": np.concatenate([forest.features, zeros]).astype(np.int64).tolist(),
        "nodes_modes": Tensor(np.concatenate([forest.modes, zeros]).astype(np.uint8)),
        "nodes_splits": Tensor(np.concatenate([forest.splits, zeros]).astype(dtype)),
        "nodes_missing_value_tracks_true": np.concatenate([forest.missing_true, zeros]).astype(np.int64).tolist(),
        "nodes_trueleafs": (true < 0).astype(np.int64).tolist(),
        "nodes_truenodeids": np.where(true < 0, -1 - true, true).tolist(),
        "nodes_falseleafs": (false < 0).astype(np.int64).tolist(),
        "nodes_falsenodeids": np.where(false < 0, -1 - false, false).tolist(),
        "leaf_targetids": targets.tolist(),
        "leaf_weights": Tensor(weights),
    }
