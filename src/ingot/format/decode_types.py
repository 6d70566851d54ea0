"""TypeProto to types."""

from __future__ import annotations

from collections.abc import Callable

from ingot.dims import Dim, from_param
from ingot.dtypes import DType
from ingot.format import messages
from ingot.format.context import Context, Source
from ingot.format.wire import Fields, Malformed
from ingot.ir.types import (
    MapType,
    OpaqueType,
    OptionalType,
    SequenceType,
    Shape,
    SparseTensorType,
    TensorType,
    Type,
)

_KINDS = ("tensor_type", "sequence_type", "map_type", "optional_type", "sparse_tensor_type", "opaque_type")


def decode_type(context: Context, source: Source, depth: int) -> Type | None:
    """The type, or None for a message that names none. Equal bytes give one object, which keeps them."""
    raw = bytes(source.view)
    if raw not in context.types:
        context.types[raw] = _type(context, source, depth, raw)
    return context.types[raw]


def _type(context: Context, source: Source, depth: int, raw: bytes | None) -> Type | None:
    """The type of a message; the types inside it do not keep their bytes, which are part of its own."""
    context.descend(depth, source.offset)
    context.messages += 1
    fields = source.fields(messages.TYPE)
    present = [name for name in _KINDS if name in fields]
    if len(present) > 1:
        raise Malformed(f"it is both {' and '.join(present)}", source.offset)
    if not present:
        return None
    name = present[0]
    try:
        type_ = _DECODERS[name](context, source.inner(fields[name]), fields.get("denotation", ""), depth + 1)
    except Malformed as error:
        raise error.within(name) from None
    object.__setattr__(type_, "source", raw)
    return type_


def decode_dtype(fields: Fields, name: str, offset: int) -> DType:
    number = fields.get(name, 0)
    try:
        return DType(number)
    except ValueError:
        raise Malformed(f"{number} is not an element type; they go from 1 to {max(DType)}", offset).within(
            name
        ) from None


def _tensor(context: Context, source: Source, denotation: str, depth: int) -> TensorType:
    dtype, shape, axes = _shaped(context, source, depth)
    return TensorType(dtype, shape, axis_denotations=axes, denotation=denotation)


def _sparse(context: Context, source: Source, denotation: str, depth: int) -> SparseTensorType:
    dtype, shape, axes = _shaped(context, source, depth)
    return SparseTensorType(dtype, shape, axis_denotations=axes, denotation=denotation)


def _sequence(context: Context, source: Source, denotation: str, depth: int) -> SequenceType:
    return SequenceType(_element(context, source, depth), denotation=denotation)


def _optional(context: Context, source: Source, denotation: str, depth: int) -> OptionalType:
    return OptionalType(_element(context, source, depth), denotation=denotation)


def _map(context: Context, source: Source, denotation: str, depth: int) -> MapType:
    fields = source.fields(messages.MAP_TYPE)
    value = _nested(context, source, fields, "value_type", depth)
    return MapType(decode_dtype(fields, "key_type", source.offset), value, denotation=denotation)


def _opaque(context: Context, source: Source, denotation: str, depth: int) -> OpaqueType:
    del context, depth
    fields = source.fields(messages.OPAQUE_TYPE)
    return OpaqueType(fields.get("domain", ""), fields.get("name", ""), denotation=denotation)


_DECODERS: dict[str, Callable[[Context, Source, str, int], Type]] = {
    "tensor_type": _tensor,
    "sequence_type": _sequence,
    "map_type": _map,
    "optional_type": _optional,
    "sparse_tensor_type": _sparse,
    "opaque_type": _opaque,
}


def _element(context: Context, source: Source, depth: int) -> Type | None:
    fields = source.fields(messages.ELEMENT_TYPE)
    return _nested(context, source, fields, "elem_type", depth)


def _nested(context: Context, source: Source, fields: Fields, name: str, depth: int) -> Type | None:
    if name not in fields:
        return None
    try:
        return _type(context, source.inner(fields[name]), depth + 1, None)
    except Malformed as error:
        raise error.within(name) from None


def _shaped(context: Context, source: Source, depth: int) -> tuple[DType, Shape | None, tuple[str, ...]]:
    context.descend(depth, source.offset)
    fields = source.fields(messages.TENSOR_TYPE)
    dtype = decode_dtype(fields, "elem_type", source.offset)
    if "shape" not in fields:
        return dtype, None, ()
    try:
        shape = source.inner(fields["shape"]).fields(messages.SHAPE)
        context.spend(source, shape, "dim")
        rows = [source.inner(span).fields(messages.DIMENSION) for span in shape.get("dim", ())]
    except Malformed as error:
        raise error.within("shape") from None
    denotations = tuple(row.get("denotation", "") for row in rows)
    return dtype, tuple(decode_dim(context, row) for row in rows), denotations if any(denotations) else ()


def decode_dim(context: Context, fields: Fields) -> Dim | None:
    """The size a dimension gives: a number, a name or expression, or None."""
    if text := fields.get("dim_param"):
        dim = context.dims.get(text)
        if dim is None:
            dim = context.dims[text] = from_param(text)
        return dim
    value: int | None = fields.get("dim_value")
    return value
