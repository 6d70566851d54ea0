"""What threads write to often is on cache lines of its own, and no two things share a word."""

from __future__ import annotations

from ingot.codegen.job import MAX_THREADS, Announcement, JobLayout
from ingot.codegen.jumps import NEXT_RUN, JumpOperands
from ingot.runtime.bind import scalars_of
from ingot.runtime.plan import Jump

LINE = 8
WRITTEN_OFTEN = ("ANNOUNCEMENT", "SLEEPERS", "PIECES_DONE", "CLAIMS")


def words() -> dict[str, int]:
    return {name: word for name, word in vars(JobLayout).items() if name.isupper() and not name.endswith("WORDS")}


def test_no_two_things_share_a_word_of_a_job() -> None:
    named = words()
    named.pop("CLAIM_STRIDE")
    assert len(set(named.values())) == len(named)


def test_what_one_thread_needs_comes_first() -> None:
    first = [name for name, word in words().items() if word < JobLayout.ONE_THREAD_WORDS and name != "CLAIM_STRIDE"]
    assert len(first) == JobLayout.ONE_THREAD_WORDS
    assert JobLayout.ANNOUNCEMENT == JobLayout.ONE_THREAD_WORDS


def test_what_is_written_often_has_lines_of_its_own() -> None:
    lines = [words()[name] // LINE for name in WRITTEN_OFTEN]
    assert len(set(lines)) == len(lines)
    assert JobLayout.CLAIM_STRIDE == LINE
    assert JobLayout.WORDS == JobLayout.CLAIMS + MAX_THREADS * JobLayout.CLAIM_STRIDE


def test_an_announcement_fills_a_word() -> None:
    assert Announcement.NUMBER_BITS + Announcement.PIECES_BITS + Announcement.THREADS_BITS == 64
    assert MAX_THREADS < 1 << Announcement.THREADS_BITS


def test_a_jump_has_the_operands_that_the_thread_pool_reads() -> None:
    operands = scalars_of(Jump("loop", NEXT_RUN, (), target=7, otherwise=8, trips=9, pairs=10), 11)
    expected = {
        JumpOperands.KIND: NEXT_RUN,
        JumpOperands.TARGET: 7,
        JumpOperands.OTHERWISE: 8,
        JumpOperands.TRIPS: 9,
        JumpOperands.PAIRS: 10,
        JumpOperands.MAX_RUNS: 11,
    }
    assert dict(enumerate(operands)) == expected
