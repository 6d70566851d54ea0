"""Types to TypeProto."""

from __future__ import annotations

from ingot.dims import Dim
from ingot.format.write import field_bytes, field_int, field_text
from ingot.ir.types import (
    MapType,
    OpaqueType,
    OptionalType,
    SequenceType,
    SparseTensorType,
    TensorType,
    Type,
)


def encode_type(type_: Type) -> bytes:
    """The message of a type: the bytes it was decoded from, or its canonical form."""
    if type_.source is not None:
        return type_.source
    denotation = field_text(6, type_.denotation) if type_.denotation else b""
    match type_:
        case TensorType():
            return field_bytes(1, _shaped(type_)) + denotation
        case SequenceType():
            return field_bytes(4, _element(1, type_.element)) + denotation
        case MapType():
            return field_bytes(5, field_int(1, type_.key) + _element(2, type_.value)) + denotation
        case OpaqueType():
            domain = field_text(1, type_.domain) if type_.domain else b""
            return denotation + field_bytes(7, domain + (field_text(2, type_.name) if type_.name else b""))
        case SparseTensorType():
            return denotation + field_bytes(8, _shaped(type_))
        case OptionalType():
            return denotation + field_bytes(9, _element(1, type_.element))


def encode_dim(dim: Dim | None) -> bytes:
    """The fields of a dimension: nothing where its size is unknown."""
    if dim is None:
        return b""
    return field_int(1, dim) if isinstance(dim, int) else field_text(2, str(dim))


def _element(number: int, element: Type | None) -> bytes:
    return b"" if element is None else field_bytes(number, encode_type(element))


def _shaped(type_: TensorType | SparseTensorType) -> bytes:
    head = field_int(1, type_.dtype)
    if type_.shape is None:
        return head
    denotations = type_.axis_denotations or ("",) * len(type_.shape)
    rows = []
    for dim, denotation in zip(type_.shape, denotations, strict=True):
        rows.append(field_bytes(1, encode_dim(dim) + (field_text(3, denotation) if denotation else b"")))
    return head + field_bytes(2, b"".join(rows))
