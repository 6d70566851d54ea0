"""A run or a model that was to be compiled and is left to the reference says so, once, with the reason."""

from __future__ import annotations

import warnings
from typing import Any, NoReturn

import numpy as np
import pytest

import ingot
from ingot import CompileError, FallbackWarning, InputError, Session

HEAD = '<ir_version: 10, opset_import: ["" : 21]>'
MISDECLARED = f"""{HEAD} g (float[batch, 2] x) => (float[batch] y) <int64[1] zero = {{0}}, int64[1] one = {{1}}> {{
    row = Slice (x, zero, one, zero)
    y = Squeeze (row)
}}"""
OTHER = {"x": np.array([1, 2], np.float32), "w": np.ones(1, np.float32)}
UNEQUAL = f"{HEAD} g (float[n] x, float[m] w) => (y) {{ y = Add (x, w) }}"
DEFAULT = f"{HEAD} g (float[2] x, float[2] d) => (float[2] y) <float[2] d = {{5, 7}}> {{ y = Add (x, d) }}"
THREE = {"x": np.ones((3, 2), np.float32)}


def session(text: str, **options: Any) -> Session:
    return Session(ingot.parse_model(text), providers=("cpu", "reference"), threads=1, **options)


def no_compiler(*_: object) -> None:
    raise CompileError("LLVM is on strike")


def test_a_guard_that_fails_makes_another_plan_and_no_warning() -> None:
    added = session(UNEQUAL)
    for _ in range(2):
        assert added.run(None, OTHER)[0].tolist() == [2, 3]
    assert added._plans.first is not None
    assert added._plans.variants


def test_a_run_that_no_plan_fits_warns_once_a_session_where_the_caller_is(monkeypatch: pytest.MonkeyPatch) -> None:
    added = session(UNEQUAL)
    monkeypatch.setattr("ingot.compile.compile_model", no_compiler)
    with pytest.warns(FallbackWarning, match="assumed to be equal are not") as caught:
        assert added.run(None, OTHER)[0].tolist() == [2, 3]
    assert [warning.filename for warning in caught] == [__file__]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert added(**OTHER).tolist() == [2, 3]


def test_sizes_that_were_assumed_to_be_equal_are_named_with_what_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    added = session(UNEQUAL)
    monkeypatch.setattr("ingot.compile.compile_model", no_compiler)
    with pytest.warns(FallbackWarning, match="assumed to be equal are not: m = 1, n = 2"):
        assert added.run(None, {"x": [1, 2], "w": [1]})[0].tolist() == [2, 3]


def test_a_run_of_which_the_reference_says_what_is_wrong_does_not_warn() -> None:
    taken = session(f"{HEAD} g (float[4] x, int64[2] i) => (float[2] y) {{ y = Gather (x, i) }}")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(InputError):
            taken.run(None, {"x": np.ones(4, np.float32), "i": np.array([3, 4])})


def test_a_model_that_fails_to_compile_warns_where_the_session_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ingot.compile.compile_model", no_compiler)
    fixed = MISDECLARED.replace("batch, 2", "3, 2")
    with pytest.warns(FallbackWarning, match="not compiled, the reference runs it: LLVM is on strike") as caught:
        squeezed = session(fixed)
    assert [warning.filename for warning in caught] == [__file__]
    assert squeezed.providers == ("reference",)
    assert squeezed.run(None, THREE)[0].tolist() == [1, 1]
    with pytest.raises(CompileError, match="strike"):
        session(fixed, fallback=False)


def test_a_model_of_open_sizes_that_fails_to_compile_for_those_of_a_run_too_warns_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    attempts: list[int] = []

    def counting(*_: object) -> None:
        attempts.append(1)
        no_compiler()

    monkeypatch.setattr("ingot.compile.compile_model", counting)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        squeezed = session(MISDECLARED)
    with pytest.warns(
        FallbackWarning, match="not compiled, the reference ran the whole model: LLVM is on strike; "
    ) as caught:
        results = [squeezed.run(None, THREE)[0].tolist() for _ in range(3)]
    assert [warning.filename for warning in caught] == [__file__]
    assert results == [[1, 1]] * 3
    assert squeezed.providers == ("reference",)
    assert len(attempts) == 3, "for the model, for the pattern of the run's sizes, and for these sizes"


def test_a_model_that_fails_to_compile_with_a_default_given_warns(monkeypatch: pytest.MonkeyPatch) -> None:
    added = session(DEFAULT)
    monkeypatch.setattr("ingot.compile.compile_model", no_compiler)
    with pytest.warns(FallbackWarning, match="with 'd' given is not compiled") as caught:
        results = [added.run(None, {"x": [1, 1], "d": [1, 2]})[0].tolist() for _ in range(2)]
    assert results == [[2, 3]] * 2
    assert [warning.filename for warning in caught] == [__file__]


def test_what_fails_to_compile_with_a_default_given_is_not_tried_in_every_run(monkeypatch: pytest.MonkeyPatch) -> None:
    added = session(DEFAULT)
    attempts = []

    def counting(*_: object) -> None:
        attempts.append(1)
        no_compiler()

    monkeypatch.setattr("ingot.compile.compile_model", counting)
    with pytest.warns(FallbackWarning):
        assert [added.run(None, {"x": [1, 1], "d": [1, 2]})[0].tolist() for _ in range(3)] == [[2, 3]] * 3
    assert len(attempts) == 1


def test_an_error_of_a_stage_is_a_fault_of_the_compiler_and_left_to_the_reference(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(*_: object) -> NoReturn:
        raise ingot.ShapeError("sizes that no stage should find")

    monkeypatch.setattr("ingot.compile.specialise", broken)
    text = f"{HEAD} g (float[2] x) => (float[2] y) {{ y = Neg (x) }}"
    with pytest.warns(FallbackWarning, match="could not be compiled: sizes that no stage should find"):
        opened = session(text)
    assert opened(np.ones(2, np.float32)).tolist() == [-1, -1]
    with pytest.raises(CompileError):
        session(text, fallback=False)
