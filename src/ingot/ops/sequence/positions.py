"""Positions in sequences: one integer, counted from the front or, if negative, from the back."""

from __future__ import annotations

from ingot.dtypes import Array
from ingot.errors import InputError


def position_of(position: Array, count: int, *, last: int) -> int:
    """The position counted from the front, in a sequence of `count`; InputError if it is not in `[-count, last]`."""
    if position.size != 1:
        raise InputError(f"a position is one number, it has shape {list(position.shape)}")
    index = int(position.reshape(()).item())
    if not -count <= index <= last:
        raise InputError(f"position {index} is outside a sequence of {count}")
    return index + count if index < 0 else index
