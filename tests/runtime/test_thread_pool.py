"""Threads take the pieces of steps: each is done once, step after step, whoever is there to do it."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from ingot.codegen.executable_memory import Code
from ingot.codegen.job import MAX_THREADS, Announcement, Claim, JobLayout
from ingot.codegen.llvm.compile import code_of, load
from ingot.codegen.llvm.host import host
from ingot.codegen.llvm.thread_pool import thread_pool_text
from ingot.runtime import pool_code
from ingot.runtime.pool_code import Native
from ingot.runtime.thread_pool import Job, ThreadPool

PIECES = 40
COUNTING = f"""
target triple = "{host().triple}"
define i64 @kernel(ptr %slots, ptr %which, ptr %sizes, ptr %state, i64 %thread, i64 %piece, i64 %pieces) {{
  %ask = icmp slt i64 %piece, 0
  br i1 %ask, label %tell, label %work
tell:
  %wanted = load i64, ptr %sizes
  ret i64 %wanted
work:
  ; each piece notes how many pieces of all steps were begun before it
  %places = load ptr, ptr %slots
  %clock.p = getelementptr ptr, ptr %slots, i64 1
  %clock = load ptr, ptr %clock.p
  %now = atomicrmw add ptr %clock, i64 1 seq_cst
  %offset.p = getelementptr i64, ptr %sizes, i64 1
  %offset = load i64, ptr %offset.p
  %at = add i64 %offset, %piece
  %place = getelementptr i64, ptr %places, i64 %at
  %before = load i64, ptr %place
  %sum = add i64 %before, %now
  store i64 %sum, ptr %place
  ret i64 0
}}
"""


WITHOUT_FUTEX = replace(host(), triple="x86_64-unknown-freebsd")
"""A system whose native code cannot sleep, with the object files and calls of this one."""

ON_X86 = pytest.mark.skipif(not host().triple.startswith("x86_64"), reason="code for x86-64")


@pytest.fixture(scope="module")
def counting() -> Code:
    return load(code_of(COUNTING, host()), host())


@pytest.fixture(scope="module", params=["this system", pytest.param("no futex", marks=ON_X86)])
def native(request: pytest.FixtureRequest) -> Native:
    target = host() if request.param == "this system" else WITHOUT_FUTEX
    return Native(load(code_of(thread_pool_text(target), target), target))


class Steps:
    """Steps of given numbers of pieces, and when each piece was done: minus one, if it was not."""

    def __init__(self, code: Code, counts: list[int]) -> None:
        self.sizes = np.array([[count, sum(counts[:place])] for place, count in enumerate(counts)], np.int64)
        self.done = np.full(sum(counts), -1, np.int64)
        self.clock = np.ones(1, np.int64)
        self.slots = np.array([self.done.ctypes.data, self.clock.ctypes.data], np.int64)
        self.rows = np.array([(code.address, 0, row.ctypes.data) for row in self.sizes], np.int64)
        self.state = np.zeros(16, np.int32)
        self.counts = counts

    def run(self, pool: ThreadPool, threads: int) -> None:
        pool.run(self.rows, self.slots, self.state, threads)

    def assert_in_order(self) -> None:
        assert self.clock[0] == len(self.done) + 1, "pieces were left out, or done twice"
        bounds = np.cumsum([0, *self.counts])
        for low, high in pairwise(bounds):
            assert sorted(self.done[low:high]) == list(range(low, high))


@pytest.mark.parametrize("threads", [1, 2, 3, 7])
def test_every_piece_is_done_once_and_steps_one_after_another(native: Native, counting: Code, threads: int) -> None:
    pool = ThreadPool(threads, native)
    for seed in range(20):
        steps = Steps(counting, np.random.default_rng(seed).integers(1, PIECES, 50).tolist())
        steps.run(pool, threads)
        steps.assert_in_order()
    pool.dismiss()


def test_a_thread_that_never_comes_holds_nobody_up(
    native: Native, counting: Code, monkeypatch: pytest.MonkeyPatch
) -> None:
    pool = ThreadPool(2, native)
    monkeypatch.setattr(pool, "_add", lambda: pool._threads.append(threading.Thread()))
    steps = Steps(counting, [PIECES] * 5)
    steps.run(pool, 2)
    steps.assert_in_order()


def test_steps_too_small_to_be_shared_start_no_thread(native: Native, counting: Code) -> None:
    pool = ThreadPool(2, native)
    steps = Steps(counting, [1] * 20)
    steps.run(pool, 2)
    steps.assert_in_order()
    assert not pool._threads


def test_who_is_asleep_comes_to_the_next_job(native: Native, counting: Code) -> None:
    pool = ThreadPool(2, native)
    for _ in range(5):
        steps = Steps(counting, [1000] * 20)
        steps.run(pool, 2)
        steps.assert_in_order()
        _until(lambda: pool._job[JobLayout.SLEEPERS] == 2 or pool._parked, "the other thread does not go to sleep")
    (worker,) = pool._threads
    pool.dismiss()
    assert not worker.is_alive()


@ON_X86
def test_who_is_parked_takes_part_in_the_next_job(counting: Code) -> None:
    native = Native(load(code_of(thread_pool_text(WITHOUT_FUTEX), WITHOUT_FUTEX), WITHOUT_FUTEX))
    begun: list[int] = []
    serve = native.serve

    def counted(address: int, thread: int) -> None:
        begun.append(thread)
        serve(address, thread)

    native.serve = counted
    pool = ThreadPool(2, native)
    for times in range(1, 4):
        Steps(counting, [PIECES]).run(pool, 2)
        _until(partial(lambda least: len(begun) >= least, times), "the worker stays parked")
        _until(lambda: pool._parked == 1, "the worker does not park")
    pool.dismiss()


def test_the_runtime_reads_what_the_native_code_writes(native: Native, counting: Code) -> None:
    pool = ThreadPool(3, native)
    steps = Steps(counting, [PIECES, 1, 30])
    job = Job(steps.rows, steps.slots, steps.state, 3)
    pool.start(job)
    words = pool._job
    assert (words[JobLayout.STEPS], words[JobLayout.STEP_COUNT]) == (steps.rows.ctypes.data, 3)
    assert (words[JobLayout.SLOTS], words[JobLayout.STATE]) == (steps.slots.ctypes.data, steps.state.ctypes.data)
    assert (words[JobLayout.THREADS], words[JobLayout.CURRENT_STEP], words[JobLayout.NEXT_STEP]) == (3, 2, 3)
    assert job.next_step == 3
    assert words[JobLayout.PIECES_DONE] == 30
    announcement = int(words[JobLayout.ANNOUNCEMENT])
    assert announcement % (1 << Announcement.NUMBER_BITS) == 3, "two steps are shared, then the job is over"
    assert announcement >> Announcement.PIECES_SHIFT & Announcement.MAX_PIECES == 0
    assert announcement >> Announcement.THREADS_SHIFT == 3
    for thread in range(3):
        claim = int(words[JobLayout.CLAIMS + JobLayout.CLAIM_STRIDE * thread])
        number, following = divmod(claim, 1 << Claim.PIECE_BITS)
        assert (number, following) == (2, 10 * (thread + 1)), "all of the thread's ten pieces were claimed"
    assert words[JobLayout.DISMISSED] == 0
    pool.dismiss()
    assert words[JobLayout.DISMISSED] == 1


def test_a_job_that_is_to_stop_does_nothing_more(native: Native, counting: Code) -> None:
    pool = ThreadPool(2, native)
    steps = Steps(counting, [PIECES] * 5)
    steps.state[1] = 1
    steps.run(pool, 2)
    assert (steps.done == -1).all()
    steps.state[1] = 0
    steps.run(pool, 2)
    steps.assert_in_order()
    pool.dismiss()


def test_smaller_and_larger_jobs_take_turns(native: Native, counting: Code) -> None:
    pool = ThreadPool(4, native)
    for threads in (4, 2, 3, 1, 4, 2, 4):
        steps = Steps(counting, [PIECES, 1, PIECES, 2])
        steps.run(pool, threads)
        steps.assert_in_order()
    pool.dismiss()


def test_callers_side_by_side_do_not_wait_for_each_other(native: Native, counting: Code) -> None:
    pool = ThreadPool(2, native)
    many = [Steps(counting, [PIECES] * 20) for _ in range(40)]

    def call(some: list[Steps]) -> None:
        for each in some:
            each.run(pool, 2)

    callers = [threading.Thread(target=call, args=(many[start::4],)) for start in range(4)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    for steps in many:
        steps.assert_in_order()
    pool.dismiss()


def test_a_thread_pool_that_was_dismissed_leaves_the_work_to_the_caller(native: Native, counting: Code) -> None:
    pool = ThreadPool(2, native)
    Steps(counting, [PIECES]).run(pool, 2)
    (other,) = pool._threads
    pool.dismiss()
    assert not other.is_alive()
    steps = Steps(counting, [PIECES] * 3)
    steps.run(pool, 2)
    steps.assert_in_order()


PROGRAM = """
import os, sys
import numpy as np
import ingot
from ingot.runtime import thread_pool
thread_pool.processors = lambda: 2
graph = 'g (float[n] x) => (float[n] y) { t = Exp (x) u = CumSum (t, a) y = Exp (t) }'.replace(
    '(float[n] y)', '(float[n] y) <int64 a = {0}>')
model = ingot.parse_model('<ir_version: 10, opset_import: ["" : 21]> ' + graph)
session = ingot.Session(model, providers=("cpu", "reference"), threads=2, fallback=False)
x = np.zeros(1 << 20, np.float32)
expected = session.run(None, {"x": x})[0]
assert len(thread_pool.thread_pool()._threads) == 1
if sys.argv[1] == "fork":
    child = os.fork()
    same = (session.run(None, {"x": x})[0] == expected).all() and len(thread_pool.thread_pool()._threads) == 1
    if child == 0:
        os._exit(0 if same else 1)
    assert os.waitpid(child, 0)[1] == 0 and same
print("done")
"""


@pytest.mark.parametrize(
    "how", ["end", pytest.param("fork", marks=pytest.mark.skipif(sys.platform == "win32", reason="no fork"))]
)
def test_a_process_ends_and_forks_with_threads_about(how: str) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PROGRAM, how], capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr


def _until(holds: Callable[[], Any], otherwise: str) -> None:
    waiting = threading.Event()
    for _ in range(2000):
        if holds():
            return
        waiting.wait(0.005)
    raise AssertionError(otherwise)


def test_a_thread_pool_has_no_more_threads_than_a_word_has_bits() -> None:
    assert ThreadPool(1000).most == MAX_THREADS


def test_threads_that_provide_the_code_at_once_do_not_disturb_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    class Crowded(list[Any]):
        """Empty for everybody who asks: each believes to be the first."""

        def __bool__(self) -> bool:
            return False

    codes = Crowded()
    monkeypatch.setattr(pool_code, "_FINAL", codes)
    first = Code({}, None)
    for code in (first, Code({}, None)):
        pool_code.provide(code)
    assert codes[0] is first
