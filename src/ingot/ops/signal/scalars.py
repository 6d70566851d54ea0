"""Sizes and types that come as scalars: how they are read, and what is refused."""

from __future__ import annotations

import numpy as np

from ingot.dims import Dim
from ingot.dtypes import Array, DType
from ingot.errors import CheckError, InputError, ShapeError
from ingot.ops.facts import Fact
from ingot.ops.reduction.precision import truncated
from ingot.ops.typesets import NUMERIC


def integer(x: Array, name: str, *, least: int) -> int:
    """The one element of `x`; ShapeError if there are more, InputError if it is less than `least`."""
    if x.size != 1:
        raise ShapeError(f"{name} has {x.size} elements, expected one")
    value = int(x.reshape(-1)[0])
    if value < least:
        raise InputError(f"{name} is {value}, expected at least {least}")
    return value


def size_of(x: Fact, name: str, *, least: int) -> Dim | None:
    """The same before the model runs: None where it is unknown, ShapeError where it is known to be too small."""
    if x.shape is not None and x.shape not in ((), (1,)) and all(isinstance(size, int) for size in x.shape):
        raise ShapeError(f"{name} is {x}, expected a scalar")
    if x.elements is None or len(x.elements) != 1:
        return None
    value = x.elements[0]
    if isinstance(value, int) and value < least:
        raise ShapeError(f"{name} is {value}, expected at least {least}")
    return value


def result_type(output_datatype: int) -> DType:
    """The element type an attribute names; CheckError if it is no number type."""
    known = output_datatype in DType.__members__.values()
    if not known or f"tensor({DType(output_datatype).onnx_name})" not in NUMERIC:
        raise CheckError(f"output_datatype is {output_datatype}, which is no type of numbers for this operator")
    return DType(output_datatype)


def converted(x: Array, dtype: DType) -> Array:
    """Computed numbers in the type of the result; integers are cut off."""
    return truncated(x, dtype.numpy) if dtype.is_integer else x.astype(dtype.numpy)


def half(size: Dim | None) -> Dim | None:
    """How many frequencies of a real signal of `size` samples are no mirror image of another."""
    try:
        return None if size is None else size // 2 + 1
    except ValueError:  # too large an expression to follow
        return None


def complex_of(x: Array) -> Array:
    """The numbers whose real and imaginary part are the last axis, or whose real part is all there is.

    16-bit floats come as float32: transforms are taken in the precision of what they are given.
    """
    wide = x if x.dtype in (np.float32, np.float64) else x.astype(np.float32)
    if x.shape[-1] == 1:
        return wide[..., 0]
    pairs = wide if wide.flags.c_contiguous else np.ascontiguousarray(wide)
    return pairs.view(np.complex128 if wide.dtype == np.float64 else np.complex64)[..., 0]


def parts_of(x: Array) -> Array:
    """The real and the imaginary parts of complex numbers, along a new last axis."""
    pairs = x if x.flags.c_contiguous else np.ascontiguousarray(x)
    return pairs.view(pairs.real.dtype).reshape(*x.shape, 2)
