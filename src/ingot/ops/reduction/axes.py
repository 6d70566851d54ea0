"""The axes a reduction runs over: how they are given, what shape they leave, and that they once were an attribute."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from ingot import prim
from ingot.dims import Dim
from ingot.dtypes import Array
from ingot.errors import ShapeError
from ingot.ir.types import Shape, TensorType
from ingot.ir.value import Value
from ingot.ops.define import Rule
from ingot.ops.facts import Fact, Inferred, integers
from ingot.ops.older import integers_of
from ingot.ops.shapes import axes_of, require_flags
from ingot.ops.tensor.computed import apart, assume_reshape, marked, numbers_in, without_marked
from ingot.prim.make_region import branch
from ingot.prim.tensor import SizeReader

InferRule: TypeAlias = Callable[..., Inferred]


def reduced_axes(data: Array, axes: Array | None, noop_with_empty_axes: int) -> tuple[int, ...]:
    """The axes to reduce, counted from the front; none given are all of them, or none at all where that is asked for.

    ShapeError if one is outside the tensor or named twice.
    """
    if axes is None or axes.size == 0:
        return () if noop_with_empty_axes else tuple(range(data.ndim))
    if axes.ndim > 1:
        raise ShapeError(f"axes has {axes.ndim} axes, expected 1")
    return axes_of(axes.reshape(-1).tolist(), data.ndim)


def count(data: Array, axes: tuple[int, ...]) -> int:
    """How many elements become one."""
    return int(np.prod([data.shape[axis] for axis in axes], dtype=np.int64))


def with_fixed_axes(name: str, *, of_one_changes: bool) -> Rule:
    """The rule of a reduction whose older versions have the axes as an attribute.

    To reduce no axes at all is to reduce one of one element, which `of_one_changes` or not: ReduceLogSum takes its
    logarithm. UnsupportedError if the axes are computed while the model runs.
    """

    def rule(
        op: Any, data: Value, axes: Value | None = None, /, *, keepdims: int, noop_with_empty_axes: int, **_: int
    ) -> Any:
        over = [] if axes is None or _is_empty(axes) else integers_of(axes)
        if over:
            return op[name](data, axes=over, keepdims=keepdims)
        if not noop_with_empty_axes:
            return op[name](data, keepdims=keepdims)
        return op[name](op.Unsqueeze(data, [-1]), axes=[-1], keepdims=0) if of_one_changes else op.Identity(data)

    return rule


def _is_empty(axes: Value) -> bool:
    return isinstance(axes.type, TensorType) and axes.type.shape == (0,)


def reducing(data: Fact, axes: Fact | None = None, /, *, keepdims: int, noop_with_empty_axes: int) -> Inferred:
    """The element type of the data, and its shape with the axes reduced to one or left out."""
    if data.dtype is None:
        return None
    return TensorType(data.dtype, reduced_shape(data.shape, axes, keepdims, noop_with_empty_axes))


def following(combine: Callable[[Dim, Dim], Dim]) -> InferRule:
    """The same rule, which also knows the result where sizes are reduced: the product of a shape, the largest of it."""

    def rule(data: Fact, axes: Fact | None = None, /, *, keepdims: int, noop_with_empty_axes: int) -> Inferred:
        reduced = reducing(data, axes, keepdims=keepdims, noop_with_empty_axes=noop_with_empty_axes)
        if (
            not isinstance(reduced, TensorType)
            or reduced.shape not in ((), (1,))
            or not data.elements
            or data.rank != 1
        ):
            return reduced
        if reduced.shape == (1,) and not keepdims:  # nothing was reduced
            return reduced
        result = _combined(data.elements, combine)
        fits = not isinstance(result, int) or abs(result) < 1 << (reduced.dtype.bits - 1)
        return integers(reduced.dtype, reduced.shape, [result if fits else None])

    return rule


def lowering(reduce: Callable[[prim.Tensor, Sequence[int]], prim.Tensor]) -> Rule:
    """The `lower` rule of a reduction: `reduce` gets the data and the axes, which stay with size one."""

    def rule(
        data: prim.Tensor,
        axes: prim.Tensor | None = None,
        /,
        *,
        keepdims: int,
        noop_with_empty_axes: int,
        facts: tuple[Fact, ...],
        read: SizeReader,
    ) -> prim.Tensor:
        over: Sequence[int] | None = []
        if axes is not None and facts[1].shape != (0,):
            over = facts[1].integers
        if over is None:
            assert axes is not None
            return _over_computed(reduce, data, axes, keepdims, read)
        if over or not noop_with_empty_axes:
            over = axes_of(over, data.rank) or range(data.rank)
        result = reduce(data, over)
        return result if keepdims else prim.squeeze(result, over)

    return rule


def _over_computed(
    reduce: Callable[[prim.Tensor, Sequence[int]], prim.Tensor],
    data: prim.Tensor,
    axes: prim.Tensor,
    keepdims: int,
    read: SizeReader,
) -> prim.Tensor:
    """A reduction over axes that a run computes; Refused where their number is not known.

    There are two ways to do it, as the vectors of a kernel go along the last axis: one for a run that reduces that, and
    one for a run that does not.
    """
    marks = marked(axes, data.rank)
    pairs, left = apart(data, marks, read)
    first = pairs.shape[:-2]
    is_last = prim.reshape(prim.apply("equal", prim.slice_(marks, [data.rank - 1], [1]), 1), ())
    ways: list[prim.Tensor] = []
    for last in (pairs.shape[-1], pairs.shape[-2]):
        way = reduce(assume_reshape(data, (*first, last)), [*range(1, len(first), 2), *[len(first)] * (not ways)])
        ways.append(assume_reshape(way, left))
    (result,) = branch(is_last, ways[:1], ways[1:])
    if keepdims:
        return result
    return without_marked(result, data.shape, marks, numbers_in(axes)[1], read)


def reduced_shape(shape: Shape | None, axes: Fact | None, keepdims: int, noop_with_empty_axes: int) -> Shape | None:
    """The shape of a result; None where its rank is not known."""
    require_flags(keepdims=keepdims, noop_with_empty_axes=noop_with_empty_axes)
    if axes is not None and axes.rank is not None and axes.rank > 1:
        raise ShapeError(f"axes has {axes.rank} axes, expected 1")
    no_axes = axes is None or not axes.present or axes.elements == () or axes.shape == (0,)
    if no_axes and noop_with_empty_axes:
        return shape
    if no_axes and not keepdims:
        return ()
    if shape is None:
        return None
    if no_axes:
        return (1,) * len(shape)
    assert axes is not None
    numbers = axes.integers
    if numbers is not None:
        return without(shape, axes_of(numbers, len(shape)), keepdims)
    if keepdims:
        return tuple(1 if size == 1 else None for size in shape)
    many = axes.shape[0] if axes.shape is not None and len(axes.shape) == 1 else None
    return (None,) * (len(shape) - many) if isinstance(many, int) and many <= len(shape) else None


def without(shape: Shape, axes: Sequence[int], keepdims: int) -> Shape:
    """A shape whose axes, counted from the front, are reduced to one or left out."""
    if keepdims:
        return tuple(1 if axis in axes else size for axis, size in enumerate(shape))
    return tuple(size for axis, size in enumerate(shape) if axis not in axes)


def _combined(elements: Sequence[Dim | None], combine: Callable[[Dim, Dim], Dim]) -> Dim | None:
    total, *rest = elements
    try:
        for element in rest:
            if total is None or element is None:
                return None
            total = combine(total, element)
    except ValueError:  # too large an expression to follow
        return None
    return total
