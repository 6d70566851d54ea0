"""The first place where a condition holds, as ArgMax and Hardmax seek it, and extremes of rows with NaN anywhere."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ingot
from ingot.codegen.llvm.kernel import emit
from ingot.dtypes import Array
from ingot.loops.ir import kernels_in
from ingot.loops.parametrise import parametrise
from ingot.schedule.schedule import schedule
from ingot.schedule.target import named

_LENGTHS = (1, 5, 16, 17, 63, 64, 65, 100, 128, 140, 333)


def _session(body: str, dtype: str, shape: tuple[int, ...]) -> ingot.Session:
    sizes = ", ".join(map(str, shape))
    model = ingot.parse_model(f'<ir_version: 10, opset_import: ["" : 21]> g ({dtype}[{sizes}] x) => (y) {{ {body} }}')
    return ingot.Session(model, threads=1, fallback=False, providers=("cpu",))


def _run(session: ingot.Session, x: Array) -> Array:
    result: Array = session.run(None, {"x": x})[0]
    return result


@pytest.mark.parametrize("dtype", ["float", "double", "int64", "int32", "int8", "uint8"])
@pytest.mark.parametrize("length", _LENGTHS)
def test_the_first_of_equal_extremes_is_found_at_every_place(dtype: str, length: int) -> None:
    numbers: Any = {"float": np.float32, "double": np.float64}.get(dtype, dtype)
    x = np.full((length, length), 3, numbers)
    x[np.arange(length), np.arange(length)] = 7
    x[:, -1] = 7
    assert _run(_session("y = ArgMax <axis = 1, keepdims = 0> (x)", dtype, x.shape), x).tolist() == [*range(length)]
    low = (10 - x).astype(numbers)
    assert _run(_session("y = ArgMin <axis = 1, keepdims = 0> (x)", dtype, x.shape), low).tolist() == [*range(length)]
    backwards = _run(_session("y = ArgMax <axis = 1, keepdims = 0, select_last_index = 1> (x)", dtype, x.shape), x)
    assert backwards.tolist() == [length - 1] * length


@pytest.mark.parametrize("dtype", ["float", "double"])
@pytest.mark.parametrize("length", _LENGTHS)
def test_a_nan_at_any_place_of_a_row_is_its_extreme(dtype: str, length: int) -> None:
    x = np.random.default_rng(length).standard_normal((length + 1, length)).astype("f4" if dtype == "float" else "f8")
    x[np.arange(length), np.arange(length)] = np.nan
    x[length] = -np.inf
    for name, function in (("ReduceMax", np.max), ("ReduceMin", np.min)):
        reduced = _run(
            _session(f"a = Constant <value_ints = [1]> () y = {name} <keepdims = 0> (x, a)", dtype, x.shape), x
        )
        np.testing.assert_array_equal(reduced, function(x, axis=1))
    places = _run(_session("y = ArgMax <axis = 1, keepdims = 0> (x)", dtype, x.shape), x)
    assert places.tolist() == [*range(length), 0]
    ones = _run(_session("y = Hardmax <axis = 1> (x)", dtype, x.shape), x)
    np.testing.assert_array_equal(ones, np.eye(length, dtype=x.dtype)[places])


def test_a_search_ends_where_masks_tell_that_the_place_is_found() -> None:
    session = _session("y = ArgMax <axis = 1> (x)", "float", (64, 333))
    assert session.compiled is not None
    for name, searches in (("x86-64-v4", True), ("x86-64-v3", False)):
        kernels = kernels_in(schedule(session.compiled.fused, named(name)).steps)
        text = "".join(emit(parametrise(kernel).kernel, named(name)).text for kernel in kernels)
        assert ("@llvm.cttz.i64" in text.replace('"', "")) is searches
