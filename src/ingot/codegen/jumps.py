"""Jumps: the steps of a plan without machine code, which select the next step."""

from __future__ import annotations

from typing import Final

BEGIN, NEXT_RUN, CHOOSE, GO, FAIL = range(5)
"""What a jump does: begin a loop, begin its next run, choose between two steps, go on elsewhere, fail the run."""


class JumpOperands:
    """The operands of a jump, in the place of runtime scalars, by the index of the 64-bit word."""

    KIND: Final = 0
    """One of `BEGIN`, `NEXT_RUN`, `CHOOSE`, `GO` and `FAIL`."""
    TARGET: Final = 1
    """The step that comes next."""
    OTHERWISE: Final = 2
    """The step that comes next where a loop ends, or a condition does not hold."""
    TRIPS: Final = 3
    """The runs of a loop, where no slot holds them."""
    PAIRS: Final = 4
    """Pairs of slots that are swapped before the next run of a loop."""
    MAX_RUNS: Final = 5
    """The most runs of all loops together: beyond these the run fails."""


class JumpSlots:
    """The slots of a jump, by the index of the 32-bit number; -1 stands for none."""

    COUNTER: Final = 0
    """The number of the run."""
    CONDITION: Final = 0
    """Of a choice: which of the two."""
    TRIPS: Final = 1
    """The runs of a loop, at most."""
    GOING: Final = 2
    """Whether a loop goes on."""
    PAIRS: Final = 3
    """From here on, pairs of slots that are swapped."""
