"""Copies of long rows: a processor that moves strings of bytes does not read the lines that it overwrites."""

from __future__ import annotations

from collections.abc import Sequence

from ingot.loops.ir import Index, Kind, Load, Statement, Store, Var
from ingot.loops.walk import Node, children
from ingot.schedule.target import Target

WORD = 8
"""The bytes of which one instruction moves a whole row. From the second cache on that takes three fifths to four fifths
of the time of vectors, which read every line before they write it; single bytes, and parts of a row, take longer."""

_LONG = 32 << 10
"""The bytes of rows that are copied in strings: what fits into the first cache takes a third longer than in vectors."""


def kind_of_row(row: Var, body: Sequence[Statement], target: Target) -> Kind:
    """How the loop over a row runs: in strings if it is long and all it does is to copy, else in vectors."""
    if not _moves_strings(target) or len(body) != 1 or not isinstance(store := body[0], Store):
        return Kind.VECTOR
    load, dtype, length = store.value, store.buffer.dtype, row.extent
    if not isinstance(load, Load) or load.where or load.dtype is not dtype or load.buffer is store.buffer:
        return Kind.VECTOR
    is_row = _is_along(load.index, row) and _is_along(store.index, row)
    is_long = isinstance(length, int) and length * dtype.numpy.itemsize >= _LONG
    return Kind.STRINGS if is_row and is_long else Kind.VECTOR


def _moves_strings(target: Target) -> bool:
    """Whether strings of bytes move as fast as caches can: on all processors of x86 with masked vectors."""
    return target.machine == "x86_64" and target.masks


def _is_along(index: Index, row: Var) -> bool:
    """Whether an index goes by ones with a variable."""
    return index.factor(row) == 1 and not any(_reads(term, row) for term, _ in index.terms if not isinstance(term, Var))


def _reads(node: Node, var: Var) -> bool:
    own = isinstance(node, Index) and any(term is var for term, _ in node.terms)
    return own or any(_reads(child, var) for child in children(node))
