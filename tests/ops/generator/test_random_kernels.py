"""Random numbers as machine code: those of the reference, for every type, size and seed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ingot
from ingot.dtypes import Array
from ingot.errors import InputError

HEADER = '<ir_version: 13, opset_import: ["" : 22]>'
TYPES = {1: "float", 10: "float16", 11: "double", 16: "bfloat16"}
SHAPES = [(3, 40), (0, 5), (1, 1), (70, 700)]


def both(graph: str, threads: int = 1) -> tuple[ingot.Session, ingot.Session]:
    """A graph compiled whole, and on the reference."""
    model = ingot.parse_model(f"{HEADER} {graph}")
    compiled = ingot.Session(model, providers=("cpu", "reference"), threads=threads, fallback=False)
    assert compiled.compiled is not None
    assert not compiled.compiled.program.calls
    return compiled, ingot.Session(model, providers=("reference",))


def same(graph: str, *cases: dict[str, Any], rtol: float = 1e-5, threads: int = 1) -> None:
    compiled, reference = both(graph, threads)
    for feeds in cases:
        for seed in (None, 7, 7, 8):
            mine, other = compiled.run(None, feeds, seed=seed), reference.run(None, feeds, seed=seed)
            for one, two in zip(mine, other, strict=True):
                assert (one.dtype, one.shape) == (two.dtype, two.shape)
                np.testing.assert_allclose(one.astype(np.float64), two.astype(np.float64), rtol=rtol, atol=1e-5)


def zeros(shape: tuple[int, ...], dtype: Any = np.float32) -> Array:
    return np.zeros(shape, dtype)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("seed", ["", ", seed = 3.0"])
def test_drawn_tensors_are_those_of_the_reference(dtype: int, seed: str) -> None:
    rtol = 1e-5 if dtype in (1, 11) else 1e-2
    cases = [{"x": zeros(shape)} for shape in SHAPES]
    for threads in (1, 2):
        text = f"RandomUniformLike <dtype = {dtype}, low = -2.0, high = 3.0{seed}> (x)"
        same(f"g (float[n, m] x) => (y) {{ y = {text} }}", *cases, rtol=rtol, threads=threads)
        text = f"RandomNormalLike <dtype = {dtype}, mean = 1.0, scale = 2.0{seed}> (x)"
        same(f"g (float[n, m] x) => (y) {{ y = {text} }}", *cases, rtol=rtol, threads=threads)
    same(f"g () => (y) {{ y = RandomNormal <shape = [3, 4], dtype = {dtype}{seed}> () }}", {}, rtol=rtol)
    same(f"g () => (y) {{ y = RandomUniform <shape = [0, 4], dtype = {dtype}{seed}> () }}", {}, rtol=rtol)


def test_each_node_of_a_run_draws_numbers_of_its_own() -> None:
    graph = (
        "g (float[n] x) => (y, z, w) { z = RandomUniformLike (x) y = RandomUniformLike (x) w = RandomNormalLike (x) }"
    )
    same(graph, {"x": zeros((50,))})
    first, second, _ = both(graph)[0].run(None, {"x": zeros((50,))})
    assert not np.array_equal(first, second)


def test_a_body_draws_anew_in_each_run() -> None:
    body = (
        "b (int64 i, bool c, float[n] s) => (c2, s2, r) { c2 = Identity (c) r = RandomUniformLike (s) s2 = Add (s, r) }"
    )
    constants = "m = Constant <value_int = 4> () c = Constant <value = bool {1}> ()"
    graph = f"g (float[n] x) => (y, r) {{ {constants} y, r = Loop <body = {body}> (m, c, x) }}"
    model = ingot.parse_model(f"{HEADER} {graph}")
    results = [
        ingot.Session(model, providers=names).run(None, {"x": zeros((9,))})
        for names in (("cpu", "reference"), ("reference",))
    ]
    for mine, other in zip(*results, strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-6)
    assert len(np.unique(results[0][1])) == 36


def test_uniform_numbers_stay_below_their_end_in_narrow_types() -> None:
    session, _ = both("g (float[n] x) => (y) { y = RandomUniformLike <dtype = 16, low = 1.0, high = 2.0> (x) }")
    (drawn,) = session.run(None, {"x": zeros((100_000,))})
    assert drawn.astype(np.float32).min() >= 1
    assert drawn.astype(np.float32).max() < 2


@pytest.mark.parametrize("kind", ["float", "double", "float16"])
@pytest.mark.parametrize("dtype", [1, 6, 9])
def test_outcomes_are_those_of_the_reference(kind: str, dtype: int) -> None:
    chances = np.random.default_rng(0).random((30, 40)).astype({"float": "f4", "double": "f8", "float16": "f2"}[kind])
    graph = f"g ({kind}[n, m] x) => (y) {{ y = Bernoulli <dtype = {dtype}> (x) }}"
    same(graph, {"x": chances}, {"x": np.ones_like(chances)}, {"x": chances[:0]})
    for session in both(graph):
        for wrong in (1.5, -0.5, np.nan):
            with pytest.raises(InputError, match="probability"):
                session.run(None, {"x": np.full((1, 2), wrong, chances.dtype)})


@pytest.mark.parametrize("dtype", [6, 7])
def test_classes_are_drawn_as_by_the_reference(dtype: int) -> None:
    logits = np.random.default_rng(0).standard_normal((20, 9)).astype(np.float32)
    logits[:, 3] = -np.inf
    graph = f"g (float[n, m] x) => (y) {{ y = Multinomial <sample_size = 50, dtype = {dtype}> (x) }}"
    same(graph, {"x": logits}, {"x": logits[:, :1]}, {"x": logits[:0]})
    compiled, reference = both(graph)
    drawn = compiled.run(None, {"x": np.log(np.array([[0.1, 0.2, 0.7]] * 2000, np.float32))})[0]
    np.testing.assert_allclose(np.bincount(drawn.reshape(-1)) / drawn.size, [0.1, 0.2, 0.7], atol=0.01)
    for session in (compiled, reference):
        with pytest.raises(InputError, match="largest logarithm"):
            session.run(None, {"x": np.full((2, 3), -np.inf, np.float32)})


@pytest.mark.parametrize("kind", ["float", "double", "float16"])
@pytest.mark.parametrize("seed", ["", "<seed = 5>"])
def test_dropped_elements_are_those_of_the_reference(kind: str, seed: str) -> None:
    dtype = {"float": "f4", "double": "f8", "float16": "f2"}[kind]
    inputs = [np.random.default_rng(0).standard_normal(shape).astype(dtype) for shape in SHAPES]
    graph = f"g ({kind}[n, m] x, float r, bool t) => (y, k) {{ y, k = Dropout {seed} (x, r, t) }}"
    ways = [(0.3, True), (0.0, True), (0.9, False), (2.0, False)]
    cases = [{"x": x, "r": np.float32(ratio), "t": np.bool_(mode)} for x in inputs for ratio, mode in ways]
    for threads in (1, 2):
        same(graph, *cases, rtol=1e-5 if kind != "float16" else 1e-2, threads=threads)
    for session in both(graph):
        with pytest.raises(InputError, match="ratio"):
            session.run(None, {"x": inputs[0], "r": np.float32(1), "t": np.bool_(True)})


def test_training_that_is_known_drops_elements() -> None:
    constants = "<float r = {0.25}, bool t = {1}>"
    same(
        f"g (float[n, m] x) => (y, k) {constants} {{ y, k = Dropout (x, r, t) }}",
        *({"x": zeros(s) + 1} for s in SHAPES),
    )
    same(
        f"g (float[n, m] x) => (y) {constants} {{ y = Dropout <seed = 1> (x, , t) }}",
        *({"x": zeros(s) + 1} for s in SHAPES),
    )


def test_a_plan_that_draws_is_found_on_disk(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INGOT_CACHE", str(tmp_path))
    path = tmp_path / "model.onnx"
    ingot.save(
        ingot.parse_model(f"{HEADER} g (float[n] x) => (y, z) {{ y = RandomUniformLike (x) z = Bernoulli (y) }}"), path
    )
    results = [ingot.Session(path).run(None, {"x": zeros((9,))}) for _ in range(2)]
    for one, other in zip(*results, strict=True):
        np.testing.assert_array_equal(one, other)
