"""Calls one after another, as a function of Python's."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

import ingot
from ingot.runtime import call_chain
from ingot.runtime.chain_source import CallLine, ChainText, chain_code

HEADER = '<ir_version: 10, opset_import: ["" : 21]> '


def names_in(*calls: CallLine, is_limited: bool = True, is_own: bool = True) -> set[str]:
    """The names that the function of such calls, of one input, reads besides its variables."""
    text = ChainText(calls, 1, (1,), (), is_limited, is_own, by_name=True)
    (function,) = [each for each in chain_code(text).co_consts if hasattr(each, "co_names")]
    return set(function.co_names)


def test_calls_that_give_no_more_than_they_are_given_need_no_limits() -> None:
    bounded = CallLine((0,), ((1, 0),), several=False, has_bodies=False, is_bounded=True, assumed=())
    counted = CallLine((0,), ((1, 0),), several=False, has_bodies=False, is_bounded=False, assumed=())
    assert {"allow", "ignore", "bytes_of", "most_bytes"}.isdisjoint(names_in(bounded, is_limited=False))
    assert {"allow", "ignore", "bytes_of", "most_bytes"} <= names_in(bounded, counted)


def test_the_text_of_calls_is_compiled_once_for_all_plans_like_it() -> None:
    call = CallLine((0, None), ((1, 0),), several=True, has_bodies=False, is_bounded=True, assumed=())
    texts = [ChainText((call,), 1, (1,), (), False, True, True) for _ in range(2)]
    assert chain_code(texts[0]) is chain_code(texts[1])


@pytest.mark.parametrize(
    ("graph", "feeds", "expected"),
    [
        (
            "g (string[n] x) => (string[a] y, int64[c] counts) { y, , , counts = Unique (x) }",
            {"x": np.array(["b", "a", "b"], object)},
            [["a", "b"], [1, 2]],
        ),
        (
            'g (string[n] x) => (string[n] y) <string[1] end = {"!"}> { z = StringConcat (x, end)  y = Identity (z) }',
            {"x": np.array(["b", "a"], object)},
            [["b!", "a!"]],
        ),
        (
            "g (string[n] x, float[m] v) => (string[n] y, float[m] w, string[n] z)"
            " { w = Neg (v)  y = Identity (x)  z = Identity (x) }",
            {"x": np.array(["b"], object), "v": np.array([1, 2], np.float32)},
            [["b"], [-1, -2], ["b"]],
        ),
        (
            "g (float[1, n, 4] x, float[1, k, n] v, bool c) => (int64[m, 3] y) { y = If (c) <"
            " then_branch = t () => (int64[0, 3] u) { u = Constant <value = int64[0, 3] {}> () },"
            " else_branch = e () => (int64[m, 3] w) { w = NonMaxSuppression (x, v) }> }",
            {"x": np.ones((1, 1, 4), np.float32), "v": np.ones((1, 1, 1), np.float32), "c": np.array(True)},
            [[]],
        ),
    ],
    ids=["outputs left out", "constants", "results of kernels, and inputs", "a body without nodes"],
)
def test_chains_give_what_a_full_run_gives(graph: str, feeds: dict[str, Any], expected: list[Any]) -> None:
    session = ingot.Session(ingot.parse_model(HEADER + graph), providers=("cpu", "reference"), threads=1)
    assert session.compiled is not None
    for _ in range(5):
        results = session.run(None, feeds)
        assert [result.tolist() for result in results] == expected
        for result in results:  # which belong to the caller alone
            result[...] = result[:1] * 0 if result.dtype.kind != "O" else "changed"
    assert feeds["x"].tolist()[0] != "changed"


def test_an_error_in_a_chain_is_that_of_the_full_run() -> None:
    text = HEADER + "g (seq(float[n]) s, int64 at) => (float[n] y) { y = SequenceAt (s, at) }"
    session = ingot.Session(ingot.parse_model(text), providers=("cpu", "reference"), threads=1)
    feeds = {"s": [np.array([1, 2], np.float32)], "at": np.array(0)}
    for _ in range(4):
        assert session.run(None, feeds)[0].tolist() == [1, 2]
    for _ in range(2):
        with pytest.raises(ingot.IngotError):
            session.run(None, {**feeds, "at": np.array(3)})
    assert session.run(None, feeds)[0].tolist() == [1, 2]


def test_maps_of_what_kernels_compute_are_neither_counted_nor_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    text = """g (float[n, 2] x) => (y, maps) {
        y = Neg (x) maps = ai.onnx.ml.ZipMap <classlabels_int64s = [3, 4]> (y)
    }"""
    header = '<ir_version: 10, opset_import: ["" : 21, "ai.onnx.ml" : 3]> '
    seen: list[str] = []

    def noted(name: str, function: Any, *arguments: Any) -> Any:
        seen.append(name)
        return function(*arguments)

    for name in ("owned", "bytes_of"):
        monkeypatch.setitem(call_chain._SPACE, name, partial(noted, name, call_chain._SPACE[name]))
    session = ingot.Session(ingot.parse_model(header + text), threads=1, providers=("cpu", "reference"))
    x = np.array([[1, 2], [3, 4]], np.float32)
    for _ in range(8):
        y, maps = session.run(None, {"x": x})
        assert maps == [{3: -1.0, 4: -2.0}, {3: -3.0, 4: -4.0}]
        assert y.tolist() == [[-1, -2], [-3, -4]]
        y[:] = 0
    assert seen == []
