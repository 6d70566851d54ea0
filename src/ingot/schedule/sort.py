"""The schedule of sorts: scratch memory for each thread, in which a row is sorted to and fro."""

from __future__ import annotations

from dataclasses import replace

from ingot.dims import Dim
from ingot.dtypes import DType
from ingot.loops.ir import Buffer, Sort
from ingot.schedule.scratch import THREADS

SLACK = 192
"""Elements behind those of a row in scratch memory: a block that is appended whole, and the vector that ends a sort."""

DIGIT = 256
"""The values of a digit, one byte of a key."""


def schedule_sort(nest: Sort, name: str) -> Sort:
    """A sort with scratch memory; its buffers begin with `name`."""
    words = 2 if nest.x.dtype.numpy.itemsize == 8 else 1
    line = (nest.element.extent + SLACK) * words
    return replace(nest, line=line, scratch=sort_buffers(name, line, nest.x.dtype.numpy.itemsize))


def sort_buffers(name: str, line: Dim, width: int) -> tuple[Buffer, ...]:
    """The memory that a sort of keys of `width` bytes needs: elements twice, `line` words a thread, and counts."""
    sizes = (("from", line), ("to", line), ("counts", width * DIGIT))
    return tuple(Buffer(f"{name}_{what}", DType.INT64, THREADS * size) for what, size in sizes)
