"""Tests that wait for ever, run by pytest in another process: they fail, and the others go on."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import time_limit

HANGING = """
import ctypes, threading, time
import pytest

@pytest.mark.time_limit(0.3)
def test_waits_for_ever():
    threading.Event().wait()

def test_goes_on():
    pass

@pytest.fixture
def stuck():
    try:
        time.sleep(1000)
    except Exception:
        yield

@pytest.mark.time_limit(0.3)
def test_has_a_fixture_that_waits(stuck):
    pass
"""
DEAF = """
import signal
import pytest

@pytest.mark.time_limit(0.3)
def test_hears_no_alarm():
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])
    while True:
        pass
"""


def run(folder: Path, program: str, grace: float = 60) -> subprocess.CompletedProcess[str]:
    (folder / "test_it.py").write_text(program)
    hooks = Path(time_limit.__file__).read_text("utf-8").replace("GRACE = 60", f"GRACE = {grace}")
    (folder / "conftest.py").write_text(hooks)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(folder)]
    plain = {name: value for name, value in os.environ.items() if name != "PYTEST_ADDOPTS"}
    return subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=folder, check=False, env=plain)


def test_a_test_that_waits_fails_and_the_next_one_runs(tmp_path: Path) -> None:
    found = run(tmp_path, HANGING)
    assert "1 failed, 1 passed, 1 error" in found.stdout, found.stdout
    assert found.stdout.count("it took more than 0.3 s") >= 2
    assert "threading.Event().wait()" in found.stdout


def test_a_test_that_the_alarm_does_not_reach_ends_its_process_with_a_traceback(tmp_path: Path) -> None:
    found = run(tmp_path, DEAF, grace=0.5)
    assert found.returncode != 0
    assert "test_hears_no_alarm" in found.stderr
