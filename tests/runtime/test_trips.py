"""Trips of a loop whose body has a plan: many in one job, with the results of the reference."""

from __future__ import annotations

import threading
from time import perf_counter
from typing import Any

import numpy as np
import pytest

import ingot
from ingot.errors import InputError
from ingot.runtime import trips
from ingot.runtime.limits import LimitError, RunLimits
from ingot.runtime.thread_pool import ThreadPool
from ingot.session import Cancel, Interrupted, Session

HEAD = '<ir_version: 9, opset_import: ["" : 18]>'

GROWING = """g (float[k] x, int64 m) => (y) <bool go = {1}, float tenth = {0.1}> {
    y = Loop (m, go, x) <body = b (int64 i, bool c, float[n] s) => (c2, t) {
        c2 = Identity (c)
        j = Cast <to = 1> (i)
        p = ReduceSum <keepdims = 1> (s)
        q = Mul (p, tenth)
        r = Add (q, j)
        t = Concat <axis = 0> (s, r)
    }>
}"""

UNTIL = """g (float[k] x, int64 m, bool go, float least) => (y, z, last, rows)
        <float half = {0.5}, float[0] none = {}> {
    y, z, last, rows = Loop (m, go, x, none, x) <
            body = b (int64 i, bool c, float[k] s, float[n] a, float[k] w) => (d, t, b2, w2, u) {
        t = Mul (s, half)
        u = Tanh (t)
        w2 = Identity (w)
        b2 = Concat <axis = 0> (a, t)
        e = ReduceMax <keepdims = 0> (t)
        d = Greater (e, least)
    }>
}"""

SHRINKING = """g (float[k] x, int64 m) => (y, z)
        <bool go = {1}, int64[1] one = {1}, int64[1] end = {99}, float zero = {0}> {
    y, z = Loop (m, go, x, zero) <body = b (int64 i, bool c, float[n] s, float a) => (c2, t, a2) {
        c2 = Identity (c)
        t = Slice (s, one, end)
        p = ReduceSum <keepdims = 0> (s)
        a2 = Add (a, p)
    }>
}"""

DOUBLED = """g (float[k] x, int64 m) => (y) <bool go = {1}> {
    y = Loop (m, go, x) <body = b (int64 i, bool c, float[n] s) => (c2, t) {
        c2 = Identity (c)
        t = Concat <axis = 0> (s, s)
    }>
}"""

ENDLESS = """g (float[k] x) => (y, rows) <bool go = {1}> {
    y, rows = Loop (, go, x) <body = b (int64 i, bool c, float[k] s) => (d, t, u) {
        t = Neg (s)
        u = ReduceSum <keepdims = 0> (t)
        v = Mul (u, u)
        zero = Constant <value = float {-1}> ()
        d = Greater (v, zero)
    }>
}"""


def session(graph: str, threads: int = 1, limits: RunLimits | None = None) -> Session:
    model = ingot.parse_model(f"{HEAD} {graph}")
    made = Session(model, providers=("cpu", "reference"), threads=threads, fallback=False, limits=limits)
    assert made.compiled is not None
    assert [call.node.op_type for call in made.compiled.program.calls.values()] == ["Loop"]
    return made


def agree(graph: str, *feeds: dict[str, Any]) -> None:
    reference = Session(ingot.parse_model(f"{HEAD} {graph}"), providers=("reference",))
    for one in (session(graph), session(graph, threads=2)):
        for given in (*feeds, *feeds):
            for expected, result in zip(reference.run(None, given), one.run(None, given), strict=True):
                assert (result.dtype, result.shape) == (expected.dtype, expected.shape)
                np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-6)


def growing(start: int, trips: int) -> dict[str, Any]:
    return {"x": np.linspace(-1, 1, start, dtype=np.float32), "m": np.array(trips)}


def until(size: int, most: int = 1 << 62, go: bool = True, least: float = 1e-2) -> dict[str, Any]:
    x = np.full(size, 1, np.float32)
    return {"x": x, "m": np.array(most), "go": np.array(go), "least": np.array(least, np.float32)}


def test_a_state_that_grows_is_read_whole_in_every_trip() -> None:
    agree(GROWING, *(growing(start, count) for start in (1, 3, 0) for count in (0, 1, 2, 7, 40)))


def test_a_condition_ends_a_loop_whatever_was_written_out() -> None:
    agree(UNTIL, until(3), until(1), until(3, least=1e-30), until(3, most=4), until(3, least=5))


def test_a_loop_may_make_no_trip() -> None:
    agree(UNTIL, until(3, go=False), until(3, most=0), until(3))


def test_states_shrink_down_to_nothing() -> None:
    agree(SHRINKING, growing(5, 3), growing(5, 5), growing(5, 9), growing(0, 2), growing(100, 100))


def test_a_state_is_doubled() -> None:
    agree(DOUBLED, growing(3, 12), growing(0, 12), growing(1, 0))


def jobs_of(made: Session, feeds: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> int:
    started = 0
    start = ThreadPool.start

    def counted(pool: ThreadPool, job: Any) -> None:
        nonlocal started
        started += 1
        start(pool, job)

    with monkeypatch.context() as context:
        context.setattr(ThreadPool, "start", counted)
        made.run(None, feeds)
    return started


def test_trips_of_a_loop_that_ran_before_are_one_job(monkeypatch: pytest.MonkeyPatch) -> None:
    made = session(GROWING)
    made.run(None, growing(2, 300))
    assert jobs_of(made, growing(2, 300), monkeypatch) == 1
    assert jobs_of(made, growing(2, 200), monkeypatch) == 1
    assert jobs_of(made, growing(5, 200), monkeypatch) <= 2


def test_a_loop_of_a_hundred_thousand_trips_takes_jobs_by_the_thousand(monkeypatch: pytest.MonkeyPatch) -> None:
    made = session(
        UNTIL.replace("b2 = Concat <axis = 0> (a, t)", "b2 = Identity (a)").replace("half = {0.5}", "half = {1}")
    )
    feeds = until(1, most=100_000, least=0)
    assert jobs_of(made, feeds, monkeypatch) < 200
    assert made.run(["rows"], feeds)[0].shape == (100_000, 1)


def test_the_number_of_the_trip_goes_on_from_job_to_job(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trips, "_MOST_TRIPS", 7)
    agree(GROWING, growing(1, 40))


def test_tables_are_bounded_by_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trips, "_MOST_BYTES", 1)
    made = session(GROWING)
    made.run(None, growing(1, 20))
    assert jobs_of(made, growing(1, 20), monkeypatch) == 20


def test_jobs_are_bounded_by_the_time_that_writing_them_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trips, "_MOST_SECONDS", 0)
    assert jobs_of(session(GROWING), growing(1, 8), monkeypatch) == 8


def test_a_state_without_bounds_is_refused_by_memory() -> None:
    made = session(DOUBLED, limits=RunLimits(memory=1 << 26))
    begin = perf_counter()
    for _ in range(2):
        with pytest.raises(LimitError, match="bytes"):
            made.run(None, growing(3, 60))
    assert perf_counter() - begin < 5


def test_a_loop_whose_count_is_known_is_refused_before_memory_is_full() -> None:
    made = session(DOUBLED)  # the limit is most of the machine's memory, which would take long to write
    begin = perf_counter()
    with pytest.raises(LimitError, match="bytes"):
        made.run(None, growing(3, 60))
    assert perf_counter() - begin < 5


def test_nodes_are_counted_in_every_trip() -> None:
    made = session(GROWING, limits=RunLimits(nodes=100))
    made.run(None, growing(1, 5))
    with pytest.raises(LimitError, match="more than 100 nodes"):
        made.run(None, growing(1, 50))


def test_a_wrong_index_is_the_error_of_the_reference() -> None:
    graph = """g (float[k] x, int64 m) => (y) <bool go = {1}> {
        y = Loop (m, go, x) <body = b (int64 i, bool c, float[n] s) => (c2, t) {
            c2 = Identity (c)
            e = Gather <axis = 0> (x, i)
            front = Constant <value = int64[1] {0}> ()
            p = Unsqueeze (e, front)
            t = Concat <axis = 0> (p, s)
        }>
    }"""
    made = session(graph)
    assert made.run(None, growing(4, 4))[0].shape == (8,)
    with pytest.raises(InputError, match="ndex"):
        made.run(None, growing(4, 9))


@pytest.mark.parametrize("size", [1, 100_000])
def test_a_loop_without_end_is_cancelled_at_once(size: int) -> None:
    made = session(ENDLESS, limits=RunLimits(nodes=1 << 60, memory=1 << 33))
    feeds = {"x": np.ones(size, np.float32)}
    cancel, ended = Cancel(), []

    def stop() -> None:
        ended.append(perf_counter())
        cancel.cancel()

    timer = threading.Timer(0.3, stop)
    timer.start()
    with pytest.raises(Interrupted):
        made.run(None, feeds, cancel=cancel)
    assert perf_counter() - ended[0] < 1  # 50 ms, on a machine that does nothing else
    begin = perf_counter()
    with pytest.raises(Interrupted):
        made.run(None, feeds, deadline=0.2)
    assert perf_counter() - begin < 1.2
