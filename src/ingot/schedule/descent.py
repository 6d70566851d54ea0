"""The schedule of decision trees: rows in chunks that a cache holds, and whether small trees are answered by bits."""

from __future__ import annotations

from dataclasses import replace

from ingot.dims import Dim
from ingot.dtypes import DType
from ingot.loops.ir import Buffer, Descent
from ingot.schedule.scratch import THREADS
from ingot.schedule.target import Target

_MOST_ROWS = 2048
_UNKNOWN = 64
"""Features or targets where their number is unknown."""

_TESTS_A_STEP = 0.75
"""Tests of a lane that take as long as a step to the next node: a comparison and a mask, of all rows of a vector."""


def schedule_descent(nest: Descent, name: str, target: Target) -> Descent:
    """Trees in chunks of rows for a target; scratch buffers begin with `name`."""
    if nest.tests is not None and not _pays(nest, target):
        nest = replace(nest, leaves=0, between=False, tests=None, spans=None, exits=None)
    chunk = _chunk(nest, target)
    lines = (nest.slots * (chunk * nest.key.numpy.itemsize // 8), nest.column.extent * chunk + nest.lanes)
    kinds = (("keys", DType.INT64), ("votes", DType.FLOAT64))
    scratch = tuple(
        Buffer(f"{name}_{what}", dtype, THREADS * line) for (what, dtype), line in zip(kinds, lines, strict=True)
    )
    return replace(nest, chunk=chunk, lines=lines, scratch=scratch)


def _pays(nest: Descent, target: Target) -> bool:
    """Whether all tests of a tree in vectors take less time than the steps of each row."""
    assert nest.tests is not None
    words = (2 if nest.key is DType.INT32 else 3) + nest.between
    lanes = target.lanes(nest.key.numpy.itemsize)
    return _known(nest.tests.buffer.elements) // words <= nest.steps * lanes * _TESTS_A_STEP * _known(nest.trees)


def _chunk(nest: Descent, target: Target) -> int:
    """Rows whose keys and votes fill half of the nearest cache that a good part of the trees fits into as well."""
    row = _known(nest.slots) * nest.key.numpy.itemsize + _known(nest.column.extent) * 8
    trees = _known(nest.nodes.buffer.elements) * 8
    cache = target.l2 if trees > target.l2 // 2 else target.l1
    rows = min(cache // 2 // row, _MOST_ROWS)
    return max(1, rows // nest.lanes) * nest.lanes


def _known(size: Dim) -> int:
    return size if isinstance(size, int) else _UNKNOWN
