"""Waiting for the next announcement: spin, yield, then sleep; and waking sleepers."""

from __future__ import annotations

from typing import Final

from ingot.codegen.job import JobLayout
from ingot.codegen.llvm import ir
from ingot.codegen.llvm.thread_pool.routine import Routine
from ingot.codegen.llvm.thread_pool.system import System
from ingot.codegen.llvm.types import I32, I64, PTR

_SPINS: Final = 5000
"""How often a thread polls before it yields the processor."""

_YIELDS: Final = 3000
"""How often it yields and polls again before it sleeps."""

PATIENT: Final = 0
IMPATIENT: Final = 2**31 - 48
"""How many looks a thread that waits is taken to have had: none; so many that it sleeps at once."""

_FUTEX_BITS: Final = 32


def emit_wait(module: ir.Module, system: System) -> ir.Function:
    """`wait(job, number, thread, looks)`: until the announcement has another number than it had.

    Where native code cannot sleep, it returns when a thread would.
    """
    b = Routine(module, "wait", [PTR, I32, I64, I32])
    job, number, thread, looks_before = b.args
    look, same, spin, longer, give_way, sleep, done = (
        b.append_basic_block(name) for name in ("look", "same", "spin", "longer", "give_way", "sleep", "done")
    )
    word, sleepers = b.word(job, JobLayout.ANNOUNCEMENT), b.word(job, JobLayout.SLEEPERS)
    looks_from = b.block
    b.branch(look)

    b.position_at_end(look)
    looks = b.phi(I32)
    looks.add_incoming(looks_before, looks_from)
    now = b.load_atomic(word, "acquire", 8, typ=I32)
    b.cbranch(b.icmp_signed("==", now, number), same, done)
    b.position_at_end(same)
    b.cbranch(b.icmp_signed("<", looks, I32(_SPINS)), spin, longer)
    b.position_at_end(spin)
    system.pause(b)
    looks.add_incoming(b.add(looks, I32(1)), spin)
    b.branch(look)
    b.position_at_end(longer)
    b.cbranch(b.icmp_signed(">", looks, I32(_SPINS + _YIELDS)), sleep, give_way)
    b.position_at_end(give_way)
    system.give_way(b)
    looks.add_incoming(b.add(looks, I32(1)), give_way)
    b.branch(look)

    b.position_at_end(sleep)
    if system.can_sleep:
        own = b.shl(I64(1), thread)
        others = b.not_(own)
        bit = b.shl(I32(1), b.and_(b.trunc(thread, I32), I32(_FUTEX_BITS - 1)))
        futex = (b.ptrtoint(word, I64), b.zext(number, I64), b.zext(bit, I64))
        b.atomic_rmw("or", sleepers, own, "seq_cst")
        system.sleep(b, *futex)
        b.atomic_rmw("and", sleepers, others, "seq_cst")
        looks.add_incoming(looks, sleep)
        b.branch(look)
    else:
        b.branch(done)
    b.position_at_end(done)
    b.ret_void()
    return b.function


def emit_wake(module: ir.Module, system: System) -> ir.Function:
    """`wake(job, threads)`: those of the threads, a bit for each, that sleep."""
    b = Routine(module, "wake", [PTR, I64])
    job, threads = b.args
    if system.can_sleep:
        b.fence("seq_cst")
        asleep = b.load_atomic(b.word(job, JobLayout.SLEEPERS), "seq_cst", 8, typ=I64)
        meant = b.and_(asleep, threads)
        with b.if_then(b.icmp_signed("!=", meant, I64(0))):
            both = b.or_(meant, b.lshr(meant, I64(_FUTEX_BITS)))
            bits = b.and_(both, I64((1 << _FUTEX_BITS) - 1))
            system.wake(b, b.ptrtoint(b.word(job, JobLayout.ANNOUNCEMENT), I64), bits)
    b.ret_void()
    return b.function
