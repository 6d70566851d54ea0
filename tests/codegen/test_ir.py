"""What is written is what LLVM reads."""

from __future__ import annotations

import math

import llvmlite.binding as llvm
import pytest

from ingot.codegen.llvm import ir
from ingot.codegen.llvm.builder import Builder
from ingot.codegen.llvm.types import F16, F32, F64, I1, I8, I32, I64, PTR

TWO, FOUR = ir.VectorType(F32, 2), ir.VectorType(F32, 4)


@pytest.mark.parametrize(
    ("constant", "text"),
    [
        (I64(-3), "i64 -3"),
        (I1(1), "i1 true"),
        (ir.Constant(ir.VectorType(I1, 2), [1, 0]), "<2 x i1> <i1 true, i1 false>"),
        (ir.Constant(FOUR, None), "<4 x float> zeroinitializer"),
        (ir.Constant(FOUR, ir.Undefined), "<4 x float> undef"),
        (ir.Constant(FOUR, [0.1] * 4), "<4 x float> splat (float 0x3fb99999a0000000)"),
        (ir.Constant(FOUR, [F32(0.5)] * 4), "<4 x float> splat (float 0x3fe0000000000000)"),
        (ir.Constant(TWO, [1, -0.0]), "<2 x float> <float 0x3ff0000000000000, float 0x8000000000000000>"),
        (F64(0.1), "double 0x3fb999999999999a"),
        (F16(1.5), "half 0x3ff8000000000000"),
        (F32(math.inf), "float 0x7ff0000000000000"),
    ],
)  # fmt: skip
def test_constants_are_written_by_their_bits(constant: ir.Constant, text: str) -> None:
    assert str(constant) == text


def test_llvm_reads_what_is_written() -> None:
    module = ir.Module("m")
    function = ir.Function(module, ir.FunctionType(I64, [PTR, I64]), "f")
    function.args[0].add_attribute("noalias")
    zeros = ir.GlobalVariable(module, ir.ArrayType(I8, 8), "zeros")
    zeros.linkage, zeros.global_constant, zeros.align = "internal", True, 64
    zeros.initializer = ir.Constant(ir.ArrayType(I8, 8), None)
    place, count = function.args
    b = Builder(function.append_basic_block("entry"))
    before, head, end = b.block, b.append_basic_block("head"), b.append_basic_block("end")
    b.branch(head)
    b.position_at_end(head)
    index = b.phi(I64)
    vector = b.load(b.gep(place, [index], source_etype=F32), typ=FOUR, align=4)
    lanes = ir.Constant(ir.VectorType(I64, 4), [0, 1, 2, 3])
    spread = b.insert_element(ir.Constant(lanes.type, ir.Undefined), index, I32(0))
    places = b.gep(place, [b.add(spread, lanes)], source_etype=F32)
    assert str(places.type) == "<4 x ptr>"
    with b.goto_entry_block():
        cell = b.alloca(FOUR)
        cell.align = 16
    b.store(b.fneg(vector), cell)
    positive = b.fcmp_ordered(">", vector, ir.Constant(FOUR, None))
    first = b.extract_element(b.select(positive, vector, b.fmul(vector, vector)), I32(0))
    with b.if_else(b.fcmp_unordered("uno", first, first), likely=False) as (then, otherwise):
        with then:
            b.store(first, zeros)
        with otherwise:
            b.store(b.sitofp(b.trunc(b.not_(index), I32), F32), place)
    following = b.add(index, I64(4))
    index.add_incoming(I64(0), before)
    index.add_incoming(following, b.block)
    b.cbranch(b.icmp_signed("<", following, count), head, end)
    b.position_at_end(end)
    b.ret(b.zext(b.icmp_unsigned("<", count, I64(8)), I64))
    read = llvm.parse_assembly(str(module))
    read.verify()
    text = str(read)
    assert '!{!"branch_weights", i32 1, i32 99}' in text
    assert "align 16" in text
    assert "noalias" in text


def test_lines_added_to_a_block_that_has_ended_come_before_its_end() -> None:
    function = ir.Function(ir.Module(), ir.FunctionType(ir.VoidType(), [I64]), "f")
    b = Builder(function.append_basic_block("entry"))
    b.ret_void()
    b.sdiv(function.args[0], I64(3))
    assert str(function).splitlines()[2:4] == ["  %v1 = sdiv i64 %a0, 3", "  ret void"]
