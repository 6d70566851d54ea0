"""Object files made plain code."""

from __future__ import annotations

import ctypes
import struct

import llvmlite.binding as llvm
import pytest

from ingot.codegen.elf import alignment, linkable, linked
from ingot.codegen.executable_memory import placed
from ingot.codegen.llvm.compile import code_of, load
from ingot.codegen.llvm.host import host
from ingot.errors import CompileError
from ingot.schedule.target import named

TRIPLE = f'target triple = "{host().triple}"\n'
TABLE = """
@table = private unnamed_addr constant [4 x double] [double 2.5, double 3.5, double 4.5, double 5.5]
define internal double @half(double %x) noinline { %y = fmul double %x, 0.5  ret double %y }
define double @kernel(i64 %i) {
  %p = getelementptr [4 x double], ptr @table, i64 0, i64 %i
  %x = load double, ptr %p
  %y = call double @half(double %x)
  ret double %y
}
define i64 @other() { ret i64 7 }
"""

needs_linking = pytest.mark.skipif(not linkable(host().triple), reason="objects of this system are loaded by LLVM")


@needs_linking
def test_code_finds_its_constants_and_functions_wherever_it_lies() -> None:
    code = code_of(TRIPLE + TABLE, host())
    for loaded in (placed(code), placed(code)):
        kernel = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_int64)(loaded.address)
        assert [kernel(i) for i in range(4)] == [1.25, 1.75, 2.25, 2.75]
        assert ctypes.CFUNCTYPE(ctypes.c_int64)(loaded.entries["other"])() == 7


def test_code_can_be_loaded_on_any_system() -> None:
    code = load(code_of(TRIPLE + TABLE, host()), host())
    assert ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_int64)(code.address)(3) == 2.75


@needs_linking
def test_what_needs_something_from_elsewhere_is_refused() -> None:
    text = TRIPLE + "declare i32 @elsewhere()\ndefine i32 @kernel() { %x = call i32 @elsewhere() ret i32 %x }"
    with pytest.raises(CompileError, match=r"needs relocation \d+ of 'elsewhere'"):
        code_of(text, host())


def test_another_format_is_refused() -> None:
    with pytest.raises(CompileError, match="another format"):
        linked(b"\xcf\xfa\xed\xfe" + bytes(100))


def test_llvm_loads_what_is_not_made_plain(monkeypatch: pytest.MonkeyPatch) -> None:
    from ingot.codegen.llvm import compile as compiling

    monkeypatch.setattr(compiling, "linkable", lambda _: False)
    code = load(code_of(TRIPLE + TABLE, host()), host())
    assert isinstance(code.owner, llvm.ExecutionEngine)
    assert ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_int64)(code.address)(0) == 1.25


def test_code_for_aarch64_finds_its_constants_by_pages() -> None:
    target = named("aarch64")
    code = code_of(f'target triple = "{target.triple}"\n{TABLE}', target)
    table = code.code.index(struct.pack("<4d", 2.5, 3.5, 4.5, 5.5))
    words = struct.unpack_from(f"<{table // 4}I", code.code)
    (page,) = (
        at // 4096 + ((word >> 29 & 3) | (word >> 5 & 0x7FFFF) << 2)
        for at, word in zip(range(0, table, 4), words, strict=True)
        if word & 0x9F000000 == 0x90000000  # adrp
    )
    offsets = [word >> 10 & 0xFFF for word in words if word & 0xFFC00000 == 0x91000000]  # add
    assert page * 4096 + offsets[-1] == table
    assert alignment(target.triple) == 4096
