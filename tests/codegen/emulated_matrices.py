"""AMX on a processor without it: kernels whose instructions on registers of matrices are calls of functions in LLVM IR.

The registers and their configuration are in a stack slot of each call of a kernel, so that threads have their own.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from ingot.codegen.llvm import ir
from ingot.codegen.llvm.builder import Builder
from ingot.codegen.llvm.host import host
from ingot.codegen.llvm.types import F32, I8, I16, I32, I64, PTR
from ingot.schedule.target import Dot, Target

_TILE, _CONFIG, _ALL = 1024, 8 * 1024, 8 * 1024 + 64
_ROW = 64
_CALL = re.compile(r"call void @\"?llvm\.x86\.(t\w+|ldtilecfg)\"?\(")
_DECLARED = re.compile(r"^declare void @\"?llvm\.x86\.(?:t\w+|ldtilecfg)\"?\(.*$", re.MULTILINE)
_BODY = re.compile(r"^define internal void @\"body\"\(.*\{\n[\w.]+:\n", re.MULTILINE)


def here() -> Target:
    """This machine, as if it had AMX."""
    return replace(host(), dots=tuple(dict.fromkeys((*host().dots, Dot.AMX_INT8, Dot.AMX_BF16))))


def emulated(text: str) -> str:
    """A module without instructions on registers of matrices."""
    if not _CALL.search(text):
        return text
    text = _DECLARED.sub("", _CALL.sub(r'call void @"emulated.\1"(ptr %matrices, ', text)).replace(
        "%matrices, )", "%matrices)"
    )
    text, count = _BODY.subn(lambda found: f"{found[0]}  %matrices = alloca [{_ALL} x i8], align 64\n", text)
    assert count == 1
    return text + _functions()


def _functions() -> str:
    module = ir.Module("emulated")
    for name, emit in _EMULATED.items():
        numbers = 3 if name.startswith("tdp") else 0 if name in ("ldtilecfg", "tilerelease") else 1
        places: list[ir.Type] = _PLACES.get(name, [])
        kinds: list[ir.Type] = [PTR, *[I8] * numbers, *places]
        function = ir.Function(module, ir.FunctionType(ir.VoidType(), kinds), f"emulated.{name}")
        function.linkage = "internal"
        b = Builder(function.append_basic_block("entry"))
        state, *arguments = function.args
        emit(b, state, *arguments)
        b.ret_void()
    return str(module)


def _configured(b: Builder, state: ir.Value, register: ir.Value) -> tuple[ir.Value, ir.Value]:
    """The rows of a register, and the bytes of each."""
    number = b.zext(register, I64)
    rows = b.load(b.gep(state, [b.add(number, I64(_CONFIG + 48))], source_etype=I8), typ=I8)
    bytes_ = b.load(b.gep(state, [b.add(b.mul(number, I64(2)), I64(_CONFIG + 16))], source_etype=I8), typ=I16, align=1)
    return b.zext(rows, I64), b.zext(bytes_, I64)


def _at(b: Builder, state: ir.Value, register: ir.Value, row: ir.Value, byte: ir.Value) -> ir.Value:
    start = b.add(b.mul(b.zext(register, I64), I64(_TILE)), b.mul(row, I64(_ROW)))
    return b.gep(state, [b.add(start, byte)], source_etype=I8)


def _configure(b: Builder, state: ir.Value, config: ir.Value) -> None:
    with b.counted(I64(0), I64(_ROW), I64(1)) as byte:
        value = b.load(b.gep(config, [byte], source_etype=I8), typ=I8)
        b.store(value, b.gep(state, [b.add(byte, I64(_CONFIG))], source_etype=I8))
    _clear(b, state, I64(0), I64(_CONFIG))


def _clear(b: Builder, state: ir.Value, low: ir.Value, high: ir.Value) -> None:
    with b.counted(low, high, I64(1)) as byte:
        b.store(I8(0), b.gep(state, [byte], source_etype=I8))


def _release(b: Builder, state: ir.Value) -> None:
    _clear(b, state, I64(0), I64(_ALL))


def _zero(b: Builder, state: ir.Value, register: ir.Value) -> None:
    start = b.mul(b.zext(register, I64), I64(_TILE))
    _clear(b, state, start, b.add(start, I64(_TILE)))


def _copy(loads: bool, b: Builder, state: ir.Value, register: ir.Value, place: ir.Value, apart: ir.Value) -> None:
    rows, bytes_ = _configured(b, state, register)
    with b.counted(I64(0), rows, I64(1)) as row, b.counted(I64(0), bytes_, I64(1)) as byte:
        own = _at(b, state, register, row, byte)
        other = b.gep(place, [b.add(b.mul(row, apart), byte)], source_etype=I8)
        source, target = (other, own) if loads else (own, other)
        b.store(b.load(source, typ=I8), target)


def _multiply(name: str, b: Builder, state: ir.Value, sums: ir.Value, left: ir.Value, right: ir.Value) -> None:
    rows, bytes_ = _configured(b, state, sums)
    _, depth = _configured(b, state, left)
    with (
        b.counted(I64(0), rows, I64(1)) as row,
        b.counted(I64(0), bytes_, I64(4)) as column,
        b.counted(I64(0), depth, I64(4)) as unit,
    ):
        total = _at(b, state, sums, row, column)
        ones, others = _at(b, state, left, row, unit), _at(b, state, right, b.lshr(unit, I64(2)), column)
        _ADDED[name](b, total, ones, others)


def _bytes(unsigned: bool, b: Builder, total: ir.Value, left: ir.Value, right: ir.Value) -> None:
    value: ir.Value = b.load(total, typ=I32)
    for term in range(4):
        one, other = (b.load(b.gep(place, [I64(term)], source_etype=I8), typ=I8) for place in (left, right))
        value = b.add(value, b.mul((b.zext if unsigned else b.sext)(one, I32), b.sext(other, I32)))
    b.store(value, total)


def _pairs(b: Builder, total: ir.Value, left: ir.Value, right: ir.Value) -> None:
    value: ir.Value = b.load(total, typ=F32)
    for term in range(2):
        one, other = (
            b.bitcast(b.shl(b.zext(b.load(b.gep(place, [I64(2 * term)], source_etype=I8), typ=I16), I32), I32(16)), F32)
            for place in (left, right)
        )
        value = b.fadd(value, b.fmul(one, other))
    b.store(value, total)


_PLACES: dict[str, list[ir.Type]] = {"ldtilecfg": [PTR], "tileloadd64": [PTR, I64], "tilestored64": [PTR, I64]}
_ADDED: dict[str, Callable[..., None]] = {
    "tdpbusd": partial(_bytes, True),
    "tdpbssd": partial(_bytes, False),
    "tdpbf16ps": _pairs,
}
_EMULATED: dict[str, Callable[..., None]] = {
    "ldtilecfg": _configure,
    "tilerelease": _release,
    "tilezero": _zero,
    "tileloadd64": partial(_copy, True),
    "tilestored64": partial(_copy, False),
    **{name: partial(_multiply, name) for name in _ADDED},
}
