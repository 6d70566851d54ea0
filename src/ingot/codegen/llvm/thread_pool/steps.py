"""Functions that every walk over the steps of a job needs: a step by its index, its pieces, one of them run."""

from __future__ import annotations

from ingot.codegen.job import Announcement, JobLayout, StateLayout, StepLayout
from ingot.codegen.llvm import ir
from ingot.codegen.llvm.thread_pool.routine import Routine
from ingot.codegen.llvm.types import I1, I32, I64, PTR
from ingot.dataclass import dataclass

_KERNEL = ir.FunctionType(I64, [PTR, PTR, PTR, PTR, I64, I64, I64])
"""A kernel takes the slots, its slot numbers, its sizes, the state, the thread, the piece, and the number of pieces."""

_ASK_FOR_PIECES = -1
"""The piece that has a kernel return how many pieces are best for the number of threads given in place of pieces."""

_NOWHERE = ir.Constant(PTR, None)


@dataclass(frozen=True, slots=True)
class Steps:
    """The functions, by what they are called with."""

    step_at: ir.Function
    """`(job, index)`: where a step is."""
    pieces: ir.Function
    """`(step, threads)`: how many pieces it has for so many threads, from 1 to as many as can be announced."""
    stopped: ir.Function
    """`(job)`: whether the run has to stop."""
    run_piece: ir.Function
    """`(job, step, thread, piece, pieces)`: one piece of a step, unless the run has to stop."""
    begin: ir.Function
    """`(job)`: before the first step; no run of a loop has been counted yet."""
    end: ir.Function
    """`(job, index)`: after the last step, with the index of the one that would follow."""


def emit_steps(module: ir.Module) -> Steps:
    """The functions, in a module."""
    stopped = _stopped(module)
    return Steps(_step_at(module), _pieces(module), stopped, _run_piece(module, stopped), _begin(module), _end(module))


def _step_at(module: ir.Module) -> ir.Function:
    b = Routine(module, "step_at", [PTR, I64], PTR)
    job, index = b.args
    steps = b.read_address(job, JobLayout.STEPS)
    b.ret(b.word(steps, b.mul(index, I64(StepLayout.WORDS))))
    return b.function


def _pieces(module: ir.Module) -> ir.Function:
    b = Routine(module, "pieces", [PTR, I64], I64)
    step, threads = b.args
    kernel = _kernel(b, step)
    sizes = b.read_address(step, StepLayout.SIZES)
    wanted = b.call(kernel, [_NOWHERE, _NOWHERE, sizes, _NOWHERE, I64(0), I64(_ASK_FOR_PIECES), threads])
    most = I64(Announcement.MAX_PIECES)
    b.ret(b.select(b.icmp_signed("<", wanted, most), wanted, most))
    return b.function


def _stopped(module: ir.Module) -> ir.Function:
    b = Routine(module, "stopped", [PTR], I1)
    (job,) = b.args
    state = b.read_address(job, JobLayout.STATE)
    b.ret(b.icmp_signed("!=", b.is_set(state, StateLayout.STOP), I32(0)))
    return b.function


def _run_piece(module: ir.Module, stopped: ir.Function) -> ir.Function:
    b = Routine(module, "run_piece", [PTR, PTR, I64, I64, I64])
    job, step, thread, piece, pieces = b.args
    work, done = (b.append_basic_block(name) for name in ("work", "done"))
    b.cbranch(b.call(stopped, [job]), done, work)
    b.position_at_end(work)
    slots = b.read_address(job, JobLayout.SLOTS)
    state = b.read_address(job, JobLayout.STATE)
    kernel = _kernel(b, step)
    numbers = b.read_address(step, StepLayout.SLOT_NUMBERS)
    sizes = b.read_address(step, StepLayout.SIZES)
    b.call(kernel, [slots, numbers, sizes, state, thread, piece, pieces])
    b.branch(done)
    b.position_at_end(done)
    b.ret_void()
    return b.function


def _kernel(b: Routine, step: ir.Value) -> ir.Callee:
    return ir.Callee(_KERNEL, b.read_address(step, StepLayout.CODE).text)


def _begin(module: ir.Module) -> ir.Function:
    b = Routine(module, "begin", [PTR])
    (job,) = b.args
    b.write(b.read_address(job, JobLayout.STATE), StateLayout.LOOP_RUNS, I64(0))
    b.ret_void()
    return b.function


def _end(module: ir.Module) -> ir.Function:
    b = Routine(module, "end", [PTR, I64])
    job, index = b.args
    b.write(job, JobLayout.NEXT_STEP, index)
    b.ret_void()
    return b.function
