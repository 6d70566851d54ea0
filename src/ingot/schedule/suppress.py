"""The schedule of non-maximum suppression: scratch memory for each thread, for items to sort and boxes selected."""

from __future__ import annotations

from dataclasses import replace

from ingot.dtypes import DType
from ingot.loops.ir import Buffer, Suppress
from ingot.schedule.scratch import THREADS
from ingot.schedule.sort import SLACK, sort_buffers
from ingot.schedule.target import Target

NUMBERS = 5
"""What is held of a box that is selected: two low and two high coordinates, and its area."""


def schedule_suppress(nest: Suppress, name: str, target: Target) -> Suppress:
    """A suppression with scratch memory; its buffers begin with `name`."""
    line = nest.box.extent + SLACK
    selected = nest.rank.extent + 2 * target.lanes(4)
    buffers = sort_buffers(name, line, 4)
    held = Buffer(f"{name}_kept", DType.FLOAT32, THREADS * selected * NUMBERS)
    return replace(nest, lines=(line, selected), scratch=(*buffers, held))
