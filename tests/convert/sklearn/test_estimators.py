"""Estimators of every family convert, and give what scikit-learn gives; `walk.py` does all of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("sklearn")

from sklearn.utils import all_estimators

import ingot
from convert.sklearn.cases import COLOURS, TEXTS, fitted, flowers, target
from ingot.convert import Request, converted
from ingot.dtypes import DType
from ingot.errors import ConvertError, InputError

pytestmark = pytest.mark.filterwarnings("ignore")

SAMPLE = (
    *("LogisticRegression", "Ridge", "GaussianNB", "DecisionTreeClassifier", "RandomForestRegressor", "KMeans"),
    *("GradientBoostingClassifier", "HistGradientBoostingRegressor", "SVC", "KNeighborsClassifier", "MLPClassifier"),
    *("GaussianProcessRegressor", "QuadraticDiscriminantAnalysis", "GaussianMixture", "PCA", "StandardScaler"),
    *("OneHotEncoder", "SplineTransformer", "KBinsDiscretizer", "KNNImputer", "PowerTransformer", "SelectKBest"),
    *("CountVectorizer", "Pipeline", "ColumnTransformer", "StackingClassifier", "CalibratedClassifierCV"),
    *("OneVsOneClassifier", "MultiOutputClassifier", "RegressorChain", "GridSearchCV", "Nystroem", "IsolationForest"),
)


def equal(model: Any, example: Any, **named: Any) -> ingot.Model:
    """The converted model, which verification has found equal."""
    options: dict[str, object] = {
        name: named.pop(name) for name in ("zipmap", "raw_scores", "precision") if name in named
    }
    made, report = converted(model, example, Request(**named, options=options))
    assert report is not None
    assert report.examples == 4
    return made


@pytest.mark.parametrize("name", SAMPLE)
def test_an_estimator_gives_what_scikit_learn_gives(name: str) -> None:
    model, example = fitted(name, dict(all_estimators())[name])
    equal(model, example)


@pytest.mark.parametrize("name", ["RandomForestClassifier", "StackingClassifier", "KNNImputer", "SVC", "OneHotEncoder"])
def test_onnxruntime_reads_the_model_and_gives_the_same(name: str) -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    model, example = fitted(name, dict(all_estimators())[name])
    made = ingot.convert(model, example, verify=False)
    found = onnxruntime.InferenceSession(ingot.encode(made)).run(None, {"X": example})
    wanted = model.predict(example) if hasattr(model, "predict") else model.transform(example)
    dense = wanted.toarray() if hasattr(wanted, "toarray") else wanted
    np.testing.assert_allclose(found[0], dense, rtol=1e-5, atol=1e-6)


def test_outputs_are_named_as_skl2onnx_names_them() -> None:
    kinds = dict(all_estimators())
    for name, outputs in (
        ("LogisticRegression", ["label", "probabilities"]),
        ("LinearSVC", ["label", "probabilities"]),
        ("Ridge", ["variable"]),
        ("StandardScaler", ["variable"]),
        ("KMeans", ["label", "scores"]),
        ("IsolationForest", ["label", "scores"]),
    ):
        made = ingot.convert(*fitted(name, kinds[name]), verify=False)
        assert made.graph.inputs[0].name == "X"
        assert made.graph.outputs.names == outputs


def test_numbers_come_in_the_type_of_the_example() -> None:
    model, example = fitted("Ridge", dict(all_estimators())["Ridge"])
    for dtype in (np.float32, np.float64):
        made = equal(model, example.astype(dtype))
        assert made.graph.outputs[0].type is not None
        assert made.graph.outputs[0].type.dtype is DType.of(dtype)  # type: ignore[union-attr]


def test_a_threshold_that_float32_would_round_decides_as_in_double() -> None:
    from sklearn.tree import DecisionTreeRegressor

    rows = np.array([[3.0], [np.nextafter(np.float32(3), np.float32(4))]], np.float32)
    tree = DecisionTreeRegressor().fit(rows, [0.0, 1.0])
    for precision in ("double", "single"):
        session = ingot.Session(equal(tree, rows, precision=precision))
        np.testing.assert_array_equal(session(rows), [[0], [1]])


def test_zipmap_gives_a_map_for_each_row() -> None:
    from sklearn.linear_model import LogisticRegression

    rows, classes = flowers()
    model = LogisticRegression(max_iter=500).fit(rows, np.array(["a", "b", "c"])[classes])
    label, maps = ingot.Session(equal(model, rows, zipmap=True))(rows[:2])
    assert label.tolist() == model.predict(rows[:2]).tolist()
    assert sorted(maps[0]) == ["a", "b", "c"]


def test_names_and_opset_are_as_asked_for() -> None:
    model, example = fitted("LogisticRegression", dict(all_estimators())["LogisticRegression"])
    made = equal(model, example, input_names=("rows",), output_names=("kind", "chances"), opset_version=17)
    assert made.graph.inputs[0].name == "rows"
    assert made.graph.outputs.names == ["kind", "chances"]
    assert made.opset == 17


def test_a_frame_has_an_input_for_each_column() -> None:
    pandas = pytest.importorskip("pandas")
    from sklearn.compose import ColumnTransformer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    frame = pandas.DataFrame({"the colour": COLOURS[:, 0], "size": np.arange(30.0), "label": np.arange(30) % 4})
    parts = [("c", OneHotEncoder(), ["the colour"]), ("s", StandardScaler(), ["size", "label"])]
    model = make_pipeline(ColumnTransformer(parts), LogisticRegression()).fit(frame, np.arange(30) % 2)
    with pytest.raises(InputError, match="'label' is the name of an input and of an output"):
        ingot.convert(model, frame)
    made = equal(model, frame, output_names=("kind", "chances"))
    assert [value.name for value in made.graph.inputs] == ["the colour", "size", "label"]


def test_unknown_categories_are_ignored_where_the_encoder_ignores_them() -> None:
    from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder

    other = np.array([["violet", "small"]], object)
    for model in (
        OneHotEncoder(handle_unknown="ignore", min_frequency=7),
        OneHotEncoder(handle_unknown="infrequent_if_exist", min_frequency=7),
        OneHotEncoder(drop="first", handle_unknown="ignore"),
        OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1),
    ):
        made = ingot.Session(equal(model.fit(COLOURS), COLOURS))
        wanted = model.transform(other)
        np.testing.assert_array_equal(made(other), wanted.toarray() if hasattr(wanted, "toarray") else wanted)


def test_histogram_boosting_keeps_categories_and_missing_values() -> None:
    from sklearn.ensemble import HistGradientBoostingClassifier

    generator = np.random.default_rng(0)
    rows = np.stack([generator.integers(0, 9, 300), generator.normal(size=300)], axis=1)
    classes = np.isin(rows[:, 0], [1, 4, 7]) ^ (rows[:, 1] > 0)
    rows[generator.random(rows.shape) < 0.1] = np.nan
    model = HistGradientBoostingClassifier(max_iter=20, categorical_features=[0]).fit(rows, classes)
    session = ingot.Session(equal(model, rows))
    odd = np.array([[17.0, 0.3], [np.nan, np.nan], [4.0, -1.0]])
    assert session(odd)[0].astype(bool).tolist() == model.predict(odd).tolist()


def test_words_are_told_apart_at_punctuation() -> None:
    from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer

    documents = [*TEXTS, "Dogs, foxes; (and) wizards: jump! over-the lazy dog", "", "a b c"]
    for model in (CountVectorizer(), TfidfVectorizer(sublinear_tf=True, stop_words="english")):
        equal(model.fit(documents), documents)


def test_everything_that_cannot_be_converted_is_said_at_once() -> None:
    from sklearn.decomposition import NMF
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer

    rows = flowers()[0]
    model = make_pipeline(FunctionTransformer(lambda x: x + 1), NMF(2, solver="mu", max_iter=2000)).fit(rows)
    with pytest.raises(ConvertError, match="2 pieces of the scikit-learn model") as caught:
        ingot.convert(model, rows)
    assert "its function '<lambda>' is one of Python" in str(caught.value)
    assert "NMF: only the solver 'cd' has a rule" in str(caught.value)


def test_an_estimator_that_is_not_fitted_is_refused() -> None:
    from sklearn.linear_model import Ridge

    with pytest.raises(ConvertError, match="the Ridge is not fitted"):
        ingot.convert(Ridge(), flowers()[0])


def test_an_example_of_other_features_is_refused() -> None:
    from sklearn.linear_model import Ridge

    with pytest.raises(InputError, match="the example has 3 features, the model was fitted to 4"):
        ingot.convert(Ridge().fit(flowers()[0], target()), flowers()[0][:, :3])


def test_an_example_is_not_needed_where_the_features_are_numbers() -> None:
    from sklearn.linear_model import Ridge

    equal(Ridge().fit(flowers()[0], target()), None)


def test_estimators_of_ones_own_are_registered() -> None:
    from sklearn.base import BaseEstimator, TransformerMixin

    from ingot.builder import Var
    from ingot.convert.sklearn import Conversion, register

    class Doubler(TransformerMixin, BaseEstimator):  # type: ignore[misc]
        def fit(self, rows: Any, y: Any = None) -> Any:  # noqa: ARG002
            self.n_features_in_ = rows.shape[1]
            return self

        def transform(self, rows: Any) -> Any:
            return rows * 2

    model = Doubler().fit(flowers()[0])
    with pytest.raises(ConvertError, match="there is no rule for it"):
        ingot.convert(model, flowers()[0])

    def doubled(c: Conversion, _: Any, x: Any) -> Var:
        return c.matrix(x) * c.number(2)

    register(Doubler, transform=doubled)
    equal(model, flowers()[0])


def test_a_class_that_overrides_a_method_is_not_taken_for_its_parent() -> None:
    from sklearn.linear_model import Ridge

    class Odd(Ridge):  # type: ignore[misc]
        def predict(self, X: Any) -> Any:  # noqa: N803
            return super().predict(X) + 1

    with pytest.raises(ConvertError, match="there is no rule for it"):
        ingot.convert(Odd().fit(flowers()[0], target()), flowers()[0])
