"""A model of CatBoost: its estimators by the rules of scikit-learn, files here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ingot.builder import Var, op
from ingot.convert.boosted import Answers, Boosted, booster_source, scores
from ingot.convert.catboost.categories import categories_of
from ingot.convert.catboost.document import boosted_of, document_of
from ingot.convert.catboost.links import answer, chances, is_classifier, label
from ingot.convert.request import Request
from ingot.convert.sklearn.algebra import class_array
from ingot.convert.source import Source
from ingot.errors import ConvertError


def convert_catboost(model: Any, example: Any, request: Request) -> Source:
    """The model of an estimator or file: `label` and `probabilities` of a classifier, else `variable`."""
    import catboost

    if isinstance(model, Path):
        path, model = model, catboost.CatBoost()
        try:
            model.load_model(str(path))
        except catboost.CatBoostError as error:
            raise ConvertError(f"'{path}' is no model of CatBoost", hint="model.save_model(path) writes one") from error
    if not model.is_fitted():
        raise ConvertError(f"the {type(model).__name__} is not fitted", hint="call fit on it first")
    request.only("CatBoost")
    if not model.get_cat_feature_indices():
        boosted = boosted_of(model)
        return booster_source(boosted, _answers(model, boosted), example, request, "CatBoost")
    if not hasattr(example, "iloc"):
        raise ConvertError("a model with categorical features needs an example", hint="give a frame with its columns")
    document = document_of(model, example)
    known = categories_of(model, document, example)
    boosted = boosted_of(model, document, known)
    floats = [one["flat_feature_index"] for one in document["features_info"].get("float_features", ())]

    def prepare(inputs: tuple[Var, ...]) -> Var:
        return known.write([inputs[place] for place in floats], inputs)

    return booster_source(boosted, _answers(model, boosted), example, request, "CatBoost", prepare=prepare)


def _answers(model: Any, boosted: Boosted) -> Answers:
    import catboost

    predict = catboost.CatBoost.predict  # that of a ranker takes no kind of prediction
    if not is_classifier(boosted):
        kinds = {"Poisson": "Exponent", "Tweedie": "Exponent", "RMSEWithUncertainty": "RMSEWithUncertainty"}
        kind = kinds.get(boosted.objective, "RawFormulaVal")
        return Answers(
            lambda x: {"variable": answer(boosted, scores(boosted, x))},
            lambda rows: [np.asarray(predict(model, rows, prediction_type=kind)).reshape(len(rows), -1)],
            ("variable",),
        )
    classes = class_array(model.classes_)
    several = boosted.objective in ("MultiLogloss", "MultiCrossEntropy")

    def outputs(x: Var) -> dict[str, Var]:
        raw = scores(boosted, x)
        which = label(boosted, raw)
        named = which if several else op.Gather(classes, which)
        return {"label": named, "probabilities": chances(boosted, raw)}

    def expected(rows: Any) -> list[Any]:
        classes = np.asarray(predict(model, rows, prediction_type="Class"))
        sure = np.asarray(predict(model, rows, prediction_type="Probability"))
        return [classes if several else classes.reshape(-1), sure.reshape(len(rows), -1)]

    return Answers(outputs, expected, ("label", "probabilities"))
