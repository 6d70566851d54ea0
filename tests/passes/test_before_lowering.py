"""What is done to a model before it is lowered, seen in the kernels that it becomes."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ingot
from ingot.errors import InputError
from ingot.loops.ir import Kernel
from ingot.loops.show import show_kernel
from passes.written import parsed

NORMALISED = """g (float[n, 2, h, w] x) => (float[n, 3, h, w] y)
    <float[3] scale = {2, 3, 4}, float[3] shift = {1, 2, 3}, float[3] mean = {4, 5, 6}, float[3] variance = {1, 2, 4},
     float[3, 2, 1, 1] weights = {1, 2, 3, 4, 5, 6}> {
    inner = Conv (x, weights)
    normal = BatchNormalization (inner, scale, shift, mean, variance)
    y = Relu (normal)
}"""
IMAGES = np.arange(32, dtype=np.float32).reshape(1, 2, 4, 4)


def session(text: str, **named: Any) -> ingot.Session:
    return ingot.Session(parsed(text), providers=("cpu", "reference"), threads=1, fallback=False, **named)


def kernels(opened: ingot.Session) -> list[str]:
    assert opened.compiled is not None
    return [show_kernel(step) for step in opened.compiled.scheduled.steps if isinstance(step, Kernel)]


def test_a_normalisation_is_in_the_weights_of_the_convolution_before_it() -> None:
    assert "sqrt" not in " ".join(kernels(session(NORMALISED)))
    assert "sqrt" in " ".join(kernels(session(NORMALISED, optimise=1)))


@pytest.mark.parametrize("level", [0, 1, 2])
def test_every_level_computes_the_same(level: int) -> None:
    expected = ingot.Session(parsed(NORMALISED)).run(None, {"x": IMAGES})[0]
    np.testing.assert_allclose(session(NORMALISED, optimise=level).run(None, {"x": IMAGES})[0], expected, rtol=1e-5)


def test_a_value_that_was_optimised_away_is_still_there_when_asked_for() -> None:
    inner, y = session(NORMALISED).run(["inner", "y"], {"x": IMAGES})
    assert inner.shape == y.shape == (1, 3, 4, 4)


def test_the_model_compiled_is_the_optimised_one() -> None:
    opened = session(NORMALISED)
    assert opened.compiled is not None
    assert [node.op_type for node in opened.compiled.optimised.model.graph] == ["Conv", "Relu"]
    assert len(opened.model.graph) == 3


def test_what_follows_from_constants_is_not_computed_by_kernels() -> None:
    text = "g (float[n] x) => (float[n] y) <float[1] a = {2}> { b = Exp (a)\n c = Sqrt (b)\n y = Mul (x, c) }"
    (only,) = kernels(session(text))
    assert "exp" not in only
    assert len(kernels(session(text, optimise=0))) == 2 or "exp" in kernels(session(text, optimise=0))[0]


def test_a_branch_that_is_known_leaves_nothing_to_the_reference() -> None:
    text = """g (float[n] x) => (float[n] y) <bool c = {1}> {
        y = If (c) <then_branch = t () => (float[n] b) { b = Exp (x) },
                    else_branch = e () => (float[n] d) { d = Neg (x) }>
    }"""
    opened = session(text)
    assert opened.compiled is not None
    assert not opened.compiled.program.calls


def test_functions_of_the_model_are_compiled_too() -> None:
    text = """<ir_version: 10, opset_import: ["" : 20, "own" : 1]>
    g (float[n] x) => (float[n] y) { y = own.twice (x) }
    <domain: "own", opset_import: ["" : 20]>
    twice (a) => (b) { b = Add (a, a) }"""
    opened = ingot.Session(ingot.parse_model(text), providers=("cpu", "reference"), fallback=False)
    assert opened.compiled is not None
    assert not opened.compiled.program.calls
    np.testing.assert_array_equal(opened.run(None, {"x": np.array([1, 2], np.float32)})[0], [2, 4])


def test_a_product_scaled_past_its_bias_is_compiled_whole() -> None:
    text = """g (float[n, 2] x) => (float[n, 2] y)
        <float[2, 2] w = {1, 2, 3, 4}, float[2] b = {1, 2}, float[2] s = {3, 4}> {
        p = MatMul (x, w)\n q = Add (p, b)\n y = Mul (q, s)
    }"""
    opened = session(text)
    assert opened.compiled is not None
    assert not opened.compiled.program.calls
    np.testing.assert_array_equal(opened.run(None, {"x": np.array([[1, 1]], np.float32)})[0], [[15, 32]])


def test_there_is_no_other_level() -> None:
    with pytest.raises(InputError, match="there is no level 3"):
        session(NORMALISED, optimise=3)


def test_a_pickled_session_keeps_its_level() -> None:
    again = pickle.loads(pickle.dumps(session(NORMALISED, optimise=1)))
    assert again.compiled is None or "sqrt" in " ".join(kernels(again))


def test_levels_are_kept_apart_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INGOT_CACHE", str(tmp_path / "cache"))
    ingot.save(parsed(NORMALISED), tmp_path / "m.onnx")
    for level in (2, 1, 2, 1):
        opened = ingot.Session(tmp_path / "m.onnx", providers=("cpu", "reference"), optimise=level)
        result = opened.run(None, {"x": IMAGES})[0]
        np.testing.assert_array_equal(result, session(NORMALISED, optimise=level).run(None, {"x": IMAGES})[0])
