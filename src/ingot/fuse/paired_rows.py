"""Rows that are reduced together with each of many others: turned once, so that vectors go along the rows that meet.

Of a sum over `f(x[i, k], y[j, k])` for all i and j, a vector along k is summed across its lanes for every result. Where
`y` is stored with j last, the lanes of a vector are results of their own, and several i share what is read of it.
"""

from __future__ import annotations

from collections.abc import Iterator

from ingot.dims import Dim
from ingot.fuse.uses import Uses
from ingot.prim.make import count
from ingot.prim.tensor import Expand, Map, Permute, Reduce, Reshape, Tensor

_MANY = 4
"""How many times a tensor is read from which on turning it once is quicker."""

_SHORT = 8
"""Elements of a row below which vectors along it do not pay."""


def paired_rows(uses: Uses) -> Iterator[Tensor]:
    """The permuted tensors that reductions read many times, along an axis that was not the last one before."""
    for tensor in uses.order:
        if isinstance(tensor, Permute) and not tensor.is_constant and _moves_last(tensor):
            readers = uses.readers_of(tensor)
            if readers and all(_is_reduced_often(reader, uses) for reader in readers):
                yield tensor


def _is_reduced_often(reader: Tensor, uses: Uses) -> bool:
    """Whether a reader of a tensor repeats it for reductions alone, which keep the last axis."""
    if isinstance(reader, Reshape) and reader.shape[-1:] == reader.x.shape[-1:]:
        readers = uses.readers_of(reader)
        return bool(readers) and all(_is_reduced_often(further, uses) for further in readers)
    if not isinstance(reader, Expand) or reader.shape[-1] != reader.x.shape[-1]:
        return False
    repeats = [size for size, before in zip(reader.shape, reader.x.shape, strict=True) if size != before]
    return _is_at_least(count(repeats), _MANY) and _ends_in_reductions(reader, uses)


def _ends_in_reductions(tensor: Tensor, uses: Uses) -> bool:
    """Whether all that is computed of a tensor, element by element, is reduced over other axes than the last."""
    pending, seen = [*uses.readers_of(tensor)], set[Tensor]()
    while pending:
        reader = pending.pop()
        if reader in seen:
            continue
        seen.add(reader)
        if isinstance(reader, Map):
            pending += uses.readers_of(reader) or [tensor]
        elif not isinstance(reader, Reduce) or reader.rank - 1 in reader.axes:
            return False
    return bool(seen)


def _moves_last(tensor: Permute) -> bool:
    return tensor.order[-1:] not in ((), (tensor.rank - 1,)) and _is_at_least(tensor.shape[-1], _SHORT)


def _is_at_least(size: Dim, least: int) -> bool:
    """Whether a size may be so large."""
    return not isinstance(size, int) or size >= least
