"""CatBoost's own document of a model, as trees."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ingot.convert.boosted import Boosted
from ingot.convert.catboost.categories import Categories, pool_of, statistic_of
from ingot.convert.forests import EQ, Tree, tree
from ingot.dtypes import Array
from ingot.errors import ConvertError
from ingot.ops.ml.forest import MODES

_GT = MODES.index("BRANCH_GT")


@dataclass(frozen=True, slots=True)
class Split:
    """What a node asks of the rows that trees compare."""

    column: int
    threshold: float
    missing_true: int
    mode: int


def boosted_of(model: Any, document: dict[str, Any] | None = None, categories: Categories | None = None) -> Boosted:
    """The trees of a CatBoost model; ConvertError for splits by texts and embeddings, or categories not given."""
    document = document_of(model) if document is None else document
    features = document["features_info"]
    wrong = [name for name in ("categorical_features", "text_features", "embedding_features") if features.get(name)]
    if categories is not None and wrong == ["categorical_features"]:
        wrong = []
    if wrong:
        kind = wrong[0].removesuffix("_features")
        raise ConvertError(
            "categorical features of CatBoost are hashed, and here nothing says what the hashes stand for"
            if kind == "categorical"
            else f"{kind} features of CatBoost become numbers by tables that it does not write out",
            hint="give a frame with them as the example, to a model that is in no pipeline"
            if kind == "categorical"
            else f"train without {kind} features, or with the numbers that are made of them",
        )
    ask = partial(_split, document, categories)
    scale, bias = document["scale_and_bias"]
    bias = np.atleast_1d(np.asarray(bias, np.float64))
    if "oblivious_trees" in document:
        trees = [_oblivious(one, ask, float(scale)) for one in document["oblivious_trees"]]
    else:
        trees = [_branching(one, ask, float(scale)) for one in document["trees"]]
    groups = trees[0].values.shape[1] if trees else len(bias)
    single = groups == 1
    count = sum(len(features.get(name, ())) for name in ("float_features", "categorical_features"))
    return Boosted(
        loss_of(model),
        count,
        groups,
        np.broadcast_to(bias, (groups,)).copy(),
        trees,
        [0] * len(trees) if single else [],
        single=True,
        rows=not single,
    )


def loss_of(model: Any) -> str:
    """The name of the loss it was trained with, without its parameters."""
    parameters = model.get_all_params()
    return str(parameters.get("loss_function", "RMSE")).partition(":")[0]


def document_of(model: Any, frame: Any = None) -> dict[str, Any]:
    """The document that CatBoost writes of a model; where it has categories, a frame with them is needed."""
    named = {} if frame is None else {"pool": pool_of(model, frame)}
    if frame is None and model.get_cat_feature_indices():
        return {"features_info": {"categorical_features": model.get_cat_feature_indices()}}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        model.save_model(str(path), format="json", **named)
        document: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return document


def _split(document: dict[str, Any], categories: Categories | None, split: dict[str, Any]) -> Split:
    floats = document["features_info"].get("float_features", [])
    if split["split_type"] == "FloatFeature":
        place = next(at for at, one in enumerate(floats) if one["feature_index"] == split["float_feature_index"])
        column = floats[place]["flat_feature_index"] if categories is None else place
        return Split(column, float(split["border"]), int(floats[place]["nan_value_treatment"] == "AsTrue"), _GT)
    if categories is not None and split["split_type"] == "OneHotFeature":
        feature = split["cat_feature_index"]
        return Split(len(floats) + feature, float(categories.hashes[feature].index(split["value"])), 0, EQ)
    if categories is not None and split["split_type"] == "OnlineCtr":
        column = len(floats) + len(categories.columns) + statistic_of(document, split)
        return Split(column, float(split["border"]), 0, _GT)
    raise ConvertError(f"splits of kind {split['split_type']} have no rule")


def _oblivious(document: dict[str, Any], ask: Callable[[dict[str, Any]], Split], scale: float) -> Tree:
    """A tree whose nodes of one depth all ask the same: the answers are the bits of the leaf, the first the lowest."""
    splits = [ask(one) for one in document["splits"] or []]
    depth = len(splits)
    values = np.array(document["leaf_values"], np.float64).reshape(1 << depth, -1) * scale
    asked: list[Split] = []
    true: list[int] = []
    false: list[int] = []
    for level, split in enumerate(reversed(splits)):  # from the top: the highest bit first, so leaves are in order
        last, below = level == depth - 1, (1 << (level + 1)) - 1
        for node in range(1 << level):
            low, high = 2 * node, 2 * node + 1
            asked.append(split)
            false.append(-1 - low if last else below + low)
            true.append(-1 - high if last else below + high)
    return _tree_of(asked, true, false, values)


def _branching(document: dict[str, Any], ask: Callable[[dict[str, Any]], Split], scale: float) -> Tree:
    asked: list[Split] = []
    true: list[int] = []
    false: list[int] = []
    values: list[Array] = []
    waiting: list[tuple[dict[str, Any], list[int] | None, int]] = [(document, None, 0)]
    while waiting:
        node, side, parent = waiting.pop()
        if "split" not in node:
            place = -1 - len(values)
            values.append(np.atleast_1d(np.asarray(node["value"], np.float64)) * scale)
        else:
            place = len(asked)
            asked.append(ask(node["split"]))
            true.append(0)
            false.append(0)
            waiting.append((node["right"], true, place))
            waiting.append((node["left"], false, place))
        if side is not None:
            side[parent] = place
    return _tree_of(asked, true, false, np.stack(values))


def _tree_of(asked: list[Split], true: list[int], false: list[int], values: Array) -> Tree:
    return tree(
        [split.column for split in asked],
        [split.threshold for split in asked],
        true,
        false,
        values,
        modes=[split.mode for split in asked],
        missing_true=[split.missing_true for split in asked],
    )
