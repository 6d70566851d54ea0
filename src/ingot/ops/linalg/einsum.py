"""Einsum: products of tensors summed over shared axes, as an equation of letters says."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

import numpy as np

from ingot.dtypes import Array
from ingot.errors import UnsupportedError
from ingot.ir.types import TensorType
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.linalg.limit import refuse_oversized
from ingot.ops.linalg.subscripts import label, parse, sizes
from ingot.ops.typesets import NUMERIC, NUMERIC_3, types

T: TypeAlias = Annotated[Array, types("T", {12: NUMERIC_3, 28: NUMERIC})]

MOST_LABELS = 52
"""As many axes as numpy can tell apart."""


@operator("Einsum", since=(12, 28))
def einsum(*inputs: T, equation: str) -> T:
    """The elements of the operands whose axes of one letter have one index, multiplied, and summed over the letters
    that the result leaves out. Axes of size one broadcast. Integers wrap around; 16-bit floats are computed in float32.
    """
    operands, result = label(parse(equation), [x.ndim for x in inputs])
    size = sizes(operands, [x.shape for x in inputs])
    dtype = inputs[0].dtype
    inside = dtype if dtype.kind in "iu" or dtype.itemsize > 2 else np.dtype(np.float32)
    refuse_oversized(tuple(size[name] for name in result), inside.itemsize)
    if len(size) > MOST_LABELS:
        raise UnsupportedError(f"the equation names {len(size)} axes, more than {MOST_LABELS}")
    numbers = {name: number for number, name in enumerate(size)}
    arguments: list[Any] = []
    for x, labels in zip(inputs, operands, strict=True):
        single = tuple(axis for axis, name in enumerate(labels) if x.shape[axis] == 1 and size[name] != 1)
        kept = [numbers[name] for axis, name in enumerate(labels) if axis not in single]
        arguments += [np.squeeze(x, axis=single).astype(inside, copy=False), kept]
    answer = np.einsum(*arguments, [numbers[name] for name in result], optimize=len(inputs) > 1)
    return np.asarray(answer).astype(dtype, copy=False)


@einsum.infer
def infer(*inputs: Fact, equation: str) -> Inferred:
    parsed = parse(equation)
    dtype = next((x.dtype for x in inputs if x.dtype is not None), None)
    shapes = [x.shape for x in inputs if x.shape is not None]
    if dtype is None:
        return None
    if len(shapes) < len(inputs):
        known = parsed.result is not None and "..." not in parsed.result
        return TensorType(dtype, (None,) * len(parsed.result or "") if known else None)
    operands, result = label(parsed, [len(shape) for shape in shapes])
    size = sizes(operands, shapes)
    return TensorType(dtype, tuple(size[name] for name in result))
