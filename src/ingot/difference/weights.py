"""Weights compared by value."""

from __future__ import annotations

import numpy as np

from ingot.difference.result import Change
from ingot.dtypes import DType
from ingot.ir.equality import same_tensor
from ingot.ir.tensor import SparseTensor, Tensor


def weight_change(name: str, a: Tensor | SparseTensor, b: Tensor | SparseTensor) -> Change | None:
    """How a constant differs from another: in its type, or by the largest and mean difference; None if it does not."""
    if same_tensor(a, b):
        return None
    if a.type != b.type or isinstance(a, SparseTensor) or isinstance(b, SparseTensor):
        return Change("changed", "weight", name, str(a.type), str(b.type))
    if a.dtype is DType.STRING:
        count = sum(one != other for one, other in zip(a.strings(), b.strings(), strict=True))
        return Change("changed", "weight", name, f"{count} of {a.size} texts differ", None)
    wide = np.complex128 if a.dtype.is_complex else np.float64
    ours, theirs = a.numpy().astype(wide), b.numpy().astype(wide)
    with np.errstate(invalid="ignore"):
        distance = np.abs(ours - theirs)
    distance = np.where(ours == theirs, 0, distance)
    finite = distance[np.isfinite(distance)]
    largest = float(distance.max()) if not np.isnan(distance).any() else float("nan")
    mean = float(finite.mean()) if finite.size else float("nan")
    differing = int(np.count_nonzero(ours != theirs))
    return Change("changed", "weight", name, str(a.type), str(b.type), (largest, mean, differing))
