"""A run as a function of Python's: see `codegen.native_run`."""

from __future__ import annotations

from ingot.codegen.job import StateLayout
from ingot.codegen.llvm import ir
from ingot.codegen.llvm.thread_pool.native_inputs import emit_take
from ingot.codegen.llvm.thread_pool.native_routine import NOWHERE, RunRoutine
from ingot.codegen.llvm.thread_pool.routine import VOID
from ingot.codegen.llvm.types import I32, I64, PTR
from ingot.codegen.native_run import (
    FunctionTable,
    LinkLayout,
    ObjectLayout,
    OutputLayout,
    ResultLayout,
    RunLayout,
)


def emit_native_run(module: ir.Module, name: str, walk: ir.Function) -> None:
    """`run(block, feeds)`: a list of the outputs; None for other feeds, False where the run ended without results.

    `block` is an array that holds the words of `RunLayout`. Where there is no memory, it returns no object, and the
    exception is set.
    """
    take, allocate = emit_take(module), _emit_allocate(module)
    chain, release, collect = _emit_chain(module, walk), _emit_release(module), _emit_collect(module)
    b = RunRoutine(module, name, [PTR, PTR], PTR, public=True)
    array, feeds = b.args
    block = b.field(array, ObjectLayout.DATA, PTR)
    refuse, fail, walked, ended, prepare, begin, walk_links = (
        b.append_basic_block(name) for name in ("refuse", "fail", "walked", "ended", "prepare", "begin", "links")
    )
    matching = b.call(take, [block, feeds])
    inputs = b.read(block, RunLayout.INPUT_COUNT)
    b.cbranch(b.icmp_signed("==", matching, inputs), prepare, refuse)

    b.position_at_end(refuse)
    b.call(release, [block, matching])
    b.ret(b.reference(block, FunctionTable.NONE))

    b.position_at_end(prepare)
    allocated = b.call(allocate, [block])
    held = b.add(inputs, allocated)
    b.cbranch(b.icmp_signed("==", allocated, b.read(block, RunLayout.RESULT_COUNT)), begin, fail)
    b.position_at_end(fail)
    b.call(release, [block, held])
    b.ret(NOWHERE)

    b.position_at_end(begin)
    b.cbranch(b.icmp_signed("==", b.read(block, RunLayout.LINK_COUNT), I64(0)), walked, walk_links)
    b.position_at_end(walk_links)
    thread = b.invoke(block, FunctionTable.SAVE_THREAD, PTR, [])
    is_whole = b.call(chain, [block])
    b.invoke(block, FunctionTable.RESTORE_THREAD, VOID, [thread])
    b.cbranch(b.icmp_signed("!=", is_whole, I64(0)), walked, ended)
    b.position_at_end(ended)
    b.call(release, [block, held])
    b.ret(b.reference(block, FunctionTable.FALSE))
    b.position_at_end(walked)
    outputs = b.call(collect, [block])
    b.call(release, [block, held])
    b.ret(outputs)


def _emit_allocate(module: ir.Module) -> ir.Function:
    """`allocate(block)`: new arrays for the results; how many there were before there was no memory, or all."""
    b = RunRoutine(module, "allocate_results", [PTR], I64)
    (block,) = b.args
    count = b.read(block, RunLayout.RESULT_COUNT)
    rows = b.read_address(block, RunLayout.RESULTS)
    objects = b.word(b.read_address(block, RunLayout.OBJECTS), b.read(block, RunLayout.INPUT_COUNT))
    full, entry = b.append_basic_block("full"), b.block
    b.position_at_end(full)
    allocated = b.phi(I64)
    b.ret(allocated)
    b.position_at_end(entry)
    with b.counted(I64(0), count, I64(1)) as index:
        row = b.row(rows, index, ResultLayout.WORDS)
        dtype = b.read_address(row, ResultLayout.DTYPE)
        b.invoke(block, FunctionTable.INCREF, VOID, [dtype])  # which the new array takes over
        rank = b.trunc(b.read(row, ResultLayout.RANK), I32)
        shape = b.read_address(row, ResultLayout.SHAPE)
        array = b.invoke(block, FunctionTable.ARRAY_EMPTY, PTR, [rank, shape, dtype, I32(0)])
        allocated.add_incoming(index, b.block)
        b.require(b.icmp_signed("!=", array, NOWHERE), full)
        b.store(array, b.word(objects, index))
        b.store(b.field(array, ObjectLayout.DATA, PTR), b.read_address(row, ResultLayout.SLOT))
    b.ret(count)
    return b.function


def _emit_chain(module: ir.Module, walk: ir.Function) -> ir.Function:
    """`chain(block)`: walk the jobs; 1, or 0 where the state says that the run ended, or a number read is another."""
    b = RunRoutine(module, "walk_chain", [PTR], I64)
    (block,) = b.args
    state, rows = b.read_address(block, RunLayout.STATE), b.read_address(block, RunLayout.LINKS)
    ended, entry = b.append_basic_block("ended"), b.block
    b.position_at_end(ended)
    b.ret(I64(0))
    b.position_at_end(entry)
    with b.counted(I64(0), b.read(block, RunLayout.LINK_COUNT), I64(1)) as index:
        row = b.row(rows, index, LinkLayout.WORDS)
        job = b.read_address(row, LinkLayout.JOB)
        with b.if_then(b.icmp_signed("!=", job, NOWHERE)):
            b.call(walk, [job])
        over = b.or_(b.is_set(state, StateLayout.ERROR), b.is_set(state, StateLayout.STOP))
        b.require(b.icmp_signed("==", over, I32(0)), ended)
        slot, numbers = b.read_address(row, LinkLayout.SLOT), b.read_address(row, LinkLayout.NUMBERS)
        with b.counted(I64(0), b.read(row, LinkLayout.COUNT), I64(1)) as place:
            number = b.read(b.load(slot, PTR), place)
            b.require(b.icmp_signed("==", number, b.read(numbers, place)), ended)
    b.ret(I64(1))
    return b.function


def _emit_collect(module: ir.Module) -> ir.Function:
    """`collect(block)`: a list of the outputs; no object if there is no memory."""
    b = RunRoutine(module, "collect_outputs", [PTR], PTR)
    (block,) = b.args
    full, empty, entry = b.append_basic_block("full"), b.append_basic_block("empty"), b.block
    count = b.read(block, RunLayout.OUTPUT_COUNT)
    rows, objects = b.read_address(block, RunLayout.OUTPUTS), b.read_address(block, RunLayout.OBJECTS)
    outputs = b.invoke(block, FunctionTable.LIST_NEW, PTR, [count])
    b.require(b.icmp_signed("!=", outputs, NOWHERE), empty)
    entry = b.block
    b.position_at_end(empty)
    b.ret(NOWHERE)
    b.position_at_end(full)
    b.invoke(block, FunctionTable.DECREF, VOID, [outputs])
    b.ret(NOWHERE)
    b.position_at_end(entry)
    with b.counted(I64(0), count, I64(1)) as index:
        row = b.row(rows, index, OutputLayout.WORDS)
        array = b.read_address(objects, b.read(row, OutputLayout.OBJECT))
        copy, share, place = (b.append_basic_block(name) for name in ("copy", "share", "place"))
        b.cbranch(b.icmp_signed("!=", b.read(row, OutputLayout.IS_COPY), I64(0)), copy, share)
        b.position_at_end(share)
        b.invoke(block, FunctionTable.INCREF, VOID, [array])
        b.branch(place)
        b.position_at_end(copy)
        copied = b.invoke(block, FunctionTable.ARRAY_NEW_COPY, PTR, [array, I32(0)])
        b.require(b.icmp_signed("!=", copied, NOWHERE), full)
        after = b.block
        b.branch(place)
        b.position_at_end(place)
        output = b.phi(PTR)
        output.add_incoming(array, share)
        output.add_incoming(copied, after)
        b.invoke(block, FunctionTable.LIST_SET_ITEM, I32, [outputs, index, output])
    b.ret(outputs)
    return b.function


def _emit_release(module: ir.Module) -> ir.Function:
    """`release(block, count)`: let go of the first arrays that are noted."""
    b = RunRoutine(module, "release_objects", [PTR, I64])
    block, count = b.args
    objects = b.read_address(block, RunLayout.OBJECTS)
    with b.counted(I64(0), count, I64(1)) as index:
        b.invoke(block, FunctionTable.DECREF, VOID, [b.read_address(objects, index)])
    b.ret_void()
    return b.function
