"""Einsum in the operators before it: two operands at a time, by matrix products or by sums of products."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod
from typing import Any

import numpy as np

from ingot.dataclass import dataclass
from ingot.dims import Dim
from ingot.dtypes import DType
from ingot.errors import UnsupportedError
from ingot.ir.value import Value
from ingot.ops.linalg.einsum import einsum
from ingot.ops.linalg.subscripts import Labels, label, parse, sizes
from ingot.ops.nn.through import cast
from ingot.ops.older import dtype_of, shape_of
from ingot.ops.shapes import broadcast_dims

_SMALL_INTEGERS = (DType.INT8, DType.INT16, DType.UINT8, DType.UINT16)


@einsum.downgrade
def downgrade(op: Any, *inputs: Value, equation: str, version: int) -> Any:
    """Small floats in float32; small integers in int32, which wraps around as they do."""
    dtype = dtype_of(inputs[0])
    inside = DType.FLOAT32 if dtype in (DType.FLOAT16, DType.BFLOAT16) else dtype
    inside = DType.INT32 if dtype in _SMALL_INTEGERS else inside
    values = [cast(op, x, dtype, inside) for x in inputs]
    if version >= einsum.since[0]:
        return cast(op, op.Einsum(*values, equation=equation), inside, dtype)
    shapes = [shape_of(x) for x in inputs]
    operands, result = label(parse(equation), [len(shape) for shape in shapes])
    whole = sizes(operands, shapes)
    terms = [
        _Term(value, labels, shape).diagonal(op).without_ones(op, whole)
        for value, labels, shape in zip(values, operands, shapes, strict=True)
    ]
    joined = terms[0]
    for position, term in enumerate(terms[1:], 1):
        later = {name for other in terms[position + 1 :] for name in other.labels}
        joined = _joined(op, joined, term, later | set(result))
    joined = joined.summed(op, set(result))
    return cast(op, joined.ordered(op, result).value, inside, dtype)


@dataclass(frozen=True, slots=True)
class _Term:
    """A tensor with a label for each axis."""

    value: Any
    labels: Labels
    shape: tuple[Dim | None, ...]

    def size(self, name: str) -> Dim | None:
        return self.shape[self.labels.index(name)]

    def counted(self, labels: Iterable[str]) -> bool:
        """Whether the sizes of these labels are known, and none is zero."""
        return all(isinstance(size, int) and size > 0 for size in map(self.size, labels))

    def entries(self, labels: Iterable[str]) -> list[int]:
        """The sizes of these labels in the shape of a Reshape: 0, for one that is not known, stays what it is."""
        return [size if isinstance(size, int) else 0 for size in map(self.size, labels)]

    def diagonal(self, op: Any) -> _Term:
        """With every label once: axes that share one become their diagonal."""
        for name in self.labels:
            if (many := self.labels.count(name)) > 1:
                break
        else:
            return self
        size = next((n for n, other in zip(self.shape, self.labels, strict=True) if other == name), None)
        if not isinstance(size, int):
            raise UnsupportedError(f"the size of the diagonal '{name}' is not known")
        others = [axis for axis, other in enumerate(self.labels) if other != name]
        own = [axis for axis, other in enumerate(self.labels) if other == name]
        moved = op.Reshape(op.Transpose(self.value, perm=[*others, *own]), [*(0 for _ in others), size**many])
        step = sum(size**power for power in range(many))
        value = op.Gather(moved, np.arange(size) * step, axis=len(others))
        labels = (*(self.labels[axis] for axis in others), name)
        return _Term(value, labels, (*(self.shape[axis] for axis in others), size)).diagonal(op)

    def without_ones(self, op: Any, whole: dict[str, Dim | None]) -> _Term:
        """Without axes of size one that broadcast to more."""
        single = [axis for axis, name in enumerate(self.labels) if self.shape[axis] == 1 and whole[name] != 1]
        return self if not single else self._without(op.Squeeze(self.value, axes=single), single)

    def summed(self, op: Any, remaining: Iterable[str]) -> _Term:
        """Summed over the labels that are not kept."""
        axes = [axis for axis, name in enumerate(self.labels) if name not in remaining]
        return self if not axes else self._without(op.ReduceSum(self.value, axes=axes, keepdims=0), axes)

    def _without(self, value: Any, axes: list[int]) -> _Term:
        left = [axis for axis in range(len(self.labels)) if axis not in axes]
        return _Term(value, tuple(self.labels[axis] for axis in left), tuple(self.shape[axis] for axis in left))

    def ordered(self, op: Any, labels: Sequence[str]) -> _Term:
        """With the axes of these labels in their order; new ones have size one."""
        perm = [self.labels.index(name) for name in labels if name in self.labels]
        value = self.value if perm == sorted(perm) else op.Transpose(self.value, perm=perm)
        new = [axis for axis, name in enumerate(labels) if name not in self.labels]
        value = op.Unsqueeze(value, axes=new) if new else value
        return _Term(value, tuple(labels), tuple(self.size(n) if n in self.labels else 1 for n in labels))


def _joined(op: Any, a: _Term, b: _Term, needed: set[str]) -> _Term:
    """The product of two terms, summed over the labels of both that nobody needs."""
    a, b = a.summed(op, needed | set(b.labels)), b.summed(op, needed | set(a.labels))
    inner = [name for name in a.labels if name in b.labels and name not in needed]
    batch = [name for name in a.labels if name in b.labels and name in needed]
    left = [name for name in a.labels if name not in b.labels]
    right = [name for name in b.labels if name not in a.labels]
    equal = all(a.size(name) is not None and a.size(name) == b.size(name) for name in inner)
    if not inner or not equal or (len(inner) > 1 and not a.counted(inner)):
        labels = [*batch, *left, *right, *inner]
        x, y = a.ordered(op, labels), b.ordered(op, labels)
        return _Term(op.Mul(x.value, y.value), tuple(labels), _broadcast(x, y, len(labels))).summed(
            op, [*batch, *left, *right]
        )
    rows, columns = _matrix(a, b, left, right, inner)
    stacked = [*batch, *(n for n in left if n not in rows), *(n for n in right if n not in columns)]
    x, y = a.ordered(op, [*stacked, *rows, *inner]), b.ordered(op, [*stacked, *inner, *columns])
    factors = _merged(op, x, stacked, rows, inner), _merged(op, y, stacked, inner, columns)
    shape = _broadcast(x, y, len(stacked))
    product = _Term(
        op.MatMul(*factors),
        (*stacked, *rows, *columns),
        (*shape, *(a.size(n) for n in rows), *(b.size(n) for n in columns)),
    )
    return product if len(rows) == len(columns) == 1 else _split(op, product, len(stacked), len(rows), len(columns))


def _matrix(a: _Term, b: _Term, left: list[str], right: list[str], inner: list[str]) -> tuple[list[str], list[str]]:
    """Which labels are the rows and which the columns of a matrix product; those left over are of stacks of them.

    Several become one axis, and axes again, only if a Reshape can do it without leaving a size to be inferred: in an
    empty tensor it cannot be.
    """
    columns = right if len(right) < 2 or b.counted(right) else right[-1:]
    if len(inner) > 1 and not b.counted(columns):
        columns = []
    rows = left if len(left) < 2 or (a.counted(left) and a.counted(inner) and b.counted(columns)) else left[-1:]
    return rows, columns


def _merged(op: Any, term: _Term, stacked: list[str], first: list[str], second: list[str]) -> Any:
    """The axes of `first` as one, and those of `second`."""
    if len(first) == len(second) == 1:
        return term.value
    if len(first) + len(second) == 1:
        return op.Unsqueeze(term.value, axes=[len(stacked) + len(first)])
    unchanged = [0] * len(stacked)
    return op.Reshape(term.value, [*unchanged, *(prod(term.entries(part)) for part in (first, second))])


def _split(op: Any, product: _Term, stacked: int, rows: int, columns: int) -> _Term:
    """A product of matrices with its rows and columns as the axes they were made of."""
    if rows <= 1 and columns <= 1:
        value = op.Squeeze(product.value, axes=[*[stacked] * (not rows), *[stacked + 1] * (not columns)])
    else:
        value = op.Reshape(product.value, [*[0] * stacked, *product.entries(product.labels[stacked:])])
    return _Term(value, product.labels, product.shape)


def _broadcast(x: _Term, y: _Term, count: int) -> tuple[Dim | None, ...]:
    """The sizes of the first axes of a product."""
    return tuple(broadcast_dims(pair) for pair in zip(x.shape[:count], y.shape[:count], strict=True))
