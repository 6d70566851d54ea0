"""Statements in machine code, run by themselves."""

from __future__ import annotations

import ctypes

import numpy as np
import numpy.typing as npt

from ingot.codegen.llvm.host import host
from ingot.dtypes import DType
from ingot.loops.ir import Apply, Buffer, For, Index, Kernel, Let, Literal, Local, Statement, Store, Update, Var
from ingot.loops.verify import verify_kernel
from ingot.providers.cpu.code import emit_kernel, link_kernel

FLOAT = DType.FLOAT32
OUT = Buffer("out", FLOAT, 4)
TOTAL = Local(FLOAT, "s")
SHARED = Apply(FLOAT, "negate", (TOTAL,))


def run(*statements: Statement) -> npt.NDArray[np.float32]:
    """What statements store into `OUT`."""
    kernel = Kernel("sample", (statements,), (), (OUT,))
    verify_kernel(kernel)
    code = link_kernel(emit_kernel(kernel, host()))
    out = np.zeros(4, np.float32)
    tables = [
        np.array([out.ctypes.data]),
        np.zeros(1, np.int32),
        np.array([int(str(size)) for size in code.scalars], np.int64),
        np.zeros(16, np.int32),
    ]
    native = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_void_p] * 4, *[ctypes.c_int64] * 3)(code.code.address)
    native(*(table.ctypes.data for table in tables), 0, 0, 1)
    return out


def number(value: float) -> Literal:
    return Literal(FLOAT, value)


def test_an_expression_of_a_local_is_computed_anew_when_that_has_changed() -> None:
    first = Store(OUT, Index((), 0), SHARED)
    second = Store(OUT, Index((), 1), SHARED)
    assert run(Let("s", number(1)), first, Update("s", "add", number(2)), second).tolist() == [-1, -3, 0, 0]
    assert run(Let("s", number(1)), first, Let("s", number(5)), second).tolist() == [-1, -5, 0, 0]


def test_an_expression_of_a_local_is_computed_anew_in_a_loop_that_changes_it() -> None:
    i = Var("i", 3)
    body = (Store(OUT, Index(((i, 1),)), SHARED), Update("s", "add", number(1)))
    last = Store(OUT, Index((), 3), SHARED)
    assert run(Let("s", number(1)), last, For(i, body)).tolist() == [-1, -2, -3, -1]
    assert run(Let("s", number(1)), last, For(i, body), last).tolist() == [-1, -2, -3, -4]
