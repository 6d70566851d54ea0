"""A run that is cancelled, or whose time is over, ends inside a kernel, not after it."""

from __future__ import annotations

import ctypes
import threading
import time
from typing import Any

import numpy as np
import pytest

import ingot
from ingot.dtypes import Array
from ingot.runtime.run import PlanRunner
from ingot.schedule.threads import THREADS
from ingot.session import Cancel, Interrupted

HEADER = '<ir_version: 13, opset_import: ["" : 28]>'
SOON = 1.0
"""Seconds: it takes some milliseconds, but other processes may be in the way."""

RECURRENCE = """g (float[t, 1] x, float[1, 128] s, float[128, 128] w) => (float[1, 128] y) {
    y = Scan<num_scan_inputs = 1, body = body (float[1, 128] a, float[1] b) => (float[1, 128] c) {
        m = MatMul(a, w) n = Add(m, b) c = Tanh(n)
    }>(s, x)
}"""

LOOPS = """g (float[m, 1, k] x, float[1, m, k] y) => (float[m, m] z) <int64[1] last = {2}> {
    d = Sub(x, y) e = Exp(d) f = Sin(e) z = ReduceSum<keepdims = 0>(f, last)
}"""


def floats(*shape: int) -> Array:
    return np.random.default_rng(0).standard_normal(shape, dtype=np.float32)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(
    ("graph", "feeds"),
    [
        pytest.param(
            "g (float[m, k] x, float[k, m] y) => (float[m, m] z) { z = MatMul(x, y) }",
            {"x": (5000, 4000), "y": (4000, 5000)},
            id="product",
        ),
        pytest.param(LOOPS, {"x": (3000, 1, 1000), "y": (1, 3000, 1000)}, id="loops"),
        pytest.param(RECURRENCE, {"x": (3_000_000, 1), "s": (1, 128), "w": (128, 128)}, id="recurrence"),
    ],
)
def test_a_long_kernel_ends_soon_after_it_is_cancelled(
    graph: str, feeds: dict[str, tuple[int, ...]], threads: int
) -> None:
    model = ingot.parse_model(f"{HEADER} {graph}")
    session = ingot.Session(model, providers=("cpu", "reference"), threads=threads, fallback=False)
    given = {name: floats(*shape) for name, shape in feeds.items()}
    cancel, cancelled = Cancel(), [0.0]

    def end() -> None:
        cancelled[0] = time.perf_counter()
        cancel.cancel()

    timer = threading.Timer(0.1, end)
    timer.start()
    with pytest.raises(Interrupted):
        session.run(None, given, cancel=cancel)
    assert time.perf_counter() - cancelled[0] < SOON


@pytest.mark.parametrize("way", ["first run", "fast path", "many at once"])
def test_cancel_and_deadline_stop_runs_in_progress(way: str) -> None:
    model = ingot.parse_model(f"{HEADER} {LOOPS}")
    session = ingot.Session(model, providers=("cpu", "reference"), threads=1, fallback=False)
    given = {"x": floats(1500, 1, 1000), "y": floats(1, 1500, 1000)}
    if way == "fast path":
        session.run(None, given)
    cancel = Cancel()
    ended: list[str] = []

    def work(**limits: Any) -> None:
        try:
            session.run(None, given, **limits)
        except Interrupted as error:
            ended.append(error.message)

    count = 3 if way == "many at once" else 1
    for limits, message in (({"cancel": cancel}, "the run was cancelled"), ({"deadline": 0.05}, "longer than 0.05 s")):
        ended.clear()
        workers = [threading.Thread(target=work, kwargs=limits) for _ in range(count)]
        begin = time.perf_counter()
        for worker in workers:
            worker.start()
        time.sleep(0.05)
        cancel.cancel()
        for worker in workers:
            worker.join()
        assert time.perf_counter() - begin < SOON
        assert len(ended) == count
        assert all(message in each for each in ended)
    assert sum(thread.name == "ingot-deadlines" for thread in threading.enumerate()) == 1


@pytest.mark.parametrize(
    "graph",
    [
        "g (float[1, 32, 24, 24] x) => (float[1, 32, 24, 24] y) { y = Conv<pads = [1, 1, 1, 1]>(x, w) }",
        "g (float[32, 32] x) => (float[32, 32] y) { y = MatMul(x, x) }",
        "g (float[200] x) => (float[200] y) <int64 a = {0}> { y = CumSum(x, a) }",
    ],
    ids=["winograd", "product", "running total"],
)
def test_a_piece_looks_whether_to_stop(graph: str) -> None:
    if "Conv" in graph:
        model = ingot.parse_model(f"{HEADER} {graph.replace('x)', 'x, float[32, 32, 3, 3] w)', 1)}")
        given = model.graph.value("w")
        given.replace_uses(model.graph.add_initializer("filters", floats(32, 32, 3, 3)))
        model.graph.inputs.remove(given)
    else:
        model = ingot.parse_model(f"{HEADER} {graph}")
    session = ingot.Session(model, providers=("cpu", "reference"), threads=1, fallback=False)
    compiled = session.compiled
    assert compiled is not None
    plan = compiled.plan
    (tensor,) = plan.inputs.values()
    x = floats(*(int(str(size)) for size in tensor.shape))
    runner = PlanRunner(plan, compiled.outputs)
    (segment,) = runner.segments
    written = []
    for stop in (1, 0):
        frame = runner.frame()
        binding = segment.binder.bind({THREADS: 1})
        frame.first.install(binding)
        if frame.first.arena is not None:
            arena = frame.first.arena
            arena[: arena.nbytes // 4 * 4].view(np.float32)[:] = 7
        frame.slots[plan.placed[tensor]] = x.ctypes.data
        shapes = zip(segment.results, binding.shapes, strict=True)
        results = [np.full(shape, 7, dtype) for (_, _, dtype), shape in shapes]
        for (_, slot, _), result in zip(segment.results, results, strict=True):
            frame.slots[slot] = result.ctypes.data
        frame.words[1] = stop
        for code, slots, scalars in frame.first.rows:
            kernel = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_void_p] * 4, *[ctypes.c_int64] * 3)(int(code))
            kernel(frame.table.ctypes.data, int(slots), int(scalars), frame.state.ctypes.data, 0, 0, 1)
        written.append((results[-1] != 7).mean())
    assert written[0] < 0.1
    assert written[1] > 0.9
