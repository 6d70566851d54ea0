"""A job walked by one thread, and whether it is worth several."""

from __future__ import annotations

from ingot.codegen.job import JobLayout, StepLayout
from ingot.codegen.llvm import ir
from ingot.codegen.llvm.thread_pool.routine import Routine
from ingot.codegen.llvm.thread_pool.steps import Steps
from ingot.codegen.llvm.types import I64, PTR


def emit_walk(module: ir.Module, name: str, steps: Steps, jump_from: ir.Function) -> ir.Function:
    """`walk(job)`: all steps, one after another."""
    b = Routine(module, name, [PTR], public=True)
    (job,) = b.args
    entry = b.block
    following, consider, begin, work, after, end = (
        b.append_basic_block(name) for name in ("following", "consider", "begin", "work", "after", "end")
    )
    count = b.read(job, JobLayout.STEP_COUNT)
    b.call(steps.begin, [job])
    b.branch(following)

    b.position_at_end(following)
    index = b.phi(I64)
    b.cbranch(b.icmp_signed("<", index, count), consider, end)
    b.position_at_end(consider)
    target = b.call(jump_from, [job, index])
    b.cbranch(b.icmp_signed(">=", target, I64(0)), following, begin)

    b.position_at_end(begin)
    step = b.call(steps.step_at, [job, index])
    pieces = b.call(steps.pieces, [step, I64(1)])
    b.branch(work)
    b.position_at_end(work)
    piece = b.phi(I64)
    b.call(steps.run_piece, [job, step, I64(0), piece, pieces])
    next_piece = b.add(piece, I64(1))
    piece.add_incoming(I64(0), begin)
    piece.add_incoming(next_piece, work)
    b.cbranch(b.icmp_signed("<", next_piece, pieces), work, after)

    b.position_at_end(after)
    next_index = b.add(index, I64(1))
    b.branch(following)
    for value, block in ((I64(0), entry), (next_index, after), (target, consider)):
        index.add_incoming(value, block)
    b.position_at_end(end)
    b.call(steps.end, [job, index])
    b.ret_void()
    return b.function


def emit_is_shared(module: ir.Module, name: str, steps: Steps) -> None:
    """`is_shared(job)`: 1 if a step has several pieces for the threads of the job, else 0."""
    b = Routine(module, name, [PTR], I64, public=True)
    (job,) = b.args
    entry = b.block
    following, consider, begin, small, yes, no = (
        b.append_basic_block(name) for name in ("following", "consider", "begin", "small", "yes", "no")
    )
    count = b.read(job, JobLayout.STEP_COUNT)
    threads = b.read(job, JobLayout.THREADS)
    b.branch(following)

    b.position_at_end(following)
    index = b.phi(I64)
    b.cbranch(b.icmp_signed("<", index, count), consider, no)
    b.position_at_end(consider)
    step = b.call(steps.step_at, [job, index])
    is_jump = b.icmp_signed("==", b.read_address(step, StepLayout.CODE), ir.Constant(PTR, None))
    b.cbranch(is_jump, small, begin)
    b.position_at_end(begin)
    pieces = b.call(steps.pieces, [step, threads])
    b.cbranch(b.icmp_signed(">", pieces, I64(1)), yes, small)
    b.position_at_end(small)
    index.add_incoming(I64(0), entry)
    index.add_incoming(b.add(index, I64(1)), small)
    b.branch(following)
    b.position_at_end(yes)
    b.ret(I64(1))
    b.position_at_end(no)
    b.ret(I64(0))
