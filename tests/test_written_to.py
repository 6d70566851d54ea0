"""Files of models that are written to while sessions of them are open, in place, as most programs save."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ingot
from ingot import keep_plan
from ingot.cache import contents
from ingot.session import Session

TEXT = """<ir_version: 10, opset_import: ["" : 21]>
g (float[n, 64] x, float[n, 64] other) => (float[n, 64] y)
    <float[64, 64] w = {{{}}}, float[4, 64] table = {{{}}}, int64[1] zero = {{0}}> {{
  s = Add (x, other) row = Gather (table, zero) p = MatMul (s, w) y = Add (p, row)
}}"""

X = np.ones((2, 64), np.float32)


def model(factor: int) -> ingot.Model:
    """Every element of its result for ones is 66 times a factor."""
    numbers = ", ".join([str(factor)] * 64 * 64), ", ".join([str(2 * factor)] * 4 * 64)
    return ingot.parse_model(TEXT.format(*numbers))


def written(path: Path, factor: int, external: Any = "never") -> None:
    """Write a model in place: what maps the file sees it."""
    aside = path.with_name("aside")
    aside.mkdir(exist_ok=True)
    ingot.save(model(factor), aside / path.name, external=external, threshold=0)
    for file in aside.iterdir():
        with open(path.with_name(file.name), "wb") as target:  # shortened first, as by open(..., "wb") everywhere
            target.write(file.read_bytes())


def opened(path: Path) -> Session:
    return Session(path, providers=("cpu", "reference"), fallback=False)


def factor_of(session: Session, other: Any = X) -> float:
    (result,) = session.run(None, {"x": X * 0, "other": other})
    assert (result == result[0, 0]).all()
    return float(result[0, 0]) / 66


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INGOT_CACHE", str(tmp_path / "cache"))


def test_a_session_computes_what_was_in_its_file_when_it_was_opened(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    for factor in range(1, 6):
        written(path, factor)
        session = opened(path)
        written(path, 9)
        assert [factor_of(session) for _ in range(3)] == [factor] * 3
        assert factor_of(session, X[:1]) == factor, "compiled again, as its sizes are not what was declared"
        assert factor_of(opened(path)) == 9
        written(path, factor)
        assert factor_of(opened(path)) == factor, "what was kept of it"


LARGE = """
import sys
import threading
from pathlib import Path
sys.path.insert(0, {tests!r})
from ingot.format import content
content.LARGE = 1
import test_written_to as t
from ingot.errors import InputError
path = Path({path!r})
t.written(path, 3)
session = t.opened(path)
assert t.factor_of(session) == 3
path.write_bytes(b"")
assert [t.factor_of(session) for _ in range(3)] == [3] * 3
try:
    t.factor_of(session, t.X[:1])
except InputError as error:
    print(error)
"""


def test_a_large_file_is_mapped_only_until_the_model_is_compiled(tmp_path: Path) -> None:
    script = LARGE.format(tests=str(Path(__file__).parent), path=str(tmp_path / "m.onnx"))
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "m.onnx was written to while it was in use" in done.stdout
    assert "open it again" in done.stdout


def test_a_session_that_was_found_in_the_cache_reads_no_other_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(contents, "SETTLED", -(10**18))
    path = tmp_path / "m.onnx"
    written(path, 3)
    before = opened(path)
    assert factor_of(before) == 3
    before.close()
    for thread in threading.enumerate():
        if thread.name == "ingot-keep":
            thread.join()
    session = opened(path)
    assert not session._model.is_prepared
    written(path, 4)
    assert factor_of(session) == 3
    with pytest.raises(ingot.errors.InputError, match="was written to while it was in use"):
        factor_of(session, X[:1])


def test_weights_beside_a_model_that_change_before_its_plan_is_kept_are_not_taken_for_those_it_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting: list[tuple[Any, ...]] = []
    monkeypatch.setattr(keep_plan, "keep", lambda *arguments: waiting.append(arguments))
    path = tmp_path / "m.onnx"
    written(path, 3, "one-file")
    session = opened(path)
    assert [factor_of(session) for _ in range(3)] == [3] * 3
    written(path, 4, "one-file")
    assert waiting
    for arguments in waiting:
        keep_plan._write(*arguments)
    assert factor_of(opened(path)) == 4
