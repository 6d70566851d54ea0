"""The limits of fusion for a target: fusion decides by them, and knows no machine."""

from __future__ import annotations

from ingot.fuse.limits import FusionLimits
from ingot.schedule.target import Target
from ingot.schedule.work import FEW_ROWS, LOOP_GRAIN, MOST_FOLDED, MOST_INLINED, TRANSPORT

_FLOAT = 4
"""Bytes of a float32, which most padded rows are of."""


def fusion_limits(target: Target) -> FusionLimits:
    """The limits that follow from the vectors, the caches and the threads of a target.

    A padded row is checked as a whole once it fills a vector. Packing loads and stores an element once, to save an
    operation for each row of scores. A folded tensor is read where it would be computed, so that it should stay in a
    cache: what is shared beyond the L2 cache is taken to have room for four times as much. A row is worth dividing if
    loading it is worth a thread.
    """
    return FusionLimits(
        padded_row=target.lanes(_FLOAT),
        columns=target.lanes(_FLOAT),
        attention_rows=TRANSPORT + 1,
        folded_bytes=min(4 * target.l2, MOST_FOLDED),
        inlined=MOST_INLINED,
        few_rows=FEW_ROWS if target.threads else 0,
        long_row=LOOP_GRAIN // TRANSPORT,
        refuses_codes=lambda _: None,
    )
