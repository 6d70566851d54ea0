"""Categories of CatBoost as numbers: a place for splits by one value, statistics of the training for the others."""

from __future__ import annotations

import ast
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, product
from pathlib import Path
from typing import Any

import numpy as np

from ingot.builder import Var, op
from ingot.convert.sklearn.conversion import Conversion
from ingot.convert.sklearn.families.encoders import positions
from ingot.dtypes import Array, DType
from ingot.errors import ConvertError

_WHOLE = (1 << 64) - 1
_FACTOR = 0x4906BA494954CB65
"""What CatBoost multiplies by to hash combinations of categories, modulo 2^64."""
_NOBODY = 0x7FFFFFFF
"""The hash of a category that the training did not have."""
_EMPTY = _WHOLE
"""A place of a table that no category has."""
_MOST_COMBINATIONS = 1 << 20
_ELEMENTS = ("cat_feature_value", "float_feature", "cat_feature_exact_value")
"""What a statistic may be of, in the order that it is hashed in."""
_ALL = "give an example with every category the model was trained on"


@dataclass(frozen=True, slots=True)
class Above:
    """Whether a number, by its place among the numbers, is above a border; what is missing is, or is not."""

    number: int
    border: float
    missing: bool


@dataclass(frozen=True, slots=True)
class Equals:
    """Whether a feature is one category, by its place."""

    feature: int
    place: int


@dataclass(frozen=True, slots=True)
class Statistic:
    """A number for each combination of categories of some features and answers to some questions.

    The last place of an axis of categories is for unknown ones; the axes of questions, which come after them, have two.
    """

    features: tuple[int, ...]
    questions: tuple[Above | Equals, ...]
    table: Array


@dataclass(frozen=True, slots=True)
class Categories:
    """The categorical features: `columns` are their places among the inputs, `values` the categories of each."""

    columns: tuple[int, ...]
    values: tuple[Array, ...]
    hashes: tuple[tuple[int, ...], ...]
    statistics: tuple[Statistic, ...]

    def write(self, floats: Sequence[Var], inputs: Sequence[Var]) -> Var:
        """The rows that trees compare: numbers, then places of categories, then statistics."""
        c = Conversion()
        places = []
        for column, values in zip(self.columns, self.values, strict=True):
            position = positions(c, inputs[column], values)
            unknown = op.Less(position, np.array(0, np.int64))
            places.append(op.Where(unknown, np.array(len(values), np.int64), position))
        parts = [op.Cast(part, to=int(DType.FLOAT32)) for part in (*floats, *places)]
        for statistic in self.statistics:
            axes = [places[feature] for feature in statistic.features]
            axes += [_answer(question, floats, places) for question in statistic.questions]
            flat = axes[0]
            for axis, place in enumerate(axes[1:], 1):
                flat = flat * np.array(statistic.table.shape[axis], np.int64) + place
            parts.append(op.Gather(statistic.table.reshape(-1).astype(np.float32), flat))
        return op.Concat(*parts, axis=1)


def _answer(question: Above | Equals, floats: Sequence[Var], places: Sequence[Var]) -> Var:
    """One or zero for each row: int64 [batch, 1]."""
    if isinstance(question, Equals):
        return op.Cast(op.Equal(places[question.feature], np.array(question.place, np.int64)), to=int(DType.INT64))
    number = op.Cast(floats[question.number], to=int(DType.FLOAT32))
    above = op.Greater(number, np.array(question.border, np.float32))
    if question.missing:
        above = op.Or(above, op.IsNaN(number))
    return op.Cast(above, to=int(DType.INT64))


def categories_of(model: Any, document: dict[str, Any], frame: Any) -> Categories:
    """What the categories of a frame's columns are to a model; ConvertError where the frame lacks some it knows."""
    known = _hashes(model, frame)
    features = document["features_info"]["categorical_features"]
    columns = tuple(int(one["flat_feature_index"]) for one in features)
    values = tuple(np.unique(np.asarray(frame.iloc[:, column].tolist())) for column in columns)
    for column_values in values:
        if column_values.dtype.kind not in "USiu":
            raise ConvertError(f"a categorical column of {column_values.dtype} has no rule", hint="strings or integers")
    hashes = tuple(
        tuple(known.get(str(value), _NOBODY) for value in column_values.tolist()) for column_values in values
    )
    for one, own in zip(features, hashes, strict=True):
        if set(one.get("values", ())) - set(own):
            raise ConvertError("the model splits by a category that the example does not have", hint=_ALL)
    tables = document.get("ctr_data") or {}
    noted = document["features_info"].get("ctrs") or []
    floats = document["features_info"].get("float_features", [])
    statistics = tuple(_statistic(one, tables[one["identifier"]], hashes, floats) for one in noted)
    as_stored = tuple(
        column_values.astype(object) if column_values.dtype.kind in "US" else column_values for column_values in values
    )
    return Categories(columns, as_stored, hashes, statistics)


def statistic_of(document: dict[str, Any], split: dict[str, Any]) -> int:
    """Which statistic a split asks for: splits are counted through borders of numbers, values, then statistics."""
    features = document["features_info"]
    before = sum(len(one["borders"] or ()) for one in features.get("float_features", ()))
    before += sum(len(one.get("values", ())) for one in features["categorical_features"])
    ends = list(accumulate(len(one["borders"]) for one in features["ctrs"]))
    place = split["split_index"] - before
    return next(number for number, end in enumerate(ends) if place < end)


def _hashes(model: Any, frame: Any) -> dict[str, int]:
    """CatBoost's hash of each category, read from the program it writes; the program is not run."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.py"
        model.save_model(str(path), format="python", pool=pool_of(model, frame))
        tree = ast.parse(path.read_text("utf-8"))
    for node in tree.body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "cat_features_hashes":
            hashes: dict[str, int] = ast.literal_eval(node.value)
            return hashes
    raise ConvertError("CatBoost does not say what its categories are known by")


def pool_of(model: Any, frame: Any) -> Any:
    from catboost import Pool

    return Pool(frame, cat_features=model.get_cat_feature_indices())


def _statistic(
    noted: dict[str, Any],
    data: dict[str, Any],
    hashes: tuple[tuple[int, ...], ...],
    floats: Sequence[dict[str, Any]],
) -> Statistic:
    elements = {
        kind: [element for element in noted["elements"] if element["combination_element"] == kind] for kind in _ELEMENTS
    }
    if sum(map(len, elements.values())) != len(noted["elements"]):
        raise ConvertError("a statistic is of something that has no rule", hint="train with max_ctr_complexity=1")
    features = tuple(int(element["cat_feature_index"]) for element in elements["cat_feature_value"])
    questions: list[Above | Equals] = []
    for element in elements["float_feature"]:
        own = next(at for at, one in enumerate(floats) if one["feature_index"] == element["float_feature_index"])
        missing = floats[own]["nan_value_treatment"] == "AsTrue"
        questions.append(Above(own, float(element["border"]), missing))
    for element in elements["cat_feature_exact_value"]:
        feature = int(element["cat_feature_index"])
        if element["value"] not in hashes[feature]:
            raise ConvertError("the model asks for a category that the example does not have", hint=_ALL)
        questions.append(Equals(feature, hashes[feature].index(element["value"])))
    shape = tuple(len(hashes[feature]) + 1 for feature in features) + (2,) * len(questions)
    if np.prod(shape) > _MOST_COMBINATIONS:
        raise ConvertError(f"a statistic has {np.prod(shape):,} combinations", hint="train with max_ctr_complexity=1")
    stride = int(data["hash_stride"])
    rows = np.array(data["hash_map"], object).reshape(-1, stride)
    counts = {int(row[0]): [float(number) for number in row[1:]] for row in rows if int(row[0]) != _EMPTY}
    table = np.empty(shape)
    seen = set()
    for place in product(*(range(size) for size in shape)):
        combined = 0
        for feature, index in zip(features, place, strict=False):
            own = hashes[feature][index] if index < len(hashes[feature]) else _NOBODY
            combined = _joined(combined, own)
        for answer in place[len(features) :]:
            combined = _joined(combined, answer)
        seen.add(combined)
        table[place] = _value(noted, counts.get(combined), float(data["counter_denominator"]))
    if set(counts) - seen:
        raise ConvertError("the model knows categories that the example does not have", hint=_ALL)
    return Statistic(features, tuple(questions), table)


def _joined(combined: int, own: int) -> int:
    """CatBoost's hash of what was hashed before and one thing more."""
    return (_FACTOR * ((combined + _FACTOR * own) & _WHOLE)) & _WHOLE


def _value(noted: dict[str, Any], counts: list[float] | None, denominator: float) -> float:
    if counts is None:
        part, whole = 0.0, 0.0
    elif noted["ctr_type"] in ("BinarizedTargetMeanValue", "FloatTargetMeanValue"):
        part, whole = counts
    elif noted["ctr_type"] in ("Counter", "FeatureFreq"):
        part, whole = counts[0], denominator
    elif noted["ctr_type"] == "Buckets":
        part, whole = counts[noted["target_border_idx"]], sum(counts)
    else:
        part, whole = sum(counts[noted["target_border_idx"] + 1 :]), sum(counts)
    share = (part + noted["prior_numerator"]) / (whole + noted["prior_denomerator"])
    return float((share + noted["shift"]) * noted["scale"])
