"""What is known is not written."""

from __future__ import annotations

import llvmlite.binding as llvm

from ingot.codegen.llvm import ir
from ingot.codegen.llvm.builder import Builder
from ingot.codegen.llvm.types import F32, I64, PTR, stack_slot


def begun() -> tuple[Builder, ir.Function]:
    function = ir.Function(ir.Module(), ir.FunctionType(ir.VoidType(), [PTR, I64]), "f")
    return Builder(function.append_basic_block("entry")), function


def test_integers_are_computed() -> None:
    b, function = begun()
    _, x = function.args
    assert b.add(I64(2), b.mul(I64(3), I64(4))).text == "14"
    assert b.sub(I64(2), I64(5)).text == "-3"
    assert b.add(x, I64(0)) is b.mul(I64(1), x) is b.sub(x, I64(0)) is x
    assert b.mul(x, I64(0)).text == "0"
    assert not function.entry_basic_block.lines


def test_nothing_is_computed_twice_in_a_block() -> None:
    b, function = begun()
    pointer, x = function.args
    assert b.add(x, I64(8)) is b.add(x, I64(8))
    assert b.add(x, I64(8)) is not b.sub(x, I64(8))
    assert b.gep(pointer, [x], source_etype=I64) is b.gep(pointer, [x], source_etype=I64)
    assert b.gep(pointer, [x], source_etype=I64) is not b.gep(pointer, [x], source_etype=F32)
    before = b.add(x, I64(8))
    b.position_at_end(function.append_basic_block("other"))
    assert b.add(x, I64(8)) is not before


def test_the_first_element_is_where_its_pointer_points() -> None:
    b, function = begun()
    assert b.gep(function.args[0], [I64(0)], source_etype=F32) is function.args[0]


def test_a_local_is_loaded_and_stored_once_in_a_block() -> None:
    b, function = begun()
    place, x = stack_slot(b, I64), function.args[1]
    before = b.load_local(place, I64)
    assert b.load_local(place, I64) is before
    b.store_local(b.add(before, x), place)
    b.store_local(x, place)
    assert b.load_local(place, I64) is x
    other = b.append_basic_block("other")
    b.branch(other)
    b.position_at_end(other)
    assert b.load_local(place, I64) is not x
    lines = [str(line) for line in function.entry_basic_block.lines]
    assert sum(" load " in line for line in lines) == 1
    assert [line for line in lines if line.startswith("store")] == [f"store i64 {x.text}, ptr {place.text}"]


def test_what_a_block_that_has_ended_stores_is_stored_at_once() -> None:
    b, function = begun()
    place, (_, x) = stack_slot(b, I64), function.args
    other = b.append_basic_block("other")
    b.branch(other)
    b.position_at_end(other)
    with b.goto_entry_block():
        b.store_local(x, place)
        assert b.load_local(place, I64) is not x
    assert str(function.entry_basic_block.lines[1]).startswith("store")


def test_what_does_not_fit_is_left_to_llvm() -> None:
    b, _ = begun()
    assert not isinstance(b.mul(I64(1 << 40), I64(1 << 40)), ir.Constant)


def test_atomic_instructions_are_what_llvm_reads() -> None:
    b, function = begun()
    pointer, x = function.args
    b.store_atomic(x, pointer, "release", 8)
    before = b.atomic_rmw("add", pointer, x, "acq_rel")
    swapped = b.cmpxchg(pointer, before, x, "seq_cst", "acquire")
    b.fence("seq_cst")
    end, other = (b.append_basic_block(name) for name in ("end", "other"))
    b.switch(b.ptrtoint(pointer, I64), {3: end}, other)
    b.position_at_end(other)
    b.cbranch(swapped, end, other)
    b.position_at_end(end)
    b.ret_void()
    with llvm.create_context() as context, llvm.parse_assembly(str(function.module), context) as module:
        module.verify()


def test_an_address_and_assembly_are_called_like_functions() -> None:
    b, function = begun()
    pointer, x = function.args
    kind = ir.FunctionType(I64, [I64])
    result = b.call(ir.Callee(kind, pointer.text), [x])
    b.call(ir.inline_assembly(kind, "nop", "=r,r"), [result])
    b.ret_void()
    with llvm.create_context() as context, llvm.parse_assembly(str(function.module), context) as module:
        module.verify()
