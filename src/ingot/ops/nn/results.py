"""Output types and input checks that inference rules of this family share."""

from __future__ import annotations

from collections.abc import Sequence

from ingot.dims import Dim
from ingot.dtypes import DType
from ingot.errors import ShapeError
from ingot.ir.types import Shape, TensorType
from ingot.ops.facts import Fact


def tensor(dtype: DType | None, shape: Sequence[Dim | None] | None) -> TensorType | None:
    """A tensor type of what is known: nothing without an element type."""
    return None if dtype is None else TensorType(dtype, None if shape is None else tuple(shape))


def require_size(x: Fact | None, axis: int, size: Dim | None, name: str) -> None:
    """ShapeError if `x` is known to have another size than `size` along `axis`."""
    if x is None or x.shape is None or not -len(x.shape) <= axis < len(x.shape):
        return
    actual = x.shape[axis]
    if isinstance(actual, int) and isinstance(size, int) and actual != size:
        raise ShapeError(f"{name} has size {actual} along axis {axis}, expected {size}")


def vector_of(x: Fact | None, size: Dim | None, name: str) -> None:
    """ShapeError unless `x` may be a vector of `size` elements."""
    if x is None or x.shape is None:
        return
    if len(x.shape) != 1:
        raise ShapeError(f"{name} has {len(x.shape)} axes, expected 1")
    require_size(x, 0, size, name)


def dim(shape: Shape | None, axis: int) -> Dim | None:
    """One size of a shape; None where it is unknown."""
    return None if shape is None or not -len(shape) <= axis < len(shape) else shape[axis]
