"""A run as a function of Python's: see `codegen.native_run`."""

from __future__ import annotations

from collections.abc import Sequence

from ingot.codegen.job import StateLayout
from ingot.codegen.llvm import ir
from ingot.codegen.llvm.thread_pool.routine import VOID, Routine
from ingot.codegen.llvm.types import I8, I32, I64, PTR
from ingot.codegen.native_run import (
    FunctionTable,
    InputLayout,
    LinkLayout,
    ObjectLayout,
    OutputLayout,
    ResultLayout,
    RunLayout,
)

_NOWHERE = ir.Constant(PTR, None)


def emit_native_run(module: ir.Module, name: str, walk: ir.Function) -> None:
    """`run(block, feeds)`: a list of the outputs; None for other feeds, False where the run ended without results.

    `block` is an array that holds the words of `RunLayout`. Where there is no memory, it returns no object, and the
    exception is set.
    """
    take, allocate = _emit_take(module), _emit_allocate(module)
    chain, release, collect = _emit_chain(module, walk), _emit_release(module), _emit_collect(module)
    b = _Run(module, name, [PTR, PTR], PTR, public=True)
    array, feeds = b.args
    block = b.field(array, ObjectLayout.DATA, PTR)
    refuse, fail, walked, ended, prepare, begin = (
        b.append_basic_block(name) for name in ("refuse", "fail", "walked", "ended", "prepare", "begin")
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
    b.ret(_NOWHERE)

    b.position_at_end(begin)
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


class _Run(Routine):
    """The parts of a native run."""

    def field(self, place: ir.Value, offset: int, kind: ir.Type) -> ir.Value:
        """What an object has at an offset in bytes."""
        return self.load(self.gep(place, [I64(offset)], source_etype=I8), kind)

    def row(self, table: ir.Value, index: ir.Value, words: int) -> ir.Value:
        """A row of a table of so many words each."""
        return self.word(table, self.mul(index, I64(words)))

    def invoke(self, block: ir.Value, function: int, returns: ir.Type, arguments: Sequence[ir.Value]) -> ir.Value:
        """Call a function of the table."""
        table = self.read_address(block, RunLayout.FUNCTIONS)
        kind = ir.FunctionType(returns, [argument.type for argument in arguments])
        return self.call(ir.Callee(kind, self.read_address(table, function).text), arguments)

    def object(self, block: ir.Value, which: int) -> ir.Value:
        """An object of the table."""
        return self.read_address(self.read_address(block, RunLayout.FUNCTIONS), which)

    def reference(self, block: ir.Value, which: int) -> ir.Value:
        """A reference to an object of the table, for the caller."""
        referenced = self.object(block, which)
        self.invoke(block, FunctionTable.INCREF, VOID, [referenced])
        return referenced

    def require(self, condition: ir.Value, otherwise: ir.Block) -> None:
        """Go on only if a condition holds."""
        following = self.append_basic_block("holds")
        self.cbranch(condition, following, otherwise)
        self.position_at_end(following)


def _emit_take(module: ir.Module) -> ir.Function:
    """`take(block, feeds)`: note the inputs and their addresses; how many of them are as they have to be.

    One that is not ends it. References to those that are noted are held.
    """
    b = _Run(module, "take_inputs", [PTR, PTR], I64)
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
        array = b.invoke(block, FunctionTable.DICT_GET_ITEM, PTR, [feeds, b.read_address(row, InputLayout.NAME)])
        require(b.icmp_signed("!=", array, _NOWHERE))
        kind = b.field(array, ObjectLayout.TYPE, PTR)
        require(b.icmp_signed("==", kind, b.object(block, FunctionTable.ARRAY_TYPE)))
        dtype = b.field(array, ObjectLayout.DTYPE, PTR)
        require(b.icmp_signed("==", dtype, b.read_address(row, InputLayout.DTYPE)))
        rank = b.sext(b.field(array, ObjectLayout.RANK, I32), I64)
        require(b.icmp_signed("==", rank, b.read(row, InputLayout.RANK)))
        contiguous = b.and_(b.field(array, ObjectLayout.FLAGS, I32), I32(ObjectLayout.IS_CONTIGUOUS))
        require(b.icmp_signed("!=", contiguous, I32(0)))
        shape, wanted = b.field(array, ObjectLayout.SHAPE, PTR), b.read_address(row, InputLayout.SHAPE)
        with b.counted(I64(0), rank, I64(1)) as axis:
            require(b.icmp_signed("==", b.read(shape, axis), b.read(wanted, axis)))
        b.invoke(block, FunctionTable.INCREF, VOID, [array])
        b.store(array, b.word(objects, index))
        b.store(b.field(array, ObjectLayout.DATA, PTR), b.read_address(row, InputLayout.SLOT))
    b.ret(count)
    return b.function


def _emit_allocate(module: ir.Module) -> ir.Function:
    """`allocate(block)`: new arrays for the results; how many there were before there was no memory, or all."""
    b = _Run(module, "allocate_results", [PTR], I64)
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
        b.require(b.icmp_signed("!=", array, _NOWHERE), full)
        b.store(array, b.word(objects, index))
        b.store(b.field(array, ObjectLayout.DATA, PTR), b.read_address(row, ResultLayout.SLOT))
    b.ret(count)
    return b.function


def _emit_chain(module: ir.Module, walk: ir.Function) -> ir.Function:
    """`chain(block)`: walk the jobs; 1, or 0 where the state says that the run ended, or a number read is another."""
    b = _Run(module, "walk_chain", [PTR], I64)
    (block,) = b.args
    state, rows = b.read_address(block, RunLayout.STATE), b.read_address(block, RunLayout.LINKS)
    ended, entry = b.append_basic_block("ended"), b.block
    b.position_at_end(ended)
    b.ret(I64(0))
    b.position_at_end(entry)
    with b.counted(I64(0), b.read(block, RunLayout.LINK_COUNT), I64(1)) as index:
        row = b.row(rows, index, LinkLayout.WORDS)
        job = b.read_address(row, LinkLayout.JOB)
        with b.if_then(b.icmp_signed("!=", job, _NOWHERE)):
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
    b = _Run(module, "collect_outputs", [PTR], PTR)
    (block,) = b.args
    full, empty, entry = b.append_basic_block("full"), b.append_basic_block("empty"), b.block
    count = b.read(block, RunLayout.OUTPUT_COUNT)
    rows, objects = b.read_address(block, RunLayout.OUTPUTS), b.read_address(block, RunLayout.OBJECTS)
    outputs = b.invoke(block, FunctionTable.LIST_NEW, PTR, [count])
    b.require(b.icmp_signed("!=", outputs, _NOWHERE), empty)
    entry = b.block
    b.position_at_end(empty)
    b.ret(_NOWHERE)
    b.position_at_end(full)
    b.invoke(block, FunctionTable.DECREF, VOID, [outputs])
    b.ret(_NOWHERE)
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
        b.require(b.icmp_signed("!=", copied, _NOWHERE), full)
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
    b = _Run(module, "release_objects", [PTR, I64])
    block, count = b.args
    objects = b.read_address(block, RunLayout.OBJECTS)
    with b.counted(I64(0), count, I64(1)) as index:
        b.invoke(block, FunctionTable.DECREF, VOID, [b.read_address(objects, index)])
    b.ret_void()
    return b.function
