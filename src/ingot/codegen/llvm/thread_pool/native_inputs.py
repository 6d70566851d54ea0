"""The inputs of a native run, looked up and compared with what they have to be: see `codegen.native_run`."""

from __future__ import annotations

from ingot.codegen.llvm import ir
from ingot.codegen.llvm.thread_pool.native_routine import NOWHERE, RunRoutine
from ingot.codegen.llvm.thread_pool.routine import VOID
from ingot.codegen.llvm.types import I32, I64, PTR
from ingot.codegen.native_run import ArrayLayout, FunctionTable, InputKind, InputLayout, ObjectLayout, RunLayout


def emit_take(module: ir.Module) -> ir.Function:
    """`take(block, feeds)`: note the inputs and their addresses; how many of them are as they have to be.

    One that is not ends it. References to those that are noted are held.
    """
    is_like, are_strings = _emit_is_like(module), _emit_are_strings(module)
    is_list = _emit_is_list(module, is_like)
    b = RunRoutine(module, "take_inputs", [PTR, PTR], I64)
    block, feeds = b.args
    unlike, entry = b.append_basic_block("unlike"), b.block
    b.position_at_end(unlike)
    matching = b.phi(I64)
    b.ret(matching)

    b.position_at_end(entry)
    count = b.read(block, RunLayout.INPUT_COUNT)
    rows, objects = b.read_address(block, RunLayout.INPUTS), b.read_address(block, RunLayout.OBJECTS)
    is_dict = b.icmp_signed("==", b.field(feeds, ObjectLayout.TYPE, PTR), b.object(block, FunctionTable.DICT_TYPE))
    nothing = I64(-1)
    matching.add_incoming(nothing, b.block)
    b.require(is_dict, unlike)
    size = b.invoke(block, FunctionTable.DICT_SIZE, I64, [feeds])
    matching.add_incoming(nothing, b.block)
    b.require(b.icmp_signed("==", size, count), unlike)
    with b.counted(I64(0), count, I64(1)) as index:

        def require(condition: ir.Value) -> None:
            matching.add_incoming(index, b.block)
            b.require(condition, unlike)

        row = b.row(rows, index, InputLayout.WORDS)
        feed = b.invoke(block, FunctionTable.DICT_GET_ITEM, PTR, [feeds, b.read_address(row, InputLayout.NAME)])
        require(b.icmp_signed("!=", feed, NOWHERE))
        none, sequence, array, strings, place, noted = (
            b.append_basic_block(name) for name in ("none", "list", "array", "strings", "place", "noted")
        )
        kind, first = b.read(row, InputLayout.KIND), b.read_address(row, InputLayout.ARRAYS)
        b.switch(kind, {InputKind.NONE: none, InputKind.LIST: sequence, InputKind.ANYTHING: noted}, array)
        b.position_at_end(none)
        require(b.icmp_signed("==", feed, b.object(block, FunctionTable.NONE)))
        b.branch(noted)
        b.position_at_end(sequence)
        require(b.icmp_signed("!=", b.call(is_list, [block, row, feed]), I64(0)))
        b.branch(noted)
        b.position_at_end(array)
        require(b.icmp_signed("!=", b.call(is_like, [block, first, feed]), I64(0)))
        contiguous = b.and_(b.field(feed, ObjectLayout.FLAGS, I32), I32(ObjectLayout.IS_CONTIGUOUS))
        require(b.icmp_signed("!=", contiguous, I32(0)))
        b.cbranch(b.icmp_signed("==", kind, I64(InputKind.STRINGS)), strings, place)
        b.position_at_end(strings)
        require(b.icmp_signed("!=", b.call(are_strings, [block, first, feed]), I64(0)))
        b.branch(place)
        b.position_at_end(place)
        b.store(b.field(feed, ObjectLayout.DATA, PTR), b.read_address(row, InputLayout.SLOT))
        b.branch(noted)
        b.position_at_end(noted)
        b.invoke(block, FunctionTable.INCREF, VOID, [feed])
        b.store(feed, b.word(objects, index))
    b.ret(count)
    return b.function


def _emit_is_like(module: ir.Module) -> ir.Function:
    """`is_like(block, array, feed)`: 1 if an object is an array of the type and sizes of `ArrayLayout`, else 0."""
    b = RunRoutine(module, "is_like", [PTR, PTR, PTR], I64)
    block, array, feed = b.args
    unlike = b.refusal()
    kind = b.field(feed, ObjectLayout.TYPE, PTR)
    b.require(b.icmp_signed("==", kind, b.object(block, FunctionTable.ARRAY_TYPE)), unlike)
    dtype = b.field(feed, ObjectLayout.DTYPE, PTR)
    b.require(b.icmp_signed("==", dtype, b.read_address(array, ArrayLayout.DTYPE)), unlike)
    rank = b.sext(b.field(feed, ObjectLayout.RANK, I32), I64)
    b.require(b.icmp_signed("==", rank, b.read(array, ArrayLayout.RANK)), unlike)
    shape, wanted = b.field(feed, ObjectLayout.SHAPE, PTR), b.read_address(array, ArrayLayout.SHAPE)
    with b.counted(I64(0), rank, I64(1)) as axis:
        b.require(b.icmp_signed("==", b.read(shape, axis), b.read(wanted, axis)), unlike)
    b.ret(I64(1))
    return b.function


def _emit_are_strings(module: ir.Module) -> ir.Function:
    """`are_strings(block, array, feed)`: 1 if all elements of a contiguous array of objects are strings, else 0."""
    b = RunRoutine(module, "are_strings", [PTR, PTR, PTR], I64)
    block, array, feed = b.args
    unlike = b.refusal()
    elements, string = b.field(feed, ObjectLayout.DATA, PTR), b.object(block, FunctionTable.STRING_TYPE)
    with b.counted(I64(0), b.read(array, ArrayLayout.ELEMENTS), I64(1)) as place:
        element = b.read_address(elements, place)
        b.require(b.icmp_signed("!=", element, NOWHERE), unlike)
        b.require(b.icmp_signed("==", b.field(element, ObjectLayout.TYPE, PTR), string), unlike)
    b.ret(I64(1))
    return b.function


def _emit_is_list(module: ir.Module, is_like: ir.Function) -> ir.Function:
    """`is_list(block, row, feed)`: 1 if an object is a list of such arrays as an input has to have, else 0."""
    b = RunRoutine(module, "is_list", [PTR, PTR, PTR], I64)
    block, row, feed = b.args
    unlike = b.refusal()
    kind = b.field(feed, ObjectLayout.TYPE, PTR)
    b.require(b.icmp_signed("==", kind, b.object(block, FunctionTable.LIST_TYPE)), unlike)
    count = b.field(feed, ObjectLayout.LENGTH, I64)
    b.require(b.icmp_signed("==", count, b.read(row, InputLayout.ARRAY_COUNT)), unlike)
    items, arrays = b.field(feed, ObjectLayout.ITEMS, PTR), b.read_address(row, InputLayout.ARRAYS)
    with b.counted(I64(0), count, I64(1)) as index:
        array = b.row(arrays, index, ArrayLayout.WORDS)
        same = b.call(is_like, [block, array, b.read_address(items, index)])
        b.require(b.icmp_signed("!=", same, I64(0)), unlike)
    b.ret(I64(1))
    return b.function
