"""LightGBM's own document of a model, as trees."""

from __future__ import annotations

from typing import Any

import numpy as np

from ingot.convert.boosted import Boosted, LinearLeaves
from ingot.convert.forests import LEQ, Tree, tree
from ingot.dtypes import Array
from ingot.ops.ml.forest import MEMBER


def boosted_of(booster: Any, *, rounds: int | None = None) -> Boosted:
    """The trees of a Booster: of its best iteration where it stopped early, or of the first `rounds`."""
    document = booster.dump_model(num_iteration=rounds)
    groups = int(document["num_tree_per_iteration"])
    trees = document["tree_info"]
    share = 1.0
    if document.get("average_output") and trees:
        share = groups / len(trees)
    seen: dict[str, set[int]] = {"Zero": set(), "categories": set()}
    lines: list[tuple[float, list[int], list[float]]] = []
    read_trees = [_tree(item, share, seen, lines) for item in trees]
    features = int(document["max_feature_idx"]) + 1
    name, parameters = _objective(document.get("objective", ""))
    return Boosted(
        name,
        features,
        groups,
        np.zeros(groups),
        read_trees,
        [place % groups for place in range(len(read_trees))],
        tuple(sorted(seen["Zero"])),
        tuple(sorted(seen["categories"])),
        lines=_lines(lines, features) if any(places for _, places, _ in lines) else None,
        parameters=parameters,
    )


def _lines(lines: list[tuple[float, list[int], list[float]]], features: int) -> LinearLeaves:
    """Leaves of as many terms each: those that have fewer end in no feature."""
    terms = max(len(places) for _, places, _ in lines)
    return LinearLeaves(
        np.array([constant for constant, _, _ in lines]),
        np.array([places + [features] * (terms - len(places)) for _, places, _ in lines]),
        np.array([factors + [0.0] * (terms - len(factors)) for _, _, factors in lines]),
    )


def _objective(text: str) -> tuple[str, dict[str, Any]]:
    """The name of an objective, and its parameters: `binary sigmoid:1`."""
    name, *rest = text.split() or [""]
    parameters: dict[str, Any] = {}
    for word in rest:
        key, _, value = word.partition(":")
        parameters[key] = float(value) if value else True
    return name, parameters


def _tree(
    document: dict[str, Any],
    share: float,
    seen: dict[str, set[int]],
    lines: list[tuple[float, list[int], list[float]]],
) -> Tree:
    """A tree; the line of each of its leaves, which is level but for those of linear trees, is added to `lines`."""
    features: list[int] = []
    thresholds: list[float] = []
    modes: list[int] = []
    true: list[int] = []
    false: list[int] = []
    missing: list[int] = []
    members: dict[int, Array] = {}
    values: list[float] = []

    waiting: list[tuple[dict[str, Any], list[int] | None, int]] = [(document["tree_structure"], None, 0)]
    while waiting:
        node, side, parent = waiting.pop()
        if "split_feature" not in node:
            place = -1 - len(values)
            values.append(float(node["leaf_value"]) * share)
            constant = float(node.get("leaf_const", node["leaf_value"])) * share
            factors = [float(one) * share for one in node.get("leaf_coeff", ())]
            lines.append((constant, [int(one) for one in node.get("leaf_features", ())], factors))
        else:
            place = len(features)
            feature = int(node["split_feature"])
            features.append(feature)
            if node["decision_type"] == "==":
                modes.append(MEMBER)
                thresholds.append(0.0)
                missing.append(0)  # what is missing is in no set
                members[place] = np.array([float(one) for one in str(node["threshold"]).split("||")])
                seen["categories"].add(feature)
            else:
                threshold = float(node["threshold"])
                modes.append(LEQ)
                thresholds.append(threshold)
                unknown = node["missing_type"] == "None"  # there, NaN counts as zero
                missing.append(int(threshold >= 0) if unknown else int(node["default_left"]))
                if node["missing_type"] == "Zero":
                    seen["Zero"].add(feature)
            true.append(0)
            false.append(0)
            waiting.append((node["right_child"], false, place))
            waiting.append((node["left_child"], true, place))
        if side is not None:
            side[parent] = place
    return tree(features, thresholds, true, false, values, modes=modes, missing_true=missing, members=members)
