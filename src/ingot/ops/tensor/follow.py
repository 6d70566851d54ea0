"""Small integer tensors, element by element: arrays of sizes go through the operator itself."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

import numpy as np

from ingot.dims import Dim
from ingot.dtypes import Array, DType
from ingot.errors import IngotError
from ingot.ir.types import Shape, TensorType
from ingot.ops.define import Operator
from ingot.ops.facts import MOST_ELEMENTS, Fact, Inferred


def tensor(dtype: DType | None, shape: Shape | None) -> TensorType | None:
    """The type of an output; None where the element type is unknown."""
    return None if dtype is None else TensorType(dtype, shape)


def followed(dtype: DType | None, shape: Shape | None, compute: Callable[[], Array | None]) -> Inferred:
    """An output of a type, with the elements `compute` gives where it gives any: None or a refusal is no answer."""
    known = tensor(dtype, shape)
    size = None if shape is None else _number_of_elements(shape)
    if dtype is None or not dtype.is_integer or size is None or size > MOST_ELEMENTS:
        return known
    try:
        cells_of_result = compute()
    except (IngotError, ValueError):  # what is wrong shows when the model runs, if it ever gets there
        return known
    if (
        cells_of_result is None
        or cells_of_result.shape != shape
        or (size and all(element is None for element in cells_of_result.flat))
    ):
        return known
    return Fact(known, tuple(cells_of_result.reshape(-1).tolist()))


def through(operator: Operator, *inputs: Array | None, **attributes: object) -> Array | None:
    """What the operator makes of arrays of sizes; None where one of them is not known."""
    if any(x is None for x in inputs):
        return None
    return np.asarray(operator.evaluate(*inputs, **attributes))


def cells(x: Fact) -> Array | None:
    """The elements in the shape of the tensor, each a size or None; None if it is no integer tensor, or a large one."""
    shape = static_shape(x)
    if shape is None or x.dtype is None or not x.dtype.is_integer or prod(shape) > MOST_ELEMENTS:
        return None
    if x.elements is None and x.constant is not None and x.constant.is_loaded:
        array = x.constant.numpy()
        return (array if array.dtype == np.uint64 else array.astype(np.int64)).astype(np.object_)
    known = np.full(prod(shape), None, np.object_)
    if x.elements is not None:
        if len(x.elements) != known.size:
            return None
        for position, element in enumerate(x.elements):
            known[position] = element
    return known.reshape(shape)


def numbers(x: Fact | None) -> Array | None:
    """The elements as an int64 array, where every one is a plain integer; None also where there is no such input."""
    if x is None:
        return None
    array = cells(x)
    if array is None or not all(isinstance(element, int) for element in array.reshape(-1).tolist()):
        return None
    try:
        return array.astype(np.int64)
    except OverflowError:
        return None


def sizes(x: Fact) -> list[Dim | None] | None:
    """The elements of a tensor of one axis that holds sizes; None where not even their number is known."""
    array = cells(x)
    if array is not None and array.ndim == 1:
        return list(array.tolist())
    if x.rank == 1 and x.shape is not None and isinstance(x.shape[0], int) and x.shape[0] <= MOST_ELEMENTS:
        return [None] * x.shape[0]
    return None


def if_present(x: Fact | None) -> Fact | None:
    """An optional input; None where the node has none, at the end or before others."""
    return x if x is not None and x.present else None


def scalar(x: Fact) -> Dim | None:
    """The only element of a tensor, where it is known."""
    if x.elements is None or len(x.elements) != 1:
        return None
    return x.elements[0]


def static_shape(x: Fact) -> tuple[int, ...] | None:
    """The shape, where every size is a number."""
    if x.shape is None or not all(isinstance(dim, int) for dim in x.shape):
        return None
    return tuple(dim for dim in x.shape if isinstance(dim, int))


def guarded(compute: Callable[[], Dim | None]) -> Dim | None:
    """A size, or None where its expression would be too large."""
    try:
        return compute()
    except (ValueError, ZeroDivisionError):
        return None


def _number_of_elements(shape: Shape) -> int | None:
    """None where a size is not a number."""
    count = 1
    for dim in shape:
        if not isinstance(dim, int):
            return None
        count *= dim
    return count
