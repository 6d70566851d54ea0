"""Frames: what a run needs is its own, whoever runs beside it, and left to the next."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np
import pytest

import ingot
from ingot.dtypes import Array
from ingot.runtime import executable
from ingot.runtime.plan import Jump
from ingot.runtime.run import PlanRunner
from ingot.schedule.recurrence import enclose_loops
from ingot.session import Session

HEADER = '<ir_version: 10, opset_import: ["" : 21]>'

CHAIN = f"""{HEADER} g (float[n, 64] x) => (float[n, 64] y)
    {{ t = Softmax (x) u = CumSum (t, a) v = Softmax <axis = 0> (u) y = Mul (v, t) }}""".replace(
    "=> (float[n, 64] y)", "=> (float[n, 64] y) <int64 a = {1}>"
)

CALLED = f"""{HEADER} g (float[n] x, int64 m) => (float[k] y, float[l] u) {{
  y = Loop (m, , x) <body = b (int64 i, bool c, float[p] s) => (bool d, float[q] t) {{
     d = Identity (c)
     h = Tanh (s)
     t = Concat <axis = 0> (h, x)
  }}>
  u = Exp (y)
}}"""


def session(text: str, threads: int = 1) -> Session:
    return Session(ingot.parse_model(text), providers=("cpu", "reference"), threads=threads, fallback=False)


def floats(seed: int, *shape: int) -> Array:
    return np.random.default_rng(seed).standard_normal(shape, dtype=np.float32)


def feeds_of(text: str, seed: int) -> dict[str, Any]:
    if text is CHAIN:
        return {"x": floats(seed, 3 + seed % 5, 64)}
    return {"x": floats(seed, 2 + seed % 3), "m": np.array(seed % 4)}


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("text", [CHAIN, CALLED], ids=["kernels", "bodies"])
def test_two_threads_run_one_session_with_sizes_of_their_own(text: str, threads: int) -> None:
    one = session(text, threads)
    reference = Session(ingot.parse_model(text), providers=("reference",))
    expected = [reference.run(None, feeds_of(text, seed)) for seed in range(12)]
    barrier = threading.Barrier(2)

    def work(first: int) -> None:
        barrier.wait(30)
        for turn in range(40):
            seed = (first + turn) % 12
            for mine, theirs in zip(one.run(None, feeds_of(text, seed)), expected[seed], strict=True):
                np.testing.assert_allclose(mine, theirs, rtol=1e-4, atol=1e-6)

    with ThreadPoolExecutor(2) as pool:
        for done in [pool.submit(work, first) for first in (0, 5)]:
            done.result(60)
    assert one._plans.first is not None
    assert 1 <= len(one._plans.first.runner.frames) <= 2


def test_one_frame_serves_sizes_that_alternate() -> None:
    one = session(CHAIN)
    for turn in range(10):
        x = floats(turn, 2 + turn % 2, 64)
        np.testing.assert_array_equal(one.run(None, {"x": x})[0], one.run(None, {"x": x})[0])
    assert one._plans.first is not None
    assert len(one._plans.first.runner.frames) == 1


def test_a_frame_is_left_as_it_was_by_an_error_that_a_kernel_met() -> None:
    taken = session(f"{HEADER} g (float[4] x, int64[n] i) => (float[n] y) {{ y = Gather (x, i) }}")
    x = floats(0, 4)
    for _ in range(2):
        with pytest.raises(ingot.InputError):
            taken.run(None, {"x": x, "i": np.array([0, 4])})
        np.testing.assert_array_equal(taken.run(None, {"x": x, "i": np.array([3, 1])})[0], x[[3, 1]])
    assert taken._plans.first is not None
    (frame,) = taken._plans.first.runner.frames
    assert not frame.state.any()


def test_kernels_that_wrote_nothing_write_again_for_other_sizes() -> None:
    summed = session(f"{HEADER} g (float[n, 3] x) => (float[n, 3] y) {{ t = Softmax (x) y = Add (t, x) }}")
    for size in (2, 0, 2, 0, 3):
        x = floats(size, size, 3)
        for _ in range(2):
            (found,) = summed.run(None, {"x": x})
            assert found.shape == (size, 3)
            np.testing.assert_allclose(found, x + np.exp(x) / np.exp(x).sum(1, keepdims=True), rtol=1e-5)


def test_a_frame_does_not_keep_what_a_body_captured() -> None:
    one = session(CALLED)
    x = floats(0, 5)
    one.run(None, {"x": x, "m": np.array(3)})
    assert one._plans.first is not None
    (prepared,) = one._plans.first._bodies._prepared.values()
    (runner,) = prepared.bodies.values()
    assert runner is not None
    assert runner.runner is not None
    (frame,) = runner.runner.frames
    assert all(value is None for value in frame.values)


def test_a_runner_that_another_thread_builds_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    text = f"{HEADER} g (float[n] x) => (float[n] y) {{ y = Neg (x) }}"
    negated = Session(ingot.parse_model(text), providers=("cpu", "reference"), threads=1, fallback=False)
    building, goes_on = threading.Event(), threading.Event()
    real = PlanRunner

    def slow(*arguments: Any) -> Any:
        if threading.current_thread().name == "slow":
            building.set()
            goes_on.wait(60)
        return real(*arguments)

    def run(results: list[Array]) -> None:
        results.append(negated.run(None, {"x": np.ones(2, np.float32)})[0])

    monkeypatch.setattr(executable, "PlanRunner", slow)
    found: list[Array] = []
    first = threading.Thread(target=run, args=(found,), name="slow")
    second = threading.Thread(target=run, args=(found,), daemon=True)
    first.start()
    assert building.wait(60)
    second.start()
    second.join(10)
    was_held_up = second.is_alive()
    goes_on.set()
    first.join()
    second.join()
    assert not was_held_up
    assert [result.tolist() for result in found] == [[-1, -1]] * 2


SWAPPED_AFTER_A_CALL = f"""{HEADER} g (float[n, b, 3] x, int64[1] k, float[1, 12, 3] w, float[1, 12, 3] r)
  => (float[m, 1, b, 3] y, float[n, v] u) <int64[1] last = {{2}}, int64[1] one = {{1}}> {{
  sums = ReduceSum <keepdims = 0> (x, last)
  twice = Concat <axis = 1> (sums, sums)
  soft = Softmax <axis = 0> (twice)
  u = Mul (soft, twice)
  top, places = TopK <axis = 0> (u, k)
  line = ReduceMax <keepdims = 0> (places, one)
  picked = Gather (x, line)
  y = LSTM <hidden_size = 3> (picked, w, r)
}}"""

NESTED = f"""{HEADER} g (float[n] x, int64 m, int64 k) => (float[n] y) {{
  start = Exp (x)
  y = Loop (m, , start) <body = f (int64 i, bool c, float[n] s) => (bool d, float[n] t) {{
     d = Identity (c)
     t = Loop (k, , s) <body = h (int64 j, bool e, float[n] u) => (bool g, float[n] v) {{
        g = Identity (e)
        top = ReduceMax (u)
        v = Sub (top, u)
     }}>
  }}>
}}"""


def test_states_written_before_a_call_swap_their_memory_after_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs of other sizes place the segments again, each for itself: of the two of a pair never only one."""
    outside = partial(enclose_loops, most=-1)  # or the loop is inside of a kernel
    monkeypatch.setattr("ingot.schedule.schedule.enclose_loops", outside)
    compiled = session(SWAPPED_AFTER_A_CALL)
    reference = Session(ingot.parse_model(SWAPPED_AFTER_A_CALL), providers=("reference",))
    for length, batch, steps in [(200, 1, 1), (1, 1, 1), (1, 1, 1), (1, 1, 1), (90, 2, 3), (1, 2, 1), (9, 1, 1)]:
        feeds = {"x": floats(length, length, batch, 3), "k": np.array([steps])}
        feeds |= {"w": floats(7, 1, 12, 3), "r": floats(8, 1, 12, 3)}
        np.testing.assert_allclose(compiled.run(None, feeds)[0], reference.run(None, feeds)[0], rtol=1e-5, atol=1e-6)
    segments = compiled.compiled.plan.segments  # type: ignore[union-attr]
    homes = {each.slot: number for number, segment in enumerate(segments) for each in segment.allocations}
    pairs = {
        step.slots[3 + 2 * pair : 5 + 2 * pair]
        for segment in segments
        for step in segment.steps
        if isinstance(step, Jump)
        for pair in range(step.pairs)
    }
    assert pairs
    assert all(homes[one] == homes[other] for one, other in pairs)


@pytest.mark.parametrize("inner", [0, 1, 2, 3])
def test_a_state_of_a_loop_in_a_loop_is_swapped_by_both(inner: int) -> None:
    compiled, reference = session(NESTED), Session(ingot.parse_model(NESTED), providers=("reference",))
    for seed, outer in enumerate([3, 1, 2, 5, 0]):
        feeds = {"x": floats(seed, 20 + 100 * (seed % 2)), "m": np.array(outer), "k": np.array(inner)}
        np.testing.assert_allclose(compiled.run(None, feeds)[0], reference.run(None, feeds)[0], rtol=1e-5)
