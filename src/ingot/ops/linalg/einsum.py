"""Einsum: products of tensors summed over shared axes, as an equation of letters says."""

from __future__ import annotations

from collections.abc import Mapping
from string import ascii_letters
from typing import Annotated, Any, TypeAlias

import numpy as np

from ingot import prim
from ingot.dims import Dim
from ingot.dtypes import Array
from ingot.errors import UnsupportedError
from ingot.ir.types import TensorType
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.linalg.limit import refuse_oversized
from ingot.ops.linalg.subscripts import Labels, label, parse, sizes
from ingot.ops.typesets import NUMERIC, NUMERIC_3, types

T: TypeAlias = Annotated[Array, types("T", {12: NUMERIC_3, 28: NUMERIC})]

MOST_LABELS = 52
"""The most axes that numpy can label."""


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
        subscripts = [numbers[name] for axis, name in enumerate(labels) if axis not in single]
        arguments += [np.squeeze(x, axis=single).astype(inside, copy=False), subscripts]
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


@einsum.lower
def lower(*inputs: prim.Tensor, equation: str) -> prim.Tensor:
    """Diagonals first, then what only one operand names is summed, and operands are multiplied one after another."""
    operands, result = label(parse(equation), [x.rank for x in inputs])
    size = sizes(operands, [x.shape for x in inputs])
    if len(size) > MOST_LABELS:
        raise prim.Refused(f"{len(size)} axes")
    letters = dict(zip(size, ascii_letters, strict=False))
    terms = [_plain(x, labels, size, letters) for x, labels in zip(inputs, operands, strict=True)]
    wanted = "".join(letters[name] for name in result)
    total = terms[0]
    for position, term in enumerate(terms[1:], 2):
        later = wanted + "".join(names for _, names in terms[position:])
        total = _product(_summed(total, later + term[1]), _summed(term, later + total[1]), later)
    y, names = _summed(total, wanted)
    return prim.permute(y, [names.index(name) for name in wanted])


_Term: TypeAlias = tuple[prim.Tensor, str]
"""A tensor and a letter for each of its axes."""


def _plain(x: prim.Tensor, labels: Labels, size: Mapping[str, Dim | None], letters: Mapping[str, str]) -> _Term:
    """One operand without axes of size one that broadcast, and with the diagonal of those that share a label."""
    remaining = [axis for axis, name in enumerate(labels) if x.shape[axis] != 1 or size[name] == 1]
    x = prim.squeeze(x, [axis for axis in range(x.rank) if axis not in remaining])
    names = [labels[axis] for axis in remaining]
    own = list(dict.fromkeys(names))
    if len(own) < len(names):
        x = prim.assume_shape(x, tuple(x.shape[names.index(name)] for name in names))
        x = prim.gather(x, [own.index(name) for name in names], tuple(x.shape[names.index(name)] for name in own))
    return x, "".join(letters[name] for name in own)


def _summed(term: _Term, wanted: str) -> _Term:
    """Summed over all axes that are not wanted."""
    x, names = term
    axes = [axis for axis, name in enumerate(names) if name not in wanted]
    return prim.squeeze(prim.reduce_("add", x, axes), axes), "".join(name for name in names if name in wanted)


def _product(one: _Term, other: _Term, wanted: str) -> _Term:
    (x, left), (y, right) = one, other
    names = "".join(name for name in dict.fromkeys(left + right) if name in wanted)
    if set(left) & set(right) - set(wanted):
        return prim.contract(x, y, f"{left},{right}->{names}"), names
    beside = [
        prim.unsqueeze(prim.permute(tensor, [own.index(name) for name in names if name in own]), absent)
        for tensor, own in ((x, left), (y, right))
        for absent in [[axis for axis, name in enumerate(names) if name not in own]]
    ]
    return beside[0] * beside[1], names
