"""Decision trees, forests and boosted trees: TreeEnsemble nodes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from ingot.builder import Var, op
from ingot.convert.forests import Tree, grown, leaves, summed, summed_rows
from ingot.convert.sklearn.algebra import above, argmax, both, hot, labels, softmax
from ingot.convert.sklearn.conversion import Conversion, Rows
from ingot.convert.sklearn.rule import children, rule
from ingot.dtypes import Array
from ingot.errors import ConvertError

TREES = ("DecisionTreeClassifier", "ExtraTreeClassifier")
FORESTS = ("RandomForestClassifier", "ExtraTreesClassifier")
_UNDEFINED = -2
"""What a leaf has in place of a feature."""


@rule("predict", "DecisionTreeRegressor", "ExtraTreeRegressor")
def tree_regressor(c: Conversion, estimator: Any, x: Rows) -> Var:
    return _mean(c, [estimator], x, lambda values: values[:, :, 0])


@rule("predict", "RandomForestRegressor", "ExtraTreesRegressor")
def forest_regressor(c: Conversion, estimator: Any, x: Rows) -> Var:
    return _mean(c, estimator.estimators_, x, lambda values: values[:, :, 0])


@rule("predict_proba", *TREES, *FORESTS)
def probabilities(c: Conversion, estimator: Any, x: Rows) -> Var:
    parts = c.once(_probabilities, estimator, x)
    if len(parts) == 1:
        return parts[0]
    most = max(np.atleast_1d(estimator.n_classes_).tolist())
    wide = [_widened(c, part, most) for part in parts]
    return op.Concat(*(op.Unsqueeze(part, [0]) for part in wide), axis=0)


@rule("predict", *TREES, *FORESTS)
def tree_label(c: Conversion, estimator: Any, x: Rows) -> Var:
    parts = c.once(_probabilities, estimator, x)
    classes = [estimator.classes_] if len(parts) == 1 else estimator.classes_
    by_output = [labels(c, own, argmax(part)) for own, part in zip(classes, parts, strict=True)]
    return by_output[0] if len(by_output) == 1 else op.Concat(*(op.Unsqueeze(one, [1]) for one in by_output), axis=1)


@rule("transform", "RandomTreesEmbedding")
def embedding(c: Conversion, estimator: Any, x: Rows) -> Var:
    """Each leaf of each tree is a column."""
    trees = [_tree(one, lambda values: values[:, 0, 0]) for one in estimator.estimators_]
    numbers = leaves(features(c, x), trees, c.real)
    count = sum(len(one.values) for one in trees)
    return op.ReduceSum(hot(c, numbers, count), [1], keepdims=0)


@children("GradientBoostingClassifier", "GradientBoostingRegressor")
def start(estimator: Any) -> list[Any]:
    return [] if isinstance(estimator.init_, str) or _is_dummy(estimator.init_) else [estimator.init_]


@rule("decision_function", "GradientBoostingClassifier")
def boosted_decision(c: Conversion, estimator: Any, x: Rows) -> Var:
    return _boosted(c, estimator, x)


@rule("predict_proba", "GradientBoostingClassifier")
def boosted_probabilities(c: Conversion, estimator: Any, x: Rows) -> Var:
    scores = c.decision_function(estimator, x)
    if c.width(scores) > 1:
        return softmax(scores)
    return both(c, op.Sigmoid(scores * c.number(2 if estimator.loss == "exponential" else 1)))


@rule("predict", "GradientBoostingClassifier")
def boosted_label(c: Conversion, estimator: Any, x: Rows) -> Var:
    scores = c.decision_function(estimator, x)
    one = c.width(scores) == 1
    return labels(c, estimator.classes_, _at_least_zero(c, scores) if one else argmax(scores))


@rule("predict", "GradientBoostingRegressor")
def boosted_regressor(c: Conversion, estimator: Any, x: Rows) -> Var:
    return _boosted(c, estimator, x)


def _at_least_zero(c: Conversion, scores: Var) -> Var:
    return op.Reshape(op.Cast(scores >= c.number(0), to=7), [-1])


def _boosted(c: Conversion, estimator: Any, x: Rows) -> Var:
    stages = estimator.estimators_
    rate = estimator.learning_rate
    trees = [_tree(one, lambda values: rate * values[:, 0, 0]) for stage in stages for one in stage]
    targets = [target for stage in stages for target in range(len(stage))]
    total = summed(features(c, x), trees, targets, stages.shape[1], c.real)
    first = _initial(c, estimator, x)
    return total if first is None else total + first


def _is_dummy(estimator: Any) -> bool:
    return type(estimator).__name__ in ("DummyClassifier", "DummyRegressor")


def _initial(c: Conversion, estimator: Any, x: Rows) -> Var | Array | None:
    """What boosting starts from: a constant where the estimator is a dummy, else what its link gives."""
    start = estimator.init_
    if isinstance(start, str):
        return None
    if _is_dummy(start):
        return c.array(estimator._raw_predict_init(np.zeros((1, estimator.n_features_in_), np.float32)))
    if not hasattr(estimator, "classes_"):
        return c.predict(start, x)
    eps = np.finfo(np.float32).eps
    sure = op.Clip(c.predict_proba(start, x), c.number(eps), c.number(1 - eps))
    if len(estimator.classes_) > 2:
        logs = op.Log(sure)
        return logs - op.ReduceMean(logs, [1], keepdims=1)
    second = op.Slice(sure, [1], [2], [1])
    odds = op.Log(second / (c.number(1) - second))
    return odds * c.number(0.5) if estimator.loss == "exponential" else odds


@rule("decision_function", "HistGradientBoostingClassifier")
def histogram_decision(c: Conversion, estimator: Any, x: Rows) -> Var:
    return _histogram(c, estimator, x)


@rule("predict_proba", "HistGradientBoostingClassifier")
def histogram_probabilities(c: Conversion, estimator: Any, x: Rows) -> Var:
    scores = c.decision_function(estimator, x)
    return both(c, op.Sigmoid(scores)) if c.width(scores) == 1 else softmax(scores)


@rule("predict", "HistGradientBoostingClassifier")
def histogram_label(c: Conversion, estimator: Any, x: Rows) -> Var:
    scores = c.decision_function(estimator, x)
    return labels(c, estimator.classes_, above(c, scores) if c.width(scores) == 1 else argmax(scores))


@rule("predict", "HistGradientBoostingRegressor")
def histogram_regressor(c: Conversion, estimator: Any, x: Rows) -> Var:
    raw = _histogram(c, estimator, x)
    link = type(estimator._loss.link).__name__
    if link == "LogLink":
        return op.Exp(raw)
    if link == "IdentityLink":
        return raw
    raise ConvertError(f"a link of kind {link} has no rule")


@children("HistGradientBoostingClassifier", "HistGradientBoostingRegressor")
def preparation(estimator: Any) -> list[Any]:
    return [] if estimator._preprocessor is None else [estimator._preprocessor]


def _histogram(c: Conversion, estimator: Any, x: Rows) -> Var:
    rows = c.matrix(x) if estimator._preprocessor is None else c.transform(estimator._preprocessor, x)
    known, feature_map = estimator._bin_mapper.make_known_categories_bitsets()
    trees = [_histogram_tree(one, known, feature_map) for stage in estimator._predictors for one in stage]
    targets = [target for stage in estimator._predictors for target in range(len(stage))]
    total = summed(rows, trees, targets, estimator.n_trees_per_iteration_, c.real)
    return total + c.array(np.asarray(estimator._baseline_prediction).reshape(1, -1))


def _histogram_tree(predictor: Any, known: Any, feature_map: Any) -> Tree:
    """A node of categories sends those unknown where it sends missing ones, so it asks for the other side's set."""
    nodes = predictor.nodes
    left, right = nodes["left"].astype(np.int64), nodes["right"].astype(np.int64)
    true, false, missing = left.copy(), right.copy(), nodes["missing_go_to_left"].astype(np.int64)
    modes = np.zeros(len(nodes), np.uint8)
    members: dict[int, Array] = {}
    for place in np.flatnonzero(nodes["is_categorical"] & (nodes["is_leaf"] == 0)).tolist():
        going_left = _members(predictor.raw_left_cat_bitsets[nodes["bitset_idx"][place]])
        modes[place] = 6
        if missing[place]:
            seen = _members(known[feature_map[nodes["feature_idx"][place]]])
            true[place], false[place], missing[place] = right[place], left[place], 0
            going_left = np.setdiff1d(seen, going_left)
        members[place] = going_left
    return grown(
        nodes["feature_idx"],
        nodes["num_threshold"],
        true,
        false,
        nodes["is_leaf"] != 0,
        nodes["value"],
        modes=modes,
        missing_true=missing,
        members=members,
    )


def _members(bits: Any) -> Array:
    words = np.asarray(bits, np.uint32)
    return np.flatnonzero((words[:, None] >> np.arange(32, dtype=np.uint32)) & 1)


def features(c: Conversion, x: Rows) -> Var:
    """Rows as trees of scikit-learn see them: rounded to float32."""
    if isinstance(x, Var) and x.dtype is not None and x.dtype.numpy in (np.float32, np.float16):
        return c.cast(x, c.real)
    return c.cast(c.cast(c.matrix(x), np.float32), c.real)


def tree_of(estimator: Any, values: Array) -> Tree:
    """A fitted tree with values of its nodes, inner ones included."""
    tree = estimator.tree_
    missing = getattr(tree, "missing_go_to_left", np.zeros(tree.node_count, bool))
    return grown(
        tree.feature,
        tree.threshold,
        tree.children_left,
        tree.children_right,
        tree.children_left == -1,
        values,
        missing_true=missing,
    )


def _tree(estimator: Any, values: Any) -> Tree:
    return tree_of(estimator, values(estimator.tree_.value))


def _mean(c: Conversion, estimators: Sequence[Any], x: Rows, values: Any) -> Var:
    """The mean of what trees give; rows of values where they have several targets."""
    count = len(estimators)
    trees = [_tree(one, lambda counts: values(counts) / count) for one in estimators]
    if trees[0].values.shape[1] == 1:
        return summed(features(c, x), trees, [0] * count, 1, c.real)
    return summed_rows(features(c, x), trees, c.real)


def _probabilities(c: Conversion, estimator: Any, x: Rows) -> list[Var]:
    """The probabilities of each target's classes: the shares of classes in leaves, averaged."""
    members = getattr(estimator, "estimators_", None)
    trees = [estimator] if members is None else members
    sizes = np.atleast_1d(estimator.n_classes_).tolist()

    def shares(counts: Array) -> Array:
        parts = [counts[:, place, :size] for place, size in enumerate(sizes)]
        parts = [part / np.maximum(part.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny) for part in parts]
        return np.concatenate(parts, axis=1)

    total = _mean(c, trees, x, shares)
    if len(sizes) == 1:
        return [total]
    ends = np.cumsum([0, *sizes]).tolist()
    return [op.Slice(total, [first], [last], [1]) for first, last in pairwise(ends)]


def _widened(c: Conversion, x: Var, width: int) -> Var:
    missing = width - c.width(x)
    return x if not missing else op.Pad(x, np.array([0, 0, 0, missing], np.int64), c.number(0))
