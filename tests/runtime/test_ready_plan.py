"""Plans of several segments on the fast path: calls without an evaluation, computed sizes, errors in full."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Annotated, Any, TypeAlias

import numpy as np
import pytest

import ingot
from ingot.dtypes import Array
from ingot.ops.typesets import FLOATS, types
from ingot.runtime.fast_path import FastPath
from ingot.runtime.ready_plan import ReadyPlan
from lower.machine import HEADER

_T: TypeAlias = Annotated[Array, types("T", FLOATS)]
X = np.array([[2, 1], [0, 3]], np.float32)


def opened(graph: str, **options: Any) -> ingot.Session:
    return ingot.Session(ingot.parse_model(f"{HEADER} {graph}"), providers=("cpu", "reference"), **options)


def fast(session: ingot.Session, feeds: Mapping[str, Any]) -> list[Any] | None:
    """What the fast path gives; AssertionError if it has none for these inputs."""
    assert session._plans.first is not None
    path = session._plans.first.fast_path
    assert isinstance(path, FastPath)
    results = path.run(feeds)
    assert any(isinstance(ready, ReadyPlan) for ready in path._ready.values())
    return results


def test_a_call_between_kernels_is_on_the_fast_path() -> None:
    session = opened("g (float[n, n] x) => (y, w) { z = Exp (x) w = Det (z) y = Neg (w) }")
    (first, _) = session.run(None, {"x": X})
    results = fast(session, {"x": X})
    assert results is not None
    assert results[0] == first == -results[1]
    assert results[0].shape == ()


def test_a_result_that_is_a_view_of_an_input_is_copied() -> None:
    session = opened("g (float[n] x) => (y, z) { y = Identity (x) z = Abs (x) }")
    x = np.ones(3, np.float32)
    for _ in range(3):
        y, _ = session.run(None, {"x": x})
        assert not np.may_share_memory(x, y)


def test_an_output_that_a_call_returns_unchanged_belongs_to_the_caller() -> None:
    @ingot.operator("Same", since=1, domain="org.example")
    def same(x: _T, /) -> _T:
        """`x`."""
        return x

    header = '<ir_version: 10, opset_import: ["" : 21, "org.example" : 1]>'
    text = f"{header} g (float[n] x) => (y) {{ y = org.example.Same (x) }}"
    session = ingot.Session(ingot.parse_model(text), operators=[same])
    x = np.ones(3, np.float32)
    for _ in range(3):
        (y,) = session.run(None, {"x": x})
        assert not np.may_share_memory(x, y)


def test_an_error_of_a_call_says_where() -> None:
    session = opened("g (float[n, m] x) => (y) { y = Det (x) }")
    session.run(None, {"x": X})
    assert fast(session, {"x": X}) is not None
    with pytest.raises(ingot.IngotError, match="Det"):
        session.run(None, {"x": np.ones((2, 3), np.float32)})


def test_warnings_of_numpy_are_ignored_on_the_fast_path_and_restored_after_it() -> None:
    session = opened("g (float[n, n] x) => (y) { y = Det (x) }")
    big = np.full((2, 2), 3e38, np.float32)
    before = np.geterr()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(3):
            session.run(None, {"x": big})
    assert np.geterr() == before


def test_a_call_that_takes_too_much_memory_is_a_limit_error_each_time() -> None:
    limits = ingot.RunLimits(memory=10_000)
    session = opened("g (float[1, n, 1] x) => (y) { s = DFT (x) y = Neg (s) }", limits=limits)
    for _ in range(3):
        session.run(None, {"x": np.ones((1, 5, 1), np.float32)})
    for _ in range(3):
        with pytest.raises(ingot.LimitError):
            session.run(None, {"x": np.ones((1, 8_500, 1), np.float32)})


def test_maps_and_strings_are_results_of_the_fast_path() -> None:
    session = opened(
        """g (float[n, 2] x) => (label, maps) {
            chosen, scores = ai.onnx.ml.LinearClassifier <classlabels_strings = ["a", "b"], coefficients =
                [1.0, 0.0, 0.0, 1.0], intercepts = [0.0, 0.0]> (x)
            label = Identity (chosen)
            maps = ai.onnx.ml.ZipMap <classlabels_strings = ["a", "b"]> (scores)
        }"""
    )
    x = np.array([[1, 0], [0, 2]], np.float32)
    wanted = [["a", "b"], [{"a": 1.0, "b": 0.0}, {"a": 0.0, "b": 2.0}]]
    session.run(None, {"x": x})
    for _ in range(2):
        results = fast(session, {"x": x})
        assert results is not None
        label, maps = results
        assert [list(label), maps] == wanted
        maps[0]["a"] = 7.0
        label[0] = "c"


def test_a_cancelled_run_ends_on_the_fast_path_too() -> None:
    session = opened("g (float[n, n] x) => (y) { y = Det (x) }")
    session.run(None, {"x": X})
    cancel = ingot.Cancel()
    cancel.cancel()
    with pytest.raises(ingot.Interrupted):
        session.run(None, {"x": X}, cancel=cancel)
    assert session.run(None, {"x": X})[0] == 6


def test_computed_sizes_change_from_run_to_run() -> None:
    session = opened("g (float[n] x, int64[2] shape) => (y) { z = Neg (x) y = Reshape (z, shape) }")
    x = np.arange(6, dtype=np.float32)
    for shape in ([2, 3], [3, -1], [6, 1], [1, 6]):
        (y,) = session.run(None, {"x": x, "shape": np.array(shape)})
        np.testing.assert_array_equal(y, -x.reshape(shape))
    assert fast(session, {"x": x, "shape": np.array([2, 3])}) is not None
    with pytest.raises(ingot.ShapeError):
        session.run(None, {"x": x, "shape": np.array([4, 4])})


def test_random_numbers_follow_the_seed_of_a_run_on_the_fast_path() -> None:
    session = opened("g (float[n] x) => (y) { y = RandomNormalLike (x) }")
    x = np.ones(4, np.float32)
    session.run(None, {"x": x})
    assert fast(session, {"x": x}) is not None
    one, other, again = (session.run(None, {"x": x}, seed=seed)[0] for seed in (1, 2, 1))
    assert (one != other).any()
    assert (one == again).all()


def test_an_output_that_is_folded_belongs_to_the_caller() -> None:
    session = opened("g (int64[0] s) => (y) { y = ConstantOfShape (s) }", fallback=False)
    for _ in range(3):
        (result,) = session.run(None, {"s": np.zeros(0, np.int64)})
        assert result == 0
        result[...] = 7


def test_strings_are_on_the_fast_path_and_anything_else_is_not() -> None:
    session = opened("g (string[n] x, string[n] z) => (y) { y = StringConcat (x, z) }")
    words = np.array(["a", "b"], object)
    session.run(None, {"x": words, "z": words})
    for other in (words, words.astype(np.str_)):
        results = fast(session, {"x": words, "z": other})
        assert results is not None
        assert results[0].tolist() == ["aa", "bb"]
    for other in (np.array(["a", 1], object), words.astype(np.bytes_), words[:1]):
        assert fast(session, {"x": words, "z": other}) is None
    with pytest.raises(ingot.InputError, match="input 'z' holds strings, got a int"):
        session.run(None, {"x": words, "z": np.array(["a", 1], object)})


def test_a_result_that_is_the_strings_given_is_copied() -> None:
    session = opened("g (string[n] x) => (y) { y = Identity (x) }")
    words = np.array(["a", "b"], object)
    for _ in range(3):
        (y,) = session.run(None, {"x": words})
        assert y.tolist() == ["a", "b"]
        assert not np.may_share_memory(y, words)


def test_strings_that_take_too_much_memory_are_still_too_much() -> None:
    session = opened(
        "g (string[n] x) => (y) { y = StringConcat (x, x) }", limits=ingot.RunLimits(memory=1 << 20), threads=1
    )
    session.run(None, {"x": np.array(["a"], object)})
    with pytest.raises(ingot.LimitError):
        session.run(None, {"x": np.array(["a" * (1 << 20)], object)})


def test_what_runs_of_a_node_share_is_computed_once() -> None:
    @ingot.operator("Plus", since=1, domain="org.example")
    def plus(x: _T, /, *, by: int) -> _T:
        """`x + by`."""
        return x + by

    bound: list[int] = []

    @plus.bind
    def bind(*, by: int) -> Any:
        bound.append(by)
        return lambda x: x + x.dtype.type(by)

    header = '<ir_version: 10, opset_import: ["" : 21, "org.example" : 1]>'
    text = f"{header} g (float[n] x) => (y) {{ y = org.example.Plus <by = 3> (x) }}"
    session = ingot.Session(ingot.parse_model(text), operators=[plus], providers=("cpu", "reference"))
    for _ in range(4):
        assert session(np.ones(2, np.float32)).tolist() == [4, 4]
    assert bound == [3]


def test_sequences_are_on_the_fast_path_and_their_parts_are_copied() -> None:
    session = opened("g (seq(float[n]) s, float[n] x) => (seq(float[n]) y) { y = SequenceInsert (s, x) }")
    s, x = [np.ones(2, np.float32), np.zeros(2, np.float32)], np.ones(2, np.float32)
    session.run(None, {"s": s, "x": x})
    results = fast(session, {"s": s, "x": x})
    assert results is not None
    assert [part.tolist() for part in results[0]] == [[1, 1], [0, 0], [1, 1]]
    assert not any(np.may_share_memory(part, other) for part in results[0] for other in (*s, x))
    assert fast(session, {"s": s[:1], "x": x}) is None
    assert fast(session, {"s": [*s[:1], "no tensor"], "x": x}) is None
    assert fast(session, {"s": s[0], "x": x}) is None


def test_parts_of_one_array_are_results_of_their_own() -> None:
    session = opened("g (float[n] x) => (seq(float[1]) y) { a = Neg (x) y = SplitToSequence (a) }")
    for _ in range(3):
        (parts,) = session.run(None, {"x": np.arange(20, dtype=np.float32)})
        assert [part.tolist() for part in parts] == [[-n] for n in range(20)]
        assert not any(np.may_share_memory(a, b) for a in parts for b in parts if a is not b)
