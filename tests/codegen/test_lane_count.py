"""Elements of one or two bytes fill a vector where all that is computed is as narrow and contiguous."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

from codegen.test_strided_loads import Fenced
from ingot.codegen.llvm.host import host
from ingot.codegen.llvm.lane_count import lane_count
from ingot.dtypes import Array, DType
from ingot.loops.ir import Apply, Buffer, For, Index, Inside, Kernel, Kind, Load, Local, Scalar, Store, Update, Var
from ingot.providers.cpu.code import emit_kernel, link_kernel
from ingot.schedule.target import named

V3, V4, NEON = named("x86-64-v3"), named("x86-64-v4"), named("aarch64")


def _added(dtype: DType, length: int, before: int = 0) -> tuple[For, Buffer, Buffer]:
    """A row added to itself, with so many zeros around it."""
    source, out = Buffer("x", dtype, length), Buffer("out", dtype, length + 2 * before)
    lane = Var("i", length + 2 * before)
    moved = Index(((lane, 1),), -before)
    load = Load(dtype, source, moved, (Inside(moved, length),) if before else ())
    body = Store(out, Index(((lane, 1),)), Apply(dtype, "add", (load, load)))
    return For(lane, (body,), Kind.VECTOR), source, out


def _lanes(lane: Var, value: Scalar) -> int:
    """The lanes of a loop that stores bytes."""
    store = Store(Buffer("out", DType.INT8, 4096), Index(((lane, 1),)), value)
    return lane_count(For(lane, (store,), Kind.VECTOR), (), V4)


@pytest.mark.parametrize(
    ("dtype", "length", "v4", "v3", "neon"),
    [
        (DType.INT8, 4096, 64, 32, 16),
        (DType.UINT16, 4096, 32, 16, 8),
        (DType.FLOAT32, 4096, 16, 8, 4),
        (DType.FLOAT16, 4096, 16, 8, 4),  # which is computed as float32
        (DType.INT8, 20, 32, 8, 4),
        (DType.INT8, 96, 64, 32, 16),
    ],
)
def test_narrow_elements_fill_a_vector(dtype: DType, length: int, v4: int, v3: int, neon: int) -> None:
    loop, _, _ = _added(dtype, length)
    assert [lane_count(loop, (), target) for target in (V4, V3, NEON)] == [v4, v3, neon]


def test_wider_values_and_places_are_one_vector() -> None:
    lane = Var("i", 4096)
    wide, narrow = Buffer("x", DType.FLOAT32, 4096), Buffer("x", DType.INT8, 16384)
    along, apart = Index(((lane, 1),)), Index(((lane, 4),))
    place = Apply(DType.INT64, "cast", (Load(DType.INT8, narrow, along),))
    assert _lanes(lane, Load(DType.INT8, narrow, along)) == 64
    assert _lanes(lane, Load(DType.INT8, narrow, apart)) == 16
    assert _lanes(lane, Load(DType.INT8, narrow, Index(((place, 1),)))) == 16
    assert _lanes(lane, Apply(DType.INT8, "cast", (Load(DType.FLOAT32, wide, along),))) == 16


def test_a_place_that_is_one_for_all_lanes_is_no_vector() -> None:
    lane, row = Var("i", 4096), Var("r", 8)
    table, narrow = Buffer("t", DType.INT64, 8), Buffer("x", DType.INT8, 1 << 16)
    place = Load(DType.INT64, table, Index(((row, 1),)))
    assert _lanes(lane, Load(DType.INT8, narrow, Index(((lane, 1), (place, 4096))))) == 64


def test_a_maximum_of_bytes_fills_a_vector() -> None:
    lane, source = Var("i", 4096), Buffer("x", DType.UINT8, 4096)
    body = Update("r", "maximum", Load(DType.UINT8, source, Index(((lane, 1),))))
    assert lane_count(For(lane, (body,), Kind.VECTOR), [DType.UINT8], V4) == 64
    body = Update("r", "maximum", Apply(DType.INT32, "cast", (Local(DType.UINT8, "r"),)))
    assert lane_count(For(lane, (body,), Kind.VECTOR), [DType.INT32], V4) == 16


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.bool_])
@pytest.mark.parametrize("at_end", [False, True])
def test_rows_of_every_length_are_right_and_nothing_beyond_is_read(dtype: Any, at_end: bool) -> None:
    for before in (0, 3):
        for length in (1, 15, 16, 17, 31, 33, 61, 63, 64, 65, 127, 128, 130):
            x: Array = (np.arange(length) % 2 if dtype is np.bool_ else np.arange(length) % 100).astype(dtype)
            expected = np.pad(x | x if dtype is np.bool_ else x + x, before)
            assert _run(x, before, at_end).tolist() == expected.tolist()


def _run(x: Array, before: int, at_end: bool) -> Array:
    dtype = DType.of(x.dtype)
    loop, source, out = _added(dtype, x.size, before)
    if dtype is DType.BOOL:
        (store,) = loop.body
        assert isinstance(store, Store)
        assert isinstance(store.value, Apply)
        loop = For(loop.var, (Store(out, store.index, Apply(dtype, "or", store.value.arguments)),), Kind.VECTOR)
    code = link_kernel(emit_kernel(Kernel("added", ((loop,),), (source,), (out,)), host()))
    result, fenced = np.zeros(x.size + 2 * before, x.dtype), Fenced(x, at_end=at_end)
    tables: list[Any] = [
        np.array([fenced.address, result.ctypes.data]),
        np.arange(2, dtype=np.int32),
        np.array([int(str(size)) for size in code.scalars], np.int64),
        np.zeros(16, np.int32),
    ]
    native = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_void_p] * 4, *[ctypes.c_int64] * 3)(code.code.address)
    native(*(table.ctypes.data for table in tables), 0, 0, 1)
    return result
