"""The memory that Python and the native thread pool share: what each word of a job, of a step and of a state holds."""

from __future__ import annotations

from typing import Final

MAX_THREADS: Final = 64
"""The threads of a pool: a bit for each in one word."""

_LINE: Final = 8
"""Words of a cache line: what threads write to often has lines of its own."""


class JobLayout:
    """The 8-byte words of a job, by their index. A job that one thread walks ends before `ANNOUNCEMENT`."""

    STEPS: Final = 0
    """The address of the steps, `StepLayout.WORDS` words each."""
    STEP_COUNT: Final = 1
    SLOTS: Final = 2
    """The address of the table of addresses that kernels read and write at."""
    STATE: Final = 3
    """The address of the state."""
    THREADS: Final = 4
    CURRENT_STEP: Final = 5
    """The index of the step that is announced."""
    PIECES_SINCE_WAKE: Final = 6
    """Pieces announced since sleeping threads were woken."""
    NEXT_STEP: Final = 7
    """The index of the step that would have followed the last one."""
    ONE_THREAD_WORDS: Final = 8

    ANNOUNCEMENT: Final = 1 * _LINE
    """See `Announcement`."""
    SLEEPERS: Final = 2 * _LINE
    """A bit for each thread that sleeps."""
    DISMISSED: Final = 2 * _LINE + 1
    """Not zero once the workers are to end."""
    PIECES_DONE: Final = 3 * _LINE
    """Pieces of the announced step that are done."""
    CLAIMS: Final = 4 * _LINE
    """For each thread, `CLAIM_STRIDE` words apart, the claims on its pieces; see `Claim`."""
    CLAIM_STRIDE: Final = _LINE
    WORDS: Final = 4 * _LINE + MAX_THREADS * _LINE


class Announcement:
    """The bits of the word that announces a step, from the lowest one on."""

    NUMBER_BITS: Final = 32
    """How many announcements there were, modulo 2^32."""
    PIECES_BITS: Final = 24
    """The pieces of the step; zero means that the job is over."""
    THREADS_BITS: Final = 8
    PIECES_SHIFT: Final = NUMBER_BITS
    THREADS_SHIFT: Final = NUMBER_BITS + PIECES_BITS
    MAX_PIECES: Final = (1 << PIECES_BITS) - 1


class Claim:
    """The bits of a thread's claims: the next of its pieces below, the number of the announcement above."""

    PIECE_BITS: Final = 32


class StepLayout:
    """The 8-byte words of a step, by their index."""

    CODE: Final = 0
    """The address of a kernel; none for a jump (see `codegen.jumps`)."""
    SLOT_NUMBERS: Final = 1
    """The address of the slots it uses, 32-bit numbers."""
    SIZES: Final = 2
    """The address of its runtime scalars, 64-bit numbers; for a jump, of its operands."""
    WORDS: Final = 3


class StateLayout:
    """The state of a run: 32-bit words by their index, and from byte 8 on 64-bit ones."""

    ERROR: Final = 0
    """Not zero once a kernel met an error."""
    STOP: Final = 1
    """Not zero once the run has to stop."""
    LOOP_RUNS: Final = 1
    """A 64-bit word: how often bodies of loops were run in this job."""


class JobEntry:
    """The names of the native functions that Python calls, most of them with the address of a job."""

    WALK: Final = "walk"
    """All steps by one thread."""
    RUN: Final = "run"
    """A run of several jobs by one thread, from feeds to outputs: see `codegen.native_run`."""
    IS_SHARED: Final = "is_shared"
    """Whether a step is worth several threads."""
    LEAD: Final = "lead"
    """All steps, shared with the workers."""
    SERVE: Final = "serve"
    """The loop of a worker, whose number is the second argument."""
    DISMISS: Final = "dismiss"
    """The end of the workers."""
