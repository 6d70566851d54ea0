"""A fitted booster for every objective of XGBoost, LightGBM and CatBoost, with rows that have missing values."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Made = tuple[Any, Any]


@cache
def rows() -> Array:
    generator = np.random.default_rng(0)
    found = generator.normal(size=(300, 4)).astype(np.float32)
    found[generator.random(found.shape) < 0.1] = np.nan
    return found


def number() -> Array:
    found: Array = np.nan_to_num(rows()[:, 0]) + np.nan_to_num(rows()[:, 1]) ** 2
    return found


def positive() -> Array:
    return np.abs(number()) + 0.1


def three() -> Array:
    return np.digitize(number(), [0.0, 1.0])


def two() -> Array:
    return (number() > 0).astype(np.int64)


def groups() -> Array:
    return np.arange(300) // 10


def frame() -> tuple[Any, Array]:
    """A column of categories, one of numbers, one of numbers that are categories; and what depends on them."""
    import pandas as pd

    generator = np.random.default_rng(5)
    letters = np.array(list("uvwxyz"))[generator.integers(0, 6, 300)]
    table = pd.DataFrame(
        {"a": pd.Categorical(letters), "b": rows()[:, 0], "c": pd.Categorical(generator.integers(5, 9, 300))}
    )
    return table, np.isin(letters, ["u", "x"]) * 3 + generator.normal(size=300)


def _xgb(kind: str, objective: str | None, y: Callable[[], Array], **named: Any) -> Callable[[], Made]:
    def make() -> Made:
        import xgboost

        given = {"n_estimators": 8, "max_depth": 3, **named} | ({"objective": objective} if objective else {})
        extra = {"qid": groups()} if kind == "XGBRanker" else {}
        return getattr(xgboost, kind)(**given).fit(rows(), y(), **extra), rows()

    return make


def _lgb(kind: str, objective: str | None, y: Callable[[], Array], **named: Any) -> Callable[[], Made]:
    def make() -> Made:
        import lightgbm

        given = {"n_estimators": 8, "num_leaves": 7, "verbose": -1, **named}
        given |= {"objective": objective} if objective else {}
        extra = {"group": [10] * 30} if kind == "LGBMRanker" else {}
        return getattr(lightgbm, kind)(**given).fit(rows(), y(), **extra), rows()

    return make


def _cat(kind: str, loss: str | None, y: Callable[[], Array], **named: Any) -> Callable[[], Made]:
    def make() -> Made:
        import catboost

        given = {"iterations": 8, "depth": 3, "verbose": 0, "allow_writing_files": False, **named}
        given |= {"loss_function": loss} if loss else {}
        extra = {"group_id": groups()} if kind == "CatBoostRanker" else {}
        return getattr(catboost, kind)(**given).fit(rows(), y(), **extra), rows()

    return make


def _both() -> Array:
    return np.stack([number() > 0, number() > 1], axis=1).astype(np.int64)


def _pair() -> Array:
    return np.stack([number(), -number()], axis=1)


def _names() -> Array:
    return np.where(number() > 0, "yes", "no")


def _sparse_lgb(**named: Any) -> Callable[[], Made]:
    def make() -> Made:
        import lightgbm

        table = rows().copy()
        table[np.random.default_rng(1).random(table.shape) < 0.3] = 0
        return lightgbm.LGBMRegressor(n_estimators=8, verbose=-1, **named).fit(table, number()), table

    return make


def _lgb_categories() -> Made:
    import lightgbm

    table = rows().copy()
    table[:, 0] = np.random.default_rng(2).integers(0, 12, 300)
    model = lightgbm.LGBMRegressor(n_estimators=8, verbose=-1, cat_smooth=1, min_data_per_group=1)
    return model.fit(table, np.isin(table[:, 0], [1, 5, 7]) * 2.0, categorical_feature=[0]), table


def _lgb_frame() -> Made:
    import lightgbm

    table, y = frame()
    model = lightgbm.LGBMRegressor(n_estimators=8, verbose=-1, cat_smooth=1, min_data_per_group=1)
    return model.fit(table, y), table


def _xgb_frame() -> Made:
    import xgboost

    table, y = frame()
    model = xgboost.XGBRegressor(n_estimators=8, enable_categorical=True, tree_method="hist", max_cat_to_onehot=1)
    return model.fit(table, y), table


def _cat_frame(**named: Any) -> Callable[[], Made]:
    def make() -> Made:
        import catboost

        table, y = frame()
        table = table.astype({"a": object, "c": np.int64})
        model = catboost.CatBoostRegressor(iterations=8, depth=3, verbose=0, allow_writing_files=False, **named)
        return model.fit(table, y, cat_features=["a", "c"]), table

    return make


def _xgb_missing() -> Made:
    import xgboost

    table = np.nan_to_num(rows(), nan=-999.0)
    return xgboost.XGBRegressor(n_estimators=8, missing=-999.0).fit(table, number()), table


def _cat_together(**named: Any) -> Callable[[], Made]:
    """Statistics of categories together with borders of numbers, or with values of other categories."""

    def make() -> Made:
        import catboost
        import pandas as pd

        draw = np.random.default_rng(3)
        table = pd.DataFrame({name: draw.choice(list(values), 600) for name, values in _VALUES.items()})
        table["x"] = draw.normal(size=600)
        y = table.a.isin(["p", "q"]) * ((table.x > 0) * 3.0 + (table.b == "u") * 2.0) + (table.c == "k")
        table.loc[::17, "x"] = np.nan
        model = catboost.CatBoostRegressor(
            iterations=20, depth=5, verbose=0, allow_writing_files=False, max_ctr_complexity=4, **named
        )
        return model.fit(table, y, cat_features=list(_VALUES)), table

    return make


_VALUES = {"a": "pqrstxyz", "b": "uv", "c": "klm"}


def _lgb_linear(kind: str, y: Callable[[], Array]) -> Callable[[], Made]:
    def make() -> Made:
        import lightgbm

        table = rows().copy()
        table[::9, 1] = np.nan
        return getattr(lightgbm, kind)(n_estimators=8, verbose=-1, linear_tree=True).fit(table, y()), table

    return make


def _xgb_linear() -> Made:
    import xgboost

    table = np.nan_to_num(rows())
    return xgboost.XGBRegressor(n_estimators=8, booster="gblinear").fit(table, number()), table


_POSITIVE = ("reg:squarederror", "reg:squaredlogerror", "reg:absoluteerror", "reg:pseudohubererror", "count:poisson")
_LGB = ("regression", "regression_l1", "huber", "fair", "poisson", "quantile", "mape", "gamma", "tweedie")
_CAT = ("RMSE", "MAE", "Quantile", "Expectile:alpha=0.3", "LogLinQuantile", "Poisson", "Tweedie:variance_power=1.5")

CASES: dict[str, Callable[[], Made]] = {
    **{f"xgboost {name}": _xgb("XGBRegressor", name, positive) for name in _POSITIVE},
    **{f"xgboost {n}": _xgb("XGBRegressor", n, positive) for n in ("reg:gamma", "reg:tweedie", "survival:cox")},
    "xgboost reg:logistic": _xgb("XGBRegressor", "reg:logistic", two),
    "xgboost reg:quantileerror, two quantiles": _xgb(
        "XGBRegressor", "reg:quantileerror", number, quantile_alpha=[0.2, 0.8]
    ),
    **{
        f"xgboost {name}": _xgb("XGBClassifier", name, two)
        for name in ("binary:logistic", "binary:logitraw", "binary:hinge")
    },
    **{f"xgboost {name}": _xgb("XGBClassifier", name, three) for name in ("multi:softprob", "multi:softmax")},
    **{f"xgboost {name}": _xgb("XGBRanker", name, three) for name in ("rank:ndcg", "rank:pairwise")},
    "xgboost rank:map": _xgb("XGBRanker", "rank:map", two),
    "xgboost dart": _xgb("XGBClassifier", None, three, booster="dart", rate_drop=0.3),
    "xgboost random forest": _xgb("XGBRFRegressor", None, number),
    "xgboost gblinear": _xgb_linear,
    "xgboost several targets, a tree each": _xgb("XGBRegressor", None, _pair),
    "xgboost several targets, one tree": _xgb(
        "XGBRegressor", None, _pair, multi_strategy="multi_output_tree", tree_method="hist"
    ),
    "xgboost several labels": _xgb("XGBClassifier", None, _both),
    "xgboost missing=-999": _xgb_missing,
    "xgboost categories of a frame": _xgb_frame,
    **{f"lightgbm {name}": _lgb("LGBMRegressor", name, positive) for name in _LGB},
    **{f"lightgbm {name}": _lgb("LGBMRegressor", name, two) for name in ("cross_entropy", "cross_entropy_lambda")},
    "lightgbm regression, reg_sqrt": _lgb("LGBMRegressor", None, number, reg_sqrt=True),
    "lightgbm binary": _lgb("LGBMClassifier", "binary", _names),
    **{f"lightgbm {name}": _lgb("LGBMClassifier", name, three) for name in ("multiclass", "multiclassova")},
    **{f"lightgbm {name}": _lgb("LGBMRanker", name, three) for name in ("lambdarank", "rank_xendcg")},
    "lightgbm dart": _lgb("LGBMClassifier", None, three, boosting_type="dart"),
    "lightgbm random forest": _lgb(
        "LGBMRegressor", None, number, boosting_type="rf", bagging_freq=1, bagging_fraction=0.5
    ),
    "lightgbm zero_as_missing": _sparse_lgb(zero_as_missing=True),
    "lightgbm use_missing=False": _sparse_lgb(use_missing=False),
    "lightgbm linear trees": _lgb_linear("LGBMRegressor", number),
    "lightgbm linear trees of three classes": _lgb_linear("LGBMClassifier", three),
    "lightgbm categories": _lgb_categories,
    "lightgbm categories of a frame": _lgb_frame,
    **{f"catboost {name}": _cat("CatBoostRegressor", name, positive) for name in _CAT},
    **{f"catboost {n}": _cat("CatBoostRegressor", n, positive) for n in ("Huber:delta=1", "LogCosh", "MAPE")},
    "catboost RMSEWithUncertainty": _cat("CatBoostRegressor", "RMSEWithUncertainty", number),
    "catboost MultiRMSE": _cat("CatBoostRegressor", "MultiRMSE", _pair),
    "catboost Logloss": _cat("CatBoostClassifier", "Logloss", _names),
    "catboost CrossEntropy": _cat("CatBoostClassifier", "CrossEntropy", two),
    **{f"catboost {n}": _cat("CatBoostClassifier", n, three) for n in ("MultiClass", "MultiClassOneVsAll")},
    "catboost MultiLogloss": _cat("CatBoostClassifier", "MultiLogloss", _both),
    **{f"catboost {name}": _cat("CatBoostRanker", name, three) for name in ("YetiRank", "PairLogit", "QueryRMSE")},
    **{
        f"catboost {policy}": _cat("CatBoostClassifier", None, three, grow_policy=policy)
        for policy in ("Lossguide", "Depthwise")
    },
    "catboost categories of a frame": _cat_frame(),
    "catboost categories by value": _cat_frame(one_hot_max_size=10),
    "catboost categories, one statistic a feature": _cat_frame(max_ctr_complexity=1),
    "catboost categories together with numbers": _cat_together(nan_mode="Max"),
    "catboost categories together with values": _cat_together(one_hot_max_size=3),
    "catboost nan_mode=Max": _cat("CatBoostRegressor", None, number, nan_mode="Max"),
}
"""By library and objective, or what else is particular."""
