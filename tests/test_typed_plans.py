"""Where a plan takes values of unknown rank as they come, a run compiles it again with the types that it has shown."""

from __future__ import annotations

import logging
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ingot
from ingot import Session
from ingot.prim.tensor import Call
from ingot.runtime.executable import Executable
from ingot.runtime.recent import remember
from ingot.session import Cancel, Interrupted
from ingot.typed_plans import TypedPlans
from ingot.variants import Variants

HEAD = '<ir_version: 10, opset_import: ["" : 21]>'
RANKS = f"""{HEAD} g (float[2, n] x, bool c) => (z) <int64[1] zero = {{0}}> {{
    y = If (c) <
        then_branch = a () => (u) {{ u = ReduceSum <keepdims = 0> (x, zero) }},
        else_branch = e () => (v) {{ v = Neg (x) }}
    >
    w = Relu (y)
    z = Exp (w)
}}"""
NESTED = f"""{HEAD} g (float[2, n] x, bool c, bool d) => (z) <int64[1] zero = {{0}}, float half = {{0.5}}> {{
    s = If (d) <
        then_branch = f () => (s1) {{
            y = If (c) <
                then_branch = a () => (u) {{ u = ReduceSum <keepdims = 0> (x, zero) }},
                else_branch = e () => (v) {{ v = Neg (x) }}
            >
            w = Mul (y, half)
            s1 = ReduceMax <keepdims = 0> (w)
        }},
        else_branch = h () => (s2) {{
            places = NonZero (x)
            sizes = Shape (places)
            numbers = Cast <to = 1> (sizes)
            s2 = ReduceSum <keepdims = 0> (numbers)
        }}
    >
    z = Neg (s)
}}"""
CHANGING = f"""{HEAD} g (float[2, n] x, int64 trips) => (z)
<bool yes = {{1}}, int64 one = {{1}}, int64[1] zero = {{0}}> {{
    s, rows = Loop (trips, yes, x) <body = b (int64 i, bool go, float[p, q] state) => (go_, state_, row) {{
        go_ = Identity (go)
        first = Equal (i, one)
        y = If (first) <
            then_branch = a () => (u) {{ u = ReduceSum <keepdims = 0> (state, zero) }},
            else_branch = e () => (v) {{ v = Neg (state) }}
        >
        row = ReduceMax <keepdims = 0> (y)
        state_ = Neg (state)
    }}>
    z = Neg (rows)
}}"""


def session(text: str, **options: object) -> Session:
    return Session(ingot.parse_model(text), providers=("cpu", "reference"), threads=1, **options)  # type: ignore[arg-type]


def reference(text: str) -> Session:
    return Session(ingot.parse_model(text), providers=("reference",))


def calls(executable: Executable | None) -> list[str]:
    """The operators of the nodes that a plan calls the reference for."""
    assert executable is not None
    return [segment.call.node.op_type for segment in executable.plan.segments if isinstance(segment.call, Call)]


def of_ranks(size: int, condition: bool) -> dict[str, np.ndarray]:
    return {"x": np.random.default_rng(size).normal(size=(2, size)).astype(np.float32), "c": np.array(condition)}


def test_what_reads_a_value_of_unknown_rank_is_compiled_by_the_first_run() -> None:
    mine = session(RANKS)
    assert calls(mine._plans.first) == ["If", "Relu", "Exp"]
    first = mine.run(None, of_ranks(5, True))
    assert calls(mine._plans.first) == ["If"]
    again = mine.run(None, of_ranks(5, True))
    assert first[0].tobytes() == again[0].tobytes()


def test_runs_that_show_other_types_have_plans_of_their_own() -> None:
    mine, expected = session(RANKS), reference(RANKS)
    for size, condition in [
        (5, True),
        (5, True),
        (5, False),
        (5, False),
        (7, False),
        (7, True),
        (0, True),
        (5, False),
    ] * 2:
        feeds = of_ranks(size, condition)
        (result,) = mine.run(None, feeds)
        np.testing.assert_allclose(result, expected.run(None, feeds)[0], rtol=1e-6)
    plans = [mine._plans.first, *mine._plans.typed_plans.others(mine._plans.first)]  # type: ignore[arg-type]
    assert [calls(plan) for plan in plans] == [["If"], ["If"], ["If", "Relu", "Exp"]]


def test_a_plan_beside_the_first_has_one_of_its_own_for_the_same_types() -> None:
    text = RANKS.replace("float[2, n] x", "float[2, n] p, float[2, m] q").replace(" y = If", " x = Add (p, q) y = If")
    mine, expected = session(text), reference(text)
    p = of_ranks(5, True)["x"]
    for width in (5, 1, 5, 1, 1):
        feeds = {"p": p, "q": p[:, :width].copy(), "c": np.array(True)}
        np.testing.assert_allclose(mine.run(None, feeds)[0], expected.run(None, feeds)[0], rtol=1e-6)
    beside = mine._plans.variants.chosen(feeds)
    assert calls(beside) == calls(mine._plans.first) == ["If"]
    assert beside is not None
    assert beside.fast_path.run(feeds) is not None or beside._ran


def test_plans_are_listed_while_another_thread_compiles_one() -> None:
    plans, variants = TypedPlans(), Variants(())
    ended = threading.Event()
    plan: Any = None
    chosen: dict[Any, Any] = variants._chosen

    def add() -> None:
        number = 0
        while not ended.is_set():
            number += 1
            plans._plans[None, frozenset({str(number)}), frozenset()] = None
            remember(chosen, ((number,),), plan, 50)
            if number % 50 == 0:
                plans._plans.clear()

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    thread = threading.Thread(target=add)
    thread.start()
    try:
        for _ in range(3000):
            assert not plans.others(plan)
            variants.replace(plan, None)
    finally:
        ended.set()
        thread.join()
        sys.setswitchinterval(before)


def test_types_are_observed_in_bodies_too() -> None:
    mine, expected = session(NESTED), reference(NESTED)
    for condition, outer in [(True, True), (True, True), (False, True), (False, False), (True, True)] * 2:
        feeds = {**of_ranks(5, condition), "d": np.array(outer)}
        np.testing.assert_allclose(mine.run(None, feeds)[0], expected.run(None, feeds)[0], rtol=1e-6)
    assert mine._plans.first is not None
    (call,) = mine._plans.first.plan.bodies
    body = mine._plans.first.plan.bodies[call][0]
    assert body is not None
    assert [segment.call.node.op_type for segment in body.plan.segments if isinstance(segment.call, Call)] == ["If"]  # type: ignore[union-attr]


def test_a_value_whose_rank_changes_in_a_loop_has_no_type() -> None:
    mine, expected = session(CHANGING), reference(CHANGING)
    for trips in (3, 3, 1, 1, 4):
        feeds = {"x": np.arange(6, dtype=np.float32).reshape(2, 3), "trips": np.array(trips)}
        np.testing.assert_array_equal(mine.run(None, feeds)[0], expected.run(None, feeds)[0])


def test_strings_and_sequences_are_never_compiled_for() -> None:
    mine = session(f"{HEAD} g (string[n] x) => (y) {{ s = SplitToSequence <keepdims = 0> (x) y = SequenceLength (s) }}")
    for _ in range(3):
        assert mine.run(None, {"x": np.array(["a", "b"], object)})[0] == 2
    assert not mine._plans.typed_plans.has_compiled
    assert not mine._plans.typed_plans.others(mine._plans.first)  # type: ignore[arg-type]


def test_plans_for_types_are_few() -> None:
    """A reshape to a shape of computed length has as many ranks as it is given."""
    text = f"{HEAD} g (float[n] x, int64[m] shape) => (z) {{ y = Reshape (x, shape) w = Relu (y) z = Neg (w) }}"
    mine, expected = session(text), reference(text)
    x = np.arange(-3, 5, dtype=np.float32)
    for shape in ([8], [8], [2, 4], [2, 4], [2, 2, 2], [2, 2, 2], [1, 2, 2, 2], [1, 2, 2, 2], [1] * 4 + [8], [8]) * 2:
        feeds = {"x": x, "shape": np.array(shape)}
        np.testing.assert_array_equal(mine.run(None, feeds)[0], expected.run(None, feeds)[0])


def test_threads_that_make_the_first_run_together_agree() -> None:
    mine, expected = session(RANKS), reference(RANKS)
    runs = [of_ranks(size, condition) for size in (3, 4, 5, 6) for condition in (True, False)] * 4
    with ThreadPoolExecutor(8) as pool:
        for feeds, (result,) in zip(runs, pool.map(lambda feeds: mine.run(None, feeds), runs), strict=True):
            np.testing.assert_allclose(result, expected.run(None, feeds)[0], rtol=1e-6)


def test_a_deadline_ends_the_compilation_and_the_next_run_goes_on() -> None:
    mine = session(RANKS)
    cancel = Cancel()
    rebuild = mine._plans._recompiled

    def cancelled(*arguments: Any, **named: Any) -> Any:
        cancel.cancel()
        return rebuild(*arguments, **named)

    mine._plans._recompiled = cancelled  # type: ignore[method-assign]
    with pytest.raises(Interrupted):
        mine.run(None, of_ranks(5, True), cancel=cancel)
    mine._plans._recompiled = rebuild  # type: ignore[method-assign]
    mine.run(None, of_ranks(5, True))
    assert calls(mine._plans.first) == ["If"]


def test_it_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    mine = session(RANKS)
    with caplog.at_level(logging.DEBUG, "ingot"):
        mine.run(None, of_ranks(5, True))
        mine.run(None, of_ranks(5, True))
    assert "compiled again with observed types: y: float32[?]" in caplog.text


def test_types_that_a_run_of_drafts_shows_are_those_of_the_plan_that_follows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INGOT_CACHE", str(tmp_path))
    text = RANKS.replace("z = Exp (w)", "m = Exp (w) z = Softmax (m)").replace("v = Neg (x)", "v = Tanh (x)")
    mine = session(text)
    drafts = mine._plans.first
    for _ in range(2):
        mine.run(None, of_ranks(5, True))
    assert calls(drafts) == ["If", "Relu", "Exp", "Softmax"]
    assert calls(mine._plans.first) == ["If"]


SCALARS = f"""{HEAD} g (float[4] x, bool c) => (z) <int64 zero = {{0}}> {{
    y = If (c) <
        then_branch = a () => (u) {{ u = Gather (x, zero) }},
        else_branch = e () => (v) {{ v = Neg (x) }}
    >
    z = ReduceSum <keepdims = 0> (y)
}}"""
ITEMS = f"""{HEAD} g (float[4] x, float s, int64 i) => (z) {{
    items = SequenceConstruct (x, s)
    y = SequenceAt (items, i)
    z = ReduceSum <keepdims = 0> (y)
}}"""


@pytest.mark.parametrize("text", [SCALARS, ITEMS], ids=["a branch", "an item of a sequence"])
def test_a_scalar_that_a_call_gives_is_not_taken_for_what_it_was_before(text: str) -> None:
    """Of a scalar, the sum is itself, and nothing computes it: its rank is all that there is to check."""
    mine, expected = session(text), Session(ingot.parse_model(text), providers=("reference",))
    x = np.arange(1, 5, dtype=np.float32)
    for is_scalar in (True, True, True, True, False, False, False, True, False, True, True, False, False):
        feeds = {"x": x, "c": np.array(is_scalar), "s": np.array(3, np.float32), "i": np.array(int(is_scalar))}
        own = {name: value for name, value in feeds.items() if name in mine.inputs}
        (result,), (wanted,) = mine.run(None, own), expected.run(None, own)
        assert result.shape == wanted.shape
        np.testing.assert_allclose(result, wanted)
