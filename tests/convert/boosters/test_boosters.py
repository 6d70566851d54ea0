"""Boosters convert, and give what their library gives; `walk.py` does every objective."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("sklearn")
pytest.importorskip("xgboost")
pytest.importorskip("lightgbm")
pytest.importorskip("catboost")

import ingot
from convert.boosters.cases import CASES, number, rows, three, two
from ingot.convert import Request, converted
from ingot.errors import ConvertError

pytestmark = pytest.mark.filterwarnings("ignore")

SAMPLE = (
    *("xgboost count:poisson", "xgboost binary:logistic", "xgboost multi:softmax", "xgboost dart"),
    *("xgboost several targets, one tree", "xgboost categories of a frame", "lightgbm tweedie", "lightgbm binary"),
    *("lightgbm multiclassova", "lightgbm zero_as_missing", "lightgbm categories", "catboost Poisson"),
    *(
        "catboost Logloss",
        "catboost MultiClass",
        "catboost Lossguide",
        "catboost YetiRank",
        "catboost categories of a frame",
        "catboost categories together with numbers",
        "catboost categories together with values",
    ),
    *("lightgbm linear trees", "lightgbm linear trees of three classes"),
)


def equal(model: Any, example: Any) -> ingot.Model:
    made, report = converted(model, example, Request())
    assert report is not None
    return made


@pytest.mark.parametrize("name", SAMPLE)
def test_a_booster_gives_what_its_library_gives(name: str) -> None:
    equal(*CASES[name]())


def test_boosters_and_their_files_convert(tmp_path: Path) -> None:
    import catboost
    import lightgbm
    import xgboost

    booster = xgboost.train(
        {"objective": "multi:softprob", "num_class": 3}, xgboost.DMatrix(rows(), three()), num_boost_round=3
    )
    other = lightgbm.train({"objective": "binary", "verbose": -1}, lightgbm.Dataset(rows(), two()), num_boost_round=3)
    third = catboost.CatBoostRegressor(iterations=3, verbose=0, allow_writing_files=False).fit(rows(), number())
    for name in ("m.json", "m.ubj"):
        booster.save_model(tmp_path / name)
    other.save_model(tmp_path / "m.txt")
    third.save_model(str(tmp_path / "m.cbm"))
    for name in ("m.json", "m.ubj", "m.txt"):
        assert equal(tmp_path / name, rows()).graph.outputs.names == ["label", "probabilities"]
    assert equal(tmp_path / "m.cbm", rows()).graph.outputs.names == ["variable"]


@pytest.mark.parametrize("name", ["m.json", "m.ubj", "m.txt", "m.cbm"])
def test_a_file_that_is_no_model_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("nothing of the kind")
    with pytest.raises(ConvertError, match="is no model of"):
        ingot.convert(tmp_path / name)


def test_a_booster_in_a_pipeline_converts() -> None:
    from lightgbm import LGBMClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    model = make_pipeline(StandardScaler(), LGBMClassifier(n_estimators=5, verbose=-1)).fit(rows(), three())
    equal(model, rows())


def test_only_the_rounds_up_to_the_best_are_used() -> None:
    from xgboost import XGBRegressor

    model = XGBRegressor(n_estimators=60, early_stopping_rounds=2, learning_rate=1.0)
    model.fit(rows()[:200], number()[:200], eval_set=[(rows()[200:], number()[200:])], verbose=False)
    assert model.best_iteration < 58
    equal(model, rows())


def test_categories_of_catboost_are_refused_with_what_to_do() -> None:
    from catboost import CatBoostRegressor

    table = np.array([["a", 1.0], ["b", 2.0], ["c", 3.0]] * 20, object)
    model = CatBoostRegressor(iterations=2, verbose=0, allow_writing_files=False)
    model.fit(table, np.arange(60.0) % 3, cat_features=[0])
    with pytest.raises(ConvertError, match="a model with categorical features needs an example"):
        ingot.convert(model, rows()[:, :2])


def test_a_category_that_no_booster_was_trained_on_is_unknown_to_the_model_too() -> None:
    for name in ("catboost categories of a frame", "lightgbm categories of a frame", "xgboost categories of a frame"):
        model, table = CASES[name]()
        session = ingot.Session(equal(model, table))
        columns = {column: np.asarray(table[column].astype(table[column].to_numpy().dtype)) for column in table}
        feeds = {column: values[:3].reshape(-1, 1) for column, values in columns.items()}
        feeds["a"] = np.array([["new"], ["u"], ["other"]], object)
        shown = table.iloc[:3].copy()
        if name.startswith("catboost"):
            shown["a"] = feeds["a"].reshape(-1)
        else:
            shown["a"] = shown["a"].cat.set_categories(list("uvwxyz"))
            shown.loc[:, "a"] = [None, "u", None]  # they refuse a category that is new, or take it for missing
        np.testing.assert_allclose(session.run(None, feeds)[0].reshape(-1), model.predict(shown), rtol=1e-5)


def test_a_category_that_the_example_lacks_is_not_taken_for_unknown() -> None:
    model, table = CASES["catboost categories of a frame"]()
    with pytest.raises(ConvertError, match="categor"):
        ingot.convert(model, table[table["a"] != "u"])
