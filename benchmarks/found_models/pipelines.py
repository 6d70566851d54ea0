"""Pipelines of scikit-learn with options that few users set, and inputs that are not one table of float32."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import numpy as np

ROWS = 200
WORDS = ("red", "green", "blue", "dark red", "Light green", "no colour at all", "sky")


@dataclass(frozen=True, slots=True)
class Pipeline:
    """An estimator, what it is fitted to, and how skl2onnx is asked to write it.

    `kind` is of the input: a table of `float32` or `float64`, `words` (a column of texts), or `columns` (a data frame
    of two numbers and two words, an input each). `target` is what it learns.
    """

    make: Callable[[], Any]
    kind: str = "float32"
    target: str = "classes"
    options: Mapping[str, Any] = field(default_factory=dict)
    opset: int = 18


def written(pipeline: Pipeline) -> bytes:
    """The model as skl2onnx writes it."""
    skl2onnx: Any = import_module("skl2onnx")
    x, types = _inputs(pipeline.kind)
    model = pipeline.make().fit(x, _target(pipeline.target))
    options = {id(model): dict(pipeline.options)} if pipeline.options else None
    opsets = {"": pipeline.opset, "ai.onnx.ml": 3 if pipeline.opset >= 15 else 1}
    return bytes(skl2onnx.to_onnx(model, initial_types=types, options=options, target_opset=opsets).SerializeToString())


def _inputs(kind: str) -> tuple[Any, Sequence[tuple[str, Any]]]:
    types: Any = import_module("skl2onnx.common.data_types")
    rng = np.random.default_rng(0)
    x = rng.standard_normal((ROWS, 10))
    match kind:
        case "float32":
            return x.astype(np.float32), [("x", types.FloatTensorType([None, 10]))]
        case "float64":
            return x, [("x", types.DoubleTensorType([None, 10]))]
        case "integers":
            return (x * 3).astype(np.int64), [("x", types.Int64TensorType([None, 10]))]
        case "words":
            texts = [" ".join(rng.choice(WORDS, rng.integers(1, 6))) for _ in range(ROWS)]
            return np.array(texts, object), [("x", types.StringTensorType([None, 1]))]
    pandas: Any = import_module("pandas")
    frame = pandas.DataFrame(
        {
            "a": x[:, 0].astype(np.float32),
            "b": x[:, 1].astype(np.float32),
            "c": rng.choice(WORDS, ROWS),
            "d": rng.choice(WORDS[:3], ROWS),
        }
    )
    number, word = types.FloatTensorType([None, 1]), types.StringTensorType([None, 1])
    return frame, [("a", number), ("b", number), ("c", word), ("d", word)]


def _target(target: str) -> Any:
    rng = np.random.default_rng(1)
    numbers = np.random.default_rng(0).standard_normal((ROWS, 10))[:, 0] * 2 + rng.standard_normal(ROWS) / 10
    classes = (numbers > 0).astype(np.int64) + (numbers > 1.5)
    match target:
        case "classes":
            return classes
        case "two classes":
            return (numbers > 0).astype(np.int64)
        case "names":
            return np.array(["low", "middle", "high"])[classes]
        case "several numbers":
            return np.stack([numbers, numbers**2, -numbers], axis=1)
        case "several classes":
            return np.stack([classes, classes > 0], axis=1).astype(np.int64)
        case "positive":
            return np.exp(numbers / 4)
    return numbers


def _of(module: str, name: str, **options: Any) -> Callable[[], Any]:
    return lambda: getattr(import_module(f"sklearn.{module}"), name)(**options)


def _then(*steps: Callable[[], Any]) -> Callable[[], Any]:
    return lambda: import_module("sklearn.pipeline").make_pipeline(*(step() for step in steps))


def _frame(numbers: Callable[[], Any], words: Callable[[], Any]) -> Callable[[], Any]:
    return lambda: import_module("sklearn.compose").make_column_transformer(
        (numbers(), ["a", "b"]), (words(), ["c", "d"])
    )


_LOGISTIC = _of("linear_model", "LogisticRegression")
_SCALER = _of("preprocessing", "StandardScaler")
_FOREST = _of("ensemble", "RandomForestClassifier", n_estimators=20)
_HOT = _of("preprocessing", "OneHotEncoder", handle_unknown="ignore")
_ORDINAL = _of("preprocessing", "OrdinalEncoder", handle_unknown="use_encoded_value", unknown_value=-1)

PIPELINES: dict[str, Pipeline] = {
    "maps_of_names": Pipeline(_FOREST, target="names"),
    "maps_of_two": Pipeline(_LOGISTIC, target="two classes"),
    "columns_of_scores": Pipeline(_FOREST, options={"zipmap": "columns"}),
    "raw_scores": Pipeline(_of("ensemble", "GradientBoostingClassifier"), options={"raw_scores": True}),
    "raw_scores_svc": Pipeline(_of("svm", "SVC"), options={"raw_scores": True, "zipmap": False}),
    "svc_probable": Pipeline(_of("svm", "SVC", probability=True), options={"zipmap": False}),
    "svc_two_probable": Pipeline(_of("svm", "SVC", probability=True), target="two classes", options={"zipmap": False}),
    "svc_linear": Pipeline(_of("svm", "SVC", kernel="linear"), options={"zipmap": False}),
    "svc_polynomial": Pipeline(_of("svm", "SVC", kernel="poly", degree=2), options={"zipmap": False}),
    "nu_svc_sigmoid": Pipeline(_of("svm", "NuSVC", kernel="sigmoid", nu=0.2), options={"zipmap": False}),
    "nu_svr": Pipeline(_of("svm", "NuSVR"), target="numbers"),
    "linear_svr": Pipeline(_of("svm", "LinearSVR"), target="numbers"),
    "leaves": Pipeline(_FOREST, options={"zipmap": False, "decision_leaf": True}),
    "paths": Pipeline(
        _of("tree", "DecisionTreeClassifier", max_depth=4), options={"zipmap": False, "decision_path": True}
    ),
    "several_numbers_tree": Pipeline(_of("tree", "DecisionTreeRegressor", max_depth=6), target="several numbers"),
    "several_numbers_forest": Pipeline(
        _of("ensemble", "ExtraTreesRegressor", n_estimators=20), target="several numbers"
    ),
    "several_classes_forest": Pipeline(_FOREST, target="several classes"),
    "several_ridges": Pipeline(
        lambda: import_module("sklearn.multioutput").MultiOutputRegressor(_of("linear_model", "Ridge")()),
        target="several numbers",
    ),
    "several_logistics": Pipeline(
        lambda: import_module("sklearn.multioutput").MultiOutputClassifier(_LOGISTIC()), target="several classes"
    ),
    "one_vs_one": Pipeline(lambda: import_module("sklearn.multiclass").OneVsOneClassifier(_LOGISTIC())),
    "output_codes": Pipeline(lambda: import_module("sklearn.multiclass").OutputCodeClassifier(_LOGISTIC())),
    "hist_gradient_boosting": Pipeline(_of("ensemble", "HistGradientBoostingClassifier", max_iter=20)),
    "hist_gradient_boosting_poisson": Pipeline(
        _of("ensemble", "HistGradientBoostingRegressor", loss="poisson", max_iter=20), target="positive"
    ),
    "gradient_boosting_huber": Pipeline(
        _of("ensemble", "GradientBoostingRegressor", loss="huber", n_estimators=30), target="numbers"
    ),
    "isolation_scores": Pipeline(
        _of("ensemble", "IsolationForest", n_estimators=20), options={"score_samples": True}, target="numbers"
    ),
    "local_outliers": Pipeline(_of("neighbors", "LocalOutlierFactor", novelty=True), target="numbers"),
    "neighbours_by_distance": Pipeline(_of("neighbors", "KNeighborsClassifier", weights="distance", n_neighbors=7)),
    "neighbours_manhattan": Pipeline(
        _of("neighbors", "KNeighborsRegressor", metric="manhattan", n_neighbors=3), target="numbers"
    ),
    "neighbours_in_radius": Pipeline(_of("neighbors", "RadiusNeighborsRegressor", radius=5.0), target="numbers"),
    "neighbours_transformed": Pipeline(_of("neighbors", "KNeighborsTransformer", n_neighbors=4), target="numbers"),
    "components_analysed": Pipeline(
        _then(_of("neighbors", "NeighborhoodComponentsAnalysis", n_components=3, max_iter=10), _LOGISTIC)
    ),
    "gaussian_process_deviation": Pipeline(
        _of("gaussian_process", "GaussianProcessRegressor", alpha=0.5),
        kind="float64",
        target="numbers",
        options={"return_std": True},
    ),
    "bayesian_mixture": Pipeline(
        _of("mixture", "BayesianGaussianMixture", n_components=3, covariance_type="diag"),
        target="numbers",
        options={"score_samples": True},
    ),
    "tied_mixture": Pipeline(
        _of("mixture", "GaussianMixture", n_components=3, covariance_type="tied"), target="numbers"
    ),
    "mini_batch_k_means": Pipeline(_of("cluster", "MiniBatchKMeans", n_clusters=4, n_init=1), target="numbers"),
    "gamma_regressor": Pipeline(_of("linear_model", "GammaRegressor"), target="positive"),
    "tweedie_regressor": Pipeline(_of("linear_model", "TweedieRegressor", power=1.5), target="positive"),
    "bayesian_ridge": Pipeline(_of("linear_model", "BayesianRidge"), target="numbers"),
    "theil_sen": Pipeline(_of("linear_model", "TheilSenRegressor", max_iter=20), target="numbers"),
    "quantile_regressor": Pipeline(_of("linear_model", "QuantileRegressor", alpha=0.1), target="numbers"),
    "multi_task_lasso": Pipeline(_of("linear_model", "MultiTaskLasso", alpha=0.1), target="several numbers"),
    "sgd_modified_huber": Pipeline(
        _of("linear_model", "SGDClassifier", loss="modified_huber"), options={"zipmap": False}
    ),
    "perceptron": Pipeline(_of("linear_model", "Perceptron"), options={"raw_scores": True, "zipmap": False}),
    "passive_aggressive": Pipeline(_of("linear_model", "PassiveAggressiveClassifier"), options={"zipmap": False}),
    "ridge_classifier": Pipeline(_of("linear_model", "RidgeClassifier"), options={"zipmap": False}),
    "one_against_rest_logistic": Pipeline(
        lambda: import_module("sklearn.multiclass").OneVsRestClassifier(_LOGISTIC()), target="several classes"
    ),
    "complement_naive_bayes": Pipeline(
        _then(_of("preprocessing", "MinMaxScaler"), _of("naive_bayes", "ComplementNB")), options={"zipmap": False}
    ),
    "categorical_naive_bayes": Pipeline(
        _then(_of("preprocessing", "KBinsDiscretizer", n_bins=4, encode="ordinal"), _of("naive_bayes", "CategoricalNB"))
    ),
    "kernel_components": Pipeline(
        _then(_of("decomposition", "KernelPCA", n_components=4, kernel="rbf"), _LOGISTIC), options={"zipmap": False}
    ),
    "incremental_components": Pipeline(
        _then(_of("decomposition", "IncrementalPCA", n_components=4, whiten=True), _LOGISTIC), options={"zipmap": False}
    ),
    "random_projection": Pipeline(
        _then(_of("random_projection", "GaussianRandomProjection", n_components=4), _LOGISTIC)
    ),
    "random_trees": Pipeline(
        _then(_of("ensemble", "RandomTreesEmbedding", n_estimators=5, sparse_output=False), _LOGISTIC)
    ),
    "box_cox": Pipeline(_of("preprocessing", "PowerTransformer", method="yeo-johnson"), target="numbers"),
    "splines_left_out": Pipeline(_of("preprocessing", "MaxAbsScaler"), target="numbers", opset=11),
    "binarised": Pipeline(_then(_of("preprocessing", "Binarizer", threshold=0.3), _LOGISTIC), opset=13),
    "hot_integers": Pipeline(_then(_HOT, _LOGISTIC), kind="integers"),
    "imputed_and_marked": Pipeline(_then(_of("impute", "SimpleImputer", strategy="median"), _LOGISTIC), opset=12),
    "polynomials_of_interactions": Pipeline(
        _then(
            _of("preprocessing", "PolynomialFeatures", degree=3, interaction_only=True), _of("linear_model", "Lasso")
        ),
        target="numbers",
    ),
    "variances_selected": Pipeline(
        _then(_of("feature_selection", "VarianceThreshold"), _of("feature_selection", "SelectPercentile"), _FOREST)
    ),
    "double_logistic": Pipeline(_then(_SCALER, _LOGISTIC), kind="float64", options={"zipmap": False}),
    "double_forest": Pipeline(
        _of("ensemble", "RandomForestRegressor", n_estimators=20), kind="float64", target="numbers", opset=17
    ),
    "double_svr": Pipeline(_of("svm", "SVR"), kind="float64", target="numbers"),
    "frame_hot_logistic": Pipeline(_then(_frame(_SCALER, _HOT), _LOGISTIC), kind="columns", target="names"),
    "frame_hot_refusing": Pipeline(
        _then(_frame(_SCALER, _of("preprocessing", "OneHotEncoder")), _LOGISTIC),
        kind="columns",
        options={"zipmap": False},
    ),
    "frame_hot_forest": Pipeline(_then(_frame(_SCALER, _HOT), _FOREST), kind="columns"),
    "frame_ordinal_boosting": Pipeline(
        _then(_frame(_of("impute", "SimpleImputer"), _ORDINAL), _of("ensemble", "GradientBoostingClassifier")),
        kind="columns",
    ),
    "frame_ordinal_regression": Pipeline(
        _then(_frame(_SCALER, _ORDINAL), _of("ensemble", "RandomForestRegressor", n_estimators=10)),
        kind="columns",
        target="numbers",
    ),
    "words_counted": Pipeline(_then(_of("feature_extraction.text", "CountVectorizer"), _LOGISTIC), kind="words"),
    "words_weighed": Pipeline(
        _then(_of("feature_extraction.text", "TfidfVectorizer", ngram_range=(1, 2)), _LOGISTIC),
        kind="words",
        target="names",
    ),
    "words_sublinear": Pipeline(
        _then(_of("feature_extraction.text", "TfidfVectorizer", sublinear_tf=True, norm="l1"), _FOREST), kind="words"
    ),
    "letters_counted": Pipeline(
        _then(_of("feature_extraction.text", "CountVectorizer", analyzer="char", ngram_range=(1, 3)), _LOGISTIC),
        kind="words",
    ),
    "words_svd": Pipeline(
        _then(
            _of("feature_extraction.text", "TfidfVectorizer"),
            _of("decomposition", "TruncatedSVD", n_components=3),
            _of("linear_model", "LogisticRegression"),
        ),
        kind="words",
    ),
    "stacked": Pipeline(
        lambda: import_module("sklearn.ensemble").StackingRegressor(
            [("a", _of("linear_model", "Ridge")()), ("b", _of("tree", "DecisionTreeRegressor", max_depth=3)())],
            passthrough=True,
        ),
        target="numbers",
    ),
    "voted_hard": Pipeline(
        lambda: import_module("sklearn.ensemble").VotingClassifier(
            [("a", _LOGISTIC()), ("b", _FOREST()), ("c", _of("naive_bayes", "GaussianNB")())]
        ),
        options={"zipmap": False},
    ),
    "united_features": Pipeline(
        _then(
            lambda: import_module("sklearn.pipeline").make_union(
                _of("decomposition", "PCA", n_components=2)(), _of("preprocessing", "StandardScaler")()
            ),
            _LOGISTIC,
        )
    ),
    "searched": Pipeline(
        lambda: import_module("sklearn.model_selection").GridSearchCV(_LOGISTIC(), {"C": [0.1, 1.0]}, cv=2)
    ),
}
