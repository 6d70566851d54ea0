"""TreeEnsembleClassifier, deprecated: decision trees whose leaves vote for classes.

It becomes TreeEnsemble and ArgMax where these can express it; where a leaf votes more than once, they cannot, and the
operator stays.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, TypeAlias

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
from ingot.ops.ml.element_types import NUMBERS, Float32, Label
from ingot.ops.ml.forest import Forest, aggregated
from ingot.ops.ml.labels import either, label_array, label_type
from ingot.ops.ml.post_transform import checked, transformed, two_classes
from ingot.ops.ml.rows import as_rows, row_count
from ingot.ops.ml.tree_ensemble_attributes import raw_scores
from ingot.ops.ml.voting_trees import Votes, as_floats, forest_of, numbers, set_attributes
from ingot.ops.typesets import types

T1: TypeAlias = Annotated[Array, types("T1", NUMBERS)]


def _classifier(
    x: T1,
    /,
    *,
    base_values: Sequence[float] | None = None,
    base_values_as_tensor: Annotated[Tensor | None, Since(3)] = None,
    class_ids: Sequence[int] | None = None,
    class_nodeids: Sequence[int] | None = None,
    class_treeids: Sequence[int] | None = None,
    class_weights: Sequence[float] | None = None,
    class_weights_as_tensor: Annotated[Tensor | None, Since(3)] = None,
    classlabels_int64s: Sequence[int] | None = None,
    classlabels_strings: Sequence[str] | None = None,
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
) -> tuple[Label, Float32]:
    """The class with the most weight of votes, base values included, in each row, and the weights, transformed.

    Where all votes are for one of two classes, they score the second: the first has the complement to one if no
    weight is negative, else the opposite. A lone label, or else 0 or an empty string, is chosen by its score's sign.
    """
    attributes = dict(locals())
    labels = either("labels", classlabels_int64s, classlabels_strings)
    scores = _scores(attributes, as_rows(x).astype(np.float64), len(labels))
    if len(labels) == 1:
        other: Any = 0 if isinstance(labels[0], int) else ""
        chosen = (scores[:, 0] > 0).astype(np.int64)
        return label_array([other, labels[0]])[chosen], transformed(scores, post_transform).astype(np.float32)
    if scores.shape[1] == 1:
        complement = post_transform == "PROBIT" or (post_transform == "NONE" and all_positive(attributes))
        raw = two_classes(scores[:, 0], "NONE", complement=complement)
        results = two_classes(scores[:, 0], post_transform, complement=complement)
    else:
        raw, results = scores, transformed(scores, post_transform)
    return label_array(labels)[raw.argmax(axis=1)], results.astype(np.float32)


tree_ensemble_classifier = operator("TreeEnsembleClassifier", since=5, domain="ai.onnx.ml", deprecated=True)(
    _classifier
)
tree_ensemble_classifier_3 = operator("TreeEnsembleClassifier", since=(1, 3), domain="ai.onnx.ml")(_classifier)


@tree_ensemble_classifier.infer
@tree_ensemble_classifier_3.infer
def infer(
    x: Fact,
    /,
    *,
    classlabels_int64s: Sequence[int] | None,
    classlabels_strings: Sequence[str] | None,
    post_transform: str,
    **_: object,
) -> tuple[Inferred, Inferred]:
    checked(post_transform)
    classes = len(either("labels", classlabels_int64s, classlabels_strings))
    rows = row_count(x)
    label = label_type(classlabels_int64s, classlabels_strings)
    return TensorType(label, (rows,)), TensorType(DType.FLOAT32, (rows, classes))


@tree_ensemble_classifier.lower
def lower(
    x: prim.Tensor, /, *, classlabels_int64s: Sequence[int] | None, post_transform: str, **attributes: Any
) -> tuple[prim.Tensor, prim.Tensor]:
    """The upgrade gives labels that are strings numbers."""
    labels = classlabels_int64s or ()
    if not labels:
        raise prim.Refused("labels that are strings")
    forest, targets, base = forest_of_classes(attributes, len(labels))
    scores = descent.scores(descent.rows_of(x), forest, targets, "SUM") + prim.constant(base[None])
    if len(labels) == 1:
        chosen = prim.apply("less", 0.0, prim.squeeze(scores, [1]))
        results = lower_scores.transformed(scores, post_transform)
        return prim.where(chosen, prim.full(labels[0], chosen.shape, DType.INT64), 0), prim.cast(results, DType.FLOAT32)
    if targets == 1:
        complement = post_transform == "PROBIT" or (post_transform == "NONE" and all_positive(attributes))
        raw = lower_scores.two_classes(scores, "NONE", complement=complement)
        results = lower_scores.two_classes(scores, post_transform, complement=complement)
    else:
        raw, results = scores, lower_scores.transformed(scores, post_transform)
    return lower_scores.labelled(lower_scores.greatest(raw), labels), prim.cast(results, DType.FLOAT32)


@tree_ensemble_classifier.downgrade
def downgrade(op: Any, x: Value, /, **attributes: Any) -> Any:
    return op.domain("ai.onnx.ml").TreeEnsembleClassifier(x, outputs=2, **set_attributes(attributes))


@tree_ensemble_classifier_3.downgrade
def downgrade_3(op: Any, x: Value, /, **attributes: Any) -> Any:
    return op.domain("ai.onnx.ml").TreeEnsembleClassifier(x, outputs=2, **set_attributes(as_floats(attributes)))


@tree_ensemble_classifier_3.upgrade
def upgrade(op: Any, x: Value, /, **attributes: Any) -> Any:
    labels = either("labels", attributes["classlabels_int64s"], attributes["classlabels_strings"])
    outputs = _probabilities(op, x, attributes, len(labels))
    if outputs is None:
        return _numbered(op, x, attributes, labels)
    raw, scores = outputs
    return op.Gather(label_array(labels), op.ArgMax(raw, axis=1, keepdims=0)), scores


def _numbered(op: Any, x: Value, attributes: dict[str, Any], labels: Sequence[int] | Sequence[str]) -> Any:
    """The operator as it is, with numbers for labels, which become strings last."""
    classifier = op.domain("ai.onnx.ml").TreeEnsembleClassifier
    if isinstance(labels[0], int):
        return classifier(x, outputs=2, **set_attributes(attributes))
    names: list[Any] = ["", *labels] if len(labels) == 1 else list(labels)
    numbers = list(range(len(names)))
    others = {**attributes, "classlabels_strings": None, "classlabels_int64s": numbers[-len(labels) :]}
    place, scores = classifier(x, outputs=2, **set_attributes(others))
    return op.Gather(label_array(names), place), scores


def _probabilities(op: Any, x: Value, attributes: dict[str, Any], classes: int) -> tuple[Any, Any] | None:
    """What decides and what is answered, in today's operators; None where they cannot express it."""
    transform = checked(attributes["post_transform"])
    if transform not in ("NONE", "LOGISTIC", "SOFTMAX") or classes < 2:
        return None
    wide = attributes["nodes_values_as_tensor"] is not None or attributes["class_weights_as_tensor"] is not None
    forest, targets, base = forest_of_classes(attributes, classes)
    raw = raw_scores(op, x, forest, targets, "SUM", wide=wide)
    if raw is None:
        return None
    if base.any():
        raw = op.Add(raw, base.astype(np.float32))
    if targets == 1:
        complement = transform == "NONE" and all_positive(attributes)
        raw = op.Concat(op.Sub(np.float32(1), raw) if complement else op.Neg(raw), raw, axis=1)
    if transform == "NONE":
        return raw, raw
    return raw, op.Sigmoid(raw) if transform == "LOGISTIC" else op.Softmax(raw, axis=-1)


def _scores(attributes: dict[str, Any], rows: Array, classes: int) -> Array:
    forest, targets, base = forest_of_classes(attributes, classes)
    return aggregated(forest, rows, targets, "SUM") + base


def forest_of_classes(attributes: dict[str, Any], classes: int) -> tuple[Forest, int, Array]:
    """The forest, how many targets it has, and their base values: one target if only one of two classes has votes."""
    trees, nodes = (attributes[f"class_{name}"] or () for name in ("treeids", "nodeids"))
    targets: Sequence[int] = attributes["class_ids"] or ()
    if targets and not 0 <= min(targets) <= max(targets) < classes:
        raise CheckError(f"the classes of votes lie between {min(targets)} and {max(targets)}, of {classes}")
    weights = numbers(attributes["class_weights"], attributes["class_weights_as_tensor"])
    base = numbers(attributes["base_values"], attributes["base_values_as_tensor"])
    if len(base) not in (0, 1, classes):
        raise CheckError(f"there are {len(base)} base values for {classes} classes")
    count = classes
    if classes <= 2 and len(set(targets)) == 1:
        base = base[targets[0] :][:1] if len(base) == 2 else base
        count, targets = 1, [0] * len(targets)
    splits = numbers(attributes["nodes_values"], attributes["nodes_values_as_tensor"])
    forest = forest_of(attributes, splits, Votes(trees, nodes, targets, weights), count)
    return forest, count, base if len(base) else np.zeros(1)


def all_positive(attributes: dict[str, Any]) -> bool:
    """Whether no vote has a negative weight."""
    return bool((numbers(attributes["class_weights"], attributes["class_weights_as_tensor"]) >= 0).all())
