"""The threads of a pool: the one that leads a job, the workers that serve it, and their end."""

from __future__ import annotations

from ingot.codegen.job import JobLayout
from ingot.codegen.llvm import ir
from ingot.codegen.llvm.thread_pool.announce import (
    EVERY_THREAD,
    JOB_OVER,
    LEADER,
    pieces_announced,
    threads_announced,
)
from ingot.codegen.llvm.thread_pool.routine import Routine
from ingot.codegen.llvm.thread_pool.steps import Steps
from ingot.codegen.llvm.thread_pool.system import System
from ingot.codegen.llvm.thread_pool.wait import IMPATIENT, PATIENT
from ingot.codegen.llvm.types import I32, I64, PTR


def emit_lead(
    module: ir.Module, name: str, steps: Steps, advance: ir.Function, take_pieces: ir.Function, wait: ir.Function
) -> None:
    """`lead(job)`: announce the steps of a job, take part in them, and return when all are done."""
    b = Routine(module, name, [PTR], public=True)
    (job,) = b.args
    following, work, end = (b.append_basic_block(name) for name in ("following", "work", "end"))
    word = b.word(job, JobLayout.ANNOUNCEMENT)
    b.write(job, JobLayout.PIECES_SINCE_WAKE, I64(0))
    b.call(steps.begin, [job])
    b.call(advance, [job, I64(LEADER), I64(0)])
    b.branch(following)

    b.position_at_end(following)
    announcement = b.load_atomic(word, "acquire", 8, typ=I64)
    number = b.trunc(announcement, I32)
    b.cbranch(b.icmp_signed("==", pieces_announced(b, announcement), I64(JOB_OVER)), end, work)
    b.position_at_end(work)
    b.call(take_pieces, [job, I64(LEADER), announcement])
    b.call(wait, [job, number, I64(LEADER), I32(PATIENT)])
    b.branch(following)
    b.position_at_end(end)
    b.ret_void()


def emit_serve(module: ir.Module, name: str, take_pieces: ir.Function, wait: ir.Function, system: System) -> None:
    """`serve(job, thread)`: take part in what is announced, until the workers are dismissed.

    Where native code cannot sleep, it returns as well when nothing was announced for a while.
    """
    b = Routine(module, name, [PTR, I64], public=True)
    job, thread = b.args
    following, consider, work, stay, end = (
        b.append_basic_block(name) for name in ("following", "consider", "work", "stay", "end")
    )
    word, dismissed = b.word(job, JobLayout.ANNOUNCEMENT), b.word(job, JobLayout.DISMISSED)
    b.branch(following)

    b.position_at_end(following)
    announcement = b.load_atomic(word, "acquire", 8, typ=I64)
    number = b.trunc(announcement, I32)
    is_dismissed = b.icmp_signed("!=", b.load_atomic(dismissed, "acquire", 8, typ=I64), I64(0))
    b.cbranch(is_dismissed, end, consider)
    b.position_at_end(consider)
    pieces = pieces_announced(b, announcement)
    is_member = b.icmp_unsigned("<", thread, threads_announced(b, announcement))
    has_pieces = b.icmp_signed("!=", pieces, I64(JOB_OVER))
    looks = b.select(is_member, I32(PATIENT), I32(IMPATIENT))
    b.cbranch(b.and_(is_member, has_pieces), work, stay)
    b.position_at_end(work)
    b.call(take_pieces, [job, thread, announcement])
    b.branch(stay)

    b.position_at_end(stay)
    b.call(wait, [job, number, thread, looks])
    if system.can_sleep:
        b.branch(following)
    else:
        now = b.load_atomic(word, "acquire", 8, typ=I32)
        b.cbranch(b.icmp_signed("==", now, number), end, following)
    b.position_at_end(end)
    b.ret_void()


def emit_dismiss(module: ir.Module, name: str, announce: ir.Function, wake: ir.Function) -> None:
    """`dismiss(job)`: have the workers end."""
    b = Routine(module, name, [PTR], public=True)
    (job,) = b.args
    b.store_atomic(I64(1), b.word(job, JobLayout.DISMISSED), "seq_cst", 8)
    b.call(announce, [job, I64(JOB_OVER)])
    b.call(wake, [job, I64(EVERY_THREAD)])
    b.ret_void()
