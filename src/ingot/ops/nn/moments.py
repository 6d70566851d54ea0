"""Means in primitives: what normalisations and pools are lowered to."""

from __future__ import annotations

from collections.abc import Sequence

from ingot import prim
from ingot.dtypes import DType
from ingot.ops.reduction.number import number_of


def mean_of(x: prim.Tensor, axes: Sequence[int]) -> prim.Tensor:
    """The mean over `axes`, which stay with size one; NaN over nothing."""
    return prim.reduce_("add", x, axes) / number_of([x.shape[axis] for axis in axes], x.dtype)


def inverse_deviation(x: prim.Tensor, axes: Sequence[int], epsilon: float) -> prim.Tensor:
    """One over the root of the mean square over `axes` plus `epsilon`."""
    return 1 / prim.apply("sqrt", mean_of(x * x, axes) + epsilon)


def norm_of(x: prim.Tensor, p: int, axes: Sequence[int]) -> prim.Tensor:
    """The `p`-norm over `axes`, which stay with size one."""
    if p == 2:
        return prim.apply("sqrt", prim.reduce_("add", x * x, axes))
    size = prim.apply("absolute", x)
    if p == 1:
        return prim.reduce_("add", size, axes)
    return prim.apply("power", prim.reduce_("add", prim.apply("power", size, float(p)), axes), 1 / p)


def along_channels(values: prim.Tensor, rank: int) -> prim.Tensor:
    """One value for each channel, shaped to meet a tensor of `rank` axes whose second they are."""
    return prim.reshape(values, (*values.shape, *(1,) * (rank - 2)))


def alike(*tensors: prim.Tensor) -> list[prim.Tensor]:
    """Tensors of floats in the one type in which to compute on them."""
    wide = DType.FLOAT64 if any(x.dtype is DType.FLOAT64 for x in tensors) else DType.FLOAT32
    return [prim.cast(x, wide) for x in tensors]


def staged(x: prim.Tensor, stage: DType) -> prim.Tensor:
    """`x` rounded to a type, in the type in which to compute on that."""
    return prim.cast(prim.cast(x, stage), DType.FLOAT64 if stage is DType.FLOAT64 else DType.FLOAT32)
