from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from ingot import InputError
from ingot.runtime.interrupt import Cancel, Interrupted
from ingot.view.stopping import Works


def test_a_work_gives_its_result_or_its_error() -> None:
    works = Works()
    assert works.do("measure", lambda _: works.names) == ["measure"]
    assert works.names == []

    def fail(_: Cancel) -> None:
        raise InputError("the inputs do not fit")

    with pytest.raises(InputError, match="do not fit"):
        works.do("measure", fail)
    assert works.names == []


def test_who_waits_for_a_stopped_work_is_let_go_before_it_ends() -> None:
    works, ended = Works(), threading.Event()

    def wait(cancel: Cancel) -> None:
        while not (cancel.cancelled and ended.is_set()):
            time.sleep(0.01)

    with ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(works.do, "measure", wait)
        while not works.names:
            time.sleep(0.01)
        works.stop("compare")
        works.stop("measure")
        with pytest.raises(Interrupted, match="stopped"):
            waiting.result(10)
        assert works.names == []
        ended.set()


def test_a_new_work_takes_the_place_of_the_one_before() -> None:
    works = Works()

    def wait(cancel: Cancel) -> None:
        while not cancel.cancelled:
            time.sleep(0.01)

    with ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(works.do, "measure", wait)
        while not works.names:
            time.sleep(0.01)
        assert works.do("measure", lambda _: 7) == 7
        with pytest.raises(Interrupted):
            waiting.result(10)
