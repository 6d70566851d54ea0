"""Buffers on a GPU that hold converted numbers: stored, or read, in the type that these come from."""

from __future__ import annotations

import ingot
from codegen.test_nvptx import HEAD, scheduled
from ingot.dtypes import DType
from ingot.loops.ir import Contraction, Kernel, Load, SlidingWindows
from ingot.loops.rewrite import buffers_read
from ingot.loops.walk import walk


def kernels(inputs: str, body: str) -> list[Kernel]:
    return scheduled(ingot.parse_model(f"{HEAD} g ({inputs}) => (y) {{ {body} }}"))


def test_a_pool_widens_the_halves_that_a_product_stores() -> None:
    attributes = "kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1]"
    inputs = "float16[2, 16, 9, 9] x, float16[8, 16, 3, 3] w"
    *_, product, pool = kernels(inputs, f"c = Conv (x, w) r = Relu (c) y = MaxPool <{attributes}> (r)")
    assert isinstance(product.nests[0], Contraction)
    assert isinstance(pool.nests[0], SlidingWindows)
    (read,) = buffers_read(pool.nests)
    assert read.dtype is DType.FLOAT16
    assert read in product.writes


def test_halves_are_widened_where_windows_read_them() -> None:
    inputs = "float16[2, 8, 9, 9] x, float16[8, 1, 3, 3] w"
    *_, last = kernels(inputs, "y = Conv <group = 8, pads = [1, 1, 1, 1]> (x, w)")
    assert isinstance(last.nests[0], SlidingWindows)
    assert all(node.dtype is DType.FLOAT16 for node in walk(last.nests[0]) if isinstance(node, Load) and node.where)


def test_an_image_is_rounded_where_it_is_copied() -> None:
    inputs = "float[2, 3, 32, 32] x, float16[16, 3, 3, 3] w"
    copy, product, _ = kernels(inputs, "h = Cast <to = 10> (x) y = Conv <pads = [1, 1, 1, 1]> (h, w)")
    assert [buffer.dtype for buffer in buffers_read(copy.nests)] == [DType.FLOAT32]
    assert [buffer.dtype for buffer in copy.writes] == [DType.FLOAT16]
    assert isinstance(product.nests[0], Contraction)


def test_what_two_kernels_read_is_rounded_once() -> None:
    inputs = "float[8, 64] x, float16[64, 48] w"
    body = "h = Cast <to = 10> (x) t = Transpose (h) u = Add (t, t) s = MatMul (h, w) v = Transpose (s) "
    first, *_ = kernels(inputs, f"{body} y = Concat <axis = 0> (u, v)")
    assert [buffer.dtype for buffer in first.writes] == [DType.FLOAT16]


def test_what_every_reader_rounds_is_stored_rounded() -> None:
    inputs = "float16[2, 9, 9, 8] x, float16[8, 1, 3, 3] w, float16[8] v"
    body = """h = Transpose <perm = [0, 3, 1, 2]> (x) c = Conv <group = 8, pads = [1, 1, 1, 1]> (h, w)
        t = Transpose <perm = [0, 2, 3, 1]> (c) y = LayerNormalization (t, v)"""
    for kernel in kernels(inputs, body):
        if isinstance(kernel.nests[0], SlidingWindows):
            assert [buffer.dtype for buffer in kernel.writes] == [DType.FLOAT16]


def test_a_filling_that_halves_do_not_have_stays_float32() -> None:
    text = "c = Constant <value_floats = [1e9]> () h = Cast <to = 1> (x) p = Constant <value_ints = [0, 1, 0, 1]> () "
    inputs = "float16[4, 5] x, float16[5, 4] w"
    body = text + "s = MatMul (x, w) r = Cast <to = 1> (s) q = Squeeze (c) z = Pad (r, p, q) y = Sqrt (z)"
    for kernel in kernels(inputs, body):
        for node in walk(*kernel.nests[0]) if isinstance(kernel.nests[0], tuple) else ():
            if isinstance(node, Load) and node.where:
                assert node.dtype is DType.FLOAT32
