"""Arguments of torch's operators as operands of ONNX's: numbers, sizes, axes and shapes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ingot.builder import Var, op
from ingot.convert.operands import cast, number, positive
from ingot.convert.torch.sizes import Extent, Size, as_vector
from ingot.dtypes import DType


def operand(value: Any, dtype: DType) -> Any:
    """A tensor, size or number as an operand of element type `dtype`."""
    if isinstance(value, Var):
        return cast(value, dtype)
    if isinstance(value, Size):
        return cast(value.var, dtype)
    return number(value, dtype)


def axes_of(axes: int | Sequence[int] | None, count: int) -> list[int]:
    """Axes counted from the front; all of them for None or an empty list."""
    listed = range(count) if axes is None else [axes] if isinstance(axes, int) else list(axes) or range(count)
    return [positive(axis, count) for axis in listed]


def each_axis(numbers: int | Sequence[int], count: int) -> list[int]:
    """One number for each of `count` axes; a single one is for all."""
    listed = [numbers] if isinstance(numbers, int) else list(numbers)
    return listed * count if len(listed) == 1 else listed


def reshape(x: Var, sizes: Sequence[Extent]) -> Var:
    """`x` reshaped, without arithmetic on shapes where that can be.

    A size that stands where `x` has it is copied; a single one that is not known follows from the others.
    """
    sizes = list(sizes)
    if all(isinstance(size, int) for size in sizes):
        wild = -1 in sizes
        return op.Reshape(x, np.array(sizes, np.int64), allowzero=None if wild or 0 not in sizes else 1)
    own = known_shape(x)
    copied: list[int | Size] = [
        0 if isinstance(size, Size) and at < len(own) and size.dim is not None and size.dim == own[at] else size
        for at, size in enumerate(sizes)
    ]
    left = [at for at, size in enumerate(copied) if isinstance(size, Size)]
    zeros = any(size == 0 for size in sizes if isinstance(size, int))
    if not left and not zeros:
        return op.Reshape(x, as_vector(copied))
    unknown = [at for at, size in enumerate(sizes) if isinstance(size, Size)]
    if len(unknown) == 1 and not zeros and -1 not in sizes:
        return op.Reshape(x, as_vector([-1 if isinstance(size, Size) else size for size in sizes]))
    return op.Reshape(x, as_vector(sizes), allowzero=None if -1 in sizes else 1)


def known_shape(x: Var) -> tuple[Any, ...]:
    shape = getattr(x.type, "shape", None)
    return shape if shape is not None else ()
