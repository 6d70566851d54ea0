from __future__ import annotations

import io
import json

import numpy as np
import pytest

from ingot import InputError
from ingot.dtypes import Array
from ingot.view.answering import NotThere
from ingot.view.answers import Answers
from ingot.view.runs import Runs
from view.samples import parsed

BODY = "a = Neg (x) b = Abs (a) c = Neg (b) d = Sqrt (c) y = Exp (d)"


def npy(array: Array) -> bytes:
    content = io.BytesIO()
    np.save(content, array)
    return content.getvalue()


def test_a_run_has_the_range_of_every_value_and_the_first_that_is_not_finite() -> None:
    runs = Runs(parsed(BODY))
    outcome = runs.run(0, {"n": "3"})
    assert set(outcome.ranges) == {"x", "a", "b", "c", "d", "y"}
    assert outcome.ranges["b"].low >= 0
    assert outcome.ranges["d"].invalid == 24
    assert outcome.first == "d"
    assert runs.value("a")["facts"][0] == ["shape", "3 × 8"]


def test_inputs_come_from_files_and_bind_the_sizes_of_others() -> None:
    runs = Runs(parsed("y = Add (x, z)", inputs="float[n, 8] x, float[n, 8] z"))
    array = np.full((5, 8), 2.0)
    assert runs.upload(0, "npy", npy(array)) == "float32[5, 8]"
    outcome = runs.run(0, {})
    assert outcome.feeds["z"].shape == (5, 8)
    assert outcome.ranges["x"].text == "2 … 2"
    assert runs.upload(0, "npy", b"") == "random"
    assert runs.run(0, {}).feeds["x"].shape == (1, 8)


def test_a_file_that_does_not_fit_is_refused() -> None:
    runs = Runs(parsed(BODY))
    with pytest.raises(InputError, match="no kind of file"):
        runs.upload(0, "exe", b"MZ")
    with pytest.raises(InputError, match="holds no array"):
        runs.upload(0, "npy", b"no array")


def test_values_that_are_not_held_are_computed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ingot.view.runs._MOST_BYTES", 0)
    runs = Runs(parsed(BODY))
    outcome = runs.run(0, {})
    assert not outcome.arrays
    assert dict(runs.value("b")["facts"])["elements"] == "8"


def test_scores_have_bars() -> None:
    runs = Runs(parsed("y = Softmax (x)"))
    runs.upload(0, "npy", npy(np.arange(8, dtype=np.float32).reshape(1, 8)))
    runs.run(0, {})
    bars = runs.value("y")["bars"]
    assert [place for place, _ in bars[:2]] == ["7", "6"]


def test_before_a_run_there_are_no_values() -> None:
    with pytest.raises(InputError, match="not run yet"):
        Runs(parsed(BODY)).value("a")


def test_the_page_runs_a_model_by_its_answers() -> None:
    answers = Answers(parsed(BODY), "roots")
    answers.get("model")
    done = answers.post("run", json.dumps({"seed": 1, "shapes": {"n": "2"}}).encode())
    names = {value.name: number for number, value in enumerate(answers.scene.values)}
    assert sorted(done["faults"]) == sorted([names["d"], names["y"]])
    assert answers.get("index")["operators"][done["first"]] == "Sqrt"
    assert answers.get(f"result/{names['a']}")["facts"][0] == ["shape", "2 × 8"]
    assert answers.post("cancel", b"{}") == {}
    for path, body in (("run", b"[]"), ("feed/9/npy", b""), ("other", b"")):
        with pytest.raises(NotThere):
            answers.post(path, body)
