"""Operands of ONNX's operators, alike for every framework: cast, numbers of an element type, axes, vectors of sizes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from ingot.builder import Var, op
from ingot.builder.known import shape_of
from ingot.builder.literals import as_value
from ingot.dims import Dim
from ingot.dtypes import Array, DType
from ingot.errors import UnsupportedError
from ingot.ir.tensor import Tensor

_MOST_FOLDED = 1024
"""Elements of a constant that is cast now; a larger one would be stored twice."""


@overload
def cast(x: Var, dtype: DType) -> Var: ...  # type: ignore[overload-overlap]
@overload
def cast(x: npt.ArrayLike, dtype: DType) -> Array: ...
def cast(x: Var | npt.ArrayLike, dtype: DType) -> Var | Array:
    """`x` with another element type, itself where it has it; arrays, and small constants of integers, are cast now.

    A float is true unless it is zero, so a NaN is.
    """
    if not isinstance(x, Var):
        return np.asarray(x).astype(dtype.numpy)
    if x.dtype is dtype:
        return x
    if dtype is DType.BOOL and x.dtype is not None and x.dtype.is_float:
        return op.Not(op.Equal(x, number(0, x.dtype)))
    array = constant(x)
    if array is not None and array.size <= _MOST_FOLDED and array.dtype.kind in "iub" and dtype.is_integer:
        return as_var(array.astype(dtype.numpy))
    return op.Cast(x, to=int(dtype))


def number(value: Any, dtype: DType) -> Array:
    """A number as a scalar of `dtype`: integers wrap around, and are 0 for what is not finite."""
    if dtype.is_integer and isinstance(value, float):
        value = int(value) if math.isfinite(value) else 0
    with np.errstate(over="ignore"):
        return np.array(value).astype(dtype.numpy)


def as_var(x: Any) -> Var:
    """A constant as a value; a value as it is."""
    return x if isinstance(x, Var) else Var(as_value(np.asarray(x)))


def constant(x: Any) -> Array | None:
    """The array of a constant; None for a value that is computed or an input."""
    if not isinstance(x, Var):
        return np.asarray(x)
    tensor = x.value.constant
    return np.asarray(tensor.numpy()) if isinstance(tensor, Tensor) and not x.value.is_input else None


def shape(x: Var) -> tuple[Dim | None, ...]:
    """The sizes of `x`, None for one that is not known; UnsupportedError where not even their number is."""
    sizes = shape_of(x.value)
    if sizes is None:
        raise UnsupportedError(f"the number of axes of '{x.name}' is not known")
    return sizes


def rank(x: Var) -> int:
    """The number of axes; UnsupportedError where it is not known."""
    return len(shape(x))


def positive(axis: int, count: int) -> int:
    """An axis counted from the front, of `count` axes."""
    return axis + count if axis < 0 else axis


def size_vector(sizes: Sequence[Any]) -> Any:
    """Sizes as one vector: integers, and vectors of one for those computed; an array where all are integers."""
    if all(isinstance(size, int) for size in sizes):
        return np.array(sizes, np.int64).reshape(-1)
    parts: list[Any] = []
    for size in sizes:
        if isinstance(size, int) and parts and isinstance(parts[-1], np.ndarray):
            parts[-1] = np.append(parts[-1], size)
        else:
            parts.append(np.array([size], np.int64) if isinstance(size, int) else size)
    return parts[0] if len(parts) == 1 else op.Concat(*parts, axis=0)
