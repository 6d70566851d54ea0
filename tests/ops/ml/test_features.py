"""Features: chosen, scaled, encoded, put into tables and taken out of maps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ingot.errors import CheckError, InputError, ShapeError
from ingot.ops.ml.lookup import translator
from ingot.ops.ml.maps import cast_map, dict_vectorizer, zip_map
from ops.ml.one_node import evaluate, inferred, operators_after_upgrade, strings, tensor

NAN = float("nan")


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, np.int8])
@pytest.mark.parametrize("key", [0, NAN])
def test_a_few_numbers_are_found_where_many_are(dtype: Any, key: float) -> None:
    numbers = np.array([2, 7, 2, -1, 0] if np.issubdtype(dtype, np.integer) else [2, -0.0, 2, key, 1e9], dtype)
    translate = translator(numbers, np.array([*"abcde", "none"], object), np.dtype(dtype))
    few = np.array([[2, 0], [-1, 5], [7, 127]] if np.issubdtype(dtype, np.integer) else [[2, NAN], [1e9, 0]], dtype)
    for x in (few, few[0], few[:0]):
        many = np.concatenate([x] * 100)
        assert translate(x).tolist() * 100 == translate(many).tolist()
        assert translate(x).shape == x.shape


def test_features_are_chosen_from_the_last_axis() -> None:
    x = np.arange(12).reshape(2, 2, 3)
    assert evaluate("ArrayFeatureExtractor", x, np.array([2, 0])).tolist() == x[..., [2, 0]].tolist()
    assert evaluate("ArrayFeatureExtractor", x[0, 0], np.array([[1, 1]])).tolist() == [[1, 1]]
    assert evaluate("ArrayFeatureExtractor", strings("a", "b"), np.array([1])).tolist() == [["b"]]
    assert evaluate("ArrayFeatureExtractor", x, np.zeros(0, np.int64)).shape == (2, 2, 0)


@pytest.mark.parametrize("index", [3, -1])
def test_a_feature_that_is_not_there_is_refused(index: int) -> None:
    with pytest.raises(InputError, match=f"index {index} is outside the last axis, of 3"):
        evaluate("ArrayFeatureExtractor", np.zeros((1, 3), np.float32), np.array([index]))


def test_the_count_of_features_is_followed() -> None:
    given: Any = {"x": (1, ["n", 4]), "y": (7, ["k"])}
    assert inferred("ArrayFeatureExtractor", given) == "float32[n, k]"


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.int64])
def test_what_is_above_the_threshold_is_one(dtype: Any) -> None:
    y = evaluate("Binarizer", np.array([0, 1, 2], dtype), threshold=1.0)
    assert y.dtype == dtype
    assert y.tolist() == [0, 0, 1]


def test_nan_is_not_above_a_threshold() -> None:
    assert evaluate("Binarizer", np.array([NAN, np.inf], np.float32)).tolist() == [0, 1]


def test_a_scaler_shifts_then_scales() -> None:
    x = np.array([[1, 2], [3, 4]], np.int64)
    y = evaluate("Scaler", x, offset=[1.0, 2.0], scale=[0.5])
    assert y.dtype == np.float32
    assert y.tolist() == [[0, 0], [1, 1]]
    with pytest.raises(ShapeError, match="offset has 3 numbers"):
        evaluate("Scaler", x, offset=[1.0, 2.0, 3.0])


@pytest.mark.parametrize(("norm", "expected"), [("MAX", [-1, 1]), ("L1", [-0.5, 0.5]), ("L2", [-(0.5**0.5), 0.5**0.5])])
def test_rows_are_normalised_and_zeros_stay(norm: str, expected: list[float]) -> None:
    y = evaluate("Normalizer", np.array([[-2, 2], [0, 0]], np.int32), norm=norm)
    np.testing.assert_allclose(y, np.array([expected, [0, 0]]), rtol=1e-6)
    assert evaluate("Normalizer", np.zeros((2, 0), np.float32), norm=norm).shape == (2, 0)


def test_an_unknown_norm_is_refused() -> None:
    with pytest.raises(CheckError, match="norm is 'L3'"):
        evaluate("Normalizer", np.zeros((1, 1), np.float32), norm="L3")


def test_missing_values_are_replaced_by_feature() -> None:
    x = np.array([[NAN, 1], [2, NAN]], np.float64)
    y = evaluate("Imputer", x, imputed_value_floats=[5.0, 6.0], replaced_value_float=NAN)
    assert y.dtype == np.float64
    assert y.tolist() == [[5, 1], [2, 6]]
    y = evaluate("Imputer", np.array([-1, 3], np.int32), imputed_value_int64s=[9], replaced_value_int64=-1)
    assert y.tolist() == [9, 3]


def test_imputed_values_are_of_the_kind_of_the_input() -> None:
    with pytest.raises(CheckError, match="takes imputed_value_floats"):
        evaluate("Imputer", np.zeros((1, 2), np.float32), imputed_value_int64s=[1])
    with pytest.raises(ShapeError, match="3 imputed values"):
        evaluate("Imputer", np.zeros((1, 2), np.float32), imputed_value_floats=[1.0, 2.0, 3.0])
    with pytest.raises(CheckError, match="does not fit int32"):
        evaluate("Imputer", np.zeros(1, np.int32), imputed_value_int64s=[2**40])


def test_tables_are_joined_cut_and_filled_up() -> None:
    a, b = np.array([[1, 2, 3]], np.int64), np.array([4], np.int64)
    y = evaluate("FeatureVectorizer", a, b, inputdimensions=[2, 3])
    assert y.dtype == np.float32
    assert y.tolist() == [[1, 2, 4, 0, 0]]
    assert evaluate("FeatureVectorizer", a, b).tolist() == [[1, 2, 3, 4]]
    with pytest.raises(ShapeError, match="rows"):
        evaluate("FeatureVectorizer", np.zeros((2, 1), np.float32), np.zeros((3, 1), np.float32))
    with pytest.raises(CheckError, match="names 1 inputs, there are 2"):
        evaluate("FeatureVectorizer", a, b, inputdimensions=[2])


def test_categories_become_places() -> None:
    y = evaluate("OneHotEncoder", np.array([[2.9, NAN]], np.float32), cats_int64s=[1, 2])
    assert y.tolist() == [[[0, 1], [0, 0]]]
    assert evaluate("OneHotEncoder", strings("b"), cats_strings=["a", "b"]).tolist() == [[0, 1]]
    assert evaluate("OneHotEncoder", np.array(1, np.int32), cats_int64s=[1, 2]).tolist() == [1, 0]


def test_a_category_nobody_knows_may_be_refused() -> None:
    with pytest.raises(InputError, match="'c' is none of the 2 categories"):
        evaluate("OneHotEncoder", strings("a", "c"), cats_strings=["a", "b"], zeros=0)
    with pytest.raises(CheckError, match="0 of the lists"):
        evaluate("OneHotEncoder", strings("a"))
    with pytest.raises(CheckError, match="strings takes categories"):
        evaluate("OneHotEncoder", strings("a"), cats_int64s=[1])


def test_names_become_numbers_and_back() -> None:
    pairs: dict[str, Any] = {"cats_int64s": [7, 8], "cats_strings": ["x", "y"]}
    assert evaluate("CategoryMapper", strings("y", "z"), **pairs, default_int64=-2).tolist() == [8, -2]
    assert evaluate("CategoryMapper", np.array([[7, 9]]), **pairs).tolist() == [["x", "_Unused"]]
    with pytest.raises(CheckError, match="2 integers and 1 strings"):
        evaluate("CategoryMapper", strings("y"), cats_int64s=[1, 2], cats_strings=["a"])


@pytest.mark.parametrize("version", [2, 4])
def test_the_last_of_equal_keys_counts_and_nan_is_found(version: int) -> None:
    y = evaluate(
        "LabelEncoder",
        np.array([1, NAN, 2], np.float32),
        version=version,
        keys_floats=[1.0, NAN, 1.0],
        values_strings=["a", "b", "c"],
    )
    assert y.tolist() == ["c", "b", "_Unused"]


@pytest.mark.parametrize("dtype", [np.int16, np.int32, np.int64, np.float32, np.float64])
def test_keys_and_values_may_be_tensors(dtype: Any) -> None:
    y = evaluate(
        "LabelEncoder",
        np.array([[3, 4]], dtype),
        keys_tensor=tensor(np.array([3], dtype)),
        values_tensor=tensor(np.array([5], np.int16)),
        default_tensor=tensor(np.array([9], np.int16)),
    )
    assert y.dtype == np.int16
    assert y.tolist() == [[5, 9]]


def test_the_lists_of_an_encoder_must_fit() -> None:
    with pytest.raises(CheckError, match="1 keys and 2 values"):
        evaluate("LabelEncoder", strings("a"), keys_strings=["a"], values_int64s=[1, 2])
    with pytest.raises(CheckError, match="the input is string, its keys are int64"):
        evaluate("LabelEncoder", strings("a"), keys_int64s=[1], values_int64s=[1])
    with pytest.raises(CheckError, match="2 of the lists of values"):
        evaluate("LabelEncoder", strings("a"), keys_strings=["a"], values_int64s=[1], values_floats=[1.0])


def test_the_first_label_encoder_reads_both_ways() -> None:
    assert evaluate("LabelEncoder", strings("b", "q"), version=1, classes_strings=["a", "b"]).tolist() == [1, -1]
    y = evaluate("LabelEncoder", np.array([1, 5]), version=1, classes_strings=["a", "b"], default_string="?")
    assert y.tolist() == ["b", "?"]
    found = operators_after_upgrade("LabelEncoder", {"x": (8, [None])}, version=1, classes_strings=["a"])
    assert found == ["LabelEncoder"]


def test_scalars_and_empty_tensors_are_encoded() -> None:
    scalar = np.empty((), object)
    scalar[()] = "a"
    y = evaluate("LabelEncoder", scalar, keys_strings=["a"], values_strings=["b"])
    assert y.shape == ()
    assert y.item() == "b"
    assert evaluate("LabelEncoder", strings(), keys_strings=["a"], values_int64s=[1]).shape == (0,)


def test_a_row_becomes_a_map_and_a_map_a_row() -> None:
    x = np.array([[0.5, 0.25]], np.float32)
    assert zip_map.evaluate(x, classlabels_strings=["a", "b"]) == [{"a": 0.5, "b": 0.25}]
    assert zip_map.evaluate(x[0], classlabels_int64s=[3, 4]) == [{3: 0.5, 4: 0.25}]
    with pytest.raises(ShapeError, match="2 columns and 1 labels"):
        zip_map.evaluate(x, classlabels_int64s=[3])
    row = dict_vectorizer.evaluate({"a": 4.0, "c": 8.0}, string_vocabulary=["a", "c", "b", "z"])
    assert row.dtype == np.float32
    assert row.tolist() == [[4, 8, 0, 0]]
    assert dict_vectorizer.evaluate({"a": 4}, string_vocabulary=["b", "a"]).dtype == np.int64
    assert dict_vectorizer.evaluate({1: "x"}, int64_vocabulary=[0, 1]).tolist() == [["", "x"]]
    assert dict_vectorizer.evaluate({1: np.float64(2)}, int64_vocabulary=[1]).dtype == np.float64
    assert dict_vectorizer.evaluate({"q": 1.0}, string_vocabulary=["a"]).tolist() == [[0]]


def test_a_map_is_cast_in_the_order_of_its_keys() -> None:
    assert cast_map.evaluate({3: 1.5, 1: 2.5}).tolist() == [[2.5, 1.5]]
    assert cast_map.evaluate({3: "7"}, cast_to="TO_INT64").tolist() == [[7]]
    assert cast_map.evaluate({1: 2.0}, cast_to="TO_STRING").tolist() == [["2.000000"]]
    assert cast_map.evaluate({1: 2.0}, map_form="SPARSE", max_map=3).tolist() == [[0, 2, 0]]
    with pytest.raises(InputError, match="outside 0 to 2"):
        cast_map.evaluate({5: 2.0}, map_form="SPARSE", max_map=3)
    with pytest.raises(InputError, match="'x' cannot be cast to float32"):
        cast_map.evaluate({1: "x"})
    with pytest.raises(InputError, match="more than"):
        cast_map.evaluate({1: 2.0}, map_form="SPARSE", max_map=2**40)


def test_maps_are_inferred() -> None:
    given: Any = {"x": (1, ["n", 2])}
    assert inferred("ZipMap", given, classlabels_strings=["a", "b"]) == "sequence(map(string, float32[]))"
    with pytest.raises(ShapeError, match="2 columns and 3 labels"):
        inferred("ZipMap", given, classlabels_int64s=[1, 2, 3])
