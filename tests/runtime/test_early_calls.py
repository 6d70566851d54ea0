"""Calls that read nothing but inputs, made before the kernels, which are one native run then."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ingot
from ingot.runtime import ready_plan
from ingot.runtime.early_calls import early_calls

TABLE = """<ir_version: 10, opset_import: ["" : 21, "ai.onnx.ml" : 4]>
g (float[n, 2] x, string[m, 1] word, string[k, 1] other) => (y) {
    scaled = ai.onnx.ml.Scaler <offset = [1.0, 2.0], scale = [2.0, 0.5]> (x)
    code = ai.onnx.ml.LabelEncoder <keys_strings = ["a", "b"], values_floats = [5.0, 6.0], default_float = -1.0> (word)
    more = ai.onnx.ml.LabelEncoder <keys_strings = ["c"], values_floats = [7.0], default_float = -2.0> (other)
    table = Concat <axis = 1> (scaled, code, more)
    y = Mul (table, table)
}"""


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What plans found, in the order in which they became ready."""
    results: list[Any] = []

    def noted(*arguments: Any) -> Any:
        results.append(early_calls(*arguments))
        return results[-1]

    monkeypatch.setattr(ready_plan, "early_calls", noted)
    return results


def opened(text: str) -> ingot.Session:
    return ingot.Session(ingot.parse_model(text), threads=1, providers=("cpu", "reference"))


def words(*texts: str) -> Any:
    return np.array(texts, object).reshape(-1, 1)


def test_words_become_numbers_before_the_kernels(found: list[Any]) -> None:
    session = opened(TABLE)
    codes = {"a": 25, "b": 36, "?": 1}
    for rows in (1, 3, 1, 2, 3):
        for word in ("a", "?", "b"):
            feeds = {"x": np.ones((rows, 2), np.float32), "word": words(*[word] * rows), "other": words(*["c"] * rows)}
            (y,) = session.run(None, feeds)
            assert y.tolist() == [[0, 0.25, codes[word], 49]] * rows
            y[:] = 0
    assert found
    assert all(early is not None and len(early.calls) == 2 for early in found)


def test_feeds_that_are_no_words_are_an_error_each_time(found: list[Any]) -> None:
    session = opened(TABLE)
    feeds = {"x": np.ones((1, 2), np.float32), "word": words("a"), "other": words("c")}
    for wrong in (np.ones((1, 1), np.float32), np.array([[3]], object), None):
        for _ in range(3):
            assert session.run(None, feeds)[0].tolist() == [[0, 0.25, 25, 49]]
        with pytest.raises(ingot.IngotError):
            session.run(None, {**feeds, "word": wrong})
    with pytest.raises(ingot.IngotError):
        session.run(None, {"x": feeds["x"], "other": feeds["other"]})
    with pytest.raises(ingot.IngotError):
        session.run(None, {**feeds, "other": words("c", "c")})
    for _ in range(3):
        for also in (np.array([["b"]]), [["b"]]):
            assert session.run(None, {**feeds, "word": also})[0].tolist() == [[0, 0.25, 36, 49]]
    assert found[0] is not None


def test_results_that_something_else_reads_are_computed_where_they_stand(found: list[Any]) -> None:
    session = opened(TABLE.replace("=> (y)", "=> (y, code)"))
    feeds = {"x": np.ones((1, 2), np.float32), "word": words("b"), "other": words("?")}
    for _ in range(4):
        y, code = session.run(None, feeds)
        assert (y.tolist(), code.tolist()) == ([[0, 0.25, 36, 4]], [[6]])
    assert found == [None]


def test_calls_after_the_kernels_stay_behind_them(found: list[Any]) -> None:
    text = TABLE.replace("=> (y)", "=> (name, maps)").replace(
        "y = Mul (table, table)",
        """scores = Slice (table, one, three, one)
        label = ArgMax <axis = 1, keepdims = 0> (scores)
        name = ai.onnx.ml.LabelEncoder <keys_int64s = [0, 1], values_strings = ["low", "high"]> (label)
        maps = ai.onnx.ml.ZipMap <classlabels_strings = ["low", "high"]> (scores)""",
    )
    text = text.replace("=> (name, maps) {", "=> (name, maps) <int64[1] one = {1}, int64[1] three = {3}> {")
    session = opened(text)
    for word, expected in (("a", "high"), ("?", "low"), ("b", "high"), ("b", "high")):
        feeds = {"x": np.ones((1, 2), np.float32), "word": words(word), "other": words("?")}
        name, maps = session.run(None, feeds)
        assert name.tolist() == [expected]
        assert maps[0]["low"] == -0.5
    assert found[-1] is not None
