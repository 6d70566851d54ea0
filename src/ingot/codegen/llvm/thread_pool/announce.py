"""Going on to the next step that is worth sharing, and announcing it."""

from __future__ import annotations

from typing import Final

from ingot.codegen.job import Announcement, JobLayout
from ingot.codegen.llvm import ir
from ingot.codegen.llvm.thread_pool.routine import Routine
from ingot.codegen.llvm.thread_pool.steps import Steps
from ingot.codegen.llvm.types import I32, I64, PTR

_WORTH_WAKING: Final = 4
"""Pieces that are worth the time it takes to wake a thread."""

JOB_OVER: Final = 0
"""The number of pieces that is announced when no step is left."""

LEADER: Final = 0
"""The thread that called, and returns when the job is over."""

EVERY_THREAD: Final = -1


def emit_announce(module: ir.Module, wake: ir.Function) -> ir.Function:
    """`announce(job, pieces)`: a step of so many pieces, or `JOB_OVER`."""
    b = Routine(module, "announce", [PTR, I64])
    job, pieces = b.args
    over, on = (b.append_basic_block(name) for name in ("over", "on"))
    word = b.word(job, JobLayout.ANNOUNCEMENT)
    threads = b.read(job, JobLayout.THREADS)
    number = b.add(b.load_atomic(word, "monotonic", 8, typ=I32), I32(1))
    numbered = b.or_(b.zext(number, I64), b.shl(pieces, I64(Announcement.PIECES_SHIFT)))
    announcement = b.or_(numbered, b.shl(threads, I64(Announcement.THREADS_SHIFT)))
    b.store_atomic(announcement, word, "seq_cst", 8)
    b.cbranch(b.icmp_signed("==", pieces, I64(JOB_OVER)), over, on)

    b.position_at_end(over)
    b.call(wake, [job, I64(1 << LEADER)])
    b.ret_void()

    b.position_at_end(on)
    since = b.add(b.read(job, JobLayout.PIECES_SINCE_WAKE), pieces)
    worth = b.icmp_signed(">=", since, I64(_WORTH_WAKING))
    b.write(job, JobLayout.PIECES_SINCE_WAKE, b.select(worth, I64(0), since))
    with b.if_then(worth):
        b.call(wake, [job, b.lshr(I64(EVERY_THREAD), b.sub(I64(64), threads))])
    b.ret_void()
    return b.function


def emit_advance(module: ir.Module, steps: Steps, jump_from: ir.Function, announce: ir.Function) -> ir.Function:
    """`advance(job, thread, index)`: run steps from one on alone, up to one that is shared, and announce that."""
    b = Routine(module, "advance", [PTR, I64, I64])
    job, thread, first = b.args
    entry = b.block
    following, going, consider, begin, small, share, over = (
        b.append_basic_block(name) for name in ("following", "going", "consider", "begin", "small", "share", "over")
    )
    count = b.read(job, JobLayout.STEP_COUNT)
    threads = b.read(job, JobLayout.THREADS)
    b.branch(following)

    b.position_at_end(following)
    index = b.phi(I64)
    b.cbranch(b.icmp_signed("<", index, count), going, over)
    b.position_at_end(going)
    b.cbranch(b.call(steps.stopped, [job]), over, consider)
    b.position_at_end(consider)
    target = b.call(jump_from, [job, index])
    b.cbranch(b.icmp_signed(">=", target, I64(0)), following, begin)
    b.position_at_end(begin)
    step = b.call(steps.step_at, [job, index])
    pieces = b.call(steps.pieces, [step, threads])
    b.cbranch(b.icmp_signed(">", pieces, I64(1)), share, small)

    b.position_at_end(small)
    b.call(steps.run_piece, [job, step, thread, I64(0), I64(1)])
    next_index = b.add(index, I64(1))
    b.branch(following)
    for value, block in ((first, entry), (next_index, small), (target, consider)):
        index.add_incoming(value, block)

    b.position_at_end(share)
    b.write(job, JobLayout.CURRENT_STEP, index)
    b.store_atomic(I64(0), b.word(job, JobLayout.PIECES_DONE), "monotonic", 8)
    b.call(announce, [job, pieces])
    b.ret_void()
    b.position_at_end(over)
    b.call(steps.end, [job, index])
    b.call(announce, [job, I64(JOB_OVER)])
    b.ret_void()
    return b.function


def pieces_announced(b: Routine, announcement: ir.Value) -> ir.Value:
    """The pieces of the step that was announced."""
    return b.and_(b.lshr(announcement, I64(Announcement.PIECES_SHIFT)), I64(Announcement.MAX_PIECES))


def threads_announced(b: Routine, announcement: ir.Value) -> ir.Value:
    """The threads that the step is shared by."""
    return b.lshr(announcement, I64(Announcement.THREADS_SHIFT))
