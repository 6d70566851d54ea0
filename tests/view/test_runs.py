from __future__ import annotations

import io
import threading
import time

import numpy as np
import pytest

from ingot import InputError
from ingot.dtypes import Array
from ingot.runtime.interrupt import Interrupted
from ingot.view.arrays import described, extent
from ingot.view.differences import Difference, difference
from ingot.view.flowed import flowed, one_tile, scores
from ingot.view.inputs import Change, changed
from ingot.view.labels import labels_of, read_labels
from ingot.view.runs import Range, Runs
from view.samples import parsed

BODY = "a = Neg (x) b = Abs (a) c = Neg (b) d = Sqrt (c) y = Exp (d)"


def npy(array: Array) -> bytes:
    content = io.BytesIO()
    np.save(content, array)
    return content.getvalue()


def test_a_run_has_the_range_of_every_value_and_the_first_that_is_not_finite() -> None:
    runs = Runs(parsed(BODY))
    outcome = runs.run(0, {"n": "3"})
    assert list(outcome.ranges) == ["x", "a", "b", "c", "d", "y"]
    assert outcome.ranges["b"].low >= 0
    assert outcome.ranges["d"].invalid == 24
    assert outcome.first == "d"
    assert runs.array(outcome.number, "a").shape == (3, 8)


def test_inputs_come_from_files_and_bind_the_sizes_of_others() -> None:
    runs = Runs(parsed("y = Add (x, z)", inputs="float[n, 8] x, float[n, 8] z"))
    assert runs.inputs.upload(0, "five.npy", npy(np.full((5, 8), 2.0))) == "five.npy: float32[5, 8]"
    outcome = runs.run(0, {"n": "3"})  # the file has its own size
    assert outcome.feeds["z"].shape == (5, 8)
    assert outcome.ranges["x"].text == "2 … 2"
    assert runs.inputs.upload(0, "npy", b"") == "random"
    assert runs.run(0, {}).feeds["x"].shape == (1, 8)


def test_a_file_that_does_not_fit_is_refused_by_its_own_name() -> None:
    inputs = Runs(parsed(BODY)).inputs
    with pytest.raises(InputError, match=r"'tool\.exe' is no kind of file"):
        inputs.upload(0, "tool.exe", b"MZ")
    with pytest.raises(InputError, match="holds no array"):
        inputs.upload(0, "x.npy", b"no array")
    assert not inputs.arrays


@pytest.mark.parametrize("content", ["[300]", "[-1]", "[1e400]", "[99999999999999999999999]", "[" * 100_000, '["one"]'])
def test_numbers_that_an_input_has_no_type_for_are_refused(content: str) -> None:
    inputs = Runs(parsed("y = Add (x, x)", inputs="uint8[n] x")).inputs
    with pytest.raises(InputError, match=r"'x\.json' (makes no uint8\[n\] for input 'x'|is not JSON)"):
        inputs.upload(0, "x.json", content.encode())


def test_values_that_are_not_held_are_computed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ingot.view.runs._MOST_BYTES", 0)
    runs = Runs(parsed(BODY))
    outcome = runs.run(0, {})
    assert not outcome.arrays
    assert runs.array(outcome.number, "b").size == 8


def test_what_was_drawn_at_random_is_drawn_again_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ingot.view.runs._MOST_BYTES", 0)
    runs = Runs(parsed("y = RandomNormalLike (x)"))
    outcome = runs.run(7, {})
    assert outcome.ranges["y"] == Range(*extent(runs.array(outcome.number, "y")))


def test_before_a_run_there_are_no_values() -> None:
    with pytest.raises(InputError, match="not run yet"):
        Runs(parsed(BODY)).array(1, "a")


def test_only_the_last_runs_are_held_and_the_one_that_others_are_compared_with() -> None:
    runs = Runs(parsed(BODY))
    first = runs.run(0, {}).number
    for seed in range(1, 6):
        runs.run(seed, {}, keep=first)
    assert first in runs.outcomes
    assert len(runs.outcomes) == 4
    with pytest.raises(InputError, match="newer runs"):
        runs.outcome(first + 1)


def test_a_new_run_ends_the_one_before() -> None:
    body = (
        "n = Constant <value = int64 {2000000000}> () t = Constant <value = bool {1}> () "
        "y = Loop (n, t, x) <body = b (int64 i, bool go, float[1, 8] s) => (bool on, float[1, 8] r) "
        "{ on = Identity (go) r = Neg (s) }>"
    )
    runs = Runs(parsed(body, inputs="float[1, 8] x"))
    ended: list[Exception] = []

    def endless() -> None:
        try:
            runs.run(0, {})
        except Interrupted as error:
            ended.append(error)

    def wait_for_it() -> None:
        while not runs.is_running:
            time.sleep(0.01)

    first = threading.Thread(target=endless)
    first.start()
    wait_for_it()
    second = threading.Thread(target=endless)
    second.start()
    first.join(20)
    assert len(ended) == 1
    wait_for_it()
    runs.cancel()
    second.join(20)
    assert len(ended) == 2
    assert runs.last is None


def test_a_slider_changes_an_input_in_its_own_type() -> None:
    numbers = np.arange(8, dtype=np.float32)
    assert changed(numbers, Change("scale", 0.5)).tolist() == (numbers / 2).tolist()
    assert changed(numbers, Change("element", 9.0, 3))[3] == 9
    assert changed(numbers, Change("noise", 0.0)).tolist() == numbers.tolist()
    assert not np.array_equal(changed(numbers, Change("noise", 0.1)), numbers)
    noisy = changed(np.array([1.0, np.nan, np.inf, 2.0], np.float32), Change("noise", 0.1))
    assert np.isfinite(noisy).tolist() == [True, False, False, True]
    bytes_ = np.array([200, 3], np.uint8)
    assert changed(bytes_, Change("scale", 2.0)).tolist() == [255, 6]
    assert changed(np.array([True]), Change("scale", 0.0)).tolist() == [False]
    assert changed(np.array(["a"], object), Change("scale", 2.0)).tolist() == ["a"]
    largest = changed(np.array([1], np.int64), Change("element", 1e300))
    assert largest[0] > 0


def test_a_difference_is_relative_to_the_largest_element() -> None:
    one = np.array([1.0, -4.0], np.float32)
    assert difference(one, one) == Difference(0.0, 0.0)
    assert difference(one, np.array([1.0, -3.0], np.float32)) == Difference(1.0, 0.25)
    assert difference(one, np.array([1.0, np.nan], np.float32)).relative == float("inf")
    assert difference(np.array([np.nan]), np.array([np.nan])).relative == 0
    assert difference(one, np.zeros((3,), np.float32)).largest == float("inf")


def test_no_element_of_a_large_array_is_left_out() -> None:
    array = np.zeros((3001, 3001), np.float16)  # of more elements than a histogram is made of
    array[1::2] = 2.0
    array[7, 4], array[7, 5], array[9, 6] = 9.0, np.nan, np.inf
    assert extent(array) == (0.0, 9.0, 2)
    facts = dict(described(array)["facts"])
    assert (facts["maximum"], facts["NaN"], facts["infinities"]) == ("9", "1", "1")
    assert (facts["mean"], facts["deviation"], facts["zeros"]) == ("0.99967", "1", "50 %")
    other = array.copy()
    other[7, 4] = 0.0
    assert difference(array, other) == Difference(9.0, 1.0)
    assert difference(array, array) == Difference(0.0, 0.0)


def test_scores_have_labels_where_there_is_one_for_each() -> None:
    row = np.arange(3, dtype=np.float32).reshape(1, 3)
    assert scores(row, ["cat", "dog", "fox"])[0] == ("fox", 2.0)
    assert scores(row, ["cat", "dog"])[0] == ("2", 2.0)
    assert scores(np.ones((2, 2), np.float32)) == []


@pytest.mark.parametrize(
    "text",
    ["cat\ndog\nfox", '["cat", "dog", "fox"]', "{0: 'cat', 1: 'dog', 2: 'fox'}", '{"cat": 0, "dog": 1, "fox": 2}'],
)
def test_labels_are_read_in_the_ways_that_they_are_written(text: str) -> None:
    assert read_labels(text) == ["cat", "dog", "fox"]
    assert labels_of({"names": text}) == ["cat", "dog", "fox"]


@pytest.mark.parametrize("text", ["", "[]", "{", "{'a': __import__('os')}", "[" * 100_000, '{"9999999999": "x"}'])
def test_what_is_no_list_of_labels_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        read_labels(text)
    assert labels_of({"labels": text}) == []


def test_heads_of_attention_can_be_looked_at_one_by_one() -> None:
    model = parsed("y = Softmax (x)", inputs="float[1, 3, 4, 4] x")
    value = model.graph.outputs[0]
    array = np.arange(48, dtype=np.float32).reshape(1, 3, 4, 4)
    shown = flowed(array, value, ())
    assert (shown["tiles"], shown["tile"]) == (3, "head")
    assert one_tile(array, 2)["picture"]["width"] == 4
    with pytest.raises(IndexError):
        one_tile(array, 3)
    assert flowed(np.ones((1, 5), np.float32), value, ())["vector"] == [1.0] * 5
