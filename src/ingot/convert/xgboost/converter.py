"""A booster of XGBoost as a model: its estimators by the rules of scikit-learn, boosters and files here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ingot.builder import Var
from ingot.convert.boosted import Answers, Boosted, booster_source, scores
from ingot.convert.request import Request
from ingot.convert.source import Source
from ingot.convert.xgboost.document import boosted_of
from ingot.convert.xgboost.links import answer, chances, is_classifier, label
from ingot.errors import ConvertError


def convert_xgboost(model: Any, example: Any, request: Request) -> Source:
    """The model of an estimator, Booster or file: `label` and `probabilities` of a classifier, else `variable`."""
    import xgboost

    if isinstance(model, Path):
        booster = xgboost.Booster()
        try:
            booster.load_model(str(model))
        except xgboost.core.XGBoostError as error:
            raise ConvertError(
                f"'{model}' is no model of XGBoost", hint="booster.save_model(path) writes one"
            ) from error
        model = booster
    if not isinstance(model, xgboost.Booster):
        from ingot.convert.sklearn import convert_sklearn  # needs scikit-learn, as the estimators do

        return convert_sklearn(model, example, request)
    request.only("an XGBoost booster")
    boosted = boosted_of(model)
    return booster_source(boosted, _answers(model, boosted), example, request, "XGBoost")


def _answers(booster: Any, boosted: Boosted) -> Answers:
    import xgboost

    def predicted(rows: Any) -> Any:
        scores_of_rows = booster.predict(xgboost.DMatrix(rows, feature_names=None), validate_features=False)
        return np.asarray(scores_of_rows)

    def number(x: Var) -> dict[str, Var]:
        return {"variable": answer(boosted, scores(boosted, x))}

    def classes(x: Var) -> dict[str, Var]:
        raw = scores(boosted, x)
        return {"label": label(boosted, raw), "probabilities": chances(boosted, raw)}

    def expected(rows: Any) -> list[Any]:
        answers = predicted(rows)
        if boosted.objective == "multi:softmax":
            margin = booster.predict(xgboost.DMatrix(rows), output_margin=True, validate_features=False)
            powers = np.exp(margin - margin.max(axis=1, keepdims=True))
            return [answers.astype(np.int64), powers / powers.sum(axis=1, keepdims=True)]
        if answers.ndim == 2:
            return [answers.argmax(axis=1), answers]
        return [(answers > 0.5).astype(np.int64), np.stack([1 - answers, answers], axis=1)]

    if is_classifier(boosted) and boosted.objective != "binary:logitraw":
        return Answers(classes, expected, ("label", "probabilities"))
    return Answers(number, lambda rows: [predicted(rows).reshape(len(rows), -1)], ("variable",))
