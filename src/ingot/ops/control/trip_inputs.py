"""What a Loop gives its body beside the states: the number of a run and the condition, arrays not to be changed."""

from __future__ import annotations

from functools import cache, lru_cache

import numpy as np

from ingot.dtypes import Array
from ingot.ir.types import TensorType
from ingot.ir.value import Value


@cache
def truths(rank: int) -> tuple[Array, Array]:
    """False and true, each as a single element of so many axes."""
    both = np.full((1,) * rank, False), np.full((1,) * rank, True)
    for array in both:
        array.flags.writeable = False
    return both


@lru_cache(maxsize=256)
def counter(step: int, rank: int) -> Array:
    """The number of a run as a single element of so many axes."""
    array = np.asarray(step, np.int64).reshape((1,) * rank)
    array.flags.writeable = False
    return array


def element_rank(value: Value) -> int:
    """The axes that an input of a body declares of a single element."""
    return (value.type.rank or 0) if isinstance(value.type, TensorType) else 0
