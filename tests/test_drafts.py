"""A model never opened before runs once on drafts of its kernels, and from the second run on on the kernels."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import warnings
from collections.abc import Iterator
from concurrent.futures import Future
from functools import cache
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np
import pytest

import ingot
from ingot import Cancel, CompileError, FallbackWarning, Interrupted, Session, background
from ingot.codegen.llvm import make, templates
from ingot.codegen.llvm.compile import code_later
from ingot.codegen.llvm.effort import DraftKind, first_draft, is_worth_whole_code
from ingot.codegen.llvm.host import host
from ingot.codegen.llvm.make import Effort
from ingot.codegen.llvm.workers import Workers
from ingot.providers.cpu import code
from ingot.providers.cpu.code import typical_sizes
from ingot.runtime import pool_code, thread_pool

HEAD = '<ir_version: 10, opset_import: ["" : 21]> '
MODELS = {
    "elements": HEAD + "g (float[n, 7] x) => (float[n, 7] y) { a = Exp (x) b = Erf (a) y = Tanh (b) }",
    "rows": HEAD + "g (float[n, 7] x) => (float[n, 7] y) { a = Softmax (x) y = CumSum (a, k) }",
    "product": HEAD + "g (float[n, 7] x) => (float[n, n] y) { t = Transpose (x) a = MatMul (x, t) y = Gelu (a) }",
    "windows": HEAD
    + """g (float[n, 7] x) => (float[1, 1, n, 7] y) {
        image = Unsqueeze (x, axes)
        a = Conv <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (image, w)
        y = MaxPool <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (a)
    }""",
    "loop": HEAD
    + """g (float[n, 7] x) => (float[n, 7] y) {
        y = Loop (m, , x) <body = b (int64 i, bool c, float[n, 7] s) => (bool d, float[n, 7] t) {
            d = Identity (c) e = Exp (s) f = ReduceMax (e) t = Div (e, f)
        }>
    }""",
    "body": HEAD
    + """g (float[n, 7] x) => (float[q, 7] y) {
        y = Loop (m, , x) <body = b (int64 i, bool c, float[p, 7] s) => (bool d, float[r, 7] t) {
            d = Identity (c) e = Tanh (s) t = Concat <axis = 0> (e, e)
        }>
    }""",
}
CONSTANTS = (
    "<int64 k = {1}, int64 m = {3}, int64[2] axes = {0, 1}, float[1, 1, 3, 3] w = {1, -2, 3, 0.5, 2, -1, 0, 1, 2}>"
)
X = {"x": np.linspace(-2, 2, 35, dtype=np.float32).reshape(5, 7)}


@pytest.fixture(autouse=True)
def nothing_compiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INGOT_DRAFTS", "1")
    monkeypatch.setenv("INGOT_CACHE", str(tmp_path))
    monkeypatch.setattr(templates, "TEMPLATES", {})


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """What all wait for that is no draft."""
    opened = threading.Event()

    def waiting(text: str, target: Any, then: Any, effort: Effort = "full") -> Future[Any]:
        def later(code: Any) -> Any:
            assert effort != "full" or opened.wait(60)
            return then(code)

        return code_later(text, target, later, effort)

    monkeypatch.setattr(templates, "code_later", waiting)
    monkeypatch.setattr(background, "GRACE", 0.0)
    yield opened
    opened.set()


def session(name: str = "elements", **options: Any) -> Session:
    text = MODELS[name].replace(") {", f") {CONSTANTS} {{", 1)
    options = {"providers": ("cpu", "reference"), "threads": 1, "fallback": False, **options}
    return Session(ingot.parse_model(text), **options)


def addresses(one: Session) -> list[int]:
    assert one._plans.first is not None
    plan = one._plans.first.plan
    return [step.address for segment in plan.segments for step in segment.steps if hasattr(step, "address")]


@pytest.mark.parametrize("kind", [("rough", True), ("draft", True), ("draft", False)])
@pytest.mark.parametrize("name", MODELS)
def test_drafts_give_the_same_results_to_the_bit(
    name: str, kind: DraftKind, gate: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(templates, "first_draft", lambda *_: kind)
    one = session(name)
    drafted = one.run(None, X)
    before = addresses(one)
    gate.set()
    final = one.run(None, X)
    assert [array.tobytes() for array in drafted] == [array.tobytes() for array in final]
    assert name == "body" or not set(before) & set(addresses(one))
    assert one._plans.background is None
    np.testing.assert_allclose(final[0], session(name, providers=("reference",)).run(None, X)[0], rtol=1e-5, atol=1e-6)


def test_the_thread_pool_begins_with_a_draft_too(gate: threading.Event, monkeypatch: pytest.MonkeyPatch) -> None:
    for place, name in ((pool_code, "_FINAL"), (pool_code, "_PENDING"), (pool_code, "_NATIVE"), (thread_pool, "_POOL")):
        monkeypatch.setattr(place, name, [])
    monkeypatch.setattr(thread_pool, "processors", lambda: 2)
    one = session(threads=2)
    feeds = {"x": np.ones((1 << 16, 7), np.float32)}
    (drafted,) = one.run(None, feeds)
    draft, pool = pool_code.native(), thread_pool.thread_pool()
    assert len(pool._threads) == 1
    gate.set()
    (final,) = one.run(None, feeds)
    assert drafted.tobytes() == final.tobytes()
    assert pool_code.native().code is pool_code.final_code() is not draft.code
    assert thread_pool.thread_pool() is not pool
    assert len(thread_pool.thread_pool()._threads) == 1
    assert not pool._threads[0].is_alive()


def test_kernels_are_compiled_beside_one_another_once_there_are_drafts(gate: threading.Event) -> None:
    one = session("windows")
    one.run(None, X)
    assert one._plans.background is not None
    begun = [pending for pending in templates.TEMPLATES.values() if not pending.is_there]
    one._plans.background.hurry()
    deadline = monotonic() + 60
    while not all(pending._wanted for pending in begun):  # none of which is there before the gate opens
        assert monotonic() < deadline
    assert len(begun) > 1
    gate.set()


def test_the_stages_are_those_of_the_kernels(gate: threading.Event) -> None:
    one = session()
    drafts = addresses(one)
    gate.set()
    assert one.compiled is not None
    assert addresses(one) != drafts


def test_a_second_run_that_is_cancelled_does_not_wait(gate: threading.Event) -> None:
    one = session()
    one.run(None, X)
    cancel = Cancel()
    threading.Timer(0.05, cancel.cancel).start()
    with pytest.raises(Interrupted):
        one.run(None, X, cancel=cancel)
    with pytest.raises(Interrupted):
        one.run(None, X, deadline=0.05)
    gate.set()
    assert len(one.run(None, X)) == 1


def test_the_more_work_kernels_have_the_better_they_are_compiled_to_begin_with() -> None:
    order = [("rough", True), ("draft", True), ("draft", False)]
    for characters in (5_000, 20_000, 80_000):
        kinds = [first_draft(characters, 1 << bits) for bits in range(20, 40)]
        assert list(dict.fromkeys(kinds)) == order
        assert kinds == sorted(kinds, key=order.index)


def test_kernels_with_much_work_have_drafts_of_their_own_code() -> None:
    assert [is_worth_whole_code(1 << bits) for bits in (20, 40)] == [False, True]
    assert all(first_draft(characters, 1 << 40) == ("draft", False) for characters in (0, 10_000, 40_000))


def test_sizes_of_first_axes_alone_are_those_of_batches() -> None:
    text = HEAD + "g (float[n, k] x, float[n, m, 7] y, float[k] z) => (p, q) { p = Mul (x, z) q = Exp (y) }"
    compiled = Session(ingot.parse_model(text), providers=("cpu",)).compiled
    assert compiled is not None
    assert typical_sizes(compiled.scheduled) == {"n": 4}


@pytest.mark.parametrize(
    ("shape", "sides"), [("n, 3, h, w", "hw"), ("n, h, w, 1", "hw"), ("n, 12, h, 64", ""), ("3, h", "")]
)
def test_the_sides_of_images_are_larger_than_other_sizes(shape: str, sides: str) -> None:
    compiled = Session(
        ingot.parse_model(HEAD + f"g (float[{shape}] x) => (y) {{ y = Exp (x) }}"), providers=("cpu",)
    ).compiled
    assert compiled is not None
    assert {name for name, size in typical_sizes(compiled.scheduled).items() if size > 16} == set(sides)


def test_kernels_of_unknown_work_have_no_drafts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(code, "_work", lambda *_: {})
    one = session()
    assert one._plans.background is None


SUMS = "\n".join(
    (
        "define i64 @kernel(i64 %n) {",
        "entry:",
        "  br label %loop",
        "loop:",
        "  %i = phi i64 [0, %entry], [%j, %loop]",
        *(f"  %s{place} = phi i64 [{place}, %entry], [%t{place}, %loop]" for place in range(8)),
        *(f"  %t{place} = mul i64 %s{place}, %i" for place in range(8)),
        "  %j = add i64 %i, 1",
        "  %more = icmp slt i64 %j, %n",
        "  br i1 %more, label %loop, label %end",
        "end:",
        "  %u0 = add i64 0, %t0",
        *(f"  %u{place} = add i64 %u{place - 1}, %t{place}" for place in range(1, 8)),
        "  ret i64 %u7",
        "}",
    )
)


def test_only_a_rough_draft_moves_the_sums_of_a_loop_through_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    own = Workers(1)  # those of all tests may have none that starts, and without one there is no rough draft
    monkeypatch.setattr("ingot.codegen.llvm.compile.workers", lambda: own)

    def size(effort: Effort) -> int:
        return code_later(SUMS, host(), lambda code: len(code.code), effort).result()

    try:
        assert size("rough") > 1.5 * size("draft")
        assert size("draft") < 1.5 * size("full")
    finally:
        own.end()


def test_modules_share_the_machine_that_they_are_emitted_for(monkeypatch: pytest.MonkeyPatch) -> None:
    shared = cache(make.machine_for)
    monkeypatch.setattr(make, "_shared_machine", shared)
    target = host()
    efforts: tuple[Effort, ...] = ("draft", "full", "draft", "full")
    objects = [make.object_code((SUMS, target.triple, target.cpu, target.features, False, own)) for own in efforts]
    assert objects[:2] == objects[2:]
    assert shared.cache_info().misses == 2


def test_a_kernel_that_is_compiled_has_no_draft() -> None:
    session().close()
    assert session()._plans.background is None


def test_a_session_whose_kernels_fail_stays_with_drafts(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(text: str, target: Any, then: Any, effort: Effort = "full") -> Future[Any]:
        if effort != "full":
            return code_later(text, target, then, effort)
        failed: Future[Any] = Future()
        failed.set_exception(CompileError("no more"))
        return failed

    monkeypatch.setattr(templates, "code_later", failing)
    one = session(fallback=True)
    expected = one.run(None, X)[0]
    with pytest.warns(FallbackWarning, match="stays as it was compiled for its first run, slower: no more"):
        assert one.run(None, X)[0].tobytes() == expected.tobytes()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        one.run(None, X)


PROGRAM = """
import sys, numpy, ingot
session = ingot.Session(sys.argv[1], providers=("cpu", "reference"), threads=1)
print(session._plans.background is not None)
session.run(None, {"x": numpy.ones((5, 7), "float32")})
"""


def test_a_program_that_runs_a_model_once_leaves_its_plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "m.onnx"
    with session("product") as one:  # or it writes into the other cache
        ingot.save(one.model, path)

    def program() -> str:
        run = subprocess.run([sys.executable, "-c", PROGRAM, str(path)], capture_output=True, text=True, check=True)
        return run.stdout.strip()

    monkeypatch.setenv("INGOT_CACHE", str(tmp_path / "cache"))
    assert program() == "True"
    assert program() == "False"
    assert list((tmp_path / "cache").rglob("*.plan"))


FORKING = """
import os, sys, numpy, ingot
from ingot.codegen.llvm import templates
from ingot import background
background.GRACE = 60
session = ingot.Session(sys.argv[1], providers=("cpu", "reference"), threads=1)
first = session.run(None, {"x": numpy.ones((5, 7), "float32")})[0]
child = os.fork()
second = session.run(None, {"x": numpy.ones((5, 7), "float32")})[0]
same = first.tobytes() == second.tobytes() and session._plans.background is None
if child == 0:
    os._exit(0 if same else 1)
assert same
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_finishes_for_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "m.onnx"
    with session("product") as one:  # or it writes into the other cache
        ingot.save(one.model, path)
    monkeypatch.setenv("INGOT_CACHE", str(tmp_path / "cache"))
    subprocess.run([sys.executable, "-W", "ignore", "-c", FORKING, str(path)], check=True, timeout=60)
