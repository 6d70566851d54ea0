"""The ledger: each buffer counts once, from when a node gives it to when the last array over it dies."""

from __future__ import annotations

import gc
import inspect
import threading
import weakref

import numpy as np
import pytest

from ingot.runtime.ledger import Ledger
from ingot.runtime.limits import LimitError


def test_views_of_one_buffer_count_once_until_the_last_is_gone() -> None:
    ledger = Ledger(1000)
    whole = np.zeros(100, np.uint8)
    part, turned = whole[:50], whole.reshape(10, 10).T
    ledger.charge([part, turned, whole, whole])
    assert ledger.live == 100
    del whole, turned
    assert ledger.live == 100
    del part
    assert ledger.live == 0


def test_a_view_holds_all_of_its_buffer() -> None:
    ledger = Ledger(1000)
    part = np.zeros(100, np.uint8)[:1]
    ledger.charge([part])
    assert ledger.live == 100


def test_what_a_broadcast_shows_takes_no_memory() -> None:
    ledger = Ledger(1000)
    ledger.charge([np.broadcast_to(np.zeros(10, np.uint8), (10**6, 10))])
    assert ledger.live <= 10


def test_containers_count_by_their_elements() -> None:
    ledger = Ledger(1000)
    array = np.zeros(100, np.uint8)
    results = [[array, array], {"a": np.zeros(10, np.uint8)}, None, (np.zeros(1, np.uint8),)]
    ledger.charge(results)
    assert ledger.live == 111
    results.clear()
    assert ledger.live == 100


def test_what_is_exempt_never_counts() -> None:
    ledger = Ledger(10)
    given = np.zeros(100, np.uint8)
    ledger.exempt([given, None])
    ledger.charge([given[1:], given])
    assert ledger.live == 0


def test_an_address_used_again_counts_again() -> None:
    ledger = Ledger(10**6)
    for _ in range(1000):
        ledger.charge([np.zeros(1000, np.uint8)])
    assert ledger.live == 0


def test_arrays_in_cycles_count_until_they_are_collected() -> None:
    ledger = Ledger(1000)
    cycle: list[object] = [np.zeros(100, np.uint8)]
    ledger.charge(cycle[:1])
    cycle.append(cycle)
    del cycle
    gc.collect()
    assert ledger.live == 0


def test_a_string_counts_once_for_an_array_that_repeats_it() -> None:
    text = "x" * 1000
    once, often = Ledger(10**6), Ledger(10**6)
    one, many = np.array([text], object), np.array([text] * 100, object)
    once.charge([one])
    often.charge([many])
    assert 1000 < once.live < 1100
    assert often.live == once.live + 99 * 8


def test_arrays_that_die_in_other_threads_are_taken_off() -> None:
    ledger = Ledger(10**9)
    held: list[list[object]] = [[] for _ in range(4)]
    for _ in range(500):
        for pile in held:
            pile.append(np.zeros(100, np.uint8))
            ledger.charge(pile[-1:])
    threads = [threading.Thread(target=pile.clear) for pile in held]
    for thread in threads:
        thread.start()
    for _ in range(500):
        ledger.charge([np.zeros(100, np.uint8)])
    for thread in threads:
        thread.join()
    assert ledger.live == 0


def test_past_the_limit_the_error_says_how_much() -> None:
    ledger = Ledger(150)
    first = np.zeros(100, np.uint8)
    ledger.charge([first])
    with pytest.raises(LimitError, match="take 200 bytes with the 100 of this one, the limit is 150"):
        ledger.charge([np.zeros(100, np.uint8)])


def test_no_python_runs_when_a_buffer_dies_so_that_no_interrupt_is_lost_there() -> None:
    ledger = Ledger(1000)
    array = np.zeros(100, np.uint8)
    ledger.charge([array])
    (reference,) = weakref.getweakrefs(array)
    assert inspect.isbuiltin(reference.__callback__)
    del reference
    ledger.close()
    assert not weakref.getweakrefs(array)
