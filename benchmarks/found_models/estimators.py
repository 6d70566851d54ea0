"""The estimators and pipelines of scikit-learn that are converted, by name."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any


def _of(module: str, name: str, **options: Any) -> Callable[[], Any]:
    return lambda: getattr(import_module(f"sklearn.{module}"), name)(**options)


def _pipeline(*steps: Callable[[], Any]) -> Callable[[], Any]:
    return lambda: import_module("sklearn.pipeline").make_pipeline(*(step() for step in steps))


def _columns(*parts: tuple[Callable[[], Any], list[int]]) -> Callable[[], Any]:
    return lambda: import_module("sklearn.compose").make_column_transformer(
        *((part(), columns) for part, columns in parts), remainder="passthrough"
    )


_SCALER = _of("preprocessing", "StandardScaler")
_LOGISTIC = _of("linear_model", "LogisticRegression")

ESTIMATORS: dict[str, Callable[[], Any]] = {
    "ada_boost_classifier": _of("ensemble", "AdaBoostClassifier", n_estimators=20),
    "ada_boost_regressor": _of("ensemble", "AdaBoostRegressor", n_estimators=20),
    "bagging_classifier": _of("ensemble", "BaggingClassifier", n_estimators=5),
    "bagging_regressor": _of("ensemble", "BaggingRegressor", n_estimators=5),
    "bernoulli_naive_bayes": _of("naive_bayes", "BernoulliNB"),
    "calibrated_classifier": lambda: import_module("sklearn.calibration").CalibratedClassifierCV(_LOGISTIC(), cv=2),
    "decision_tree_classifier": _of("tree", "DecisionTreeClassifier"),
    "elastic_net": _of("linear_model", "ElasticNet", alpha=0.01),
    "extra_trees_regressor": _of("ensemble", "ExtraTreesRegressor", n_estimators=50),
    "gaussian_mixture": _of("mixture", "GaussianMixture", n_components=3),
    "gaussian_naive_bayes": _of("naive_bayes", "GaussianNB"),
    "gaussian_process_classifier": _of("gaussian_process", "GaussianProcessClassifier"),
    "gaussian_process_regressor": _of("gaussian_process", "GaussianProcessRegressor", alpha=0.1),
    "gradient_boosting_classifier": _of("ensemble", "GradientBoostingClassifier", n_estimators=30),
    "hist_gradient_boosting_regressor": _of("ensemble", "HistGradientBoostingRegressor", max_iter=50),
    "isolation_forest": _of("ensemble", "IsolationForest", n_estimators=30),
    "k_means": _of("cluster", "KMeans", n_clusters=5, n_init=1),
    "k_neighbours_classifier": _of("neighbors", "KNeighborsClassifier"),
    "k_neighbours_regressor": _of("neighbors", "KNeighborsRegressor"),
    "lasso_lars": _of("linear_model", "LassoLars", alpha=0.01),
    "linear_discriminant": _of("discriminant_analysis", "LinearDiscriminantAnalysis"),
    "linear_svc": _of("svm", "LinearSVC"),
    "logistic_regression": _LOGISTIC,
    "mlp_classifier": _of("neural_network", "MLPClassifier", hidden_layer_sizes=(50, 20), max_iter=20),
    "mlp_regressor": _of("neural_network", "MLPRegressor", hidden_layer_sizes=(64,), max_iter=20),
    "one_vs_rest": lambda: import_module("sklearn.multiclass").OneVsRestClassifier(_LOGISTIC()),
    "pls_regression": _of("cross_decomposition", "PLSRegression"),
    "poisson_regressor": lambda: import_module("sklearn.compose").TransformedTargetRegressor(
        import_module("sklearn.linear_model").Ridge()
    ),
    "quadratic_discriminant": _of("discriminant_analysis", "QuadraticDiscriminantAnalysis"),
    "random_forest_classifier": _of("ensemble", "RandomForestClassifier", n_estimators=50),
    "ransac_regressor": _of("linear_model", "RANSACRegressor"),
    "sgd_classifier": _of("linear_model", "SGDClassifier"),
    "stacking_classifier": lambda: import_module("sklearn.ensemble").StackingClassifier(
        [("a", _LOGISTIC()), ("b", _of("tree", "DecisionTreeClassifier")())]
    ),
    "svc": _of("svm", "SVC"),
    "svr": _of("svm", "SVR"),
    "one_class_svm": _of("svm", "OneClassSVM"),
    "voting_classifier": lambda: import_module("sklearn.ensemble").VotingClassifier(
        [("a", _LOGISTIC()), ("b", _of("naive_bayes", "GaussianNB")())], voting="soft"
    ),
    "scaled_logistic": _pipeline(_SCALER, _LOGISTIC),
    "scaled_pca_svc": _pipeline(_SCALER, _of("decomposition", "PCA", n_components=5), _of("svm", "SVC")),
    "imputed_forest": _pipeline(
        _of("impute", "SimpleImputer"), _of("ensemble", "RandomForestClassifier", n_estimators=20)
    ),
    "polynomial_ridge": _pipeline(_of("preprocessing", "PolynomialFeatures", degree=2), _of("linear_model", "Ridge")),
    "quantiles_logistic": _pipeline(
        _of("preprocessing", "KBinsDiscretizer", n_bins=4, encode="onehot-dense"), _LOGISTIC
    ),
    "power_knn": _pipeline(_of("preprocessing", "PowerTransformer"), _of("neighbors", "KNeighborsClassifier")),
    "selected_mlp": _pipeline(
        _of("feature_selection", "SelectKBest", k=4),
        _of("preprocessing", "MinMaxScaler"),
        _of("neural_network", "MLPClassifier", max_iter=10),
    ),
    "columns_logistic": _pipeline(
        _columns(
            (_SCALER, [0, 1, 2]), (_of("preprocessing", "RobustScaler"), [3, 4]), (_of("impute", "KNNImputer"), [5])
        ),
        _LOGISTIC,
    ),
    "normaliser_svd_forest": _pipeline(
        _of("preprocessing", "Normalizer"),
        _of("decomposition", "TruncatedSVD", n_components=4),
        _of("ensemble", "ExtraTreesClassifier", n_estimators=20),
    ),
}
