"""CatBoost's own document of a model, as trees."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from ingot.convert.boosted import Boosted
from ingot.convert.forests import Tree, tree
from ingot.dtypes import Array
from ingot.errors import ConvertError
from ingot.ops.ml.forest import MODES

_GT = MODES.index("BRANCH_GT")


def boosted_of(model: Any) -> Boosted:
    """The trees of a CatBoost model; ConvertError for splits by categories, texts and embeddings."""
    document = document_of(model)
    features = document["features_info"]
    wrong = [name for name in ("categorical_features", "text_features", "embedding_features") if features.get(name)]
    if wrong:
        kind = wrong[0].removesuffix("_features")
        raise ConvertError(
            f"{kind} features of CatBoost have no rule: it splits by hashes and statistics of them",
            hint="encode them before CatBoost, in a pipeline",
        )
    floats = features["float_features"]
    missing = {one["feature_index"]: one["nan_value_treatment"] == "AsTrue" for one in floats}
    flat = {one["feature_index"]: one["flat_feature_index"] for one in floats}
    scale, bias = document["scale_and_bias"]
    bias = np.atleast_1d(np.asarray(bias, np.float64))
    if "oblivious_trees" in document:
        trees = [_oblivious(one, missing, flat, float(scale)) for one in document["oblivious_trees"]]
    else:
        trees = [_branching(one, missing, flat, float(scale)) for one in document["trees"]]
    groups = trees[0].values.shape[1] if trees else len(bias)
    single = groups == 1
    return Boosted(
        loss_of(model),
        len(floats),
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


def document_of(model: Any) -> dict[str, Any]:
    """The document that CatBoost writes of a model."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        model.save_model(str(path), format="json")
        found: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return found


def _split(split: dict[str, Any], missing: dict[int, bool], flat: dict[int, int]) -> tuple[int, float, int]:
    if split["split_type"] != "FloatFeature":
        raise ConvertError(f"splits of kind {split['split_type']} have no rule")
    place = split["float_feature_index"]
    return flat[place], float(split["border"]), int(missing[place])


def _oblivious(document: dict[str, Any], missing: dict[int, bool], flat: dict[int, int], scale: float) -> Tree:
    """A tree whose nodes of one depth all ask the same: the answers are the bits of the leaf, the first the lowest."""
    splits = [_split(one, missing, flat) for one in document["splits"] or []]
    depth = len(splits)
    values = np.array(document["leaf_values"], np.float64).reshape(1 << depth, -1) * scale
    order = splits[::-1]  # from the top: the highest bit first, so that leaves stand in their order
    features, borders, nans, true, false = [], [], [], [], []
    for level, (feature, border, nan) in enumerate(order):
        first, below = (1 << level) - 1, (1 << (level + 1)) - 1
        for node in range(1 << level):
            features.append(feature)
            borders.append(border)
            nans.append(nan)
            last = level == depth - 1
            low, high = 2 * node, 2 * node + 1
            false.append(-1 - low if last else below + low)
            true.append(-1 - high if last else below + high)
        assert len(features) == first + (1 << level)
    return tree(features, borders, true, false, values, mode=_GT, missing_true=nans)


def _branching(document: dict[str, Any], missing: dict[int, bool], flat: dict[int, int], scale: float) -> Tree:
    features: list[int] = []
    borders: list[float] = []
    nans: list[int] = []
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
            place = len(features)
            feature, border, nan = _split(node["split"], missing, flat)
            features.append(feature)
            borders.append(border)
            nans.append(nan)
            true.append(0)
            false.append(0)
            waiting.append((node["right"], true, place))
            waiting.append((node["left"], false, place))
        if side is not None:
            side[parent] = place
    return tree(features, borders, true, false, np.stack(values), mode=_GT, missing_true=nans)
