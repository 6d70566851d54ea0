"""Nodes with bodies on the fast path: the same results, limits, errors and ends as runs in full."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest

import ingot
from ingot.dtypes import Array
from ingot.runtime.body_run import BodyRun
from ingot.runtime.ready_plan import ReadyPlan
from lower.machine import HEADER

CHOSEN = """g (bool c, float[n] x) => (seq(float[?]) y) {
    y = If (c) <then_branch = t () => (seq(float[?]) a) { w = Neg (x) a = SequenceConstruct (w, x) },
                else_branch = e () => (seq(float[?]) b) { b = SequenceConstruct (x) }> }"""
GROWN = """g (int64 m, float[n] x) => (seq(float[?]) y) <bool yes = {1}> {
    s = SequenceEmpty ()
    y = Loop (m, yes, s) <body = b (int64 i, bool c, seq(float[?]) s_in) => (bool d, seq(float[?]) s_out) {
        d = Identity (c) f = Cast <to = 1> (i) z = Mul (f, x) s_out = SequenceInsert (s_in, z) }> }"""
SLICED = """g (int64 m, float[n] x) => (seq(float[?]) y) <bool yes = {1}, int64[1] zero = {0}, int64 one = {1}> {
    s = SequenceEmpty ()
    y = Loop (m, yes, s) <body = b (int64 i, bool c, seq(float[?]) s_in) => (bool d, seq(float[?]) s_out) {
        d = Identity (c) j = Add (i, one) e = Unsqueeze (j, zero) z = Slice (x, zero, e)
        s_out = SequenceInsert (s_in, z) }> }"""
NESTED = """g (int64 m, float[n] x) => (seq(float[?]) y) <bool yes = {1}, int64 two = {2}> {
    s = SequenceEmpty ()
    y = Loop (m, yes, s) <body = b (int64 i, bool c, seq(float[?]) s_in) => (bool d, seq(float[?]) s_out) {
        d = Identity (c) r = Less (i, two)
        s_out = If (r) <then_branch = t () => (seq(float[?]) p) { w = Neg (x) p = SequenceInsert (s_in, w) },
                        else_branch = e () => (seq(float[?]) q) { q = SequenceErase (s_in) }> }> }"""
MAPPED = """g (seq(float[?]) s, float[1] x) => (seq(float[?]) y, seq(int64[?]) z) {
    y, z = SequenceMap (s, x) <body = b (float[k] e, float[1] f) => (float[k] g, int64[1] h) {
        g = Add (e, f) h = Shape (e) }> }"""
COLLECTED = """g (int64 m, float[1] y, float[n] x) => (float[1] z, float[?, ?] rows)
    <bool yes = {1}, int64[1] zero = {0}, int64 one = {1}> {
    z, rows = Loop (m, yes, y) <body = b (int64 i, bool c, float[1] y_in) => (bool d, float[1] y_out, float[n] row) {
        d = Identity (c) j = Add (i, one) a = Unsqueeze (i, zero) e = Unsqueeze (j, zero) p = Slice (x, a, e)
        y_out = Add (y_in, p) row = Neg (x) }> }"""
ENDED = """g (int64 m, int64 most, float[n] x) => (seq(float[?]) y, float[?] rows, int64[?, ?] pairs)
    <bool yes = {1}, int64 one = {1}, int64[1] zero = {0}> {
    s = SequenceEmpty ()
    y, rows, pairs = Loop (m, yes, s)
        <body = b (int64 i, bool c, seq(float[?]) s_in) => (bool d, seq(float[?]) s_out, float row, int64[2] pair) {
        d = Less (i, most) f = Cast <to = 1> (i) z = Mul (f, x) s_out = SequenceInsert (s_in, z)
        row = ReduceSum <keepdims = 0> (z) j = Unsqueeze (i, zero) pair = Concat <axis = 0> (j, j) }> }"""
WORDS = """g (bool c, string[n] x) => (y) {
    y = If (c) <then_branch = t () => (string[n] a) { a = StringConcat (x, x) },
                else_branch = e () => (string[n] b) { b = Identity (x) }> }"""


def opened(graph: str, **options: Any) -> ingot.Session:
    providers = options.pop("providers", ("cpu", "reference"))
    return ingot.Session(ingot.parse_model(f"{HEADER} {graph}"), providers=providers, **options)


def floats(*shape: int) -> Array:
    return np.arange(1, 1 + np.prod(shape), dtype=np.float32).reshape(shape)


def fast(session: ingot.Session, feeds: Mapping[str, Any]) -> list[Any] | None:
    """What the fast path gives."""
    assert session._plans.first is not None
    return session._plans.first.fast_path.run(feeds)


def plain(value: Any) -> Any:
    return [plain(item) for item in value] if isinstance(value, list) else (value.dtype, value.tolist())


CASES: dict[str, tuple[str, list[dict[str, Any]]]] = {
    "chosen": (CHOSEN, [{"c": np.array(c), "x": floats(n)} for c in (True, False) for n in (2, 3)]),
    "grown": (GROWN, [{"m": np.array(m), "x": floats(n)} for m in (0, 3, 50) for n in (1, 4)]),
    "sliced": (SLICED, [{"m": np.array(m), "x": floats(n)} for m in (1, 4) for n in (2, 6)]),
    "nested": (NESTED, [{"m": np.array(m), "x": floats(n)} for m in (2, 3, 4) for n in (2, 3)]),
    "mapped": (MAPPED, [{"s": [floats(n) for n in sizes], "x": floats(1)} for sizes in ((), (2,), (3, 1, 3))]),
    "collected": (
        COLLECTED,
        [{"m": np.array(m), "y": floats(1), "x": floats(n)} for m in (0, 3) for n in (3, 4)],
    ),
    "ended": (
        ENDED,
        [{"m": np.array(m), "most": np.array(most), "x": floats(3)} for m in (5, 2) for most in (0, 2, 9)],
    ),
    "words": (WORDS, [{"c": np.array(c), "x": np.array(["a", "bc"], object)} for c in (True, False)]),
}


@pytest.mark.parametrize("case", CASES)
def test_a_node_with_bodies_is_on_the_fast_path(case: str) -> None:
    graph, every = CASES[case]
    session, reference = opened(graph, fallback=False), opened(graph, providers=("reference",))
    expected = [plain(reference.run(None, feeds)) for feeds in every]
    for _ in range(3):
        for feeds, wanted in zip(every, expected, strict=True):
            assert plain(session.run(None, feeds)) == wanted
    for feeds, wanted in zip(every, expected, strict=True):
        assert plain(fast(session, feeds)) == wanted


def test_what_a_body_passes_on_is_copied() -> None:
    session = opened(CHOSEN)
    x = floats(3)
    for c in (True, False):
        for _ in range(4):
            (y,) = session.run(None, {"c": np.array(c), "x": x})
            assert not any(np.may_share_memory(part, x) for part in y)
            assert all(part.flags.writeable for part in y)


def test_a_loop_of_too_many_nodes_is_a_limit_error_after_fast_runs() -> None:
    session = opened(GROWN, limits=ingot.RunLimits(nodes=1000))
    for _ in range(4):
        session.run(None, {"m": np.array(3), "x": floats(2)})
    for _ in range(3):
        with pytest.raises(ingot.LimitError, match="nodes"):
            session.run(None, {"m": np.array(1000), "x": floats(2)})
    assert len(session.run(None, {"m": np.array(3), "x": floats(2)})[0]) == 3


def test_a_loop_that_takes_too_much_memory_is_a_limit_error_after_fast_runs() -> None:
    session = opened(GROWN, limits=ingot.RunLimits(memory=1 << 20))
    for _ in range(4):
        session.run(None, {"m": np.array(3), "x": floats(1000)})
    for _ in range(3):
        with pytest.raises(ingot.LimitError):
            session.run(None, {"m": np.array(1000), "x": floats(1000)})


def test_an_endless_loop_with_a_sequence_ends_by_its_deadline_after_fast_runs() -> None:
    session = opened(
        GROWN.replace("s_out = SequenceInsert (s_in, z)", "t = SequenceConstruct (z) s_out = Identity (t)")
    )
    for _ in range(4):
        session.run(None, {"m": np.array(3), "x": floats(2)})
    with pytest.raises(ingot.Interrupted):
        session.run(None, {"m": np.array(1 << 60), "x": floats(2)}, deadline=0.05)
    (y,) = session.run(None, {"m": np.array(3), "x": floats(2)})
    assert plain(y) == plain([2 * floats(2)])


def test_an_error_in_a_body_says_where_after_fast_runs() -> None:
    session = opened(NESTED)
    for _ in range(4):
        session.run(None, {"m": np.array(4), "x": floats(2)})
    for _ in range(2):
        with pytest.raises(ingot.InputError, match="empty sequence") as caught:
            session.run(None, {"m": np.array(5), "x": floats(2)})
        assert any("SequenceErase" in line for line in caught.value.where)


def test_runs_that_fail_too_often_are_made_in_full() -> None:
    session = opened(NESTED)
    for _ in range(3):
        session.run(None, {"m": np.array(4), "x": floats(2)})
    for _ in range(12):
        with pytest.raises(ingot.InputError):
            session.run(None, {"m": np.array(5), "x": floats(2)})
    assert fast(session, {"m": np.array(4), "x": floats(2)}) is None
    assert session.run(None, {"m": np.array(4), "x": floats(2)})[0] == []


def test_a_run_that_fails_now_and_then_leaves_the_others_on_the_fast_path() -> None:
    text = "g (seq(float[?]) s, int64 at) => (float[?] y) { y = SequenceAt (s, at) }"
    session = opened(text, threads=1)
    sequence = [floats(2), floats(3)]
    for _ in range(40):
        for _ in range(6):
            assert session.run(None, {"s": sequence, "at": np.array(1)})[0].tolist() == [1, 2, 3]
        with pytest.raises(ingot.IngotError):
            session.run(None, {"s": sequence, "at": np.array(5)})
    assert fast(session, {"s": sequence, "at": np.array(1)}) is not None


def test_a_body_that_draws_random_numbers_is_run_in_full() -> None:
    session = opened("""g (bool c, float[n] x) => (seq(float[?]) y) {
        y = If (c) <then_branch = t () => (seq(float[?]) a) { r = RandomUniformLike (x) a = SequenceConstruct (r) },
                    else_branch = e () => (seq(float[?]) b) { b = SequenceConstruct (x) }> }""")
    feeds = {"c": np.array(True), "x": floats(3)}
    drawn = [plain(session.run(None, feeds, seed=7)) for _ in range(4)]
    assert all(each == drawn[0] for each in drawn)
    assert plain(session.run(None, feeds, seed=8)) != drawn[0]


def test_trips_of_changing_sizes_are_native_once_they_came_before(monkeypatch: pytest.MonkeyPatch) -> None:
    session = opened(SLICED, threads=1)
    feeds = {"m": np.array(5), "x": floats(6)}
    for _ in range(6):
        session.run(None, feeds)
    activated: list[int] = []
    real = ReadyPlan._activate

    def activate(self: ReadyPlan, *arguments: Any) -> Any:
        activated.append(1)
        return real(self, *arguments)

    monkeypatch.setattr(ReadyPlan, "_activate", activate)
    assert [part.tolist() for part in session.run(None, feeds)[0]] == [list(range(1, n + 1)) for n in range(1, 6)]
    assert not activated


def test_the_fast_path_of_a_body_is_taken_by_runs_in_full(monkeypatch: pytest.MonkeyPatch) -> None:
    session = opened(GROWN, threads=1)
    ready: list[int] = []
    real = ReadyPlan.finish

    def finish(self: ReadyPlan, *arguments: Any) -> list[Any] | None:
        ready.append(1)
        return real(self, *arguments)

    monkeypatch.setattr(ReadyPlan, "finish", finish)
    session.run(None, {"m": np.array(20), "x": floats(2)})
    assert len(ready) >= 18


@pytest.fixture
def left(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Has an element for each run of a body that the reference has to make."""
    runs: list[int] = []
    real = BodyRun.run

    def run(self: BodyRun, inputs: Sequence[Any]) -> list[Any] | None:
        results = real(self, inputs)
        if results is None:
            runs.append(1)
        return results

    monkeypatch.setattr(BodyRun, "run", run)
    return runs


SCALED = COLLECTED.replace("row = Neg (x)", "row = Mul (x, y_out)")
STARTED = """g (int64 m, float[1] y, float[n] x) => (float[?] z) <bool yes = {1}> {
    z = Loop (m, yes, y) <body = b (int64 i, bool c, float[?] y_in) => (bool d, float[?] y_out) {
        d = Identity (c) w = Where (c, x, y_in) t = Unique (w) v = Add (y_in, x) y_out = Max (v, t) }> }"""


def test_a_body_that_is_never_as_was_assumed_is_compiled_without_the_assumption(
    left: list[int], caplog: pytest.LogCaptureFixture
) -> None:
    session, reference = opened(SCALED, threads=1), opened(SCALED, providers=("reference",))
    caplog.set_level(logging.DEBUG, "ingot")
    for trips, size in ((5, 5), (5, 5), (4, 6), (7, 7)):
        feeds = {"m": np.array(trips), "y": floats(1), "x": floats(size)}
        assert plain(session.run(None, feeds)) == plain(reference.run(None, feeds))
    assert len(left) < 4
    reports = [record.getMessage() for record in caplog.records if "guards of a body fail" in record.getMessage()]
    assert len(reports) == 1
    assert "without the assumption: " in reports[0]
    assert "read_0 = 1, n = 5" in reports[0]


def test_a_body_that_fails_in_its_first_trip_alone_is_not_compiled_again(
    left: list[int], caplog: pytest.LogCaptureFixture
) -> None:
    session = opened(STARTED, threads=1)
    caplog.set_level(logging.DEBUG, "ingot")
    for _ in range(10):
        (z,) = session.run(None, {"m": np.array(6), "y": floats(1), "x": floats(3)})
        assert z.tolist() == [7, 13, 19]
    assert not caplog.records
    assert 0 < len(left) <= 20


def test_a_body_that_nothing_helps_is_logged_once(left: list[int], caplog: pytest.LogCaptureFixture) -> None:
    text = SCALED.replace("row = Mul (x, y_out)", "row = PRelu (x, y_out)")
    session = opened(text, threads=1)
    caplog.set_level(logging.DEBUG, "ingot")
    for _ in range(4):
        (_, rows) = session.run(None, {"m": np.array(3), "y": floats(1), "x": floats(4)})
        assert rows.tolist() == [[1, 2, 3, 4]] * 3
    assert len(left) > 8
    reports = [record.getMessage() for record in caplog.records if "guards of a body fail" in record.getMessage()]
    assert len(reports) == 2
    assert "the reference runs it" in reports[1]
