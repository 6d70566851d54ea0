"""What nodes have of the costs of kernels, and when threads ran them."""

from __future__ import annotations

import numpy as np
import pytest

import ingot
from ingot.runtime.interrupt import Interrupted
from ingot.session import Cancel, Session
from ingot.tools.bench.bandwidth import IN_CACHE, copy_limit
from ingot.tools.bench.cores import chosen
from ingot.tools.inspect.bodies import traced
from ingot.tools.inspect.by_thread import pieces_by_thread
from ingot.tools.inspect.measured import measured
from ingot.tools.inspect.shares import shares
from ingot.tools.inspect.titles import known_sizes

LAYER = """<ir_version: 10, opset_import: ["" : 21]>
g (float[n, 64] x, float[64, 64] w) => (float[n, 64] y) { a = MatMul (x, w) b = Relu (a) y = Softmax (b) }"""


def feeds(rows: int) -> dict[str, np.ndarray[tuple[int, ...], np.dtype[np.float32]]]:
    return {"x": np.ones((rows, 64), np.float32), "w": np.ones((64, 64), np.float32)}


def session(threads: int) -> Session:
    return Session(ingot.parse_model(LAYER), providers=("cpu", "reference"), threads=threads, fallback=False)


def test_the_shares_of_nodes_add_up_to_the_kernels() -> None:
    opened = session(1)
    compiled = opened.compiled
    assert compiled is not None
    trace = traced(compiled)
    times = measured(opened, trace, feeds(32), 0)
    divided = shares(compiled, trace, times, known_sizes(compiled.plan.inputs, feeds(32)))
    assert set(divided) == {("a", "MatMul"), ("b", "Relu"), ("y", "Softmax")}
    assert sum(share.seconds for share in divided.values()) == pytest.approx(times.kernels)
    assert sum(share.operations for share in divided.values()) == pytest.approx(sum(s.operations for s in times.steps))
    assert divided["a", "MatMul"].operations > 50 * divided["b", "Relu"].operations


def test_a_measurement_that_is_cancelled_ends() -> None:
    opened, cancel = session(1), Cancel()
    assert opened.compiled is not None
    cancel.cancel()
    with pytest.raises(Interrupted):
        measured(opened, traced(opened.compiled), feeds(32), 1e6, cancel)


@pytest.mark.parametrize("threads", [1, 2])
def test_every_kernel_is_on_the_timeline(threads: int) -> None:
    opened = session(threads)
    compiled = opened.compiled
    assert compiled is not None
    before = opened.run(None, feeds(512))
    pieces = pieces_by_thread(opened, compiled, feeds(512))
    assert {piece.kernel for piece in pieces} == {kernel.name for kernel in traced(compiled).kernels}
    assert all(0 <= piece.thread < threads for piece in pieces)
    assert all(piece.begin >= 0 and piece.seconds > 0 for piece in pieces)
    assert [piece.begin for piece in pieces] == sorted(piece.begin for piece in pieces)
    np.testing.assert_array_equal(before[0], opened.run(None, feeds(512))[0])


def test_inputs_that_a_guard_refuses_have_no_timeline() -> None:
    opened = session(1)
    assert opened.compiled is not None
    wrong = {"x": np.ones((4, 63), np.float32), "w": np.ones((64, 64), np.float32)}
    assert pieces_by_thread(opened, opened.compiled, wrong) == ()


def test_a_cache_copies_some_bytes_a_second() -> None:
    assert copy_limit(chosen(1), IN_CACHE) > 1e8
