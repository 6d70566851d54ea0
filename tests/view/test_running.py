"""Runs, comparisons and profiles, as the page asks for them."""

from __future__ import annotations

import io
import json
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from ingot import InputError
from ingot.view.answering import NotThere
from ingot.view.answers import Answers
from view.samples import layers, parsed
from view.test_runs import BODY, npy


def post(answers: Answers, path: str, **options: Any) -> Any:
    return json.loads(json.dumps(answers.post(path, json.dumps(options).encode())))


@pytest.fixture
def answers() -> Answers:
    answers = Answers(parsed(BODY), "roots")
    answers.get("model")
    return answers


def value(answers: Answers, name: str) -> int:
    return next(number for number, value in enumerate(answers.scene.values) if value.name == name)


def test_the_page_runs_a_model_by_its_answers(answers: Answers) -> None:
    done = post(answers, "run/tab", seed=1, shapes={"n": "2"})
    assert sorted(done["faults"]) == sorted([value(answers, "d"), value(answers, "y")])
    operators = answers.get("index")["operators"]
    assert operators[done["first"]] == "Sqrt"
    assert [operators[leaf] for leaf in done["order"]] == ["Neg", "Abs", "Neg", "Sqrt", "Exp"]
    result = answers.get(f"result/tab/{done['number']}/{value(answers, 'a')}")
    assert result["facts"][0] == ["shape", "2 × 8"]
    content = answers.file(f"flow/tab/{done['number']}/{value(answers, 'a')}")
    assert np.load(io.BytesIO(content)).shape == (2, 8)
    assert post(answers, "cancel/tab") == {}


def test_tabs_have_inputs_and_runs_of_their_own(answers: Answers) -> None:
    answers.post("feed/one/0/0/x.npy", npy(np.full((5, 8), 2.0)))
    one, other = post(answers, "run/one"), post(answers, "run/other")
    assert one["inputs"]["x"] == "(5, 8)"
    assert other["inputs"]["x"] == "(1, 8)"
    number = value(answers, "a")
    assert answers.get(f"result/one/{one['number']}/{number}")["facts"][0] == ["shape", "5 × 8"]
    assert answers.get(f"result/other/{other['number']}/{number}")["facts"][0] == ["shape", "1 × 8"]


def test_a_page_that_is_loaded_again_finds_its_run(answers: Answers) -> None:
    assert answers.get("state/tab")["run"] is None
    done = post(answers, "run/tab")
    state = answers.get("state/tab")
    assert not state["running"]
    assert state["run"]["number"] == done["number"]
    assert answers.get("state/another")["run"] is None


def test_many_tabs_forget_the_oldest(answers: Answers) -> None:
    post(answers, "run/first")
    for number in range(20):
        answers.get(f"state/tab{number}")
    assert answers.get("state/first")["run"] is None


def test_a_tab_that_asks_for_much_at_once_keeps_its_runs(answers: Answers) -> None:
    post(answers, "run/tab")
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(8) as pool:
            states = list(pool.map(lambda _: answers.get("state/tab")["run"], range(4000)))
    finally:
        sys.setswitchinterval(interval)
    assert all(states)


def test_more_threads_than_processors_are_refused(answers: Answers) -> None:
    with pytest.raises(InputError, match=r"may use \d+ processors; 100000 threads are asked for"):
        post(answers, "profile/tab", threads=100_000, seconds=0)


def test_a_precision_that_is_no_name_is_refused(answers: Answers) -> None:
    with pytest.raises(InputError, match="'precision' is the name of one"):
        post(answers, "profile/tab", precision=["bf16"], seconds=0)


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("run/tab", b"[]"),
        ("run/tab", b'{"shapes": 3}'),
        ("run/tab", b"nonsense"),
        ("run/tab", b'{"changes": {"7": {"kind": "scale"}}}'),
        ("run/tab", b'{"changes": {"0": {"kind": "other"}}}'),
        ("run/../x", b"{}"),
        ("run", b"{}"),
        ("feed/tab/9/0/x.npy", b""),
        ("feed/tab/x/0/x.npy", b""),
        ("compare/tab", b'{"run": 1, "with": "nobody"}'),
        ("compare/tab", b'{"run": 1, "with": ["cpu"]}'),
        ("other/tab", b"{}"),
    ],
)
def test_other_requests_are_refused(answers: Answers, path: str, body: bytes) -> None:
    post(answers, "run/tab")
    with pytest.raises(NotThere):
        answers.post(path, body)


@pytest.mark.parametrize(
    "path", ["result/tab/1/99", "result/tab/1", "result/tab/x/0", "state/", "state/a/b", "profile"]
)
def test_other_paths_of_runs_have_no_answer(answers: Answers, path: str) -> None:
    post(answers, "run/tab")
    with pytest.raises(NotThere):
        answers.get(path)


def test_a_changed_input_shows_what_moves() -> None:
    answers = Answers(parsed("a = Neg (x) b = Shape (x) y = Exp (a)", outputs="y, b"), "moves")
    base = post(answers, "run/tab")["number"]
    moved = post(answers, "run/tab", base=base, changes={"0": {"kind": "scale", "amount": 1.5}})["differences"]
    operators = answers.get("index")["operators"]
    errors = {operators[int(leaf)]: error for leaf, error in moved["nodes"].items()}
    assert errors["Neg"] == pytest.approx(0.5)
    assert errors["Shape"] == 0
    assert moved["equal"] == 1
    assert moved["levels"][str(answers.scene.root)] == max(errors.values())


def test_a_run_is_compared_with_compiled_kernels_and_a_precision() -> None:
    model = parsed("a = MatMul (x, x) y = Tanh (a)", inputs="float[64, 64] x")
    weight = np.random.default_rng(0).standard_normal((64, 64)).astype(np.float32)
    model.graph.nodes[0].replace_input(1, model.graph.add_initializer("w", weight))
    answers = Answers(model, "product")
    run = post(answers, "run/tab")["number"]
    exact = post(answers, "compare/tab", run=run, **{"with": "cpu"})
    assert exact["compared"] == 2
    assert max(exact["nodes"].values()) < 1e-5
    rounded = post(answers, "compare/tab", run=run, **{"with": "bf16"})
    assert max(rounded["nodes"].values()) > max(exact["nodes"].values())
    assert rounded["worst"][0]["title"] in ("MatMul a", "Tanh y")
    other = post(answers, "run/tab", seed=1)["number"]
    assert post(answers, "compare/tab", run=run, **{"with": other})["outputs"][0][1] > 0.1


def test_what_is_drawn_at_random_is_compared_with_the_same_numbers() -> None:
    answers = Answers(parsed("a = RandomNormalLike (x) b = Dropout (a) y = Add (a, b)"), "random")
    run = post(answers, "run/tab", seed=5)["number"]
    found = post(answers, "compare/tab", run=run, **{"with": "cpu"})
    assert found["compared"] == 3
    assert all(row["error"] < 1e-6 for row in found["worst"])  # logarithms and cosines round differently


def test_a_profile_has_what_nodes_and_groups_cost() -> None:
    answers = Answers(layers(3, names="/encoder/layer.{}/"), "layers")
    answers.get("model")
    measured = post(answers, "profile/tab", seconds=0, shapes={"n": "64"}, threads=1)
    seconds = [cost[0] for cost in measured["nodes"].values()]
    total = sum(step["cost"][0] for step in measured["steps"])
    assert sum(seconds) == pytest.approx(total)
    assert measured["levels"][str(answers.scene.root)][0] == pytest.approx(total)
    assert all(step["leaves"] for step in measured["steps"])
    assert measured["timeline"]
    assert {row[1] for row in measured["timeline"]} == {0}
    assert all(limit > 1e8 for limit in measured["limits"])
    assert answers.get("profile")["runs"] == measured["runs"]


def test_a_text_needs_a_tokeniser(answers: Answers) -> None:
    with pytest.raises(InputError, match="needs a tokeniser"):
        post(answers, "text/tab", text="hello")


def test_a_text_becomes_the_tokens_of_a_run() -> None:
    answers = Answers(parsed("y = Cast <to = 1> (ids)", inputs="int64[b, t] ids"), "tokens")
    file = {"model": {"type": "WordLevel", "vocab": {"hello": 7, "world": 9}}, "pre_tokenizer": {"type": "Whitespace"}}
    assert answers.post("tokeniser/tab", json.dumps(file).encode()) == {"text": "WordLevel, 2 tokens"}
    assert post(answers, "text/tab", text="hello world")["notes"] == {"0": "2 tokens: int64[1, 2]"}
    done = post(answers, "run/tab")
    assert done["ranges"][str(value(answers, "ids"))] == "7 … 9"
    assert answers.get("state/tab")["tokeniser"] == "WordLevel, 2 tokens"


def test_labels_come_from_metadata_or_a_file() -> None:
    model = parsed("y = Softmax (x)", inputs="float[1, 3] x")
    model.metadata["labels"] = '["cat", "dog", "fox"]'
    answers = Answers(model, "classes")
    answers.get("model")
    answers.post("feed/tab/0/0/x.npy", npy(np.array([[0, 1, 9]], np.float32)))
    run = post(answers, "run/tab")["number"]
    assert answers.get(f"result/tab/{run}/{value(answers, 'y')}")["bars"][0][0] == "fox"
    assert answers.post("labels/tab", b"a\nb\nc") == {"count": 3}
    assert answers.get(f"result/tab/{run}/{value(answers, 'y')}")["bars"][0][0] == "c"
