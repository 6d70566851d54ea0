"""Forests of every kind: fitted ones as they are converted, and random ones for each form of the operators."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from onnx import TensorProto, helper, numpy_helper

import ingot

FEATURES, TRAINED_ON = 20, 5_000
OPSETS = {"": 21, "ai.onnx.ml": 3}
"""The last in which trees are said as all engines read them."""


@dataclass(frozen=True, slots=True)
class Forest:
    """A model of one input, and the element type of that."""

    name: str
    data: bytes
    dtype: Any = np.float32


def converted(x: Any, chosen: Callable[[str], bool]) -> Iterator[Forest]:
    """Estimators of chosen names, fitted to the first rows, converted."""
    for name, fit, rows in _kinds(x[:TRAINED_ON]):
        if not chosen(name):
            continue
        model = fit()
        try:
            proto = ingot.convert(model, rows[:16], opset_version=OPSETS, verify=False)
        except ingot.IngotError:  # thresholds that only doubles express
            proto = ingot.convert(model, rows[:16], verify=False)
        yield Forest(name, ingot.encode(proto), rows.dtype.type)


def _kinds(x: Any) -> Iterator[tuple[str, Callable[[], Any], Any]]:
    from lightgbm import LGBMClassifier, LGBMRegressor
    from sklearn import ensemble, tree
    from xgboost import XGBClassifier, XGBRegressor

    target = x[:, 0] * x[:, 1] + x[:, 2]
    classes = np.digitize(target, [-1, 0, 1])
    two = (target > 0).astype(int)
    names = np.array(["low", "middle", "high", "top"])[classes]
    kinds: dict[str, Callable[[], Any]] = {
        "DecisionTreeRegressor of depth 5": lambda: tree.DecisionTreeRegressor(max_depth=5).fit(x, target),
        "DecisionTreeClassifier, 4 classes": lambda: tree.DecisionTreeClassifier().fit(x, classes),
        "GradientBoostingRegressor, 100 trees of depth 3": lambda: ensemble.GradientBoostingRegressor().fit(x, target),
        "GradientBoostingClassifier, 100 trees, 2 classes": lambda: ensemble.GradientBoostingClassifier().fit(x, two),
        "HistGradientBoostingRegressor, 31 leaves": lambda: ensemble.HistGradientBoostingRegressor().fit(x, target),
        "RandomForestRegressor, 100 trees": lambda: ensemble.RandomForestRegressor().fit(x, target),
        "RandomForestRegressor, 100 trees, 3 targets": lambda: ensemble.RandomForestRegressor().fit(x, x[:, :3]),
        "RandomForestClassifier, 100 trees, 4 classes": lambda: ensemble.RandomForestClassifier().fit(x, classes),
        "RandomForestClassifier, 100 trees, 2 classes": lambda: ensemble.RandomForestClassifier().fit(x, two),
        "RandomForestClassifier, 100 trees, strings": lambda: ensemble.RandomForestClassifier().fit(x, names),
        "RandomForestClassifier, 10 trees of depth 4": lambda: ensemble.RandomForestClassifier(10, max_depth=4).fit(
            x, classes
        ),
        "ExtraTreesRegressor, 100 trees": lambda: ensemble.ExtraTreesRegressor().fit(x, target),
        "ExtraTreesClassifier, 100 trees, 4 classes": lambda: ensemble.ExtraTreesClassifier().fit(x, classes),
        "IsolationForest, 100 trees": lambda: ensemble.IsolationForest().fit(x),
        "XGBRegressor, 500 trees of depth 6": lambda: XGBRegressor(n_estimators=500).fit(x, target),
        "XGBClassifier, 100 trees of depth 6, 2 classes": lambda: XGBClassifier().fit(x, two),
        "XGBClassifier, 4 × 100 trees of depth 6": lambda: XGBClassifier().fit(x, classes),
        "LGBMRegressor, 100 trees of 31 leaves": lambda: LGBMRegressor(verbose=-1).fit(x, target),
        "LGBMClassifier, 4 × 100 trees of 31 leaves": lambda: LGBMClassifier(verbose=-1).fit(x, classes),
        "LGBMClassifier, 100 trees of 255 leaves": lambda: LGBMClassifier(verbose=-1, num_leaves=255).fit(x, two),
    }
    yield from ((name, fit, x) for name, fit in kinds.items())
    wide = x.astype(np.float64)
    yield "RandomForestRegressor of doubles", lambda: ensemble.RandomForestRegressor().fit(wide, target), wide
    yield "GradientBoostingRegressor of doubles", lambda: ensemble.GradientBoostingRegressor().fit(wide, target), wide


def operators() -> Iterator[Forest]:
    """Random forests, complete to depth 6, in each form of the operators."""
    for aggregate in ("SUM", "AVERAGE", "MIN", "MAX"):
        for targets in (1, 3):
            name = f"TreeEnsembleRegressor, {aggregate}, {targets} target{'s' * (targets > 1)}"
            yield _regressor(name, targets, aggregate_function=aggregate)
    for transform in ("LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO", "PROBIT"):
        yield _regressor(f"TreeEnsembleRegressor, {transform}", 3, post_transform=transform)
        yield _classifier(f"TreeEnsembleClassifier, 3 classes, {transform}", [0, 1, 2], post_transform=transform)
        yield _classifier(f"TreeEnsembleClassifier, votes for one of 2, {transform}", [0, 1], post_transform=transform)
    yield _classifier("TreeEnsembleClassifier, votes for one of 2", [0, 1])
    yield _classifier("TreeEnsembleClassifier, 3 strings", ["a", "b", "c"])
    for mode in ("BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"):
        yield _regressor(f"TreeEnsembleRegressor, {mode}", 1, mode=mode)
    yield _regressor("TreeEnsembleRegressor, missing values", 1, missing=True)
    yield _regressor("TreeEnsembleRegressor of doubles", 1, dtype=np.float64)
    yield _ensemble("TreeEnsemble", np.float32)
    yield _ensemble("TreeEnsemble of doubles", np.float64)
    yield _ensemble("TreeEnsemble, sets of members", np.float32, members=True)


TREES, DEPTH = 100, 6
_INNER, _LEAVES = 2**DEPTH - 1, 2**DEPTH


def _nodes(random: Any, mode: str, missing: bool) -> dict[str, Any]:
    nodes = np.tile(np.arange(_INNER + _LEAVES), TREES)
    inner = nodes < _INNER
    splits = np.round(random.normal(size=len(nodes)), 0 if mode in ("BRANCH_EQ", "BRANCH_NEQ") else 6)
    return {
        "nodes_treeids": np.repeat(np.arange(TREES), _INNER + _LEAVES).tolist(),
        "nodes_nodeids": nodes.tolist(),
        "nodes_featureids": random.integers(0, FEATURES, len(nodes)).tolist(),
        "nodes_modes": np.where(inner, mode, "LEAF").tolist(),
        "nodes_values": splits.astype(np.float32).tolist(),
        "nodes_truenodeids": np.where(inner, 2 * nodes + 1, 0).tolist(),
        "nodes_falsenodeids": np.where(inner, 2 * nodes + 2, 0).tolist(),
        **({"nodes_missing_value_tracks_true": random.integers(0, 2, len(nodes)).tolist()} if missing else {}),
    }


def _votes(random: Any, prefix: str, per_leaf: int) -> dict[str, Any]:
    leaves = np.repeat(np.tile(np.arange(_INNER, _INNER + _LEAVES), TREES), per_leaf)
    return {
        f"{prefix}_treeids": np.repeat(np.arange(TREES), _LEAVES * per_leaf).tolist(),
        f"{prefix}_nodeids": leaves.tolist(),
        f"{prefix}_ids": np.tile(np.arange(per_leaf), TREES * _LEAVES).tolist(),
        f"{prefix}_weights": (random.random(len(leaves)) / TREES).astype(np.float32).tolist(),
    }


def _regressor(
    name: str, targets: int, mode: str = "BRANCH_LEQ", missing: bool = False, dtype: Any = np.float32, **more: Any
) -> Forest:
    random = np.random.default_rng(0)
    attributes = {**_nodes(random, mode, missing), **_votes(random, "target", targets), "n_targets": targets, **more}
    node = helper.make_node("TreeEnsembleRegressor", ["x"], ["y"], domain="ai.onnx.ml", **attributes)
    return Forest(name, _model(node, dtype, {"y": TensorProto.FLOAT}), dtype)


def _classifier(name: str, labels: list[Any], **more: Any) -> Forest:
    random = np.random.default_rng(0)
    key = "classlabels_strings" if isinstance(labels[0], str) else "classlabels_int64s"
    votes = _votes(random, "class", len(labels) if len(labels) > 2 else 1)
    attributes = {**_nodes(random, "BRANCH_LEQ", False), **votes, key: labels, **more}
    node = helper.make_node("TreeEnsembleClassifier", ["x"], ["y", "z"], domain="ai.onnx.ml", **attributes)
    kind = TensorProto.STRING if isinstance(labels[0], str) else TensorProto.INT64
    return Forest(name, _model(node, np.float32, {"y": kind, "z": TensorProto.FLOAT}))


def _ensemble(name: str, dtype: Any, members: bool = False) -> Forest:
    random = np.random.default_rng(0)
    own = np.tile(np.arange(_INNER), TREES)
    tree = np.repeat(np.arange(TREES), _INNER)
    below = own < 2 ** (DEPTH - 1) - 1
    count = len(own)
    modes = np.where(members & (random.random(count) < 0.3), 6, 0).astype(np.uint8)
    sets = [part for _ in range(int((modes == 6).sum())) for part in (*random.choice(9, 4, replace=False), np.nan)]

    def children(side: int) -> list[int]:
        leaf = tree * _LEAVES + 2 * (own - (2 ** (DEPTH - 1) - 1)) + side
        return [int(place) for place in np.where(below, tree * _INNER + 2 * own + 1 + side, leaf)]

    leaves = TREES * _LEAVES
    node = helper.make_node(
        "TreeEnsemble",
        ["x"],
        ["y"],
        domain="ai.onnx.ml",
        n_targets=1,
        tree_roots=(np.arange(TREES) * _INNER).tolist(),
        nodes_featureids=random.integers(0, FEATURES, count).tolist(),
        nodes_modes=numpy_helper.from_array(modes),
        nodes_splits=numpy_helper.from_array(random.normal(size=count).astype(dtype)),
        nodes_truenodeids=children(0),
        nodes_trueleafs=(~below).astype(int).tolist(),
        nodes_falsenodeids=children(1),
        nodes_falseleafs=(~below).astype(int).tolist(),
        leaf_targetids=[0] * leaves,
        leaf_weights=numpy_helper.from_array(random.normal(size=leaves).astype(dtype)),
        **({"membership_values": numpy_helper.from_array(np.array(sets, dtype))} if members else {}),
    )
    result = TensorProto.FLOAT if dtype is np.float32 else TensorProto.DOUBLE
    return Forest(name, _model(node, dtype, {"y": result}, version=5), dtype)


def _model(node: Any, dtype: Any, results: dict[str, int], version: int = 3) -> bytes:
    kind = TensorProto.FLOAT if dtype is np.float32 else TensorProto.DOUBLE
    graph = helper.make_graph(
        [node],
        "forest",
        [helper.make_tensor_value_info("x", kind, ["n", FEATURES])],
        [helper.make_tensor_value_info(name, each, None) for name, each in results.items()],
    )
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("ai.onnx.ml", version)]
    return bytes(helper.make_model(graph, opset_imports=opsets, ir_version=10).SerializeToString())
