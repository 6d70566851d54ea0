"""Class labels: integers or strings, given as two attributes of which one is set."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ingot.dtypes import Array, DType
from ingot.errors import CheckError


def either(name: str, *lists: Sequence[int] | Sequence[str] | None) -> Sequence[int] | Sequence[str]:
    """The one list that is given; CheckError if there is none or more than one."""
    filled = [items for items in lists if items]
    if len(filled) != 1:
        raise CheckError(f"{len(filled)} of the lists of {name} are set, expected one")
    return filled[0]


def label_array(labels: Sequence[int] | Sequence[str]) -> Array:
    """Labels as a tensor: int64, or strings."""
    if isinstance(labels[0], int):
        return np.array(labels, np.int64)
    array = np.empty(len(labels), object)
    array[:] = labels
    return array


def label_type(ints: Sequence[int] | None, strings: Sequence[str] | None) -> DType:
    """The element type of predicted labels."""
    return DType.STRING if strings and not ints else DType.INT64
