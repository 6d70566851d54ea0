"""Inputs that have defaults: constants of what is compiled, unless a caller gives them."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ingot
from ingot import compile as compiling
from ingot import prepare as preparing
from ingot.cache import contents
from ingot.codegen.elf import linkable
from ingot.codegen.llvm.host import host
from ingot.infer.typed import TypedModel
from ingot.runtime.ended_work import Unwanted
from ingot.session import Session

LAYERS = """<ir_version: 3, opset_import: ["" : 9]>
g (float[1, 2, n, n] x, float[2, 2, 1, 1] w, float[2] scale, float[2] bias, float[2] mean, float[2] var) => (y)
  <float[2, 2, 1, 1] w = {1, 2, 3, 4}, float[2] scale = {1, 2}, float[2] bias = {0.5, 0}, float[2] mean = {0, 1},
   float[2] var = {1, 4}> {
  c = Conv (x, w)
  y = BatchNormalization (c, scale, bias, mean, var)
}"""
SHAPED = """<ir_version: {}, opset_import: ["" : 13]>
g (float[2, 3] x, int64[2] shape, float d) => (y) <int64[2] shape = {{3, 2}}, float d = {{2}}> {{
  r = Reshape (x, shape)
  y = Mul (r, d)
}}"""
WORDS = """<ir_version: 10, opset_import: ["" : 21]>
g (string[n] x, string[2] more) => (string[m] y) <string[2] more = {"a", "b"}> { y = Concat <axis = 0> (x, more) }"""
X = np.arange(6, dtype=np.float32).reshape(2, 3)


def session(text: str) -> Session:
    return Session(ingot.parse_model(text), providers=("cpu", "reference"), fallback=False)


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The inputs of each model that was compiled, its own and those with defaults."""
    found: list[list[str]] = []
    real = compiling.compile_model

    def counting(typed: TypedModel, *rest: Any) -> Any:
        found.append([value.name for value in typed.model.graph.inputs if value.constant is None])
        return real(typed, *rest)

    monkeypatch.setattr(compiling, "compile_model", counting)
    return found


def test_weights_that_are_inputs_are_packed_and_folded() -> None:
    made = session(LAYERS)
    assert made.compiled is not None
    assert list(made.compiled.plan.inputs) == ["x"]
    assert [node.op_type for node in made.compiled.optimised.model.graph] == ["Conv"]
    x = np.arange(8, dtype=np.float32).reshape(1, 2, 2, 2)
    reference = Session(ingot.parse_model(LAYERS), providers=("reference",))
    np.testing.assert_allclose(made.run(None, {"x": x})[0], reference.run(None, {"x": x})[0], rtol=1e-6)
    w = np.ones((2, 2, 1, 1), np.float32)
    given = {"x": x, "w": w, "mean": np.full(2, 3, np.float32)}
    np.testing.assert_allclose(made.run(None, given)[0], reference.run(None, given)[0], rtol=1e-6)
    np.testing.assert_allclose(made.run(None, {"x": x})[0], reference.run(None, {"x": x})[0], rtol=1e-6)


@pytest.mark.parametrize("version", [3, 10])
def test_what_a_caller_gives_counts_whatever_follows_from_it(version: int) -> None:
    made = session(SHAPED.format(version))
    assert list(made.inputs) == ["x"]
    feeds: list[dict[str, Any]] = [
        {"x": X},
        {"x": X, "shape": np.array([1, 6], np.int64)},
        {"x": X, "d": np.float32(3)},
        {"x": X, "shape": np.array([6, 1], np.int64), "d": np.float32(4)},
    ]
    for given in (*feeds, *feeds):
        expected = X.reshape(given.get("shape", (3, 2))) * given.get("d", np.float32(2))
        np.testing.assert_array_equal(made.run(None, given)[0], expected)


def test_it_is_compiled_once_for_the_same_inputs_given(counted: list[list[str]]) -> None:
    made = session(SHAPED.format(10))
    for factor in (3, 4, 5):
        made.run(None, {"x": X, "d": np.float32(factor)})
        made.run(None, {"x": X})
    assert counted == [["x"], ["x", "d"]]


def test_threads_that_override_the_same_default_compile_it_once(counted: list[list[str]]) -> None:
    shaped = session(SHAPED.format(10))
    together = threading.Barrier(4)

    def run(_: int) -> Any:
        together.wait()
        return shaped.run(None, {"x": X, "d": np.float32(3)})[0]

    with ThreadPoolExecutor(4) as threads:
        for result in threads.map(run, range(4)):
            np.testing.assert_array_equal(result, X.reshape(3, 2) * 3)
    assert counted == [["x"], ["x", "d"]]


def test_a_deadline_ends_a_run_that_compiles_for_an_overridden_default(monkeypatch: pytest.MonkeyPatch) -> None:
    shaped = session(SHAPED.format(10))
    feeds = {"x": X, "d": np.float32(3)}
    begun, goes_on, ended = threading.Event(), threading.Event(), threading.Event()
    real = compiling.compile_model

    def slowly(*arguments: Any) -> Any:
        begun.set()
        goes_on.wait(60)
        try:
            return real(*arguments)
        except Unwanted:
            ended.set()
            raise

    with monkeypatch.context() as patch, ThreadPoolExecutor(1) as threads:
        patch.setattr(compiling, "compile_model", slowly)
        with pytest.raises(ingot.Interrupted):
            threads.submit(shaped.run, None, feeds, deadline=0.05).result(30)
        assert begun.is_set()
        goes_on.set()
        assert ended.wait(60), "the compilation goes on for nobody"
    np.testing.assert_array_equal(shaped.run(None, feeds, deadline=600)[0], X.reshape(3, 2) * 3)


def test_strings_have_defaults() -> None:
    made = session(WORDS)
    x = np.array(["x"], object)
    assert made.run(None, {"x": x})[0].tolist() == ["x", "a", "b"]
    assert made.run(None, {"x": x, "more": np.array(["c", "d"], object)})[0].tolist() == ["x", "c", "d"]


@pytest.mark.skipif(not linkable(host().triple), reason="code is not kept in files on this system")
def test_what_was_compiled_for_inputs_given_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, counted: list[list[str]]
) -> None:
    monkeypatch.setenv("INGOT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(contents, "SETTLED", -(10**18))
    path = tmp_path / "m.onnx"
    ingot.save(ingot.parse_model(SHAPED.format(10)), path)
    looked: list[object] = []
    real = preparing.prepare

    def looking(source: Any, *rest: Any, **options: Any) -> Any:
        looked.append(source)
        return real(source, *rest, **options)

    monkeypatch.setattr(preparing, "prepare", looking)
    for _ in range(2):
        made = Session(path, providers=("cpu", "reference"), fallback=False)
        np.testing.assert_array_equal(made.run(None, {"x": X})[0], X.reshape(3, 2) * 2)
        np.testing.assert_array_equal(made.run(None, {"x": X, "d": np.float32(3)})[0], X.reshape(3, 2) * 3)
        assert list(made.inputs) == ["x"]
        for thread in threading.enumerate():
            if thread.name == "ingot-keep":
                thread.join()
    assert counted == [["x"], ["x", "d"]]
    assert len(looked) == 2  # the model, and with an input in the place of its default; none the second time
