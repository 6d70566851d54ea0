"""How far the outputs of two engines are apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, slots=True)
class Difference:
    """The largest differences of any output; `kind` says where two outputs cannot be compared.

    `relative` is to the largest element of the same output, as nothing better is known of what a model computes.
    """

    absolute: float
    relative: float
    kind: str | None = None


def difference(ours: Sequence[Any], theirs: Sequence[Any]) -> Difference:
    """The largest differences between outputs and those they should be."""
    if len(ours) != len(theirs):
        return Difference(np.inf, np.inf, f"{len(ours)} outputs, not {len(theirs)}")
    differences = [_between(index, a, b) for index, (a, b) in enumerate(zip(ours, theirs, strict=True))]
    kind = next((each.kind for each in differences if each.kind is not None), None)
    absolute = max((each.absolute for each in differences), default=0.0)
    return Difference(absolute, max((each.relative for each in differences), default=0.0), kind)


def _between(index: int, ours: Any, theirs: Any) -> Difference:
    if isinstance(ours, list | tuple) and isinstance(theirs, list | tuple):
        return difference(ours, theirs)
    if isinstance(ours, dict) and isinstance(theirs, dict) and ours.keys() == theirs.keys():
        return difference([ours[key] for key in ours], [theirs[key] for key in ours])
    if ours is None and theirs is None:
        return Difference(0.0, 0.0)
    a, b = np.asarray(ours), np.asarray(theirs)
    if a.shape != b.shape:
        return Difference(np.inf, np.inf, f"output {index} is {list(a.shape)}, not {list(b.shape)}")
    if a.dtype.kind in "OUS" or b.dtype.kind in "OUS":
        apart = a.size and not np.array_equal(a, b)
        return Difference(np.inf, np.inf, f"output {index} has other words") if apart else Difference(0.0, 0.0)
    wide = np.complex128 if "c" in (a.dtype.kind, b.dtype.kind) else np.float64
    return _numbers(index, a.astype(wide), b.astype(wide))


def _numbers(index: int, a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> Difference:
    with np.errstate(all="ignore"):
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        apart = np.where(same, 0.0, np.abs(a - b))
    if np.isnan(apart).any():
        return Difference(np.inf, np.inf, f"output {index} has NaN in other places")
    largest = float(apart.max(initial=0.0))
    finite = np.abs(b[np.isfinite(b)])
    scale = float(finite.max(initial=0.0))
    return Difference(largest, largest / scale if scale else (np.inf if largest else 0.0))
