"""Native runs: the results of other runs, references as they were, and every other way where feeds are not alike."""

from __future__ import annotations

import gc
import sys
import threading
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

import ingot
from ingot.dtypes import Array
from ingot.runtime import native_run, ready_plan
from ingot.runtime.call_chain import Chain, call_chain
from ingot.runtime.frame import Frame
from ingot.runtime.native_run import NativeRun, Output, Result, input_like
from ingot.runtime.ready_plan import ReadyPlan
from lower.machine import HEADER

RESHAPED = "g (float[n] x, int64[2] shape) => (y) { z = Neg (x) y = Reshape (z, shape) }"
FOUND = """g (float[n] x, int64[1] start, int64[1] end, int64[2] tiles) => (y, z) {
    part = Slice (x, start, end)
    places = NonZero (part)
    y = Tile (places, tiles)
    z = Neg (part)
}"""


def opened(graph: str, **options: Any) -> ingot.Session:
    model = ingot.parse_model(f"{HEADER} {graph}")
    return ingot.Session(model, **{"providers": ("cpu", "reference"), "threads": 1, "fallback": False, **options})


def frame_of(session: ingot.Session) -> Frame:
    """The only frame of a session, which is not in use."""
    assert session._plans.first is not None
    (frame,) = session._plans.first.runner.frames
    return frame


def native(session: ingot.Session, feeds: Any) -> Any:
    """What the native run returns that a session is ready for."""
    function = frame_of(session).native
    assert function is not None
    return function(feeds)


def floats(*shape: int) -> Array:
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape)


@pytest.fixture
def staged(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """An element for each run, from now on, that is not native, or not whole."""
    runs: list[int] = []

    def count(kind: type, name: str) -> None:
        real = getattr(kind, name)

        def counted(self: Any, *arguments: Any, **named: Any) -> Any:
            runs.append(1)
            return real(self, *arguments, **named)

        monkeypatch.setattr(kind, name, counted)

    count(ReadyPlan, "_guarded")
    calls_of = call_chain

    def counted_calls(*arguments: Any) -> Chain | None:
        chain = calls_of(*arguments)

        def counted(*given: Any) -> Any:
            runs.append(1)
            assert chain is not None
            return chain(*given)

        return None if chain is None else counted

    monkeypatch.setattr(ready_plan, "call_chain", counted_calls)
    return runs


def test_a_run_with_sizes_seen_before_is_native(staged: list[int]) -> None:
    session = opened("g (float[n] x) => (y) { y = Neg (x) }")
    for _ in range(3):
        assert session.run(None, {"x": floats(3)})[0].tolist() == [0, -1, -2]
    assert not staged
    assert native(session, {"x": floats(3)})[0].tolist() == [0, -1, -2]


def test_a_run_that_computes_the_sizes_of_before_is_native(staged: list[int]) -> None:
    session = opened(RESHAPED)
    feeds = {"x": floats(6), "shape": np.array([2, 3])}
    for _ in range(6):
        assert session.run(None, feeds)[0].shape == (2, 3)
    assert len(staged) == 2
    assert native(session, feeds)[0].tolist() == [[0, -1, -2], [-3, -4, -5]]


def test_sizes_that_were_computed_twice_are_native_in_any_order(staged: list[int]) -> None:
    session = opened(RESHAPED)
    shapes = [[2, 3], [6, 1], [3, -1], [1, 6]]
    for _ in range(3):
        for shape in shapes:
            session.run(None, {"x": floats(6), "shape": np.array(shape)})
    staged.clear()
    for shape in [*shapes, *reversed(shapes), *shapes]:
        (y,) = session.run(None, {"x": floats(6), "shape": np.array(shape)})
        np.testing.assert_array_equal(y, -floats(6).reshape(shape))
    assert not staged


def test_a_size_that_none_can_have_is_an_error_after_native_runs() -> None:
    session = opened(RESHAPED)
    for _ in range(4):
        session.run(None, {"x": floats(6), "shape": np.array([2, 3])})
    for _ in range(2):
        with pytest.raises(ingot.ShapeError):
            session.run(None, {"x": floats(6), "shape": np.array([4, 4])})
        assert session.run(None, {"x": floats(6), "shape": np.array([2, 3])})[0].shape == (2, 3)


@pytest.mark.parametrize(
    "feeds",
    [
        {"x": floats(3, 2).T},
        {"x": floats(3, 2)},
        {"x": floats(2, 3).astype(np.float64)},
        {"x": floats(6)},
        {"x": floats(2, 3).tolist()},
        {"x": floats(2, 3).view(np.matrix)},
        {"y": floats(2, 3)},
        {},
        {"x": floats(2, 3), "y": floats(2, 3)},
        MappingProxyType({"x": floats(2, 3)}),
        None,
        [floats(2, 3)],
    ],
)
def test_what_is_not_alike_is_refused(feeds: Any) -> None:
    session = opened("g (float[n, m] x) => (y) { y = Neg (x) }")
    for _ in range(2):
        session.run(None, {"x": floats(2, 3)})
    assert native(session, feeds) is None
    assert native(session, {"x": floats(2, 3)}) is not None


def test_types_that_are_equal_but_not_the_same_are_run_otherwise() -> None:
    session = opened(RESHAPED)
    x = floats(6).astype(np.dtype(np.float32, metadata={"unit": "m"}))
    for shape in ([2, 3], [6, 1]) * 3:
        session.run(None, {"x": floats(6), "shape": np.array(shape)})
    for shape in ([2, 3], [6, 1]) * 3:
        assert session.run(None, {"x": x, "shape": np.array(shape)})[0].shape == tuple(shape)


def test_feeds_that_are_not_contiguous_are_copied_for_a_native_run(staged: list[int]) -> None:
    session = opened("g (float[n, m] x) => (y) { y = Neg (x) }")
    x = floats(2, 3).T
    for _ in range(4):
        np.testing.assert_array_equal(session.run(None, {"x": x})[0], -x)
    assert not staged


def test_runs_that_are_cancelled_do_not_end_the_fast_path(staged: list[int]) -> None:
    session = opened("g (float[n, n] x) => (y) { e = Exp (x) y = Det (e) }")
    x, cancel = floats(2, 2), ingot.Cancel()
    session.run(None, {"x": x})
    cancel.cancel()
    for _ in range(20):
        with pytest.raises(ingot.Interrupted):
            session.run(None, {"x": x}, cancel=cancel)
    staged.clear()
    session.run(None, {"x": x})
    assert staged


def test_keys_that_call_back_do_not_disturb_a_run() -> None:
    session = opened("g (float[n] x) => (y) { y = Neg (x) }")
    x = floats(3)

    class Key(str):
        __slots__ = ()

        def __eq__(self, other: object) -> bool:
            session.run(None, {"x": x + 1})
            return str.__eq__(self, other)

        __hash__ = str.__hash__

    for _ in range(3):
        assert session.run(None, {Key("x"): x})[0].tolist() == [0, -1, -2]


def test_outputs_belong_to_the_caller() -> None:
    session = opened("""g (float[n] x) => (a, b, c, d, e) <float[2] k = {1, 2}> {
        a = Identity (x) b = Neg (x) c = Identity (b) d = Identity (k) e = Identity (x) }""")
    x = floats(3)
    earlier: list[Array] = [x]
    for _ in range(4):
        results = session.run(None, {"x": x})
        assert [each.tolist() for each in results] == [[0, 1, 2], [0, -1, -2], [0, -1, -2], [1, 2], [0, 1, 2]]
        for place, each in enumerate(results):
            assert each.flags.writeable
            assert not any(np.may_share_memory(each, other) for other in (*earlier, *results[:place]))
        for each in results:
            each[:] = 7
        earlier += results


def test_references_are_as_they_were_after_many_runs() -> None:
    session = opened(RESHAPED)
    x, shape, others = floats(6), np.array([2, 3]), np.array([6, 1])
    feeds = {"x": x, "shape": shape}
    watched: list[Any] = [x, shape, x.dtype, shape.dtype, None, False, feeds, others]

    def runs(count: int) -> None:
        for _ in range(count):
            session.run(None, feeds)
            native(session, {"x": x})
            native(session, {"x": x, "shape": others})
            native(session, {"x": x, "shape": None})
            native(session, None)

    for _ in range(4):
        session.run(None, feeds)
    runs(10)
    gc.collect()
    before = [sys.getrefcount(each) for each in watched]
    runs(1000)
    gc.collect()
    after = [sys.getrefcount(each) for each in watched]
    assert all(abs(one - other) < 20 for one, other in zip(before, after, strict=True))


def test_nothing_but_the_caller_refers_to_results() -> None:
    session = opened("g (float[n] x) => (y, z) { y = Neg (x) z = Identity (x) }")
    for _ in range(4):
        results = session.run(None, {"x": floats(3)})
        assert [sys.getrefcount(results[place]) for place in range(2)] == [2, 2]
        assert all(each.base is None for each in results)


def test_a_result_that_there_is_no_memory_for_is_an_error_and_leaves_nothing() -> None:
    session = opened("g (float[n] x) => (y) { y = Neg (x) }")
    x = floats(3)
    session.run(None, {"x": x})
    frame = frame_of(session)
    slot = len(frame.table)
    given = input_like("x", slot, x)
    assert given is not None
    huge = Result(slot, (1 << 55,), x.dtype)
    run = NativeRun(frame, [given], [Result(slot, (3,), x.dtype), huge], [], [], [Output(1, is_copy=False)])
    before = sys.getrefcount(x)
    for _ in range(3):
        with pytest.raises(MemoryError):
            run.function({"x": x})
    assert sys.getrefcount(x) == before


def test_an_error_of_a_kernel_ends_a_native_run_and_the_next_is_right() -> None:
    session = opened("g (float[4] x, int64[2] i) => (y) { y = Gather (x, i) }")
    for _ in range(3):
        session.run(None, {"x": floats(4), "i": np.array([3, 1])})
    assert native(session, {"x": floats(4), "i": np.array([3, 4])}) is False
    frame_of(session).words[0] = 0
    with pytest.raises(ingot.InputError):
        session.run(None, {"x": floats(4), "i": np.array([3, 4])})
    assert session.run(None, {"x": floats(4), "i": np.array([0, -1])})[0].tolist() == [0, 3]


def test_a_call_after_kernels_takes_the_results_of_a_native_run(staged: list[int]) -> None:
    session = opened("g (float[n, n] x) => (y, z) { e = Exp (x) d = Det (e) y = Neg (d) z = Neg (e) }")
    x = np.array([[2, 1], [0, 3]], np.float32)
    expected = session.run(None, {"x": x})
    for _ in range(4):
        results = session.run(None, {"x": x})
        for one, other in zip(results, expected, strict=True):
            np.testing.assert_array_equal(one, other)
    assert frame_of(session).native is not None
    assert len(staged) == 4


WORDS = np.array(["a", "b"], object)
PARTS = [floats(2), floats(3)]


NO_STRINGS: list[Any] = [
    np.array(["a", 1], object),
    np.array(["a", None], object),
    np.array(["a", np.str_("b")], object),
]
NO_PARTS: list[Any] = [PARTS[::-1], tuple(PARTS), [1, 2], [None, floats(3)], floats(2), None, []]


@pytest.mark.parametrize(
    ("graph", "x", "others"),
    [
        (
            "g (string[n] x) => (y) { y = StringConcat (x, x) }",
            WORDS,
            [*NO_STRINGS, WORDS[:1], WORDS.astype(np.str_), np.ones(2)],
        ),
        (
            "g (seq(float[?]) x) => (y) { y = SequenceErase (x) }",
            PARTS,
            [*NO_PARTS, PARTS[:1], [*PARTS, floats(1)]],
        ),
        (
            "g (optional(seq(float[?])) x) => (y) { y = OptionalHasElement (x) }",
            None,
            [PARTS, [], floats(1), 0],
        ),
    ],
)
def test_strings_and_sequences_are_compared_natively_before_a_call(
    staged: list[int], graph: str, x: Any, others: list[Any]
) -> None:
    session = opened(graph)
    for _ in range(4):
        session.run(None, {"x": x})
    assert len(staged) == 3
    counted = [each for each in (x, *others) if each is not None and not isinstance(each, int)]
    before = [sys.getrefcount(each) for each in counted]
    for _ in range(5):
        assert native(session, {"x": x}) == []
        assert [native(session, {"x": other}) for other in others] == [None] * len(others)
    assert [sys.getrefcount(each) for each in counted] == before


def test_a_sequence_that_is_an_output_too_is_copied() -> None:
    session = opened("g (seq(float[?]) x, float[n] z) => (x, y) { y = Neg (z) }")
    for _ in range(4):
        same, _ = session.run(None, {"x": PARTS, "z": floats(2)})
        assert [part.tolist() for part in same] == [[0, 1], [0, 1, 2]]
        assert not any(np.may_share_memory(a, b) for a, b in zip(same, PARTS, strict=True))


def test_runs_by_several_threads_are_not_native() -> None:
    session = opened("g (float[n] x) => (y) { y = Exp (x) }", threads=2)
    for size in (3, 1 << 22):
        x = np.zeros(size, np.float32)
        for _ in range(3):
            assert session.run(None, {"x": x})[0].max() == 1
        assert (frame_of(session).native is None) == (size > 3)


def test_an_endless_loop_ends_by_its_deadline_after_native_runs() -> None:
    session = opened("""g (float[n] x, int64 m) => (y) <bool yes = {1}> {
        y = Loop (m, yes, x) <body = b (int64 i, bool c, float[n] s) => (bool d, float[n] t) {
            d = Identity (c) t = Neg (s) }> }""")
    x = floats(3)
    for _ in range(4):
        assert session.run(None, {"x": x, "m": np.array(2)})[0].tolist() == [0, 1, 2]
    with pytest.raises(ingot.Interrupted):
        session.run(None, {"x": x, "m": np.array(1 << 60)}, deadline=0.05)
    assert session.run(None, {"x": x, "m": np.array(3)})[0].tolist() == [0, -1, -2]


def drawn(numbers: np.random.Generator) -> tuple[dict[str, Array], list[Array]]:
    """Inputs of `FOUND` with few or many different arguments, and its outputs."""
    size = int(numbers.choice([4, 9]))
    x = numbers.integers(-1, 2, size).astype(np.float32)
    start, end = (int(number) for number in numbers.integers(-size, size, 2))
    tiles = numbers.integers(0, 3, 2)
    part = x[start:end]
    feeds = {"x": x, "start": np.array([start]), "end": np.array([end]), "tiles": tiles}
    return feeds, [np.tile(np.array(np.nonzero(part)), tiles), -part]


@pytest.fixture(params=[True, False], ids=["native", "in Python"])
def either_way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """With native runs, and where this Python has none."""
    if not request.param:
        monkeypatch.setattr(native_run, "is_available", lambda: False)


@pytest.mark.usefixtures("either_way")
def test_arguments_that_change_from_run_to_run_in_threads() -> None:
    session = opened(FOUND)
    wrong: list[Any] = []

    def work(seed: int) -> None:
        numbers = np.random.default_rng(seed)
        held: list[tuple[Array, Array]] = []
        for turn in range(300):
            feeds, expected = drawn(numbers)
            deadline, cancel = (60.0, None) if turn % 3 else (None, ingot.Cancel() if turn % 2 else None)
            results = session.run(None, feeds, deadline=deadline, cancel=cancel)
            held += zip(results, expected, strict=True)
        wrong.extend(pair for pair in held if pair[0].shape != pair[1].shape or (pair[0] != pair[1]).any())

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_cancelled_run_leaves_nothing_to_native_runs() -> None:
    session = opened(RESHAPED)
    feeds = {"x": floats(6), "shape": np.array([2, 3])}
    cancel = ingot.Cancel()
    cancel.cancel()
    for _ in range(4):
        session.run(None, feeds)
    for _ in range(2):
        with pytest.raises(ingot.Interrupted):
            session.run(None, feeds, cancel=cancel)
        with pytest.raises(ingot.Interrupted):
            session.run(None, feeds, deadline=0)
        assert session.run(None, feeds)[0].shape == (2, 3)


def test_a_run_of_other_sizes_in_between_leaves_nothing_to_native_runs() -> None:
    session = opened("g (float[n, m] x) => (z) { s = Softmax (x) t = Transpose (s) z = MatMul (t, x) }")
    random = np.random.default_rng(0)
    for size in (8, 8, 8, 64, 8, 64, 64, 8, 3, 40, 8, 3, 3, 64):
        x = random.normal(size=(size, size)).astype(np.float32)
        shares = np.exp(x - x.max(1, keepdims=True))
        expected = (shares / shares.sum(1, keepdims=True)).T @ x
        np.testing.assert_allclose(session.run(None, {"x": x})[0], expected, rtol=1e-3, atol=1e-5)


def test_random_numbers_are_drawn_natively_and_follow_the_seed(staged: list[int]) -> None:
    text = """g (float[n] x) => (float[n] y, float[n] z) {
        a = RandomUniformLike (x)  b = RandomNormalLike (x)  y = Add (a, b)  z = RandomUniformLike (x) }"""
    session, exact = opened(text), opened(text, providers=("reference",))
    feeds = {"x": floats(5)}
    for seed in (3, 3, 3, 4, 3, 5, 5):
        for one, other in zip(session.run(None, feeds, seed=seed), exact.run(None, feeds, seed=seed), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-5)
    assert not staged
    assert native(session, feeds)


def test_keys_after_a_call_count_on_from_those_before_it() -> None:
    text = """g (float[n] x, string[n] s) => (float[n] y, float[n] z) {
        y = RandomUniformLike (x)  c = Cast <to = 1> (s)  d = RandomUniformLike (c)  z = Add (d, c) }"""
    session, exact = opened(text), opened(text, providers=("reference",))
    feeds = {"x": floats(2), "s": np.array(["1", "2"], object)}
    for seed in (1, 1, 1, 2, 1):
        for one, other in zip(session.run(None, feeds, seed=seed), exact.run(None, feeds, seed=seed), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-6)
