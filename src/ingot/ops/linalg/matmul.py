"""MatMul: the product of matrices, of stacks of them that broadcast, and of vectors."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import numpy as np

from ingot import prim
from ingot.dtypes import Array, DType
from ingot.errors import ShapeError
from ingot.ir.types import Shape, TensorType, format_shape
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.linalg.limit import refuse_oversized
from ingot.ops.shapes import broadcast
from ingot.ops.typesets import FLOATS_3, WIDE, WIDE_3, types

T: TypeAlias = Annotated[Array, types("T", {1: FLOATS_3, 9: WIDE_3, 13: WIDE})]


@operator("MatMul", since=(1, 9, 13))
def mat_mul(a: T, b: T, /) -> T:
    """Rows of `a` times columns of `b`: the last two axes are matrices, those before broadcast, a vector is one row or
    column. Integers wrap around; sums of 16-bit floats are taken in float32.
    """
    return product(a, b)


@mat_mul.infer
def infer(a: Fact, b: Fact, /) -> Inferred:
    dtype = a.dtype or b.dtype
    return None if dtype is None else TensorType(dtype, product_shape(a.shape, b.shape))


@mat_mul.lower
def lower(a: prim.Tensor, b: prim.Tensor, /) -> prim.Tensor:
    return product_in_primitives(a, b)


_NARROW = 32
"""Columns of a matrix below which stacks of them are multiplied as one."""


def product_in_primitives(a: prim.Tensor, b: prim.Tensor, sums: DType | None = None) -> prim.Tensor:
    """The matrix product of tensors: stacks that only one side has are rows of it, and are not repeated.

    `sums` is the type of sums, where it is not that of the elements (`prim.contract`).
    """
    rows, columns = a.rank > 1, b.rank > 1
    left = prim.unsqueeze(a, [0]) if not rows else a
    right = prim.unsqueeze(b, [1]) if not columns else b
    stacks = prim.broadcast(left.shape[:-2], right.shape[:-2])
    names = "abcdefghij"[: len(stacks)]
    if len(stacks) > len(names):
        raise prim.Refused(f"stacks of {len(stacks)} axes")
    left, of_left = _stacked(left, right, names)
    right, of_right = _stacked(right, left, names)
    left, of_left = _beside_stacks(left, of_left, right, of_right, names)
    present = "".join(name for name in names if name in of_left or name in of_right)
    product = prim.contract(left, right, f"{of_left}mk,{of_right}kn->{present}mn", sums)
    product = prim.reshape(product, (*stacks, *product.shape[-2:]))
    return prim.squeeze(product, [*([len(stacks)] if not rows else []), *([len(stacks) + 1] if not columns else [])])


def _beside_stacks(
    left: prim.Tensor, of_left: str, right: prim.Tensor, of_right: str, names: str
) -> tuple[prim.Tensor, str]:
    """The left side, repeated for the stacks that only the right one has, where either has some of its own.

    Else their columns would lie beside each other, and the product be stored in another order first: narrow ones, which
    leave much of their vectors empty, do.
    """
    columns = right.shape[-1]
    is_narrow = isinstance(columns, int) and columns < _NARROW
    if is_narrow or set(of_left) <= set(of_right) or set(of_right) <= set(of_left):
        return left, of_left
    both = "".join(name for name in names if name in of_left or name in of_right)
    added = [axis for axis, name in enumerate(both) if name not in of_left]
    left = prim.unsqueeze(left, added)
    sizes = dict(zip(of_right, right.shape, strict=False))
    shape = [sizes[both[axis]] if axis in added else size for axis, size in enumerate(left.shape)]
    return prim.expand(left, tuple(shape)), both


def _stacked(x: prim.Tensor, other: prim.Tensor, names: str) -> tuple[prim.Tensor, str]:
    """One side, and the names of its stacks: without those of size one that the other side repeats or does not have.

    Those that are of size one on both sides stay: the product then has all its axes at once, and what reads it finds
    the contraction and not a reshape.
    """
    own, others = names[len(names) - (x.rank - 2) :], other.shape[:-2]
    dropped = [
        axis
        for axis in range(x.rank - 2)
        if x.shape[axis] == 1 and (axis < x.rank - 2 - len(others) or others[axis - (x.rank - 2)] != 1)
    ]
    remaining = "".join(name for axis, name in enumerate(own) if axis not in dropped)
    return prim.squeeze(x, dropped), remaining


def product(a: Array, b: Array) -> Array:
    """The matrix product, in the type of `a`; ShapeError if the shapes do not fit, InputError if it is too large."""
    shape = product_shape(a.shape, b.shape)
    assert shape is not None
    inside = a.dtype if a.dtype.kind in "iu" or a.dtype.itemsize > 2 else np.dtype(np.float32)
    refuse_oversized(shape, inside.itemsize)
    result = np.matmul(a.astype(inside, copy=False), b.astype(inside, copy=False))
    return np.asarray(result).astype(a.dtype, copy=False)


def product_shape(a: Shape | None, b: Shape | None) -> Shape | None:
    """The shape of a matrix product; ShapeError if there is none."""
    for shape, name in ((a, "a"), (b, "b")):
        if shape == ():
            raise ShapeError(f"{name} is a scalar, and no matrix")
    if a is None or b is None:
        return None
    inner = (a[-1], b[-2] if len(b) > 1 else b[0])
    if isinstance(inner[0], int) and isinstance(inner[1], int) and inner[0] != inner[1]:
        hint = "is one side stored transposed? Gemm has transA and transB"
        shown = f"[{format_shape(a)}] and [{format_shape(b)}]"
        raise ShapeError(f"inner dimensions differ: {inner[0]} and {inner[1]}, in shapes {shown}", hint=hint)
    stacks = broadcast(a[:-2], b[:-2])
    assert stacks is not None
    return (*stacks, *a[-2:-1], *(b[-1:] if len(b) > 1 else ()))
