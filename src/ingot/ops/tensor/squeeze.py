"""Squeeze and Unsqueeze: axes of one element taken out and put in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, TypeAlias

from ingot import prim
from ingot.dtypes import Array
from ingot.errors import ShapeError, UnsupportedError
from ingot.ir.types import Shape
from ingot.ir.value import Value
from ingot.ops.define import operator, superseded
from ingot.ops.facts import Fact, Inferred
from ingot.ops.limit import affordable
from ingot.ops.older import integers_of
from ingot.ops.shapes import axes_of
from ingot.ops.tensor.computed import assume_reshape, marked, numbers_in, without_marked
from ingot.ops.tensor.follow import cells, followed, if_present, numbers, sizes, tensor
from ingot.ops.tensor.moved import holding, in_own_type, sizes_of
from ingot.ops.typesets import ALL, ALL_3, ALL_21, ALL_23, ALL_24, ALL_25, INT64, types
from ingot.prim.tensor import SizeReader

T: TypeAlias = Annotated[Array, types("T", {13: ALL, 21: ALL_21, 23: ALL_23, 24: ALL_24, 25: ALL_25})]
Axes: TypeAlias = Annotated[Array, types("", INT64)]
T11: TypeAlias = Annotated[Array, types("T", ALL_3)]


@operator("Squeeze", since=(13, 21, 23, 24, 25))
def squeeze(data: T, axes: Axes | None = None, /) -> T:
    """`data` without `axes`, each of which must have one element; without all such axes if none are named."""
    return data.reshape(_squeezed(data.shape, None if axes is None else axes.reshape(-1).tolist()))  # type: ignore[arg-type]


@squeeze.infer
def infer_squeeze(data: Fact, axes: Fact | None = None, /) -> Inferred:
    axes = if_present(axes)
    named = numbers(axes)
    shape = data.shape
    if axes is not None and named is None:
        count = sizes(axes)
        less = None if count is None or shape is None else len(shape) - len(count)
        return tensor(data.dtype, None if less is None or less < 0 else (None,) * less)
    if shape is None or (axes is None and not all(isinstance(dim, int) for dim in shape)):
        return tensor(data.dtype, None)
    result = _squeezed(shape, None if named is None else named.reshape(-1).tolist())

    def squeezed() -> Array | None:
        elements = cells(data)
        return None if elements is None else elements.reshape(result)  # type: ignore[arg-type]

    return followed(data.dtype, result, squeezed)


@squeeze.lower
def lower_squeeze(
    data: prim.Tensor,
    axes: prim.Tensor | None = None,
    /,
    *,
    facts: tuple[Fact, ...],
    inferred: tuple[Fact, ...],
    read: SizeReader,
) -> prim.Tensor:
    """Axes to take out that may have more than one element are assumed to have one."""
    named = None if len(facts) < 2 else facts[1].integers
    if axes is not None and named is None:
        marks, many = marked(axes, data.rank), numbers_in(axes)[1]
        is_one = prim.apply("equal", holding(data.shape), 1)
        is_wrong = prim.apply("and", prim.apply("equal", marks, 1), prim.apply("not", is_one))
        marks = prim.where(prim.reduce_("or", is_wrong, [0]), -1, marks)
        return without_marked(in_own_type(data, inferred[0]), data.shape, marks, many, read)
    if named is not None:
        gone = {axis % data.rank for axis in named}
        data = prim.assume_shape(data, tuple(1 if axis in gone else size for axis, size in enumerate(data.shape)))
    return prim.reshape(in_own_type(data, inferred[0]), sizes_of(inferred[0]))


@squeeze.downgrade
def downgrade_squeeze(op: Any, data: Value, axes: Value | None = None, /, *, version: int) -> Any:
    return op.Squeeze(data, axes=None if axes is None else _in_the_model(axes, version))


@operator("Unsqueeze", since=(13, 21, 23, 24, 25))
def unsqueeze(data: T, axes: Axes, /) -> T:
    """`data` with axes of one element put in, so that in the result they are `axes`."""
    return data.reshape(affordable(_unsqueezed(data.shape, axes.reshape(-1).tolist()), data.dtype))  # type: ignore[arg-type]


@unsqueeze.infer
def infer_unsqueeze(data: Fact, axes: Fact, /) -> Inferred:
    named, shape = numbers(axes), data.shape
    if shape is None:
        return tensor(data.dtype, None)
    if named is None:
        count = sizes(axes)
        return tensor(data.dtype, None if count is None else (None,) * (len(shape) + len(count)))
    result = _unsqueezed(shape, named.reshape(-1).tolist())

    def unsqueezed() -> Array | None:
        elements = cells(data)
        return None if elements is None else elements.reshape(result)  # type: ignore[arg-type]

    return followed(data.dtype, result, unsqueezed)


@unsqueeze.lower
def lower_unsqueeze(
    data: prim.Tensor,
    axes: prim.Tensor,
    /,
    *,
    facts: tuple[Fact, ...],
    inferred: tuple[Fact, ...],
    read: SizeReader,
) -> prim.Tensor:
    data = in_own_type(data, inferred[0])
    if facts[1].integers is not None:
        return prim.reshape(data, sizes_of(inferred[0]))
    rank = data.rank + numbers_in(axes)[1]
    marks = marked(axes, rank)
    if not data.rank:
        return assume_reshape(data, read(marks))
    place = prim.iota((rank,), 0) - prim.scan("add", marks, 0, exclusive=True)
    place = prim.apply("minimum", prim.apply("maximum", place, 0), data.rank - 1)
    sizes_ = prim.gather(holding(data.shape), [place], (rank,), in_range=True)
    is_new = prim.apply("equal", marks, 1)
    return assume_reshape(data, read(prim.where(prim.apply("less", marks, 0), -1, prim.where(is_new, 1, sizes_))))


@unsqueeze.downgrade
def downgrade_unsqueeze(op: Any, data: Value, axes: Value, /, *, version: int) -> Any:
    return op.Unsqueeze(data, axes=_in_the_model(axes, version))


def _in_the_model(axes: Value, version: int) -> list[int]:
    if version >= squeeze.since[0]:
        raise UnsupportedError("it does not take this element type")
    return integers_of(axes)


@operator("Squeeze", since=(1, 11))
def squeeze_11(data: T11, /, *, axes: Sequence[int] | None = None) -> T11:
    """The same, with the axes in the model."""
    raise superseded()


@squeeze_11.upgrade
def upgrade_squeeze(op: Any, data: Value, /, *, axes: Sequence[int] | None) -> Any:
    return op.Squeeze(data) if axes is None else op.Squeeze(data, list(axes))


@operator("Unsqueeze", since=(1, 11))
def unsqueeze_11(data: T11, /, *, axes: Sequence[int]) -> T11:
    """The same, with the axes in the model."""
    raise superseded()


@unsqueeze_11.upgrade
def upgrade_unsqueeze(op: Any, data: Value, /, *, axes: Sequence[int]) -> Any:
    return op.Unsqueeze(data, list(axes))


def _squeezed(shape: Shape, axes: Sequence[int] | None) -> Shape:
    if axes is None:
        return tuple(size for size in shape if size != 1)
    gone = axes_of(axes, len(shape))
    for axis in gone:
        size = shape[axis]
        if isinstance(size, int) and size != 1:
            raise ShapeError(f"axis {axis} has {size} elements and cannot be taken out")
    return tuple(size for axis, size in enumerate(shape) if axis not in gone)


def _unsqueezed(shape: Shape, axes: Sequence[int]) -> Shape:
    new = set(axes_of(axes, len(shape) + len(axes)))
    old = iter(shape)
    return tuple(1 if axis in new else next(old) for axis in range(len(shape) + len(new)))
