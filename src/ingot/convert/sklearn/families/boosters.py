"""Estimators of XGBoost, LightGBM and CatBoost, alone or inside a pipeline."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from ingot.builder import Var, op
from ingot.convert.boosted import Boosted, scores
from ingot.convert.sklearn.algebra import labels
from ingot.convert.sklearn.conversion import Conversion, Rows
from ingot.convert.sklearn.families.encoders import positions
from ingot.convert.sklearn.rule import refusal, rule
from ingot.dtypes import DType

_XGBOOST = ("XGBClassifier", "XGBRFClassifier", "XGBRegressor", "XGBRFRegressor", "XGBRanker")
_LIGHTGBM = ("LGBMClassifier", "LGBMRegressor", "LGBMRanker")
_CATBOOST = ("CatBoostClassifier", "CatBoostRegressor", "CatBoostRanker", "CatBoost")
_CLASSIFIERS = ("XGBClassifier", "XGBRFClassifier", "LGBMClassifier", "CatBoostClassifier")
_OTHERS = tuple(name for name in (*_XGBOOST, *_LIGHTGBM, *_CATBOOST) if name not in _CLASSIFIERS)


def _library(estimator: Any) -> str:
    roots = (kind.__module__.partition(".")[0] for kind in type(estimator).__mro__)
    return next(root for root in roots if root in ("xgboost", "lightgbm", "catboost"))


def boosted_of(estimator: Any) -> Boosted:
    """The trees of an estimator, as far as it predicts with them."""
    library = _library(estimator)
    document = import_module(f"ingot.convert.{library}.document")
    boosted: Boosted
    if library == "xgboost":
        booster = estimator.get_booster()
        best = booster.attr("best_iteration")
        missing = float("nan") if estimator.missing is None else float(estimator.missing)
        boosted = document.boosted_of(booster, missing=missing, rounds=None if best is None else int(best) + 1)
    elif library == "lightgbm":
        boosted = document.boosted_of(estimator.booster_)
    else:
        boosted = document.boosted_of(estimator)
    return boosted


def _links(estimator: Any) -> Any:
    return import_module(f"ingot.convert.{_library(estimator)}.links")


@refusal(*_XGBOOST, *_LIGHTGBM, *_CATBOOST)
def own_objective(estimator: Any) -> str | None:
    objective = getattr(estimator, "objective", None)
    if callable(objective) and hasattr(estimator, "classes_"):
        return "its objective is a Python function: what its scores become is not known"
    return None


@rule("predict", *_OTHERS)
def number(c: Conversion, estimator: Any, x: Rows) -> Var:
    answers: Var = _links(estimator).answer(*c.once(_scores, estimator, x))
    return answers


@rule("predict_proba", *_CLASSIFIERS)
def probabilities(c: Conversion, estimator: Any, x: Rows) -> Var:
    boosted, raw = c.once(_scores, estimator, x)
    links = _links(estimator)
    several = boosted.groups > 1 and getattr(estimator, "n_classes_", 0) == 2 and _library(estimator) == "xgboost"
    chances: Var = (links.answer if several else links.chances)(boosted, raw)
    return chances


@rule("predict", *_CLASSIFIERS)
def label(c: Conversion, estimator: Any, x: Rows) -> Var:
    answer: Var = _links(estimator).label(*c.once(_scores, estimator, x))
    classes = np.asarray(estimator.classes_)
    if answer.rank == 2 or (classes.dtype.kind in "iu" and classes.tolist() == list(range(len(classes)))):
        return answer
    return labels(c, classes, answer)


def _scores(c: Conversion, estimator: Any, x: Rows) -> tuple[Boosted, Var]:
    boosted = boosted_of(estimator)
    return boosted, scores(boosted, _rows(c, estimator, x))


def _rows(c: Conversion, estimator: Any, x: Rows) -> Var:
    """Rows as numbers; categories of a frame as the numbers the booster knows them by."""
    if isinstance(x, Var):
        return x if x.dtype in (DType.FLOAT32, DType.FLOAT64) else c.matrix(x)
    known = _categories(estimator)
    parts = []
    for name, value in zip(x.names, x.values, strict=True):
        if name not in known:
            parts.append(c.cast(value, np.float64))
            continue
        place = positions(c, value, known[name])
        absent = op.Less(place, np.array(0, np.int64))
        parts.append(op.Where(absent, np.float64(np.nan), op.Cast(place, to=int(DType.FLOAT64))))
    return parts[0] if len(parts) == 1 else op.Concat(*parts, axis=1)


def _categories(estimator: Any) -> dict[str, Any]:
    """The categories of columns by name, where the booster has noted them."""
    if _library(estimator) == "lightgbm":
        categories = estimator.booster_.pandas_categorical or []
        booster = estimator.booster_
        types = booster.dump_model(num_iteration=1).get("feature_infos", {})
        names = [name for name in booster.feature_name() if types.get(name, {}).get("values")] or booster.feature_name()
        return dict(zip(names, categories, strict=False)) if categories else {}
    if _library(estimator) == "xgboost":
        categories = import_module("ingot.convert.xgboost.document").categories_of(estimator.get_booster())
        return dict(categories)
    return {}
