"""What a result may cost: sizes are checked with Python's integers before anything is allocated.

And how long: what takes long is computed in pieces, between which a run may end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from math import prod

import numpy as np
import numpy.typing as npt

from ingot.errors import InputError, UnsupportedError
from ingot.ir.tensor import SparseTensor, Tensor

ALLOWED: ContextVar[int] = ContextVar("bytes a result may take", default=2**34)
"""The bytes that a result may take. The signature of an operator is its schema: there is no argument for it."""

PROCEED: ContextVar[Callable[[], None] | None] = ContextVar("raises if the run has to end", default=None)
"""Called between the pieces of what takes long; there is no argument for it either."""

PIECE = 2**20
"""Elements that numpy goes through in a few milliseconds: what is made of many more is computed in pieces."""

_MOST_AXES = 64  # numpy's own limit
_MOST_STRIDE = 2**62  # numpy multiplies the sizes of an empty array too, leaving out zeros


class OversizedError(InputError):
    """A result would take more than it may: `count` bytes."""

    count = 0


def most_bytes() -> int:
    """What a result may take: what the run has left, or 16 GiB outside of one."""
    return ALLOWED.get()


@contextmanager
def allowing(count: int) -> Iterator[ContextVar[int]]:
    """Within it a result may take `count` bytes; the variable can be set anew as memory is taken and given back."""
    token = ALLOWED.set(count)
    try:
        yield ALLOWED
    finally:
        ALLOWED.reset(token)


@contextmanager
def proceeding(proceed: Callable[[], None] | None) -> Iterator[None]:
    """Within it `proceed` is called between the pieces of what takes long; what it raises ends them."""
    token = PROCEED.set(proceed)
    try:
        yield
    finally:
        PROCEED.reset(token)


def pieces(count: int, cost: int) -> Iterator[slice]:
    """Slices of `count` items, of as many as take few milliseconds if one is `cost` elements; the run may end between
    them.
    """
    step = max(1, PIECE // max(1, cost))
    for start in range(0, count, step):
        proceed = PROCEED.get()
        if proceed is not None:
            proceed()
        yield slice(start, start + step)


def oversized(message: str, count: int) -> OversizedError:
    """The error for a result of `count` bytes, which is too much."""
    error = OversizedError(message)
    error.count = count
    return error


def affordable(sizes: Iterable[int], dtype: npt.DTypeLike) -> tuple[int, ...]:
    """`sizes` as a shape to allocate; InputError if one is negative or there are too many elements."""
    shape = tuple(map(int, sizes))
    if shape and min(shape) < 0:
        raise InputError(f"a size is negative: {list(shape)}")
    if len(shape) > _MOST_AXES:
        raise UnsupportedError(f"a result of {len(shape)} axes: the most are {_MOST_AXES}")
    width = np.dtype(dtype).itemsize
    count, most = prod(shape) * width, most_bytes()
    if count > most:
        raise oversized(f"a result of shape {list(shape)} takes {count:,} bytes, the most are {most:,}", count)
    if (not count or count > _MOST_STRIDE) and prod(filter(None, shape)) * width > _MOST_STRIDE:
        raise InputError(f"a result of shape {list(shape)} is out of all proportion, though empty")
    return shape


def dense(sparse: SparseTensor) -> Tensor:
    """A sparse tensor with its zeros; InputError if that is more than a result may take, or an index lies outside."""
    affordable(sparse.shape, sparse.dtype.numpy)
    return sparse.dense()
