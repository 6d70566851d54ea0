"""Guards: what was assumed when a plan was made, each said where it does not hold."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ingot
from ingot.dims import symbol
from ingot.dtypes import DType
from ingot.ir.node import Node
from ingot.prim.guard import Guard
from ingot.prim.tensor import Call, CallResult, Parameter, Tensor
from ingot.runtime.entry import Entry
from ingot.runtime.executable import Executable
from ingot.runtime.guards import GuardFailed, KernelError
from ingot.session import Session

N, M = symbol("n"), symbol("m")
HEADER = '<ir_version: 10, opset_import: ["" : 21]>'


def admitted(tensor: Tensor, given: Any, sizes: dict[str, int] | None = None) -> dict[str, int]:
    """The sizes that are known once an array is taken as a tensor."""
    known = {"threads": 1} if sizes is None else sizes
    entry = Entry(tensor, 0, 0)
    values: list[Any] = [None]
    entry.admit(given, values, known, [0])
    for check in entry.checks(frozenset(known)):
        check.require(values, known)
    return known


def executable(graph: str) -> tuple[Session, Executable]:
    session = Session(ingot.parse_model(f"{HEADER} {graph}"), providers=("cpu", "reference"), threads=1, fallback=False)
    assert session._plans.first is not None
    return session, session._plans.first


def run(graph: str, **feeds: Any) -> list[Any]:
    """What the plan of a model gives, without anybody to take its place."""
    _, compiled = executable(graph)
    return compiled.run(feeds, lambda _: pytest.fail("nothing calls the reference"), None)


def test_a_guard_says_which_sizes_differ() -> None:
    assert Guard(N, M).failure({"n": 1, "m": 2}) == "sizes that were assumed to be equal are not: n = 1, m = 2"
    assert Guard(N * 2, 1).failure({"n": 3}) == "sizes that were assumed to be equal are not: 2*n = 6, 1"
    assert Guard(N, 1, "a branch was chosen by sizes").failure({}) == "a branch was chosen by sizes: n, 1"
    assert Guard(N // M, 1).failure({"n": 1, "m": 0}).endswith("n//m, which has no value, 1")


def test_a_failure_has_the_guards_and_the_sizes() -> None:
    failed = GuardFailed([Guard(N, M), Guard(N, 1)], {"n": 1, "m": 2})
    assert failed.sizes == {"n": 1, "m": 2}
    assert [guard.right for guard in failed.guards] == [M, 1]
    assert "n = 1, m = 2; sizes" in str(failed)


def test_an_array_tells_its_named_sizes() -> None:
    tensor = Parameter(DType.FLOAT32, (N, 3, M), "x")
    assert admitted(tensor, np.zeros((2, 3, 4), np.float32)) == {"threads": 1, "n": 2, "m": 4}


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (np.zeros((2, 3), np.float64), r"input 'x' is float64\[2, 3\], float32\[n, 3\] was assumed"),
        (np.zeros((2, 3, 1), np.float32), r"input 'x' is float32\[2, 3, 1\], float32\[n, 3\] was assumed"),
        (np.zeros((2, 4), np.float32), "axis 1 of input 'x' is 4, 3 was assumed"),
        (np.zeros((4, 3), np.float32), "axis 0 of input 'x' is 4, n = 2 was assumed"),
    ],
    ids=["type", "rank", "size", "name"],
)
def test_an_array_of_another_type_or_shape_fails_with_both(given: Any, text: str) -> None:
    with pytest.raises(GuardFailed, match=text):
        admitted(Parameter(DType.FLOAT32, (N, 3), "x"), given, {"n": 2})


def test_a_size_that_follows_from_others_is_checked() -> None:
    tensor = Parameter(DType.INT8, (N, 2 * N), "x")
    admitted(tensor, np.zeros((3, 6), np.int8), {"n": 3})
    with pytest.raises(GuardFailed, match=r"axis 1 of input 'x' is 5, 2\*n = 6 was assumed") as caught:
        admitted(tensor, np.zeros((3, 5), np.int8), {"n": 3})
    assert caught.value.guards == (Guard(2 * N, 5),)


def test_the_result_of_a_call_is_named_by_its_node() -> None:
    call = Call(Node("NonZero", (), ["i"], name="where"), (), "")
    with pytest.raises(GuardFailed, match=r"result 0 of NonZero 'where' is int64\[3\], int64\[1, n\] was assumed"):
        admitted(CallResult(DType.INT64, (1, N), call, 0), np.zeros(3, np.int64))


def test_an_array_that_is_not_contiguous_is_copied() -> None:
    entry = Entry(Parameter(DType.FLOAT32, (N,), "x"), 0, 0)
    values: list[Any] = [None]
    entry.admit(np.arange(6, dtype=np.float32)[::2], values, {}, [0])
    assert values[0].flags.c_contiguous
    assert values[0].tolist() == [0, 2, 4]


def test_sizes_that_are_broadcast_alike_are_made_sure_of() -> None:
    graph = "g (float[a] x, float[b] z) => (float[c] y) { y = Add (x, z) }"
    same = np.ones(3, np.float32)
    assert run(graph, x=same, z=same)[0].tolist() == [2, 2, 2]
    with pytest.raises(GuardFailed, match="sizes that were assumed to be equal are not: b = 2, a = 3") as caught:
        run(graph, x=same, z=same[:2])
    assert caught.value.sizes["a"] == 3
    assert caught.value.sizes["b"] == 2


def test_an_index_out_of_range_is_the_error_of_a_kernel() -> None:
    graph = "g (float[4] x, int64[n] i) => (float[n] y) { y = Gather (x, i) }"
    with pytest.raises(KernelError, match="an index out of range"):
        run(graph, x=np.ones(4, np.float32), i=np.array([1, 7]))
