"""Inputs of raw operators as operands of ONNX's: constants read, axes, shapes without arithmetic where that can be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ingot.builder import Var, op
from ingot.builder.known import shape_of
from ingot.convert.operands import cast, constant, number, positive, rank, shape, size_vector
from ingot.convert.tensorflow.rule import Site
from ingot.dtypes import Array, DType
from ingot.errors import UnsupportedError


def known(x: Any, what: str) -> Array:
    """The array a value holds; refused where it is not a constant."""
    array = constant(x)
    if array is None:
        raise UnsupportedError(f"{what} is not a constant")
    return array


def axes_of(x: Any, count: int | None) -> list[int]:
    """The axes that an input names, from the front where the rank is known; refused where it is no constant."""
    axes = [int(axis) for axis in known(x, "the axis").ravel()]
    return axes if count is None else [positive(axis, count) for axis in axes]


def vector(site: Site, x: Var) -> Any:
    """A vector of integers as int64: an array where all are known, joined of parts where each can be read off."""
    elements = site.elements(x)
    if elements is not None:
        sizes = [size if isinstance(size, int) else site.sized(size) for size in elements]
        if all(size is not None for size in sizes):
            return size_vector(sizes)
    return cast(x, DType.INT64)


def scalar(site: Site, x: Var) -> Any:
    """One integer as a scalar of int64: an array where it is known."""
    elements = site.elements(x)
    if elements is not None and len(elements) == 1 and isinstance(elements[0], int):
        return np.array(elements[0], np.int64)
    return cast(x, DType.INT64)


def zero(dtype: DType) -> Array:
    """What TensorFlow fills tensors with: 0, false or an empty string."""
    return np.array("", object) if dtype is DType.STRING else number(0, dtype)


def row(x: Any) -> Any:
    """A scalar as a vector of one."""
    return op.Reshape(x, np.array([1])) if isinstance(x, Var) else np.asarray(x).reshape(1)


def reshape(site: Site, x: Var, sizes: Var) -> Var:
    """`x` reshaped, without arithmetic on shapes where that can be.

    A size that stands where `x` has it is copied; a single one that is not known follows from the others.
    """
    elements = site.elements(sizes)
    if elements is None:
        return op.Reshape(x, cast(sizes, DType.INT64))
    return reshaped(x, elements, lambda: vector(site, sizes))


def reshaped(x: Var, sizes: Sequence[Any], computed: Any = None) -> Var:
    """`x` reshaped to dims, -1 for one that follows from the others; `computed()` is a vector of them."""
    numbers = [size for size in sizes if isinstance(size, int)]
    if len(numbers) == len(sizes):
        exact = 0 in numbers and -1 not in numbers
        if 0 in numbers and -1 in numbers:
            raise UnsupportedError("a shape with both 0 and -1")
        return op.Reshape(x, np.array(sizes, np.int64), allowzero=1 if exact else None)
    own = shape_of(x.value) or ()
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
    size = shape(x)[axis]
    if isinstance(size, int):
        return np.array([size], np.int64)
    return op.Shape(x, start=positive(axis, rank(x)), end=positive(axis, rank(x)) + 1)


def sizes_of(x: Var) -> Any:
    """The sizes of `x` as a vector: an array where all are known."""
    sizes = shape_of(x.value)
    if sizes is not None and all(isinstance(size, int) for size in sizes):
        return np.array(sizes, np.int64)
    return op.Shape(x)


def joined(*parts: Any) -> Any:
    """Vectors one after another: an array where all are."""
    if all(isinstance(part, np.ndarray) for part in parts):
        return np.concatenate(parts).astype(np.int64)
    return parts[0] if len(parts) == 1 else op.Concat(*parts, axis=0)


def transposed(x: Var, order: Sequence[int]) -> Var:
    """`x` with its axes in another order, itself where that is the order they have."""
    return x if list(order) == list(range(len(order))) else op.Transpose(x, perm=list(order))


def is_unsigned(dtype: DType) -> bool:
    return bool(dtype.numpy.kind == "u")
