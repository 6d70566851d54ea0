"""Taking pieces of the announced step.

Pieces are dealt out to the threads in order, as in hands of cards, so that a thread gets about the same part of every
step, and finds in its cache what it wrote before. A thread that has none left takes from the others.
"""

from __future__ import annotations

from typing import Final

from ingot.codegen.job import Claim, JobLayout
from ingot.codegen.llvm import ir
from ingot.codegen.llvm.thread_pool.announce import pieces_announced, threads_announced
from ingot.codegen.llvm.thread_pool.routine import Routine
from ingot.codegen.llvm.thread_pool.steps import Steps
from ingot.codegen.llvm.types import I32, I64, PTR

_NONE_LEFT: Final = -1


def emit_take_pieces(module: ir.Module, steps: Steps, advance: ir.Function) -> ir.Function:
    """`take_pieces(job, thread, announcement)`: run a thread's own pieces, then those of others, until none is left.

    The thread that does the last one goes on to the next steps.
    """
    claim = _emit_claim(module)
    b = Routine(module, "take_pieces", [PTR, I64, I64])
    job, thread, announcement = b.args
    entry = b.block
    look, work, other, report, count, go_on, end = (
        b.append_basic_block(name) for name in ("look", "work", "other", "report", "count", "go_on", "end")
    )
    pieces, threads = pieces_announced(b, announcement), threads_announced(b, announcement)
    b.branch(look)

    b.position_at_end(look)
    distance, claimed = b.phi(I64), b.phi(I64)
    place = b.add(thread, distance)
    past_the_last = b.icmp_unsigned(">=", place, threads)
    owner = b.select(past_the_last, b.sub(place, threads), place)
    piece = b.call(claim, [job, announcement, owner])
    b.cbranch(b.icmp_signed("<", piece, I64(0)), other, work)
    b.position_at_end(work)
    step = b.call(steps.step_at, [job, b.read(job, JobLayout.CURRENT_STEP)])
    b.call(steps.run_piece, [job, step, thread, piece, pieces])
    one_more = b.add(claimed, I64(1))
    b.branch(look)
    b.position_at_end(other)
    further = b.add(distance, I64(1))
    b.cbranch(b.icmp_unsigned("<", further, threads), look, report)
    for block, far, done in ((entry, I64(0), I64(0)), (work, distance, one_more), (other, further, claimed)):
        distance.add_incoming(far, block)
        claimed.add_incoming(done, block)

    b.position_at_end(report)
    b.cbranch(b.icmp_signed("==", claimed, I64(0)), end, count)
    b.position_at_end(count)
    done_before = b.word(job, JobLayout.PIECES_DONE)
    current = b.read(job, JobLayout.CURRENT_STEP)
    all_done = b.add(b.atomic_rmw("add", done_before, claimed, "acq_rel"), claimed)
    b.cbranch(b.icmp_signed("==", all_done, pieces), go_on, end)
    b.position_at_end(go_on)
    b.call(advance, [job, thread, b.add(current, I64(1))])
    b.branch(end)
    b.position_at_end(end)
    b.ret_void()
    return b.function


def _emit_claim(module: ir.Module) -> ir.Function:
    """`claim(job, announcement, owner)`: one of the pieces that were dealt to a thread, or `_NONE_LEFT`."""
    b = Routine(module, "claim", [PTR, I64, I64], I64)
    job, announcement, owner = b.args
    look, fresh, known, take, claimed, none = (
        b.append_basic_block(name) for name in ("look", "fresh", "known", "take", "taken", "none")
    )
    word = b.word(job, JobLayout.ANNOUNCEMENT)
    number = b.zext(b.trunc(announcement, I32), I64)
    pieces, threads = pieces_announced(b, announcement), threads_announced(b, announcement)
    following = b.add(owner, I64(1))
    low = b.udiv(b.mul(pieces, owner), threads)
    high = b.udiv(b.mul(pieces, following), threads)
    stride = JobLayout.CLAIM_STRIDE.bit_length() - 1
    claims = b.word(job, b.add(b.shl(owner, I64(stride)), I64(JobLayout.CLAIMS)))
    b.cbranch(b.icmp_unsigned(">=", low, high), none, look)

    b.position_at_end(look)
    before = b.load_atomic(claims, "acquire", 8, typ=I64)
    is_current = b.icmp_signed("==", b.lshr(before, I64(Claim.PIECE_BITS)), number)
    next_claimed = b.zext(b.trunc(before, I32), I64)
    b.cbranch(is_current, known, fresh)
    b.position_at_end(fresh)  # nobody has taken any yet, or the step is over: then the announcement is another
    now = b.load_atomic(word, "seq_cst", 8, typ=I64)
    b.cbranch(b.icmp_signed("==", now, announcement), known, none)

    b.position_at_end(known)
    piece = b.phi(I64)
    piece.add_incoming(next_claimed, look)
    piece.add_incoming(low, fresh)
    b.cbranch(b.icmp_unsigned("<", piece, high), take, none)
    b.position_at_end(take)
    after = b.or_(b.shl(number, I64(Claim.PIECE_BITS)), b.add(piece, I64(1)))
    b.cbranch(b.cmpxchg(claims, before, after, "seq_cst", "acquire"), claimed, look)
    b.position_at_end(claimed)
    b.ret(piece)
    b.position_at_end(none)
    b.ret(I64(_NONE_LEFT))
    return b.function
