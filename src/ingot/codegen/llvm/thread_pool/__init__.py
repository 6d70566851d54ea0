"""The native thread pool: threads that take pieces of one step after another, whichever has time.

A step is over when its pieces are done, not when all threads have arrived: a thread that the system has suspended holds
the others up only while it works on a piece. The thread that ends a step runs the following steps alone while they are
too small to share, up to the next one that is not, which it announces to the others.

The memory that the threads share is laid out in `codegen.job`.
"""

from __future__ import annotations

from ingot.codegen.job import JobEntry
from ingot.codegen.llvm import ir
from ingot.codegen.llvm.thread_pool.announce import emit_advance, emit_announce
from ingot.codegen.llvm.thread_pool.jump import emit_jump_from
from ingot.codegen.llvm.thread_pool.native_run import emit_native_run
from ingot.codegen.llvm.thread_pool.serve import emit_dismiss, emit_lead, emit_serve
from ingot.codegen.llvm.thread_pool.steps import emit_steps
from ingot.codegen.llvm.thread_pool.system import System
from ingot.codegen.llvm.thread_pool.take import emit_take_pieces
from ingot.codegen.llvm.thread_pool.wait import emit_wait, emit_wake
from ingot.codegen.llvm.thread_pool.walk import emit_is_shared, emit_walk
from ingot.schedule.target import Target


def walk_text(target: Target) -> str:
    """A module with the function `JobEntry.WALK` alone, which needs nothing of the system."""
    module = ir.Module()
    module.triple = target.triple
    steps = emit_steps(module)
    emit_walk(module, JobEntry.WALK, steps, emit_jump_from(module, steps.step_at))
    return str(module)


def thread_pool_text(target: Target) -> str:
    """A module with the functions of `JobEntry`."""
    module = ir.Module()
    module.triple = target.triple
    system = System(target.triple)
    steps = emit_steps(module)
    jump_from = emit_jump_from(module, steps.step_at)
    walk = emit_walk(module, JobEntry.WALK, steps, jump_from)
    emit_native_run(module, JobEntry.RUN, walk)
    emit_is_shared(module, JobEntry.IS_SHARED, steps)
    wait, wake = emit_wait(module, system), emit_wake(module, system)
    announce = emit_announce(module, wake)
    advance = emit_advance(module, steps, jump_from, announce)
    take_pieces = emit_take_pieces(module, steps, advance)
    emit_lead(module, JobEntry.LEAD, steps, advance, take_pieces, wait)
    emit_serve(module, JobEntry.SERVE, take_pieces, wait, system)
    emit_dismiss(module, JobEntry.DISMISS, announce, wake)
    return str(module)
