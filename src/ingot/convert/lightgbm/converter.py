"""A booster of LightGBM as a model: its estimators by the rules of scikit-learn, boosters and files here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ingot.builder import Var
from ingot.convert.boosted import Answers, Boosted, booster_source, scores
from ingot.convert.lightgbm.document import boosted_of
from ingot.convert.lightgbm.links import answer, chances, is_classifier, label
from ingot.convert.request import Request
from ingot.convert.source import Source
from ingot.errors import ConvertError


def convert_lightgbm(model: Any, example: Any, request: Request) -> Source:
    """The model of an estimator, Booster or file: `label` and `probabilities` of a classifier, else `variable`."""
    import lightgbm

    if isinstance(model, Path):
        text = model.read_text("utf-8", errors="replace")
        if not text.startswith("tree"):  # what LightGBM does with other text is not always an error
            raise ConvertError(f"'{model}' is no model of LightGBM", hint="booster.save_model(path) writes one")
        try:
            model = lightgbm.Booster(model_str=text)
        except lightgbm.basic.LightGBMError as error:
            raise ConvertError(f"'{model}' is no model of LightGBM: {error}") from None
    if not isinstance(model, lightgbm.Booster):
        from ingot.convert.sklearn import convert_sklearn  # needs scikit-learn, as the estimators do

        return convert_sklearn(model, example, request)
    request.only("a LightGBM booster")
    boosted = boosted_of(model)
    return booster_source(boosted, _answers(model, boosted), example, request, "LightGBM")


def _answers(booster: Any, boosted: Boosted) -> Answers:
    def number(x: Var) -> dict[str, Var]:
        return {"variable": answer(boosted, scores(boosted, x))}

    def classes(x: Var) -> dict[str, Var]:
        raw = scores(boosted, x)
        return {"label": label(boosted, raw), "probabilities": chances(boosted, raw)}

    def expected(rows: Any) -> list[Any]:
        predicted = np.asarray(booster.predict(rows))
        if predicted.ndim == 2:
            return [predicted.argmax(axis=1), predicted]
        return [(predicted > 0.5).astype(np.int64), np.stack([1 - predicted, predicted], axis=1)]

    if is_classifier(boosted):
        return Answers(classes, expected, ("label", "probabilities"))
    return Answers(number, lambda rows: [np.asarray(booster.predict(rows)).reshape(len(rows), -1)], ("variable",))
