"""A session that starts at once runs on the reference while it is compiled in the background."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ingot
from ingot import CompileError, FallbackWarning, InputError, Session, background
from ingot import compile as compiling

HEAD = '<ir_version: 10, opset_import: ["" : 21]> '
TEXT = HEAD + "g (float[n] x) => (float[n] y) { a = Exp (x) b = Neg (a) y = Abs (b) }"
X = {"x": np.zeros(2, np.float32)}


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """What compilation waits for."""
    opened = threading.Event()
    real = compiling.compile_model

    def waiting(*arguments: Any) -> Any:
        assert opened.wait(60)
        return real(*arguments)

    monkeypatch.setattr(compiling, "compile_model", waiting)
    monkeypatch.setattr(background, "GRACE", 0.0)
    yield opened
    opened.set()


def session(**options: Any) -> Session:
    options = {"start": "at once", "providers": ("cpu", "reference"), "threads": 1, **options}
    return Session(ingot.parse_model(TEXT), **options)


def test_the_reference_runs_a_model_until_it_is_compiled(gate: threading.Event) -> None:
    with session() as early:
        assert early.run(None, X)[0].tolist() == [1, 1]
        assert (early.providers, early._plans.first) == (("reference",), None)
        gate.set()
    assert early.providers == ("cpu", "reference")
    assert early._plans.first is not None
    assert early.compiled is not None
    assert early.run(None, X)[0].tolist() == [1, 1]


def test_the_stages_are_waited_for(gate: threading.Event) -> None:
    early = session()
    gate.set()
    assert early.compiled is not None


def test_a_run_that_goes_on_when_the_model_is_compiled_is_run_compiled(
    gate: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    early = session()
    nodes: list[str] = []
    proceed = background.Background.check

    def once_compiled(self: background.Background) -> None:
        nodes.append("node")
        if len(nodes) == 2:
            gate.set()
            self.error()
        proceed(self)

    monkeypatch.setattr(background.Background, "check", once_compiled)
    assert early.run(["y"], X)[0].tolist() == [1, 1]
    assert len(nodes) == 2
    assert early._plans.first is not None


def test_a_failure_in_the_background_is_reported_by_the_next_run(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_: object) -> None:
        raise CompileError("LLVM is on strike")

    monkeypatch.setattr(compiling, "compile_model", failing)
    early = session()
    with pytest.warns(FallbackWarning, match="not compiled, the reference runs it: LLVM is on strike") as caught:
        early.close()
    assert [warning.filename for warning in caught] == [__file__]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert early.run(None, X)[0].tolist() == [1, 1]
    strict = session(fallback=False)
    with pytest.raises(CompileError, match="strike"):
        strict.close()


def test_a_deadline_holds_for_a_run_on_the_reference_too(gate: threading.Event) -> None:
    with pytest.raises(ingot.Interrupted):
        session().run(None, X, deadline=0)
    gate.set()


def test_what_breaks_the_standard_is_refused_at_once() -> None:
    broken = ingot.parse_model('<ir_version: 10, opset_import: ["" : 21]> g (float[2] x) => (y) { y = Nothing (x) }')
    with pytest.raises(ingot.CheckError):
        Session(broken, start="at once")
    with pytest.raises(InputError, match="there is no start 'soon'"):
        session(start="soon")


def test_it_is_pickled_with_its_start(gate: threading.Event) -> None:
    gate.set()
    twin = pickle.loads(pickle.dumps(session()))
    assert twin._start == "at once"
    assert twin.run(None, X)[0].tolist() == [1, 1]
    twin.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_forked_process_compiles_anew(gate: threading.Event) -> None:
    early = session()

    def child() -> bool:
        gate.set()
        early.close()
        return early._plans.first is not None and early.run(None, X)[0].tolist() == [1, 1]

    assert _exit_code_in_fork(child) == 0


def _exit_code_in_fork(function: Callable[[], bool]) -> int:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # that there are threads
        child = os.fork()
    if child == 0:
        try:
            os._exit(0 if function() else 1)
        finally:
            os._exit(2)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_the_next_start_finds_the_plan(tmp_path: Path) -> None:
    ingot.save(ingot.parse_model(TEXT), tmp_path / "m.onnx")
    script = (
        "import sys, numpy, ingot\n"
        "session = ingot.Session(sys.argv[1], start='at once', providers=('cpu', 'reference'))\n"
        "print(session._plans.first is not None, session(numpy.float32([0]))); session.close()"
    )
    environment = os.environ | {"INGOT_CACHE": str(tmp_path)}
    for state in ("False [1.]", "True [1.]"):
        command = [sys.executable, "-c", script, str(tmp_path / "m.onnx")]
        run = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
        entries = sorted(path.name for path in tmp_path.rglob("*.*"))
        assert (run.stdout.strip(), run.stderr) == (state, ""), f"cache: {entries}"
