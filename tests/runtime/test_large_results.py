"""Memory of large results: used again when the caller has dropped them, and not before."""

from __future__ import annotations

import gc

import ml_dtypes
import numpy as np
import pytest

import ingot
from ingot.dtypes import Array
from ingot.runtime import large_results
from ingot.runtime.large_results import ResultMemory, is_large

MANY = 9 << 20
"""Elements of four bytes that are a large result."""

F4 = np.dtype(np.float32)

pytestmark = pytest.mark.skipif(not is_large((MANY,), F4), reason="this system cannot take kept memory back")


def address(array: Array) -> int:
    return int(array.ctypes.data)


def test_memory_is_used_again_once_nothing_references_an_array() -> None:
    memory = ResultMemory(1 << 30)
    first = memory.array((3, 5), F4)
    place = address(first)
    view = first[1:].T
    del first
    other = memory.array((3, 5), F4)
    assert address(other) != place
    assert memory.free_bytes == 0
    del view
    gc.collect()
    assert memory.free_bytes == 3 * 5 * 4
    assert address(memory.array((15,), F4)) == place


def test_memory_that_is_too_small_or_far_too_large_is_left_alone() -> None:
    memory = ResultMemory(1 << 30)
    place = address(memory.array((1000,), F4))
    assert address(memory.array((1001,), F4)) != place
    assert memory.free_bytes == 2001 * 4
    small = memory.array((100,), F4)
    assert memory.free_bytes == 2001 * 4
    fitting = memory.array((900,), F4)
    assert memory.free_bytes < 2001 * 4
    assert address(small) != address(fitting)


def test_no_more_is_kept_than_the_limit() -> None:
    memory = ResultMemory(10_000)
    arrays = [memory.array((1000,), F4) for _ in range(4)]
    arrays.clear()
    gc.collect()
    assert memory.free_bytes == 8000


def test_arrays_are_contiguous_and_writable_and_of_any_type() -> None:
    memory = ResultMemory(1 << 20)
    for dtype in (F4, np.dtype(np.bool_), np.dtype(ml_dtypes.bfloat16)):
        array = memory.array((7, 3), dtype)
        assert (array.shape, array.dtype) == ((7, 3), dtype)
        assert array.flags.carray
        array[...] = 1
        assert array.sum() == 21


def test_what_is_kept_is_given_back_where_there_is_no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    memory = ResultMemory(1 << 20)
    memory.array((10,), F4)
    gc.collect()

    def none_left(size: int) -> None:
        raise OSError(12, f"no {size} bytes")

    monkeypatch.setattr(large_results, "_new_block", none_left)
    with pytest.raises(MemoryError, match="a result of 4,000 bytes"):
        memory.array((1000,), F4)
    assert memory.free_bytes == 0


@pytest.mark.parametrize("threads", [1, 2])
def test_large_results_of_runs_are_the_callers_alone(threads: int) -> None:
    body = "g (float[n] x, float[1] c) => (y, z) { y = Add (x, c) z = Mul (x, c) }"
    model = ingot.parse_model(f'<ir_version: 9, opset_import: ["" : 18]> {body}')
    session = ingot.Session(model, providers=("cpu", "reference"), threads=threads)
    x = np.arange(MANY, dtype=np.float32)
    kept: list[tuple[float, Array, Array]] = []
    places: set[int] = set()
    for turn in range(8):
        number = float(turn)
        total, product = session.run(None, {"x": x, "c": np.array([number], np.float32)})
        if turn % 2:
            kept.append((number, total, product))
        else:
            places |= {address(total), address(product)}
        del total, product
        gc.collect()
    for number, total, product in kept:
        assert total.flags.carray
        np.testing.assert_array_equal(total[::4096], x[::4096] + number)
        np.testing.assert_array_equal(product[::4096], x[::4096] * number)
    own = {address(array) for _, *both in kept for array in both}
    assert len(own) == 8
    assert own & places  # memory of results that were dropped
