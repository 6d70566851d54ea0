"""Kinds of values as the tables of targets name them: `float32`, `seq(float32)`, `optional(seq(int64))`."""

from __future__ import annotations

from ingot.dtypes import DType
from ingot.ir.types import MapType, OptionalType, SequenceType, SparseTensorType, TensorType, Type


def kind_of(type_: Type | None) -> str | None:
    """The kind of values of a type, whatever their sizes; None where it is not wholly known."""
    match type_:
        case TensorType():
            return None if type_.dtype is DType.UNDEFINED else type_.dtype.label
        case SparseTensorType():
            return f"sparse({type_.dtype.label})"
        case SequenceType() | OptionalType():
            inner = kind_of(type_.element)
            return None if inner is None else f"{'seq' if isinstance(type_, SequenceType) else 'optional'}({inner})"
        case MapType():
            value = kind_of(type_.value)
            return None if value is None else f"map({type_.key.label}, {value})"
    return None
