"""Fitted estimators for every name of scikit-learn's `all_estimators`, with an example each."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Case:
    """What an estimator is made with, what it is fitted to, and what it is shown."""

    make: Callable[[type], Any]
    fit: Callable[[Any], Any]
    example: Callable[[], Any]


@cache
def flowers() -> tuple[Array, Array]:
    """Three classes of four positive measures, 120 rows."""
    generator = np.random.default_rng(7)
    centres = np.array([[5.0, 3.4, 1.5, 0.3], [5.9, 2.8, 4.3, 1.3], [6.6, 3.0, 5.5, 2.0]])
    classes = np.repeat(np.arange(3), 40)
    rows = np.abs(centres[classes] + generator.normal(scale=0.35, size=(120, 4)))
    order = generator.permutation(120)
    return rows[order].astype(np.float32), classes[order]


def target() -> Array:
    """A positive number for each flower."""
    rows, _ = flowers()
    found: Array = 1 + rows[:, 0] * 0.5 + np.abs(np.sin(3 * rows[:, 1])) + 0.2 * rows[:, 2] ** 2
    return found


def _x() -> Array:
    return flowers()[0]


NAMES = [["a", "b", "wörld"], ["cat", "dog", "dog"]]
DICTIONARIES = [{"a": 1.0, "b": 2.0}, {"b": 3.5, "c": 1.0}, {"c": 2.5}, {}]
TEXTS = [
    "the quick brown fox jumps over the lazy dog",
    "a quick movement of the enemy will jeopardize five gunboats",
    "the five boxing wizards jump quickly",
    "pack my box with five dozen liquor jugs",
    "how vexingly quick daft zebras jump",
    "the dog and the fox are not the same",
]
COLOURS = np.array(
    [["red", "small"], ["green", "large"], ["blue", "small"], ["red", "large"], ["blue", "tiny"]] * 6, object
)


def _plain(**named: Any) -> Callable[[type], Any]:
    return lambda kind: kind(**named)


def _with(module: str, name: str, place: str = "estimator", inner: dict[str, Any] | None = None, **named: Any) -> Any:
    from importlib import import_module

    return lambda kind: kind(**{place: getattr(import_module(f"sklearn.{module}"), name)(**(inner or {}))}, **named)


def _classes(model: Any) -> Any:
    return model.fit(flowers()[0], flowers()[1])


def _numbers(model: Any) -> Any:
    return model.fit(flowers()[0], target())


def _two(model: Any) -> Any:
    return model.fit(flowers()[0], (flowers()[1] > 0).astype(np.int64))


def _two_numbers(model: Any) -> Any:
    return model.fit(flowers()[0], np.stack([target(), -2 * target() + flowers()[0][:, 0]], axis=1))


def _alone(model: Any) -> Any:
    return model.fit(flowers()[0])


def _two_labels(model: Any) -> Any:
    classes = flowers()[1]
    return model.fit(flowers()[0], np.stack([(classes > 0), (classes == 1)], axis=1).astype(np.int64))


def _holes() -> Array:
    rows = flowers()[0].copy()
    rows[np.random.default_rng(3).random(rows.shape) < 0.15] = np.nan
    return rows


def _logistic() -> Any:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(max_iter=500)


def _tree() -> Any:
    from sklearn.tree import DecisionTreeClassifier

    return DecisionTreeClassifier(max_depth=3, random_state=0)


def _ridge() -> Any:
    from sklearn.linear_model import Ridge

    return Ridge()


def _scaler() -> Any:
    from sklearn.preprocessing import StandardScaler

    return StandardScaler()


def _members(classifiers: bool) -> list[tuple[str, Any]]:
    from sklearn.tree import DecisionTreeRegressor

    if classifiers:
        return [("a", _logistic()), ("b", _tree())]
    return [("a", _ridge()), ("b", DecisionTreeRegressor(max_depth=3, random_state=0))]


def _columns() -> list[tuple[str, Any, Any]]:
    from sklearn.preprocessing import MinMaxScaler

    return [("a", _scaler(), [0, 2]), ("b", MinMaxScaler(), slice(1, 3)), ("c", "passthrough", [3])]


def _semi(model: Any) -> Any:
    rows, classes = flowers()
    known = classes.copy()
    known[::3] = -1
    return model.fit(rows, known)


def _counts(model: Any) -> Any:
    rows, classes = flowers()
    return model.fit(np.floor(rows), classes)


SPECIAL: dict[str, Case] = {
    **{
        name: Case(_plain(), _two_numbers, _x)
        for name in ("MultiTaskElasticNet", "MultiTaskElasticNetCV", "MultiTaskLasso", "MultiTaskLassoCV", "CCA")
    },
    "PLSCanonical": Case(_plain(), _two_numbers, _x),
    "PLSSVD": Case(_plain(), _two_numbers, _x),
    "CategoricalNB": Case(_plain(min_categories=12), _counts, lambda: np.floor(flowers()[0])),
    "Binarizer": Case(_plain(threshold=3.0), _alone, _x),
    "SVC": Case(_plain(), _classes, _x),
    "NuSVC": Case(_plain(nu=0.2), _classes, _x),
    "LocalOutlierFactor": Case(_plain(novelty=True), _alone, _x),
    "RadiusNeighborsClassifier": Case(_plain(radius=2.0, outlier_label=0), _classes, _x),
    "RadiusNeighborsRegressor": Case(_plain(radius=9.0), _numbers, _x),
    "RadiusNeighborsTransformer": Case(_plain(radius=2.0), _alone, _x),
    "KBinsDiscretizer": Case(_plain(quantile_method="averaged_inverted_cdf"), _alone, _x),
    "QuantileTransformer": Case(_plain(n_quantiles=30), _alone, _x),
    "OneHotEncoder": Case(_plain(handle_unknown="ignore"), lambda m: m.fit(COLOURS), lambda: COLOURS),
    "OrdinalEncoder": Case(_plain(), lambda m: m.fit(COLOURS), lambda: COLOURS),
    "TargetEncoder": Case(_plain(), lambda m: m.fit(COLOURS, np.arange(30.0) % 7), lambda: COLOURS),
    "LabelEncoder": Case(_plain(), lambda m: m.fit(COLOURS[:, 0]), lambda: COLOURS[:, 0]),
    "LabelBinarizer": Case(_plain(), lambda m: m.fit(flowers()[1]), lambda: flowers()[1]),
    "MultiLabelBinarizer": Case(_plain(), lambda m: m.fit([["a"], ["a", "b"]]), lambda: [["a"], ["a", "b"]]),
    "CountVectorizer": Case(_plain(), lambda m: m.fit(TEXTS), lambda: TEXTS),
    "TfidfVectorizer": Case(_plain(), lambda m: m.fit(TEXTS), lambda: TEXTS),
    "HashingVectorizer": Case(_plain(n_features=16), lambda m: m.fit(TEXTS), lambda: TEXTS),
    "FeatureHasher": Case(_plain(n_features=8, input_type="string"), lambda m: m.fit(NAMES), lambda: NAMES),
    "DictVectorizer": Case(_plain(), lambda m: m.fit(DICTIONARIES), lambda: DICTIONARIES),
    "TfidfTransformer": Case(_plain(), lambda m: m.fit(np.floor(flowers()[0])), lambda: np.floor(flowers()[0])),
    "KernelCenterer": Case(
        _plain(), lambda m: m.fit(flowers()[0][:20] @ flowers()[0][:20].T), lambda: flowers()[0] @ flowers()[0][:20].T
    ),
    "SimpleImputer": Case(_plain(add_indicator=True), lambda m: m.fit(_holes()), _holes),
    "KNNImputer": Case(_plain(n_neighbors=3), lambda m: m.fit(_holes()), _holes),
    "MissingIndicator": Case(_plain(), lambda m: m.fit(_holes()), _holes),
    "IsotonicRegression": Case(
        _plain(out_of_bounds="clip"), lambda m: m.fit(flowers()[0][:, 0], target()), lambda: flowers()[0][:, 0]
    ),
    "PatchExtractor": Case(
        _plain(patch_size=(2, 2)), lambda m: m.fit(np.zeros((1, 5, 6))), lambda: np.arange(90.0).reshape(3, 5, 6)
    ),
    "SparseCoder": Case(
        _plain(dictionary=np.eye(4)[:3] + 0.1, transform_algorithm="threshold", transform_alpha=0.5), _alone, _x
    ),
    "DictionaryLearning": Case(_plain(transform_algorithm="threshold", max_iter=5, random_state=0), _alone, _x),
    "MiniBatchDictionaryLearning": Case(
        _plain(transform_algorithm="threshold", max_iter=5, random_state=0), _alone, _x
    ),
    "SkewedChi2Sampler": Case(_plain(random_state=0), _alone, _x),
    "AffinityPropagation": Case(_plain(damping=0.9, max_iter=500, random_state=0), _alone, _x),
    "MeanShift": Case(_plain(bandwidth=2.0), _alone, _x),
    "GaussianProcessRegressor": Case(
        _with("gaussian_process.kernels", "RBF", "kernel", {"length_scale": 2.0}, alpha=0.1, optimizer=None),
        _numbers,
        _x,
    ),
    "GaussianProcessClassifier": Case(_plain(), _classes, _x),
    "GaussianRandomProjection": Case(_plain(n_components=3, random_state=0), _alone, _x),
    "SparseRandomProjection": Case(_plain(n_components=3, random_state=0, dense_output=True), _alone, _x),
    "SelectFdr": Case(_plain(), _classes, _x),
    "SelectKBest": Case(_plain(k=2), _classes, _x),
    "GenericUnivariateSelect": Case(_plain(mode="k_best", param=2), _classes, _x),
    "TunedThresholdClassifierCV": Case(lambda k: k(_logistic()), _two, _x),
    "FixedThresholdClassifier": Case(lambda k: k(_logistic(), threshold=0.3), _two, _x),
    "FrozenEstimator": Case(lambda k: k(_classes(_logistic())), lambda m: m, _x),
    "CalibratedClassifierCV": Case(lambda k: k(_tree()), _classes, _x),
    "OneVsRestClassifier": Case(lambda k: k(_logistic()), _classes, _x),
    "OneVsOneClassifier": Case(lambda k: k(_logistic()), _classes, _x),
    "OutputCodeClassifier": Case(lambda k: k(_logistic(), random_state=0), _classes, _x),
    "MultiOutputClassifier": Case(lambda k: k(_logistic()), _two_labels, _x),
    "MultiOutputRegressor": Case(lambda k: k(_ridge()), _two_numbers, _x),
    "ClassifierChain": Case(lambda k: k(_logistic()), _two_labels, _x),
    "RegressorChain": Case(lambda k: k(_ridge()), _two_numbers, _x),
    "VotingClassifier": Case(lambda k: k(_members(True), voting="soft"), _classes, _x),
    "VotingRegressor": Case(lambda k: k(_members(False)), _numbers, _x),
    "StackingClassifier": Case(lambda k: k(_members(True), cv=3), _classes, _x),
    "StackingRegressor": Case(lambda k: k(_members(False), cv=3), _numbers, _x),
    "SelfTrainingClassifier": Case(lambda k: k(_logistic()), _semi, _x),
    "LabelPropagation": Case(_plain(gamma=2.0), _semi, _x),
    "LabelSpreading": Case(_plain(gamma=2.0), _semi, _x),
    "GridSearchCV": Case(lambda k: k(_logistic(), {"C": [0.1, 1.0]}, cv=3), _classes, _x),
    "RandomizedSearchCV": Case(
        lambda k: k(_logistic(), {"C": [0.1, 1.0]}, n_iter=2, cv=3, random_state=0), _classes, _x
    ),
    "RFE": Case(lambda k: k(_logistic(), n_features_to_select=2), _classes, _x),
    "RFECV": Case(lambda k: k(_logistic(), cv=3), _classes, _x),
    "SelectFromModel": Case(lambda k: k(_logistic()), _classes, _x),
    "SequentialFeatureSelector": Case(lambda k: k(_logistic(), n_features_to_select=2, cv=2), _classes, _x),
    "Pipeline": Case(lambda k: k([("a", _scaler()), ("b", _logistic())]), _classes, _x),
    "FeatureUnion": Case(lambda k: k([("a", _scaler()), ("b", "passthrough")]), _alone, _x),
    "ColumnTransformer": Case(lambda k: k(_columns()), _alone, _x),
    "TransformedTargetRegressor": Case(lambda k: k(_ridge(), func=np.log, inverse_func=np.exp), _numbers, _x),
    "FunctionTransformer": Case(_plain(func=np.log1p), _alone, _x),
    "OrthogonalMatchingPursuitCV": Case(_plain(max_iter=3), _numbers, _x),
    "RANSACRegressor": Case(_plain(random_state=0), _numbers, _x),
    "HistGradientBoostingClassifier": Case(_plain(max_iter=10), lambda m: m.fit(_holes(), flowers()[1]), _holes),
    "HistGradientBoostingRegressor": Case(_plain(max_iter=10), lambda m: m.fit(_holes(), target()), _holes),
}


def fitted(name: str, kind: type) -> tuple[Any, Any]:
    """An estimator of a class, fitted, and an example of what it takes."""
    case = SPECIAL.get(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if case is not None:
            return case.fit(case.make(kind)), case.example()
        return _usual(kind), _x()


def _usual(kind: type) -> Any:
    from inspect import signature

    from sklearn.base import is_classifier, is_regressor

    known = signature(kind).parameters
    wanted: dict[str, Any] = {"random_state": 0, "n_estimators": 10, "max_iter": 300, "n_components": 2}
    named = {key: value for key, value in wanted.items() if key in known}
    model = kind(**named)
    if is_classifier(model):
        return _classes(model)
    if is_regressor(model):
        return _numbers(model)
    try:
        return _alone(model)
    except (TypeError, ValueError):
        return _classes(model)
