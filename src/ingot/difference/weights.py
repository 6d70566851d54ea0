"""Weights compared by value."""

from __future__ import annotations

import numpy as np

from ingot.difference.result import Change
from ingot.dtypes import Array, DType
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
    differs = _bits(a.numpy()) != _bits(b.numpy())
    distance = np.where(differs & (ours != theirs), distance, 0)
    finite = distance[np.isfinite(distance)]
    largest = float(distance.max()) if not np.isnan(distance).any() else float("nan")
    mean = float(finite.mean()) if finite.size else float("nan")
    differing = int(np.count_nonzero(differs))
    return Change("changed", "weight", name, str(a.type), str(b.type), (largest, mean, differing))


def _bits(array: Array) -> Array:
    """Elements as opaque bytes, which differ where their bits do: a NaN is what it is, and so is a negative zero."""
    return np.ascontiguousarray(array).reshape(array.shape).view(f"V{array.itemsize}")
