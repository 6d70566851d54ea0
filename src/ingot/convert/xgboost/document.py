"""XGBoost's own document of a model, as trees."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import numpy as np

from ingot.convert.boosted import Boosted
from ingot.convert.forests import LT, Tree, grown
from ingot.dtypes import Array
from ingot.errors import ConvertError
from ingot.ops.ml.forest import MEMBER

_LOGIT = ("binary:logistic", "reg:logistic")
_LOG = ("count:poisson", "reg:gamma", "reg:tweedie", "survival:cox", "survival:aft")


def boosted_of(booster: Any, *, missing: float = float("nan"), rounds: int | None = None) -> Boosted:
    """The trees of a Booster, of its first `rounds` where they are given."""
    learner = json.loads(bytes(booster.save_raw("json")))["learner"]
    parameters, objective = learner["learner_model_param"], learner["objective"]["name"]
    groups = max(int(parameters["num_class"]), int(parameters.get("num_target", 1)), 1)
    start = _start(objective, parameters["base_score"], groups)
    features, machine = int(parameters["num_feature"]), learner["gradient_booster"]
    shared: dict[str, Any] = {"missing": missing, "single": True, "parameters": learner["objective"]}
    if machine["name"] == "gblinear":
        weights = np.array(machine["model"]["weights"], np.float64).reshape(features + 1, groups)
        return Boosted(objective, features, groups, start + weights[-1], weights=weights[:-1], **shared)
    drops = machine.get("weight_drop")
    forest = machine.get("gbtree", machine)["model"]
    count = len(forest["trees"]) if rounds is None else int(forest["iteration_indptr"][rounds])
    factors = [1.0] * count if drops is None else drops[:count]
    trees = [_tree(tree, factor) for tree, factor in zip(forest["trees"][:count], factors, strict=True)]
    rows = bool(trees) and trees[0].values.ndim == 2
    return Boosted(objective, features, groups, start, trees, forest["tree_info"][:count], rows=rows, **shared)


def categories_of(booster: Any) -> dict[str, Array]:
    """The categories of features by name, as a frame had them: in the order of the numbers that trees know them by."""
    learner = json.loads(bytes(booster.save_raw("json")))["learner"]
    machine = learner["gradient_booster"]
    noted = machine.get("gbtree", machine).get("model", {}).get("cats", {}).get("enc", [])
    names = learner["feature_names"]
    return {name: _categories(one) for name, one in zip(names, noted, strict=False) if one["values"]}


def _categories(noted: dict[str, Any]) -> Array:
    if "offsets" not in noted:
        return np.array(noted["values"])
    whole = bytes(value % 256 for value in noted["values"])
    ends = noted["offsets"]
    return np.array([whole[first:last].decode() for first, last in pairwise(ends)], object)


def _start(objective: str, text: str, groups: int) -> Array:
    """The scores that trees are added to: the base score, which is stated on the scale of the answers."""
    base = np.array(json.loads(text), np.float64).reshape(-1)
    if objective in _LOGIT:
        base = -np.log(1 / base - 1)
    elif objective in _LOG:
        base = np.log(base)
    return np.broadcast_to(base, (groups,)).copy()


def _tree(tree: dict[str, Any], factor: float) -> Tree:
    left, right = np.array(tree["left_children"]), np.array(tree["right_children"])
    leaf = left == -1
    missing = np.array(tree["default_left"], np.int64)
    true, false = left.copy(), right.copy()
    modes = np.full(len(left), LT, np.uint8)
    members: dict[int, Array] = {}
    starts, sizes = tree.get("categories_segments", []), tree.get("categories_sizes", [])
    for node, start, size in zip(tree.get("categories_nodes", []), starts, sizes, strict=True):
        members[node] = np.array(tree["categories"][start : start + size])
        modes[node] = MEMBER  # the set goes to the right, others to the left
        true[node], false[node], missing[node] = right[node], left[node], 1 - missing[node]
    return grown(
        tree["split_indices"],
        np.array(tree["split_conditions"], np.float32),
        np.where(leaf, 0, true),
        np.where(leaf, 0, false),
        leaf,
        _values(tree, leaf, right) * factor,
        modes=modes,
        missing_true=missing,
        members=members,
    )


def _values(tree: dict[str, Any], leaf: Array, right: Array) -> Array:
    """The value of every node: a number, or a row where trees have several targets."""
    size = int(tree["tree_param"].get("size_leaf_vector", 1))
    if size <= 1:
        return np.array(tree["split_conditions"], np.float32).astype(np.float64)
    if "leaf_weights" not in tree:
        raise ConvertError("trees of several targets are read from XGBoost 3.1 on", hint="save the model with it again")
    weights = np.array(tree["leaf_weights"], np.float32).astype(np.float64).reshape(-1, size)
    values = np.zeros((len(leaf), size))
    values[leaf] = weights[right[leaf]]
    return values
