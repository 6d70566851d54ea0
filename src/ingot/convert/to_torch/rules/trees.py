"""Ensembles of decision trees (ai.onnx.ml)."""

from __future__ import annotations

from typing import Any

import numpy as np

from ingot.convert.to_torch.operand import Operand
from ingot.convert.to_torch.rule import Expression, rule
from ingot.convert.to_torch.rules.classical import ML, labelled, transformed, two_classes
from ingot.convert.to_torch.say import tupled
from ingot.convert.to_torch.site import Site
from ingot.dtypes import Array
from ingot.ir.tensor import Tensor
from ingot.ops.ml.forest import MEMBER, Forest
from ingot.ops.ml.tree_ensemble import forest_of_nodes, names_of
from ingot.ops.ml.tree_ensemble_classifier import all_positive, forest_of_classes
from ingot.ops.ml.tree_ensemble_regressor import base_of_targets, forest_of_targets, target_count
from ingot.ops.ml.voting_trees import numbers


@rule("TreeEnsemble", domain=ML)
def tree_ensemble(site: Site, x: Operand, **attributes: Any) -> Expression:
    forest, targets = forest_of_nodes(attributes)
    aggregate, transform = names_of(attributes["aggregate_function"], attributes["post_transform"])
    scores = f"{_scores(site, x, forest, targets, aggregate)}.to({site.torch_dtype()})"
    return transformed(site, scores, transform)


@rule("TreeEnsembleRegressor", domain=ML)
def tree_ensemble_regressor(site: Site, x: Operand, **attributes: Any) -> Expression:
    targets = target_count(attributes["n_targets"], attributes["target_ids"])
    base = base_of_targets(numbers(attributes["base_values"], attributes["base_values_as_tensor"]), targets)
    scores = _scores(site, x, forest_of_targets(attributes, targets), targets, attributes["aggregate_function"])
    return f"{transformed(site, _based(scores, base), attributes['post_transform'])}.to(torch.float32)"


@rule("TreeEnsembleClassifier", domain=ML)
def tree_ensemble_classifier(site: Site, x: Operand, **attributes: Any) -> Expression:
    labels = list(attributes["classlabels_int64s"] or ())
    forest, targets, base = forest_of_classes(attributes, len(labels))
    transform = attributes["post_transform"]
    scores = site.held(_based(_scores(site, x, forest, targets, "SUM"), base))
    if len(labels) == 1:
        chosen = labelled(site, f"({scores}[:, 0] > 0).to(torch.int64)", [0, *labels])
        return [chosen, f"{transformed(site, scores, transform)}.to(torch.float32)"]
    if targets > 1:
        chosen = labelled(site, f"{scores}.argmax(dim=1)", labels)
        return [chosen, f"{transformed(site, scores, transform)}.to(torch.float32)"]
    complement = transform == "PROBIT" or (transform == "NONE" and all_positive(attributes))
    raw = two_classes(site, scores, "NONE", complement=complement)
    results = two_classes(site, scores, transform, complement=complement)
    return [labelled(site, f"{raw}.argmax(dim=1)", labels), f"{results}.to(torch.float32)"]


def _based(scores: str, base: Array) -> str:
    return f"({scores} + torch.tensor({base.tolist()!r}))" if base.any() else scores


def _scores(site: Site, x: Operand, forest: Forest, targets: int, aggregate: str) -> str:
    """A call that puts the votes of the leaves together; what the trees are lies in buffers."""
    rest = {"MIN": np.inf, "MAX": -np.inf}.get(aggregate, 0.0)
    votes = np.full((len(forest.starts) - 1, targets), rest)
    leaf = np.repeat(np.arange(len(votes)), np.diff(forest.starts))
    if aggregate in ("MIN", "MAX"):
        combine = np.minimum if aggregate == "MIN" else np.maximum
        combine.at(votes, (leaf, forest.targets), forest.weights)
    else:
        np.add.at(votes, (leaf, forest.targets), forest.weights)
    arrays = {
        "roots": forest.roots,
        "features": forest.features,
        "splits": forest.splits,
        "true": forest.true,
        "false": forest.false,
        "missing": forest.missing_true,
        "votes": votes,
    }
    held = [site.buffer(name, Tensor(np.ascontiguousarray(array))) for name, array in arrays.items()]
    modes = np.unique(forest.modes)
    mode = str(int(modes[0])) if len(modes) == 1 else site.buffer("modes", Tensor(forest.modes)) if len(modes) else "0"
    options = ""
    if (forest.modes == MEMBER).any():
        options = f", members={site.buffer('members', Tensor(_members(forest)))}"
    if aggregate != "SUM":
        options += f', aggregate="{aggregate}"'
    return f"{site.use('forest')}({x}, {tupled(held)}, {mode}, {_depth(forest)}{options})"


def _members(forest: Forest) -> Array:
    """The set of each node, NaN where it has none or fewer than others."""
    most = max((len(one) for one in forest.members), default=0)
    table = np.full((len(forest.modes), max(most, 1)), np.nan)
    for node, members in zip(np.flatnonzero(forest.modes == MEMBER), forest.members, strict=True):
        table[node, : len(members)] = members
    return table


def _depth(forest: Forest) -> int:
    """How many nodes the longest way to a leaf has."""
    level, depth = np.unique(forest.roots[forest.roots >= 0]), 0
    while level.size:
        depth += 1
        below = np.concatenate([forest.true[level], forest.false[level]])
        level = np.unique(below[below >= 0])
    return depth
