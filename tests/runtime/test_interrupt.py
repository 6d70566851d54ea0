"""Ctrl-C ends a long run between two nodes, in a program and on the command line."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ingot
from child_processes import started
from ingot.runtime.interrupt import _Timer
from ingot.session import Cancel, Interrupted
from interruptible import interruptible

ENDLESS = """
    <ir_version: 10, opset_import: ["" : 20]>
    g (float[1] x) => (float[1] y) {
        go = Constant <value = bool {1}> ()
        y = Loop (, go, x) <body = b (int64 i, bool c, float[1] s) => (bool c, float[1] t) { t = Neg (s) }>
    }
"""
PROGRAM = """
import sys
import ingot
def observe(*_):
    global said
    if not said:
        said = print("running", flush=True) or True
said = False
try:
    ingot.Session(sys.argv[1]).run(None, {"x": [1]}, observe=observe)
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.fixture
def endless(tmp_path: Path) -> str:
    path = tmp_path / "endless.onnx"
    ingot.save(ingot.parse_model(ENDLESS), path, durable=False)
    return str(path)


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such signals")
def test_a_program_gets_its_keyboard_interrupt(endless: str) -> None:
    arguments = interruptible([sys.executable, "-c", PROGRAM, endless])
    with started(arguments, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "running\n"
        begin = time.perf_counter()
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=30)[0] == "interrupted\n"
        assert time.perf_counter() - begin < 5
        assert process.returncode == 0


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such signals")
def test_the_command_line_ends_with_its_own_exit_code(endless: str) -> None:
    arguments = interruptible([sys.executable, "-m", "ingot", "run", endless])
    with started(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert process.stderr.readline() == "random: x: float32[1]\n"
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=30) == ("", "")
        assert process.returncode == 130


def test_a_timer_whose_thread_could_not_start_is_started_by_the_next_run(monkeypatch: pytest.MonkeyPatch) -> None:
    timer, state = _Timer(), np.zeros(16, np.int32)
    with monkeypatch.context() as context:
        context.setattr(threading.Thread, "start", _fail)
        with pytest.raises(RuntimeError, match="no more threads"):
            timer.attach(state, time.monotonic())
    timer.attach(state, time.monotonic())
    end = time.monotonic() + 30
    while not state[1] and time.monotonic() < end:
        time.sleep(0.001)
    assert state[1] == 1


def _fail(_: threading.Thread) -> None:
    raise RuntimeError("no more threads")


LOOPS = {
    "in machine code": ENDLESS,
    "trip by trip": """
    <ir_version: 10, opset_import: ["" : 20]>
    g (float[1] x) => (y, r) {
        go = Constant <value = bool {1}> ()
        zero = Constant <value = float {-1}> ()
        y, r = Loop (, go, x) <body = b (int64 i, bool c, float[1] s) => (bool d, float[1] t, float v) {
            t = Neg (s)
            u = ReduceSum <keepdims = 0> (t)
            v = Mul (u, u)
            d = Greater (v, zero)
        }>
    }
""",
}


def pressed(handler: Any, *, cancel: Cancel | None = None, deadline: float | None = None, text: str) -> float:
    """Run a loop without end and press Ctrl-C a little later; the seconds from then until what the run raises."""
    session = ingot.Session(ingot.parse_model(text), providers=("cpu", "reference"), fallback=False)
    moments: list[float] = []

    def press() -> None:
        moments.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)

    before = signal.signal(signal.SIGINT, handler)
    timer = threading.Timer(0.3, press)
    try:
        timer.start()
        with pytest.raises((KeyboardInterrupt, Interrupted)):
            session.run(None, {"x": np.ones(1, np.float32)}, cancel=cancel, deadline=deadline)
        return time.perf_counter() - moments[0]
    finally:
        timer.join()
        signal.signal(signal.SIGINT, before)


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such signals")
@pytest.mark.parametrize("name", LOOPS)
def test_a_compiled_loop_without_end_is_interrupted_at_once(name: str) -> None:
    assert pressed(signal.default_int_handler, text=LOOPS[name]) < 1  # 50 ms, on a machine that does nothing else
    assert pressed(signal.default_int_handler, text=LOOPS[name]) < 1


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such signals")
def test_a_handler_that_cancels_ends_the_run_and_one_that_returns_does_not() -> None:
    cancel = Cancel()
    assert pressed(lambda *_: cancel.cancel(), cancel=cancel, text=ENDLESS) < 1
    assert pressed(lambda *_: None, deadline=1, text=ENDLESS) > 0.5


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such signals")
def test_who_waits_for_signals_still_gets_them() -> None:
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    before = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    try:
        pressed(signal.default_int_handler, text=ENDLESS)
        assert signal.set_wakeup_fd(writer, warn_on_full_buffer=False) == writer
        assert signal.SIGINT in os.read(reader, 64)
    finally:
        signal.set_wakeup_fd(before)
        os.close(reader)
        os.close(writer)
