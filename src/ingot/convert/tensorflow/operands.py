"""Inputs of raw operators as operands of ONNX's: cast, constants read, axes counted from the front."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from ingot.builder import Var, op
from ingot.builder.literals import as_value
from ingot.convert.tensorflow.rule import Site
from ingot.dims import Dim
from ingot.dtypes import Array, DType
from ingot.errors import UnsupportedError
from ingot.ir.tensor import Tensor
from ingot.ir.types import TensorType


@overload
def cast(x: Var, dtype: DType) -> Var: ...  # type: ignore[overload-overlap]
@overload
def cast(x: npt.ArrayLike, dtype: DType) -> Array: ...
def cast(x: Var | npt.ArrayLike, dtype: DType) -> Var | Array:
    """`x` with another element type, itself where it has it; arrays are converted now."""
    if not isinstance(x, Var):
        return np.asarray(x).astype(dtype.numpy)
    if x.dtype is dtype:
        return x
    held = constant(x)
    if held is not None and held.size <= 1024 and held.dtype.kind in "iub" and dtype.is_integer:
        return as_var(held.astype(dtype.numpy))
    return op.Cast(x, to=int(dtype))


def number(value: Any, dtype: DType) -> Array:
    """A number as a scalar of `dtype`."""
    return np.array(value).astype(dtype.numpy)


def as_var(array: Any) -> Var:
    """A constant as a value; a value as it is."""
    return array if isinstance(array, Var) else Var(as_value(np.asarray(array)))


def constant(x: Any) -> Array | None:
    """The array a value holds if it is a constant, else None."""
    if not isinstance(x, Var):
        return np.asarray(x)
    held = x.value.constant
    return np.asarray(held.numpy()) if isinstance(held, Tensor) and not x.value.is_input else None


def known(x: Any, what: str) -> Array:
    """The array a value holds; refused where it is not a constant."""
    found = constant(x)
    if found is None:
        raise UnsupportedError(f"{what} is not a constant")
    return found


def rank(x: Var) -> int:
    """The number of axes; refused where it is not known."""
    found = x.rank
    if found is None:
        raise UnsupportedError("the number of axes is not known")
    return found


def shape(x: Var) -> tuple[Dim | None, ...]:
    """The sizes of `x`, those that are known; refused where not even their number is."""
    found = known_shape(x)
    if found is None:
        raise UnsupportedError("the number of axes is not known")
    return found


def known_shape(x: Var) -> tuple[Dim | None, ...] | None:
    """The sizes of `x`; None where not even their number is known."""
    return x.type.shape if isinstance(x.type, TensorType) else None


def positive(axis: int, count: int) -> int:
    """An axis counted from the front."""
    return axis + count if axis < 0 else axis


def axes_of(x: Any, count: int | None) -> list[int]:
    """The axes that an input names, from the front where the rank is known; refused where it is no constant."""
    found = [int(axis) for axis in known(x, "the axis").ravel()]
    return found if count is None else [positive(axis, count) for axis in found]


def vector(site: Site, x: Var) -> Any:
    """A vector of integers as int64: an array where all are known, joined of parts where each can be read off."""
    held = site.elements(x)
    if held is not None:
        if all(isinstance(size, int) for size in held):
            return np.array(held, np.int64)
        parts = _parts(site, held)
        if parts is not None:
            return parts[0] if len(parts) == 1 else op.Concat(*parts, axis=0)
    return cast(x, DType.INT64)


def scalar(site: Site, x: Var) -> Any:
    """One integer as a scalar of int64: an array where it is known."""
    held = site.elements(x)
    if held is not None and len(held) == 1 and isinstance(held[0], int):
        return np.array(held[0], np.int64)
    return cast(x, DType.INT64)


def row(x: Any) -> Any:
    """A scalar as a vector of one."""
    return op.Reshape(x, np.array([1])) if isinstance(x, Var) else np.asarray(x).reshape(1)


def reshape(site: Site, x: Var, sizes: Var) -> Var:
    """`x` in other sizes, said without arithmetic on shapes where that can be.

    A size that stands where `x` has it is copied; a single one that is not known follows from the others.
    """
    held = site.elements(sizes)
    if held is None:
        return op.Reshape(x, cast(sizes, DType.INT64))
    return reshaped(x, held, lambda: vector(site, sizes))


def reshaped(x: Var, sizes: Sequence[Any], computed: Any = None) -> Var:
    """`x` in the sizes given as dims, -1 for one that follows from the others; `computed` gives them as a vector."""
    numbers = [size for size in sizes if isinstance(size, int)]
    if len(numbers) == len(sizes):
        exact = 0 in numbers and -1 not in numbers
        if 0 in numbers and -1 in numbers:
            raise UnsupportedError("a shape with both 0 and -1")
        return op.Reshape(x, np.array(sizes, np.int64), allowzero=1 if exact else None)
    own = known_shape(x) or ()
    copied = [
        0 if not isinstance(size, int) and at < len(own) and own[at] is not None and size == own[at] else size
        for at, size in enumerate(sizes)
    ]
    if 0 not in numbers:
        if all(isinstance(size, int) for size in copied):
            return op.Reshape(x, np.array(copied, np.int64))
        if -1 not in numbers and sum(not isinstance(size, int) for size in copied) == 1:
            return op.Reshape(x, np.array([size if isinstance(size, int) else -1 for size in copied], np.int64))
    if computed is None:
        raise UnsupportedError("a shape that is not known")
    return op.Reshape(x, computed(), allowzero=None if -1 in numbers else 1)


def size_of(x: Var, axis: int) -> Any:
    """The size of an axis as a vector of one: an array where it is known."""
    found = shape(x)[axis]
    if isinstance(found, int):
        return np.array([found], np.int64)
    return op.Shape(x, start=positive(axis, rank(x)), end=positive(axis, rank(x)) + 1)


def sizes_of(x: Var) -> Any:
    """The sizes of `x` as a vector: an array where all are known."""
    found = known_shape(x)
    if found is not None and all(isinstance(size, int) for size in found):
        return np.array(found, np.int64)
    return op.Shape(x)


def joined(*parts: Any) -> Any:
    """Vectors one after another: an array where all are."""
    if all(isinstance(part, np.ndarray) for part in parts):
        return np.concatenate(parts).astype(np.int64)
    return parts[0] if len(parts) == 1 else op.Concat(*parts, axis=0)


def transposed(x: Var, order: Sequence[int]) -> Var:
    """`x` with its axes in another order, itself where that is the order they have."""
    return x if list(order) == list(range(len(order))) else op.Transpose(x, perm=list(order))


def _parts(site: Site, sizes: Sequence[Dim | None]) -> list[Any] | None:
    """Sizes as vectors to join: None where one cannot be read off an input."""
    parts: list[Any] = []
    numbers: list[int] = []
    for size in sizes:
        if isinstance(size, int):
            numbers.append(size)
            continue
        found = site.sized(size)
        if found is None:
            return None
        if numbers:
            parts.append(np.array(numbers, np.int64))
            numbers = []
        parts.append(found)
    if numbers:
        parts.append(np.array(numbers, np.int64))
    return parts


def is_unsigned(dtype: DType) -> bool:
    return bool(dtype.numpy.kind == "u")
