"""Calls that are lookups in a constant table of strings, which need no evaluation of a node."""

from __future__ import annotations

import numpy as np

from ingot.dataclass import dataclass
from ingot.dtypes import Array
from ingot.prim.tensor import Call
from ingot.runtime.run import PlanRunner
from ingot.runtime.segment import PreparedSegment


@dataclass(frozen=True, slots=True)
class Lookup:
    """A call that is a lookup in a constant table of strings; values are numbered as in their runner."""

    table: Array
    index: int
    result: int

    def read(self, places: Array) -> Array:
        """The strings at some places; IndexError if one is not in the table."""
        strings: Array = np.asarray(self.table.take(places), np.object_)
        return strings


def lookup_of(runner: PlanRunner, segment: PreparedSegment) -> Lookup | None:
    """The call of a segment as a lookup: Gather from a list of strings, whose indices are an array."""
    call = segment.call
    if not isinstance(call, Call) or not call.node.applies("Gather") or len(segment.entries) != 1:
        return None
    table, index = segment.argument_numbers
    strings = None if table is None else runner.constant(table)
    if index is None or strings is None or strings.dtype != np.object_ or strings.ndim != 1:
        return None
    return Lookup(strings, index, segment.entries[0].number)
