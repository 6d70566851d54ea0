"""Lanes a few elements apart: picked out of contiguous vectors that never reach beyond the elements asked for."""

from __future__ import annotations

import ctypes
import mmap
import re
from typing import Any

import numpy as np
import pytest

from ingot.codegen.llvm.compile import assembly_of
from ingot.codegen.llvm.host import host
from ingot.codegen.llvm.kernel import emit
from ingot.dtypes import Array, DType
from ingot.loops.ir import Buffer, For, Index, Inside, Kernel, Kind, Let, Literal, Load, Local, Store, Update, Var
from ingot.loops.parametrise import parametrise
from ingot.loops.verify import verify_kernel
from ingot.providers.cpu.code import emit_kernel, link_kernel
from ingot.schedule.target import named

_PAGE = mmap.PAGESIZE
_LIBC = ctypes.CDLL(None, use_errno=True)


class Fenced:
    """Elements that end, or begin, where memory cannot be read."""

    def __init__(self, elements: Array, *, at_end: bool) -> None:
        self._map = mmap.mmap(-1, 3 * _PAGE)
        start = ctypes.addressof(ctypes.c_char.from_buffer(self._map))
        for page in (0, 2):
            assert _LIBC.mprotect(ctypes.c_void_p(start + page * _PAGE), ctypes.c_size_t(_PAGE), 0) == 0
        offset = 2 * _PAGE - elements.nbytes if at_end else _PAGE
        self.address = start + offset
        self._map[offset : offset + elements.nbytes] = elements.tobytes()


def strided(x: Array, stride: int, count: int, padding: int, *, at_end: bool) -> Array:
    """Every `stride`-th element of `x`, `count` of them from `padding` elements before the first on, else 7."""
    dtype = DType.of(x.dtype)
    source, out, lane = Buffer("x", dtype, x.size), Buffer("out", dtype, count), Var("i", count)
    place = Index(((lane, stride),), -padding)
    where = (Inside(place, x.size),) if padding else ()
    body = Store(out, Index(((lane, 1),)), Load(dtype, source, place, where, 7 if padding else 0))
    kernel = Kernel("picked", ((For(lane, (body,), Kind.VECTOR),),), (source,), (out,))
    verify_kernel(parametrise(kernel).kernel)
    code = link_kernel(emit_kernel(kernel, host()))
    result = np.zeros(count, x.dtype)
    fenced = Fenced(x, at_end=at_end)
    tables: list[Any] = [
        np.array([fenced.address, result.ctypes.data]),
        np.arange(2, dtype=np.int32),
        np.array([int(str(size)) for size in code.scalars], np.int64),
        np.zeros(16, np.int32),
    ]
    native = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_void_p] * 4, *[ctypes.c_int64] * 3)(code.code.address)
    native(*(table.ctypes.data for table in tables), 0, 0, 1)
    return result


@pytest.mark.parametrize("stride", [2, 3, 4, 5])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int8])
@pytest.mark.parametrize("at_end", [False, True])
def test_every_second_to_fifth_element_is_loaded_and_none_beyond(stride: int, dtype: Any, at_end: bool) -> None:
    for count in (1, 7, 16, 33):
        x = np.arange((count - 1) * stride + 1).astype(dtype)
        assert strided(x, stride, count, 0, at_end=at_end).tolist() == x[::stride].tolist()


@pytest.mark.parametrize("stride", [2, 3, 4])
@pytest.mark.parametrize("at_end", [False, True])
def test_lanes_in_the_padding_are_not_read(stride: int, at_end: bool) -> None:
    x = np.arange(1, 90, dtype=np.float32)
    count, padding = (x.size + 14) // stride, 8
    padded = np.pad(x, (padding, 100), constant_values=7)
    expected = padded[: count * stride : stride]
    assert strided(x, stride, count, padding, at_end=at_end).tolist() == expected.tolist()


def test_strides_up_to_four_need_no_gather() -> None:
    for stride in (2, 4, 5):
        x, lane = Buffer("x", DType.FLOAT32, 100), Var("i", 20)
        out = Buffer("out", DType.FLOAT32, 20)
        body = Store(out, Index(((lane, 1),)), Load(DType.FLOAT32, x, Index(((lane, stride),))))
        kernel = Kernel("picked", ((For(lane, (body,), Kind.VECTOR),),), (x,), (out,))
        text = emit(parametrise(kernel).kernel, host()).text
        assert ("masked.gather" in text) == (stride > 4)


def test_neighbours_in_a_padded_window_are_picked_out_of_the_same_vectors() -> None:
    source, out = Buffer("x", DType.FLOAT32, 640), Buffer("out", DType.FLOAT32, 320)
    lane, tap = Var("i", 320), Var("j", 4)
    place = Index(((lane, 2), (tap, 1)), -2)
    window = For(tap, (Update("total", "add", Load(DType.FLOAT32, source, place, (Inside(place, 640),), 0)),))
    store = Store(out, Index(((lane, 1),)), Local(DType.FLOAT32, "total"))
    body = (Let("total", Literal(DType.FLOAT32, 0.0)), window, store)
    kernel = Kernel("window", ((For(lane, body, Kind.VECTOR),),), (source,), (out,))
    text = assembly_of(emit(parametrise(kernel).kernel, named("x86-64-v4")).text, named("x86-64-v4"))
    loads = re.findall(r"vmovups\t.*\(.*\), %zmm\d+ {%k\d} {z}", text)
    assert len(loads) == 2 * 4  # two for each pair of neighbours, in whole vectors and in the rest
