"""A lock that is held while the process forks is free in the child."""

from __future__ import annotations

import multiprocessing
import os
import threading

import pytest

from ingot.runtime.fork_lock import ForkLock


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_lock_held_by_another_thread_is_free_after_a_fork() -> None:
    lock, is_held, ends = ForkLock(), threading.Event(), threading.Event()

    def hold() -> None:
        with lock.held():
            is_held.set()
            ends.wait(60)

    thread = threading.Thread(target=hold)
    thread.start()
    assert is_held.wait(60)
    child = multiprocessing.get_context("fork").Process(target=_take, args=(lock,))
    child.start()
    child.join(30)
    exitcode = child.exitcode
    if exitcode is None:
        child.kill()
    ends.set()
    thread.join()
    assert exitcode == 0


def _take(lock: ForkLock) -> None:
    with lock.held():
        pass


def test_a_wait_ends_with_what_is_raised_meanwhile() -> None:
    lock, is_held, ends = ForkLock(), threading.Event(), threading.Event()

    def hold() -> None:
        with lock.held():
            is_held.set()
            ends.wait(60)

    def fail() -> None:
        raise TimeoutError

    thread = threading.Thread(target=hold)
    thread.start()
    assert is_held.wait(60)
    with pytest.raises(TimeoutError), lock.held(fail):
        pass
    ends.set()
    thread.join()
