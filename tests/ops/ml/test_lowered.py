"""Operators of tables as machine code: what the reference computes, without a call of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import ingot
from ops.ml.one_node import loaded, written

KINDS = {1: np.float32, 11: np.float64, 7: np.int64, 6: np.int32}
FLOATS = (1, 11)
TRANSFORMS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")
RANDOM = np.random.default_rng(0)


def table(kind: int, *shape: int) -> Any:
    """Numbers with repetitions; floats have some that are none."""
    x = RANDOM.choice([-2, -1, 0, 1, 2, 3], shape)
    if kind not in FLOATS:
        return x.astype(KINDS[kind])
    y = np.where(RANDOM.random(shape) < 0.5, x, RANDOM.normal(size=shape))
    return np.where(RANDOM.random(shape) < 0.1, np.nan, y).astype(KINDS[kind])


def calls(operator: str, kinds: Sequence[int], tables: Sequence[Any], outputs: int = 1, **attributes: Any) -> list[str]:
    """AssertionError unless machine code gives what the reference does; why what is not compiled is not."""
    names = [f"x{place}" for place in range(len(tables))]
    shapes = [("n", *array.shape[1:]) if array.ndim > 1 else array.shape for array in tables]
    declared = {name: (kind, shape) for name, kind, shape in zip(names, kinds, shapes, strict=True)}
    model = loaded(written(operator, names, declared, outputs, "ai.onnx.ml", 1, attributes))
    feeds = dict(zip(names, tables, strict=True))
    expected = ingot.Session(model, providers=["reference"]).run(None, feeds)
    compiled = ingot.Session(model, providers=["cpu", "reference"], fallback=False)
    for one, other in zip(compiled.run(None, feeds), expected, strict=True):
        assert one.dtype == other.dtype
        assert one.shape == other.shape
        if one.dtype.kind == "f":
            np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-6)
        else:
            np.testing.assert_array_equal(one, other)
    assert compiled.compiled is not None
    return [call.reason for call in compiled.compiled.program.calls.values()]


@pytest.mark.parametrize("kind", KINDS)
def test_features_are_shifted_and_scaled(kind: int) -> None:
    x = table(kind, 9, 4)
    assert not calls("Scaler", [kind], [x], offset=[0.5, 1, 0, -3], scale=[2.0, 0.1, 1, 5])
    assert not calls("Scaler", [kind], [x], scale=[0.25])
    assert not calls("Scaler", [kind], [x[0]], offset=[1.0])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("norm", ["MAX", "L1", "L2"])
def test_rows_are_divided_by_their_norm(kind: int, norm: str) -> None:
    x = table(kind, 30, 3)
    x[0] = 0
    assert not calls("Normalizer", [kind], [x], norm=norm)
    assert not calls("Normalizer", [kind], [x[1]], norm=norm)


@pytest.mark.parametrize("kind", KINDS)
def test_elements_are_compared_with_a_threshold(kind: int) -> None:
    assert not calls("Binarizer", [kind], [table(kind, 9, 5)], threshold=0.5)


@pytest.mark.parametrize("kind", FLOATS)
@pytest.mark.parametrize("replaced", [float("nan"), 1.0, 0.1])
def test_a_float_is_replaced(kind: int, replaced: float) -> None:
    x = table(kind, 12, 3)
    assert not calls("Imputer", [kind], [x], imputed_value_floats=[0.5, 1.5, 2.5], replaced_value_float=replaced)


@pytest.mark.parametrize("kind", [6, 7])
def test_an_integer_is_replaced(kind: int) -> None:
    assert not calls("Imputer", [kind], [table(kind, 12, 3)], imputed_value_int64s=[9], replaced_value_int64=2)


@pytest.mark.parametrize("kind", KINDS)
def test_categories_that_are_integers_are_one_hot(kind: int) -> None:
    x = table(kind, 12, 2)
    if kind in FLOATS:
        x[0] = [1e30, -1e30]
    assert not calls("OneHotEncoder", [kind], [x], cats_int64s=[2, -1, 0, 2, 2**62])
    assert not calls("OneHotEncoder", [kind], [np.array([[1, 2]], x.dtype)], cats_int64s=[2, 1, 5], zeros=0)


def test_a_category_that_is_none_is_an_error_of_the_run() -> None:
    model = ingot.parse_model(
        """<ir_version: 10, opset_import: ["" : 21, "ai.onnx.ml" : 3]> g (int64[n, 2] x) => (y) {
            y = ai.onnx.ml.OneHotEncoder <cats_int64s = [4, 7], zeros = 0> (x)
        }"""
    )
    session = ingot.Session(model, providers=("cpu", "reference"))
    for _ in range(3):
        (y,) = session.run(None, {"x": np.array([[7, 4]])})
        assert y.tolist() == [[[0, 1], [1, 0]]]
        with pytest.raises(ingot.InputError, match="6 is none of the 2 categories"):
            session.run(None, {"x": np.array([[7, 6]])})


@pytest.mark.parametrize("dimensions", [None, [2, 6, 3]])
@pytest.mark.parametrize("kind", KINDS)
def test_tables_are_joined_as_floats(kind: int, dimensions: list[int] | None) -> None:
    tables = [table(kind, 7, 3), table(kind, 7, 5), table(kind, 7, 3)]
    more: dict[str, Any] = {} if dimensions is None else {"inputdimensions": dimensions}
    assert not calls("FeatureVectorizer", [kind] * 3, tables, **more)


def test_features_are_picked_at_computed_indices() -> None:
    assert not calls("ArrayFeatureExtractor", [1, 7], [table(1, 5, 4), np.array([3, 0, 0], np.int64)])
    assert not calls("ArrayFeatureExtractor", [1, 7], [table(1, 4), np.array([2, 1], np.int64)])
    with pytest.raises(ingot.InputError):
        calls("ArrayFeatureExtractor", [1, 7], [table(1, 5, 4), np.array([-1], np.int64)])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("transform", TRANSFORMS)
def test_scores_of_linear_models(kind: int, transform: str) -> None:
    x, weights = table(kind, 20, 4), RANDOM.normal(size=12).tolist()
    more: dict[str, Any] = {"post_transform": transform}
    assert not calls(
        "LinearRegressor", [kind], [x], coefficients=weights, intercepts=[0.1, 0.2, 0.3], targets=3, **more
    )
    assert not calls(
        "LinearClassifier", [kind], [x], 2, coefficients=weights, intercepts=[0.1, 0.2, 0.3],
        classlabels_ints=[7, 3, 5], **more
    )  # fmt: skip
    two: dict[str, Any] = {"coefficients": weights[:4], "intercepts": [0.2], **more}
    assert not calls("LinearClassifier", [kind], [x], 2, classlabels_ints=[4, 2], **two)
    assert not calls("LinearClassifier", [kind], [x], 2, **two)
    assert calls("LinearClassifier", [kind], [x], 2, classlabels_strings=["a", "b"], **two) == ["elements of string"]


@pytest.mark.parametrize("kernel", ["LINEAR", "POLY", "RBF", "SIGMOID"])
@pytest.mark.parametrize("kind", FLOATS)
def test_support_vector_machines(kernel: str, kind: int) -> None:
    x, vectors = np.nan_to_num(table(kind, 20, 3)), RANDOM.normal(size=(6, 3))
    shared = {
        "kernel_type": kernel,
        "kernel_params": [0.3, 0.1, 3.0],
        "support_vectors": vectors.reshape(-1).tolist(),
        "rho": [0.1, -0.2, 0.05],
    }
    weights = RANDOM.normal(size=12).tolist()
    regressor = {**shared, "coefficients": weights[:6], "n_supports": 6}
    for one_class in (0, 1):
        assert not calls("SVMRegressor", [kind], [x], **regressor, one_class=one_class)
    two = {**shared, "coefficients": weights[:6], "vectors_per_class": [2, 4], "classlabels_ints": [5, 3]}
    three = {**shared, "coefficients": weights, "vectors_per_class": [2, 3, 1], "classlabels_ints": [5, 3, 8]}
    assert not calls("SVMClassifier", [kind], [x], 2, **two)
    four = {**shared, "coefficients": [*weights, *weights[:6]], "vectors_per_class": [2, 1, 0, 3], "rho": [0.1] * 6}
    assert not calls("SVMClassifier", [kind], [x], 2, **three)
    assert not calls("SVMClassifier", [kind], [x], 2, **four, classlabels_ints=[5, 3, 8, 1])
    words = {**two, "classlabels_strings": ["a", "b"]}
    del words["classlabels_ints"]
    assert calls("SVMClassifier", [kind], [x], 2, **words) == ["elements of string"]


@pytest.mark.parametrize("classes", [2, 3, 5, 7])
def test_probabilities_of_classes_are_iterated_for_each_row(classes: int) -> None:
    pairs = classes * (classes - 1) // 2
    attributes: dict[str, Any] = {
        "kernel_type": "RBF",
        "kernel_params": [0.3, 0.0, 3.0],
        "support_vectors": RANDOM.normal(size=3 * classes).tolist(),
        "coefficients": RANDOM.normal(size=(classes - 1) * classes).tolist(),
        "vectors_per_class": [1] * classes,
        "classlabels_ints": list(range(3, 3 + classes)),
        "rho": RANDOM.normal(size=pairs).tolist(),
        "prob_a": (-1 - RANDOM.random(pairs) * 5).tolist(),
        "prob_b": RANDOM.normal(size=pairs).tolist(),
    }
    x = RANDOM.normal(size=(40, 3)).astype(np.float32)
    x[3], x[4] = np.nan, np.inf
    left = calls("SVMClassifier", [1], [x], 2, **attributes)
    assert left == (["probabilities of more than 6 classes"] if classes > 6 else [])


def test_linear_machines_without_support_vectors() -> None:
    weights = RANDOM.normal(size=6).tolist()
    x = table(1, 9, 3)
    assert not calls("SVMRegressor", [1], [x], coefficients=weights[:3], rho=[0.5])
    assert not calls("SVMClassifier", [1], [x], 2, coefficients=weights, rho=[0.5], classlabels_ints=[1, 4])


def test_integers_become_strings_by_a_table() -> None:
    encoder = {"keys_int64s": [3, -1, 2], "values_strings": ["c", "a", "b"], "default_string": "none"}
    x = np.array([[2, 3], [-1, 9]], np.int64)
    model = loaded(written("LabelEncoder", ["x"], {"x": (7, ("n", 2))}, 1, "ai.onnx.ml", 2, encoder))
    session = ingot.Session(model, providers=["cpu", "reference"], fallback=False)
    for _ in range(2):
        (words,) = session.run(None, {"x": x})
        assert words.tolist() == [["b", "c"], ["a", "none"]]
    assert session.compiled is not None
    assert [call.node.op_type for call in session.compiled.program.calls.values()] == ["Gather"]
