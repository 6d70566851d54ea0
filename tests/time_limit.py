"""A limit on the time of every test: one that waits for ever fails, and says where it waited.

The limit is an alarm, which raises in the test. Where that cannot reach it, inside of machine code, the process ends
with the tracebacks of all threads a while later; pytest-xdist names the test and goes on with another process.
`@pytest.mark.time_limit(seconds)` gives a test more, or less.
"""

from __future__ import annotations

import faulthandler
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

SECONDS = 600
"""What a test, or one of its fixtures, may take: enough for the slowest where others keep all processors busy."""

GRACE = 60
"""Seconds after which a test that the alarm does not reach is ended with its process."""

_STDERR = pytest.StashKey[int]()


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "time_limit(seconds): how long a test may take; 600 s unless it says so")
    config.stash[_STDERR] = os.dup(2)  # what the tests write is captured later


def pytest_unconfigure(config: pytest.Config) -> None:
    os.close(config.stash[_STDERR])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Iterator[None]:
    with limited(item):
        yield


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    with limited(item):
        yield


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Iterator[None]:
    with limited(item):
        yield


@contextmanager
def limited(item: pytest.Item) -> Iterator[None]:
    """Let a phase of a test fail after its limit; the process ends if it goes on all the same."""
    mark = item.get_closest_marker("time_limit")
    seconds = float(mark.args[0]) if mark is not None else SECONDS

    def late(*_: object) -> None:
        pytest.fail(f"it took more than {seconds:g} s")

    with_alarm = hasattr(signal, "SIGALRM") and threading.current_thread() is threading.main_thread()
    faulthandler.dump_traceback_later(seconds + GRACE, exit=True, file=item.config.stash[_STDERR])
    before = signal.signal(signal.SIGALRM, late) if with_alarm else None
    try:
        if with_alarm:
            signal.setitimer(signal.ITIMER_REAL, seconds)
        yield
    finally:
        if with_alarm:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
        faulthandler.cancel_dump_traceback_later()
