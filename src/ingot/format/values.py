"""Values outside a model: the TensorProto, SequenceProto, MapProto and OptionalProto files that test data comes in."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

from ingot.dtypes import DType
from ingot.errors import DecodeError, ExternalDataError, InputError
from ingot.format import messages
from ingot.format.context import Context, Source
from ingot.format.decode_tensors import decode_sparse, decode_tensor, text
from ingot.format.encode_tensors import encode_sparse, encode_tensor
from ingot.format.external import ExternalFiles, ExternalPolicy, Refused
from ingot.format.limits import Limits
from ingot.format.schema import Kind
from ingot.format.wire import Malformed, unpack_numbers
from ingot.format.write import Parts, field_bytes, field_int
from ingot.ir.tensor import SparseTensor, Tensor
from ingot.ir.types import MapType, OptionalType, SequenceType, SparseTensorType, TensorType, Type

Item: TypeAlias = "Tensor | SparseTensor | list[Any] | dict[int | str, Any] | None"
"""A tensor, a sequence as a list, a map as a dictionary, an empty optional as None."""

_TENSOR, _SPARSE, _SEQUENCE, _MAP, _OPTIONAL = range(1, 6)
_SEQUENCE_FIELDS = {
    _TENSOR: "tensor_values",
    _SPARSE: "sparse_tensor_values",
    _SEQUENCE: "sequence_values",
    _MAP: "map_values",
    _OPTIONAL: "optional_values",
}
_OPTIONAL_FIELDS = {number: name.removesuffix("s") for number, name in _SEQUENCE_FIELDS.items()}


def decode_value(buffer: bytes | memoryview, type_: Type, *, limits: Limits | None = None) -> Item:
    """The value of `type_` in `buffer`, whose bytes alone do not say what they hold. DecodeError if it is none."""
    context = Context(limits or Limits(), ExternalFiles(None, ExternalPolicy()))
    view = memoryview(buffer).cast("B").toreadonly()
    source = Source(view, 0, len(view), 0)
    try:
        return _DECODERS[_kind(type_)](context, source, 1)
    except Malformed as error:
        kind = ExternalDataError if isinstance(error, Refused) else DecodeError
        path = ".".join(["value", *error.path])
        raise kind(error.message, offset=error.offset, path=path, hint=error.hint) from None


def encode_value(value: Item, type_: Type) -> bytes:
    """The bytes of a value of `type_`; InputError if it is not one."""
    return _encode(value, type_).join()


def _kind(type_: Type | None) -> int:
    match type_:
        case TensorType():
            return _TENSOR
        case SparseTensorType():
            return _SPARSE
        case SequenceType():
            return _SEQUENCE
        case MapType():
            return _MAP
        case OptionalType():
            return _OPTIONAL
    raise InputError(f"no file holds a value of type {type_ or '?'}")


def _sequence(context: Context, source: Source, depth: int) -> list[Any]:
    context.descend(depth, source.offset)
    fields = source.fields(messages.SEQUENCE)
    kind = fields.get("elem_type", 0)
    payloads = [number for number, name in _SEQUENCE_FIELDS.items() if name in fields]
    if len(payloads) > 1 or (payloads and kind not in (0, payloads[0])):
        raise Malformed("it holds items of several kinds, or of another than it says", source.offset)
    if not payloads:
        return []
    name = _SEQUENCE_FIELDS[payloads[0]]
    context.spend(source, fields, name)
    items = []
    for index, span in enumerate(fields[name]):
        try:
            items.append(_DECODERS[payloads[0]](context, source.inner(span), depth + 1))
        except Malformed as error:
            raise error.within(f"{name}[{index}]") from None
    return items


def _map(context: Context, source: Source, depth: int) -> dict[int | str, Any]:
    context.descend(depth, source.offset)
    fields = source.fields(messages.MAP)
    if "string_keys" in fields:
        keys: list[Any] = [text(source.buffer[start:stop]) for start, stop in fields["string_keys"]]
    else:
        keys = unpack_numbers(fields.get("keys", []), Kind.INT, source.buffer, source.base)
    values = _sequence(context, source.inner(fields["values"]), depth + 1) if "values" in fields else []
    if len(keys) != len(values) or len(set(keys)) < len(keys):
        raise Malformed(f"{len(keys)} keys and {len(values)} values make no map", source.offset)
    return dict(zip(keys, values, strict=True))


def _optional(context: Context, source: Source, depth: int) -> Item:
    context.descend(depth, source.offset)
    fields = source.fields(messages.OPTIONAL)
    payloads = [number for number, name in _OPTIONAL_FIELDS.items() if name in fields]
    if len(payloads) > 1:
        raise Malformed("it holds several values", source.offset)
    if not payloads:
        return None
    name = _OPTIONAL_FIELDS[payloads[0]]
    try:
        return _DECODERS[payloads[0]](context, source.inner(fields[name]), depth + 1)
    except Malformed as error:
        raise error.within(name) from None


_DECODERS: Mapping[int, Callable[[Context, Source, int], Item]] = {
    _TENSOR: lambda context, source, _: decode_tensor(context, source),
    _SPARSE: lambda context, source, _: decode_sparse(context, source),
    _SEQUENCE: _sequence,
    _MAP: _map,
    _OPTIONAL: _optional,
}


def _encode(value: Item, type_: Type | None) -> Parts:
    match type_, value:
        case TensorType(), Tensor():
            return encode_tensor(value, value.name)
        case SparseTensorType(), SparseTensor():
            return encode_sparse(value, lambda tensor: tensor, value.name)
        case SequenceType(), list():
            return _encode_sequence(value, type_.element)
        case MapType(), dict():
            return _encode_map(value, type_)
        case OptionalType(), None:
            out = Parts()
            out.add(field_int(2, 0 if type_.element is None else _kind(type_.element)))
            return out
        case OptionalType(), _:
            kind = _kind(type_.element)
            out = Parts()
            out.add(field_int(2, kind))
            out.message(messages.OPTIONAL.fields[_OPTIONAL_FIELDS[kind]].number, _encode(value, type_.element))
            return out
    raise InputError(f"a {type(value).__name__} is not a value of type {type_ or '?'}")


def _encode_sequence(items: Iterable[Any], element: Type | None) -> Parts:
    kind = _kind(element)
    out = Parts()
    out.add(field_int(2, kind))
    for item in items:
        out.message(messages.SEQUENCE.fields[_SEQUENCE_FIELDS[kind]].number, _encode(item, element))
    return out


def _encode_map(items: Mapping[Any, Any], type_: MapType) -> Parts:
    out = Parts()
    out.add(field_int(2, type_.key))
    for key in items:
        if type_.key is DType.STRING:
            out.add(field_bytes(4, key if isinstance(key, bytes) else key.encode()))
        else:
            out.add(field_int(3, key))
    out.message(5, _encode_sequence(items.values(), type_.value))
    return out
