"""Threads take the pieces of steps: each is done once, step after step, whoever is there to do it."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from ingot.codegen.executable_memory import Code
from ingot.codegen.llvm.compile import code_of, load
from ingot.codegen.llvm.host import host
from ingot.codegen.llvm.team import MOST_THREADS
from ingot.runtime.team import Team

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


@pytest.fixture(scope="module")
def counting() -> Code:
    return load(code_of(COUNTING, host()), host())


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

    def run(self, team: Team, threads: int) -> None:
        team.run(self.rows, self.slots, self.state, threads)

    def assert_in_order(self) -> None:
        assert self.clock[0] == len(self.done) + 1, "pieces were left out, or done twice"
        bounds = np.cumsum([0, *self.counts])
        for low, high in pairwise(bounds):
            assert sorted(self.done[low:high]) == list(range(low, high))


@pytest.mark.parametrize("threads", [1, 2, 3, 7])
def test_every_piece_is_done_once_and_steps_one_after_another(counting: Code, threads: int) -> None:
    team = Team(threads)
    for seed in range(20):
        steps = Steps(counting, np.random.default_rng(seed).integers(1, PIECES, 50).tolist())
        steps.run(team, threads)
        steps.assert_in_order()
    team.dismiss()


def test_a_thread_that_never_comes_holds_nobody_up(counting: Code, monkeypatch: pytest.MonkeyPatch) -> None:
    team = Team(2)
    monkeypatch.setattr(team, "_add", lambda: team._threads.append(threading.Thread()))
    steps = Steps(counting, [PIECES] * 5)
    steps.run(team, 2)
    steps.assert_in_order()


def test_steps_too_small_to_be_shared_start_no_thread(counting: Code) -> None:
    team = Team(2)
    steps = Steps(counting, [1] * 20)
    steps.run(team, 2)
    steps.assert_in_order()
    assert not team._threads


def test_who_is_asleep_comes_to_the_next_job(counting: Code) -> None:
    team = Team(2)
    for _ in range(5):
        steps = Steps(counting, [1000] * 20)
        steps.run(team, 2)
        steps.assert_in_order()
        _until(lambda: team._job[16] == 2, "the other thread does not go to sleep")
    team.dismiss()


def test_a_job_that_is_to_stop_does_nothing_more(counting: Code) -> None:
    team = Team(2)
    steps = Steps(counting, [PIECES] * 5)
    steps.state[1] = 1
    steps.run(team, 2)
    assert (steps.done == -1).all()
    steps.state[1] = 0
    steps.run(team, 2)
    steps.assert_in_order()
    team.dismiss()


def test_smaller_and_larger_jobs_take_turns(counting: Code) -> None:
    team = Team(4)
    for threads in (4, 2, 3, 1, 4, 2, 4):
        steps = Steps(counting, [PIECES, 1, PIECES, 2])
        steps.run(team, threads)
        steps.assert_in_order()
    team.dismiss()


def test_callers_side_by_side_do_not_wait_for_each_other(counting: Code) -> None:
    team = Team(2)
    many = [Steps(counting, [PIECES] * 20) for _ in range(40)]

    def call(some: list[Steps]) -> None:
        for each in some:
            each.run(team, 2)

    callers = [threading.Thread(target=call, args=(many[start::4],)) for start in range(4)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    for steps in many:
        steps.assert_in_order()
    team.dismiss()


def test_a_team_that_was_dismissed_leaves_the_work_to_the_caller(counting: Code) -> None:
    team = Team(2)
    Steps(counting, [PIECES]).run(team, 2)
    (other,) = team._threads
    team.dismiss()
    assert not other.is_alive()
    steps = Steps(counting, [PIECES] * 3)
    steps.run(team, 2)
    steps.assert_in_order()


PROGRAM = """
import os, sys
import numpy as np
import ingot
from ingot.runtime import team
team.processors = lambda: 2
graph = 'g (float[n] x) => (float[n] y) { t = Exp (x) u = CumSum (t, a) y = Exp (t) }'.replace(
    '(float[n] y)', '(float[n] y) <int64 a = {0}>')
model = ingot.parse_model('<ir_version: 10, opset_import: ["" : 21]> ' + graph)
session = ingot.Session(model, providers=("cpu", "reference"), threads=2, fallback=False)
x = np.zeros(1 << 20, np.float32)
expected = session.run(None, {"x": x})[0]
assert len(team.team()._threads) == 1
if sys.argv[1] == "fork":
    child = os.fork()
    same = (session.run(None, {"x": x})[0] == expected).all() and len(team.team()._threads) == 1
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


def test_a_team_has_no_more_threads_than_a_word_has_bits() -> None:
    assert Team(1000).most == MOST_THREADS
