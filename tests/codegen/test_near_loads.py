"""Lanes at computed places that all rows share: permuted out of one vector that never reaches beyond them."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

from codegen.test_strided_loads import Fenced
from ingot.codegen.llvm.host import host
from ingot.codegen.llvm.kernel import emit
from ingot.dtypes import Array, DType
from ingot.loops.ir import Apply, Buffer, For, Index, Kernel, Kind, Load, Scalar, Store, Var
from ingot.loops.near import near_places
from ingot.loops.parametrise import parametrise
from ingot.loops.verify import verify_kernel
from ingot.providers.cpu.code import emit_kernel, link_kernel

_DTYPES = [np.float32, np.int32, np.float64, np.int64, np.float16, np.uint8, np.bool_]
_CLOSE = {
    "enlarged": np.arange(83) // 2,
    "edges": np.clip(np.arange(83) - 20, 0, 42),
    "reflected": np.abs(np.arange(83) - 40),
    "backwards": np.arange(42, -1, -1),
    "apart": np.arange(83) * 19 % 43,
    "one": np.zeros(83, np.int64),
    "few": np.array([5, 6, 6]),
}


def _kernel(dtype: DType, places: Array, size: int) -> Kernel:
    kind = DType.of(places.dtype)
    source, table, out = Buffer("x", dtype, size), Buffer("at", kind, places.size), Buffer("out", dtype, places.size)
    lane = Var("i", places.size)
    place: Scalar = Load(kind, table, Index(((lane, 1),)))
    if kind is not DType.INT64:
        place = Apply(DType.INT64, "cast", (place,))
    body = Store(out, Index(((lane, 1),)), Load(dtype, source, Index(((place, 1),))))
    return Kernel("near", ((For(lane, (body,), Kind.VECTOR),),), (source, table), (out,))


def taken(x: Array, places: Array, *, at_end: bool) -> Array:
    """`x[places]`, of a kernel."""
    kernel = _kernel(DType.of(x.dtype), places, x.size)
    verify_kernel(parametrise(kernel).kernel)
    code = link_kernel(emit_kernel(kernel, host()))
    result = np.zeros(places.size, x.dtype)
    fenced = Fenced(x, at_end=at_end)
    tables: list[Any] = [
        np.array([fenced.address, places.ctypes.data, result.ctypes.data]),
        np.arange(3, dtype=np.int32),
        np.array([int(str(size)) for size in code.scalars], np.int64),
        np.zeros(16, np.int32),
    ]
    native = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_void_p] * 4, *[ctypes.c_int64] * 3)(code.code.address)
    native(*(table.ctypes.data for table in tables), 0, 0, 1)
    return result


@pytest.mark.parametrize("name", _CLOSE)
@pytest.mark.parametrize("kind", [np.int32, np.int64])
@pytest.mark.parametrize("at_end", [False, True])
def test_elements_at_places_are_loaded_and_none_beyond(name: str, kind: Any, at_end: bool) -> None:
    for dtype in _DTYPES:
        x = (np.arange(43) % 2 if dtype is np.bool_ else np.arange(43)).astype(dtype)
        places = _CLOSE[name].astype(kind)
        assert taken(x, places, at_end=at_end).tolist() == x[places].tolist()


def test_close_places_are_permuted_where_there_is_an_instruction_for_it() -> None:
    target = host()
    if target.machine != "x86_64" or target.vector < 32:
        pytest.skip("permutations are instructions of AVX2 and AVX-512")
    kernel = parametrise(_kernel(DType.FLOAT32, np.arange(83, dtype=np.int32) // 2, 43)).kernel
    text = emit(kernel, target).text
    assert "permvar" in text or "permps" in text


def test_places_that_differ_from_row_to_row_are_not_near() -> None:
    row, lane = Var("j", 3), Var("i", 83)
    table = Buffer("at", DType.INT64, 249)
    shared = Load(DType.INT64, table, Index(((lane, 1),)))
    own = Load(DType.INT64, table, Index(((row, 83), (lane, 1))))
    assert near_places(Index(((row, 43), (shared, 1))), lane) is shared
    assert near_places(Index(((own, 1),)), lane) is None
    assert near_places(Index(((shared, 2),)), lane) is None
    assert near_places(Index(((lane, 1), (shared, 1))), lane) is None
