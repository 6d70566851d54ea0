"""One-hot rows and diagonals: a row is filled and marked at its place, if that is in it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ingot
from ingot.codegen.llvm.kernel import emit
from ingot.loops.ir import kernels_in
from ingot.loops.parametrise import parametrise
from ingot.schedule.target import named

_HEADER = '<ir_version: 10, opset_import: ["" : 21]>'


def _session(text: str, threads: int = 1) -> ingot.Session:
    return ingot.Session(ingot.parse_model(f"{_HEADER} {text}"), threads=threads, fallback=False, providers=("cpu",))


@pytest.mark.parametrize("dtype", ["float", "double", "float16", "bfloat16", "int64", "int32", "uint8", "bool"])
@pytest.mark.parametrize("k", [0, 1, -3, 40, -40, 100])
def test_a_diagonal_is_where_it_is_asked_for(dtype: str, k: int) -> None:
    number = {"float": 1, "double": 11, "float16": 10, "bfloat16": 16, "int64": 7, "int32": 6, "uint8": 2, "bool": 9}
    session = _session(f"g (float[23, 45] x) => (y) {{ y = EyeLike <dtype = {number[dtype]}, k = {k}> (x) }}")
    result = session.run(None, {"x": np.zeros((23, 45), np.float32)})[0]
    np.testing.assert_array_equal(result.astype(np.float64), np.eye(23, 45, k))


@pytest.mark.parametrize("length", [1, 15, 16, 100, 1000])
@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.float64])
def test_a_row_has_one_mark(length: int, dtype: Any) -> None:
    name = {np.float32: "float", np.float16: "float16", np.float64: "double"}[dtype]
    session = _session(f"g ({name}[n, {length}] x) => (y) {{ y = Hardmax (x) }}")
    x = np.random.default_rng(length).integers(-5, 5, (40, length)).astype(dtype)
    np.testing.assert_array_equal(session.run(None, {"x": x})[0], np.eye(length, dtype=dtype)[x.argmax(1)])


@pytest.mark.parametrize("threads", [1, 2])
def test_a_long_row_that_threads_share_is_marked_once(threads: int) -> None:
    session = _session("g (float[1, n] x) => (y) { y = Hardmax <axis = 1> (x) }", threads)
    for place in (0, 1, 299_999, 150_000):
        x = np.zeros((1, 300_000), np.float32)
        x[0, place] = 1
        np.testing.assert_array_equal(session.run(None, {"x": x})[0], x)


def test_what_is_stored_at_other_places_is_not_compared() -> None:
    session = _session("g (float[64, 100] x) => (y) { y = EyeLike (x) }")
    assert session.compiled is not None
    (kernel,) = kernels_in(session.compiled.scheduled.steps)
    assert "icmp eq <" not in emit(parametrise(kernel).kernel, named("x86-64-v4")).text
