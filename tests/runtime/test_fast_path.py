"""The quick way through a plan: the same results, of the caller's own, and the long way where it does not fit."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import ingot
from ingot.dtypes import Array
from ingot.runtime.fast_path import FastPath

HEADER = '<ir_version: 10, opset_import: ["" : 21]>'


def session(graph: str) -> ingot.Session:
    return ingot.Session(
        ingot.parse_model(f"{HEADER} {graph}"), providers=("cpu", "reference"), threads=1, fallback=False
    )


def quick(of: ingot.Session, **feeds: Any) -> list[Any] | None:
    """What the quick way gives; None if it leaves a run to the long one."""
    assert of._plans.first is not None
    return of._plans.first.fast_path.run(feeds)


def floats(*shape: int) -> Array:
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape)


def test_sizes_seen_before_go_the_quick_way() -> None:
    doubled = session("g (float[n, 3] x) => (float[n, 3] y, float[n, 3] z) { z = Add (x, x) y = Mul (z, z) }")
    x = floats(2, 3)
    assert quick(doubled, x=x) is None
    doubled.run(None, {"x": x})
    found = quick(doubled, x=x + 1)
    assert found is not None
    np.testing.assert_array_equal(found[1], 2 * (x + 1))
    np.testing.assert_array_equal(found[0], 4 * (x + 1) ** 2)


def test_new_sizes_of_types_and_ranks_seen_before_go_the_quick_way() -> None:
    doubled = session("g (float[n, 3] x) => (float[n, 3] y) { z = Softmax (x) y = Add (z, z) }")
    doubled.run(None, {"x": floats(2, 3)})
    for size in (5, 1, 2, 0, 9, 5):
        found = quick(doubled, x=floats(size, 3))
        assert found is not None
        np.testing.assert_array_equal(found[0], doubled.run(None, {"x": floats(size, 3)})[0])
    assert quick(doubled, x=floats(2, 4)) is None
    assert quick(doubled, x=floats(6)) is None
    with pytest.raises(ingot.InputError, match="got float32"):
        doubled.run(None, {"x": floats(2, 4)})


def test_new_sizes_of_an_input_that_no_kernel_reads_are_checked() -> None:
    unread = session("g (float[n] x, float[3] z) => (float[n] y) { y = Neg (x) }")
    unread.run(None, {"x": floats(2), "z": floats(3)})
    assert quick(unread, x=floats(4), z=floats(4)) is None
    with pytest.raises(ingot.InputError, match="input 'z'"):
        unread.run(None, {"x": floats(4), "z": floats(4)})


def test_new_sizes_that_take_too_much_memory_are_a_limit_error() -> None:
    text = f"{HEADER} g (float[n] x) => (float[n] y) {{ y = Neg (x) }}"
    small = ingot.Session(ingot.parse_model(text), providers=("cpu", "reference"), limits=ingot.RunLimits(memory=1000))
    small.run(None, {"x": floats(2)})
    for _ in range(3):
        with pytest.raises(ingot.LimitError):
            small.run(None, {"x": floats(2000)})
    assert small.run(None, {"x": floats(2)})[0].tolist() == [0, -1]


def test_results_are_new_each_time() -> None:
    negated = session("g (float[n] x) => (float[n] y) { y = Neg (x) }")
    first = negated.run(None, {"x": floats(4)})[0]
    second = negated.run(None, {"x": floats(4)})[0]
    third = negated.run(None, {"x": floats(4)})[0]
    third[:] = 7
    np.testing.assert_array_equal(first, second)
    assert not np.may_share_memory(second, third)


def test_inputs_that_are_not_contiguous_are_copied() -> None:
    negated = session("g (float[2, 3] x) => (float[2, 3] y) { y = Neg (x) }")
    negated.run(None, {"x": floats(2, 3)})
    x = np.arange(6, dtype=np.float32).reshape(3, 2).T
    results = quick(negated, x=x)
    assert results is not None
    np.testing.assert_array_equal(results[0], -x)


@pytest.mark.parametrize("given", [[1.0, 2.0], np.ones(2, np.float64)], ids=["list", "another type"])
def test_what_is_not_as_before_goes_the_long_way(given: Any) -> None:
    negated = session("g (float[2] x) => (float[2] y) { y = Neg (x) }")
    negated.run(None, {"x": floats(2)})
    assert quick(negated, x=given) is None


def test_an_index_out_of_range_is_still_an_error() -> None:
    taken = session("g (float[4] x, int64[2] i) => (float[2] y) { y = Gather (x, i) }")
    x = floats(4)
    np.testing.assert_array_equal(taken.run(None, {"x": x, "i": np.array([3, 1])})[0], [3, 1])
    with pytest.raises(ingot.InputError):
        taken.run(None, {"x": x, "i": np.array([3, 4])})
    np.testing.assert_array_equal(taken.run(None, {"x": x, "i": np.array([0, -1])})[0], [0, 3])


def test_a_feed_too_many_is_still_an_error() -> None:
    negated = session("g (float[2] x) => (float[2] y) { y = Neg (x) }")
    negated.run(None, {"x": floats(2)})
    with pytest.raises(ingot.InputError, match="no input 'z'"):
        negated.run(None, {"x": floats(2), "z": floats(2)})


def test_many_threads_run_one_session() -> None:
    summed = session("g (float[n, 64] x) => (float[n, 64] y) { t = Softmax (x) u = Exp (t) y = Mul (u, u) }")
    feeds = [np.random.default_rng(seed).standard_normal((8, 64), dtype=np.float32) for seed in range(8)]
    expected = [summed.run(None, {"x": x})[0] for x in feeds]
    with ThreadPoolExecutor(4) as crew:
        for _ in range(20):
            found = list(crew.map(lambda x: summed.run(None, {"x": x})[0], feeds))
            for mine, theirs in zip(found, expected, strict=True):
                np.testing.assert_array_equal(mine, theirs)


def test_memory_is_kept_for_the_sizes_of_now() -> None:
    chain = session("g (float[n] x) => (float[n] y) { t = CumSum <reverse = 0> (x, a) y = Exp (t) } ".replace(
        "=> (float[n] y)", "=> (float[n] y) <int64 a = {0}>"))  # fmt: skip
    for size in (1000, 2000, 1000, 3000):
        for _ in range(2):
            chain.run(None, {"x": np.zeros(size, np.float32)})
    assert chain._plans.first is not None
    (frame,) = chain._plans.first.runner.frames
    assert frame.first.arena is not None
    assert frame.first.arena.nbytes < 4 * 3000 * 1.2


def test_the_latest_sizes_are_remembered_and_no_more_than_some() -> None:
    doubled = session("g (float[n] x) => (float[n] y) { y = Add (x, x) }")
    for size in range(1, 100):
        doubled.run(None, {"x": floats(size)})
        found = quick(doubled, x=floats(size))
        assert found is not None
        assert found[0].tolist() == (2 * floats(size)).tolist()
    assert doubled._plans.first is not None
    assert isinstance(doubled._plans.first.fast_path, FastPath)
    assert len(doubled._plans.first.fast_path._ready) == 32


def test_sizes_of_long_ago_run_as_they_did() -> None:
    summed = session("g (float[n, 4] x) => (float[n, 4] y) { t = Softmax (x) u = Exp (t) y = Mul (u, t) }")
    first = [summed.run(None, {"x": floats(size, 4)})[0] for size in range(1, 40)]
    for size in range(40, 400):
        summed.run(None, {"x": floats(size, 4)})
    for size, expected in enumerate(first, 1):
        for _ in range(2):
            np.testing.assert_array_equal(summed.run(None, {"x": floats(size, 4)})[0], expected)


def test_a_frame_that_another_thread_takes_first_is_missed_by_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    doubled = session("g (float[n] x) => (float[n] y) { y = Add (x, x) }")
    for _ in range(2):
        doubled.run(None, {"x": floats(3)})
    assert doubled._plans.first is not None

    class Taken(list[Any]):
        """Frames of which there seems to be one, until it is taken."""

        def __bool__(self) -> bool:
            return True

    monkeypatch.setattr(doubled._plans.first.runner, "frames", Taken())
    found = quick(doubled, x=floats(3))
    assert found is not None
    np.testing.assert_array_equal(found[0], [0, 2, 4])


@pytest.mark.parametrize("limit", [{"cancel": ingot.Cancel()}, {"deadline": 60.0}, {"outputs": ["y"]}])
def test_what_may_be_interrupted_or_is_asked_for_by_name_goes_the_quick_way(
    limit: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    doubled = session("g (float[n] x) => (float[n] y) { y = Add (x, x) }")
    doubled.run(feeds={"x": floats(3)}, **limit)
    assert doubled._plans.first is not None
    monkeypatch.setattr(doubled._plans.first, "run", None)
    assert doubled.run(feeds={"x": floats(3)}, **limit)[0].tolist() == [0, 2, 4]


def test_an_output_named_twice_is_two_arrays() -> None:
    doubled = session("g (float[n] x) => (float[n] y) { y = Add (x, x) }")
    for _ in range(2):
        one, other = doubled.run(["y", "y"], {"x": floats(3)})
        assert one.tolist() == other.tolist() == [0, 2, 4]
        assert not np.may_share_memory(one, other)


def test_a_run_that_was_cancelled_leaves_nothing_to_the_next() -> None:
    doubled = session("g (float[n] x) => (float[n] y) { t = Softmax (x) y = Mul (t, t) }")
    expected = doubled.run(None, {"x": floats(3)})[0].tolist()
    doubled.run(None, {"x": floats(3)})
    cancel = ingot.Cancel()
    cancel.cancel()
    for _ in range(2):
        with pytest.raises(ingot.Interrupted, match="cancelled"):
            doubled.run(None, {"x": floats(3)}, cancel=cancel)
        with pytest.raises(ingot.Interrupted, match="longer than 0 s"):
            doubled.run(None, {"x": floats(3)}, deadline=0)
        for _ in range(2):
            assert doubled.run(None, {"x": floats(3)})[0].tolist() == expected


WITH_A_CALL = """g (float[2, n] x, bool c) => (y, z) {
    y = If (c) <
        then_branch = a () => (u) { u = Concat <axis = 1> (x, x) },
        else_branch = e () => (v) { w = Transpose (x) v = Transpose (w) }
    >
    z = Relu (y)
}"""


def again(of: ingot.Session, **feeds: Any) -> list[Any] | None:
    """A run on the fast path, or at least without checks of the inputs."""
    assert of._plans.first is not None
    results = of._plans.first.fast_path.run(feeds)
    if results is None:
        results = of._plans.first.run_again(feeds, lambda model: of._evaluation(model, seed=0, interrupt=None), None)
    return results


def test_a_plan_with_calls_runs_sizes_seen_before_without_checks() -> None:
    chosen = session(WITH_A_CALL)
    x, yes, no = floats(2, 3), np.array(True), np.array(False)
    assert again(chosen, x=x, c=yes) is None
    for condition, expected in ((yes, np.concatenate([x, x], 1)), (no, x), (yes, np.concatenate([x, x], 1))):
        chosen.run(None, {"x": x, "c": condition})
        results = again(chosen, x=x, c=condition)
        assert results is not None
        y, z = results
        np.testing.assert_array_equal(y, expected)
        np.testing.assert_array_equal(z, np.maximum(expected, 0))
        assert not np.may_share_memory(y, x)
        y[:] = z[:] = 0
    assert again(chosen, x=floats(3, 4), c=yes) is None
    assert again(chosen, x=x.astype(np.float64), c=yes) is None
    assert again(chosen, x=x) is None


def test_strings_at_computed_indices_are_looked_up_on_the_quick_way() -> None:
    named = session("""g (float[n, 3] x) => (string[n] y, float[n, 3] z)
        <string[3] names = {"a", "b", "c"}> {
        best = ArgMax <axis = 1, keepdims = 0> (x) y = Gather (names, best) z = Exp (x) }""")
    x = np.array([[1, 2, 0], [5, 2, 0]], np.float32)
    assert quick(named, x=x) is None
    expected = named.run(None, {"x": x})
    assert expected[0].tolist() == ["b", "a"]
    looked_up = quick(named, x=x[::-1].copy())
    assert looked_up is not None
    assert looked_up[0].tolist() == ["a", "b"]
    assert looked_up[0].dtype == np.object_
    np.testing.assert_array_equal(looked_up[1], expected[1][::-1])


def test_an_index_out_of_range_goes_the_long_way_to_its_error() -> None:
    named = session("""g (int64[n] x) => (string[n] y) <string[2] names = {"a", "b"}> {
        two = Constant <value_int = 2> () i = Mul (x, two) y = Gather (names, i) }""")
    assert named.run(None, {"x": np.array([0, 0], np.int64)})[0].tolist() == ["a", "a"]
    with pytest.raises(ingot.InputError):
        named.run(None, {"x": np.array([0, 1], np.int64)})
