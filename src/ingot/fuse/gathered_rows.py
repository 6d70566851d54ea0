"""Rows that are gathered at computed places: read and written as vectors, by storing what is transposed around them."""

from __future__ import annotations

from collections.abc import Iterator

from ingot.dims import Dim
from ingot.fuse.uses import Uses
from ingot.prim.make import count
from ingot.prim.tensor import Gather, Map, Permute, Tensor

_SHORT = 8
"""Elements of a row below which vectors along it do not pay."""


def gathered_rows(uses: Uses) -> Iterator[Tensor]:
    """The permuted tensors that rows are gathered from, and what is computed of such rows before it is permuted."""
    for tensor in uses.order:
        if isinstance(tensor, Permute) and _is_read_much(tensor, uses):
            yield tensor
            yield from _computed_of(tensor, uses)


def _is_read_much(tensor: Permute, uses: Uses) -> bool:
    """Whether nothing but rows is read of a tensor, and at least as much as there is of it.

    Where sizes are not known, it is assumed if rows are gathered several times.
    """
    readers = uses.readers_of(tensor)
    gathers = [reader for reader in readers if isinstance(reader, Gather) and _takes_rows(reader)]
    if not _moves_last(tensor) or tensor.is_constant:
        return False
    if not gathers or len(gathers) < len(readers):
        return False
    whole: Dim = count(tensor.shape)
    elements: Dim = sum((count(gather.shape) for gather in gathers), 0)
    if isinstance(whole, int) and isinstance(elements, int):
        return elements >= whole
    return len(gathers) > 1


def _takes_rows(gather: Gather) -> bool:
    """Whether the last axis is gathered whole, and is the last one of the result too."""
    size = gather.shape[-1]
    return gather.places[-1] == gather.rank - 1 and not (isinstance(size, int) and size < _SHORT)


def _computed_of(tensor: Permute, uses: Uses) -> Iterator[Tensor]:
    """What is computed of the rows gathered from a tensor, element by element, and read in another order alone."""
    pending, seen = [*uses.readers_of(tensor)], set[Tensor]()
    while pending:
        reached = pending.pop()
        if reached in seen:
            continue
        seen.add(reached)
        readers = uses.readers_of(reached)
        if readers and all(isinstance(reader, Permute) and _moves_last(reader) for reader in readers):
            yield reached
        pending += [reader for reader in readers if isinstance(reader, Map)]


def _moves_last(tensor: Permute) -> bool:
    return tensor.order[-1:] not in ((), (tensor.rank - 1,))
