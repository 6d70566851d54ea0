"""Tables of what was computed lately: bounded, and open to all threads."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np

import ingot
from ingot.prim.tensor import Call
from ingot.runtime.fast_path import FastPath
from ingot.runtime.recent import remember


def test_what_was_entered_first_is_forgotten_first() -> None:
    table: dict[int, str] = {}
    for key in range(5):
        remember(table, key, str(key), 3)
    assert table == {2: "2", 3: "3", 4: "4"}


def test_what_is_there_already_takes_the_place_of_nothing_else() -> None:
    table = {1: "a", 2: "b"}
    remember(table, 1, "c", 2)
    assert table == {1: "c", 2: "b"}


def test_threads_that_enter_sizes_at_once_do_not_disturb_each_other() -> None:
    text = '<ir_version: 10, opset_import: ["" : 21]> g (float[n] x) => (y) { y = Add (x, x) }'
    doubled = ingot.Session(ingot.parse_model(text), providers=("cpu", "reference"), threads=1, fallback=False)
    compiled = doubled._plans.first
    assert compiled is not None

    def no_calls(_: Call) -> None:
        raise AssertionError("the plan has no calls")

    def learn(seed: int) -> None:
        for size in range(4000):
            feeds = {"x": np.empty(4000 * seed + size, np.float32)}
            compiled.fast_path.learn(compiled.runner, feeds, 1 << 30, no_calls)

    doubled.run(None, {"x": np.ones(3, np.float32)})
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(8) as threads:
            list(threads.map(learn, range(8)))
    finally:
        sys.setswitchinterval(before)
    assert isinstance(compiled.fast_path, FastPath)
    assert len(compiled.fast_path._ready) < 32 + 8
