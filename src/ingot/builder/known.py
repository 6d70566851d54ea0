"""What is known of a result without knowing any operator: element types, and the shapes broadcasting gives."""

from __future__ import annotations

from itertools import zip_longest

from ingot.dims import Dim
from ingot.dtypes import DType
from ingot.ir.types import (
    MapType,
    OptionalType,
    SequenceType,
    Shape,
    SparseTensorType,
    TensorType,
    Type,
)
from ingot.ir.value import Value


def dtype_of(value: Value) -> DType | None:
    """The element type of a tensor; None where it is not known."""
    type_ = value.type
    return type_.dtype if isinstance(type_, TensorType) and type_.dtype is not DType.UNDEFINED else None


def shape_of(value: Value) -> Shape | None:
    """The shape of a tensor; None where not even its rank is known."""
    return value.type.shape if isinstance(value.type, TensorType) else None


def tensor(dtype: DType | None, shape: Shape | None = None) -> TensorType | None:
    """A tensor type of what is known: nothing without an element type."""
    return None if dtype is None else TensorType(dtype, shape)


def broadcast(a: Shape | None, b: Shape | None) -> Shape | None:
    """The shape of an elementwise result, as far as it follows from the shapes of both sides."""
    if a is None or b is None:
        return None
    return tuple(reversed([_wider(m, n) for m, n in zip_longest(reversed(a), reversed(b), fillvalue=1)]))


def common(a: Type | None, b: Type | None) -> Type | None:
    """A type that holds of both: equal types, or tensors of one element type with the sizes on which they agree."""
    if a == b:
        return a
    if not isinstance(a, TensorType) or not isinstance(b, TensorType) or a.dtype is not b.dtype:
        return None
    if a.shape is None or b.shape is None or len(a.shape) != len(b.shape):
        return TensorType(a.dtype)
    return TensorType(a.dtype, tuple(m if m == n else None for m, n in zip(a.shape, b.shape, strict=True)))


def any_shape(type_: Type | None) -> Type | None:
    """`type_` with its shapes forgotten: what holds of a value that a loop carries around."""
    match type_:
        case TensorType():
            return TensorType(type_.dtype)
        case SparseTensorType():
            return SparseTensorType(type_.dtype)
        case SequenceType():
            return SequenceType(any_shape(type_.element))
        case OptionalType():
            return OptionalType(any_shape(type_.element))
        case MapType():
            return MapType(type_.key, any_shape(type_.value))
    return type_


def without_axis(type_: Type | None, axis: int) -> Type | None:
    """The type of one slice of a tensor along `axis`."""
    if not isinstance(type_, TensorType):
        return None
    if type_.shape is None or not -len(type_.shape) <= axis < len(type_.shape):
        return TensorType(type_.dtype)
    sizes = list(type_.shape)
    del sizes[axis]
    return TensorType(type_.dtype, tuple(sizes))


def _wider(m: Dim | None, n: Dim | None) -> Dim | None:
    if m == 1 or m == n:
        return n
    if n == 1:
        return m
    return m if isinstance(m, int) else n if isinstance(n, int) else None
