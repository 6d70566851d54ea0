"""What hashes strings, and what takes dictionaries."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("sklearn")

from sklearn.feature_extraction import DictVectorizer, FeatureHasher
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import ingot
from convert.sklearn.cases import DICTIONARIES, NAMES, TEXTS
from ingot.errors import ConvertError, InputError

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.mark.parametrize(
    "settings",
    [
        {"norm": "l1"},
        {"norm": None, "binary": True, "n_features": 2},
        {"alternate_sign": False, "stop_words": "english"},
        {"ngram_range": (1, 2), "token_pattern": r"\b\w+\b"},
        {"ngram_range": (3, 3), "token_pattern": r"\S+", "lowercase": False},
    ],
)
def test_words_are_counted_where_their_hashes_say(settings: dict[str, Any]) -> None:
    vectorizer = HashingVectorizer(**{"n_features": 16, **settings})
    made = ingot.convert(vectorizer, [*TEXTS, "a b", ""])
    assert "MurmurHash3" in {node.op_type for node in made.graph}


@pytest.mark.parametrize("alternate", [True, False])
def test_onnxruntime_hashes_the_same(alternate: bool) -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    hasher = FeatureHasher(n_features=8, input_type="string", alternate_sign=alternate)
    session = onnxruntime.InferenceSession(ingot.encode(ingot.convert(hasher, NAMES)))
    [found] = session.run(None, {"X": np.array(NAMES, object)})
    np.testing.assert_array_equal(found, hasher.transform(NAMES).toarray())


def test_rows_that_no_tensor_holds_are_refused() -> None:
    with pytest.raises(ConvertError, match="names and numbers side by side"):
        ingot.convert(FeatureHasher(input_type="pair"), [[("a", 1)]])
    with pytest.raises(InputError, match="different lengths"):
        ingot.convert(FeatureHasher(input_type="string"), [["a"], ["b", "c"]])


def test_a_dictionary_becomes_a_row() -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    kinds = ["u", "v", "u", "v"]
    pipeline = make_pipeline(DictVectorizer(), LogisticRegression()).fit(DICTIONARIES, kinds)
    made = ingot.convert(pipeline, DICTIONARIES)
    assert str(made.graph.inputs[0].type) == "map(string, float32[])"
    label, chances = onnxruntime.InferenceSession(ingot.encode(made)).run(None, {"X": DICTIONARIES[1]})
    assert label.tolist() == pipeline.predict(DICTIONARIES[1:2]).tolist()
    np.testing.assert_allclose(chances, pipeline.predict_proba(DICTIONARIES[1:2]), rtol=1e-5)
    numbered = [{1: 1.0, 5: 2.0}, {7: 3.0}]
    assert str(ingot.convert(DictVectorizer().fit(numbered), numbered).graph.inputs[0].type).startswith("map(int64")


def test_dictionaries_of_strings_are_refused() -> None:
    vectorizer = DictVectorizer().fit(DICTIONARIES)
    with pytest.raises(InputError, match="the value of 'a' is 'x'"):
        ingot.convert(vectorizer, [{"a": "x"}])
    with pytest.raises(InputError, match="strings for keys, or integers"):
        ingot.convert(vectorizer, [{"a": 1.0, 2: 1.0}])
