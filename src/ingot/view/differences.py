"""How far two runs of a model lie apart, value by value."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from ingot.dataclass import dataclass
from ingot.dtypes import Array
from ingot.view.arrays import stretches


@dataclass(frozen=True, slots=True)
class Difference:
    """Two arrays of one value: the largest difference of elements, and that over the largest magnitude of the first.

    Both are infinite where one has a NaN or an infinity in the place of another number, or where the shapes differ.
    """

    largest: float
    relative: float


def differences(first: Mapping[str, Array], second: Mapping[str, Array]) -> dict[str, Difference]:
    """The differences of the values that both runs have and that are numbers, by name, in the order of the first."""
    return {
        name: difference(array, second[name])
        for name, array in first.items()
        if name in second and array.dtype.kind not in "OUS" and array.size
    }


def difference(first: Array, second: Any) -> Difference:
    """How far two arrays lie apart."""
    other = np.asarray(second)
    if first.shape != other.shape or other.dtype.kind in "OUS":
        return Difference(math.inf, math.inf)
    largest = magnitude = 0.0
    for one, two in zip(stretches(first), stretches(other), strict=True):
        same = (one == two) | (np.isnan(one) & np.isnan(two))
        with np.errstate(invalid="ignore", over="ignore"):
            apart = float(np.where(same, 0.0, np.abs(one - two)).max())
        largest = max(largest, apart) if math.isfinite(apart) else math.inf
        magnitude = max(magnitude, float(np.abs(one[np.isfinite(one)]).max(initial=0.0)))
    if not largest:
        return Difference(0.0, 0.0)
    return Difference(largest, largest / magnitude if magnitude else math.inf)
