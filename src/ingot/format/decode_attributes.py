"""AttributeProto to attributes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from ingot.format import messages
from ingot.format.context import Context, Source
from ingot.format.decode_tensors import decode_sparse, decode_tensor, text
from ingot.format.decode_types import decode_type
from ingot.format.parts import Within, each
from ingot.format.schema import Kind
from ingot.format.wire import UNKNOWN, Fields, Malformed, unpack_numbers
from ingot.ir.attribute import Attribute, AttributeKind
from ingot.ir.graph import Graph
from ingot.ir.types import Type

Subgraph: TypeAlias = Callable[[Source, int], Graph]
"""Decodes a graph inside an attribute, at a depth, in the scope of the node that has it."""

_CACHED = 256
"""Bytes up to which equal attributes are decoded once."""


_PAYLOAD = {
    AttributeKind.FLOAT: "f",
    AttributeKind.INT: "i",
    AttributeKind.STRING: "s",
    AttributeKind.TENSOR: "t",
    AttributeKind.GRAPH: "g",
    AttributeKind.FLOATS: "floats",
    AttributeKind.INTS: "ints",
    AttributeKind.STRINGS: "strings",
    AttributeKind.TENSORS: "tensors",
    AttributeKind.GRAPHS: "graphs",
    AttributeKind.SPARSE_TENSOR: "sparse_tensor",
    AttributeKind.SPARSE_TENSORS: "sparse_tensors",
    AttributeKind.TYPE: "tp",
    AttributeKind.TYPES: "type_protos",
}
_KIND_OF = {field: kind for kind, field in _PAYLOAD.items()}
_KINDS = {kind.value: kind for kind in AttributeKind}
_NESTED = frozenset(
    {
        AttributeKind.TENSOR,
        AttributeKind.TENSORS,
        AttributeKind.GRAPH,
        AttributeKind.GRAPHS,
        AttributeKind.SPARSE_TENSOR,
        AttributeKind.SPARSE_TENSORS,
    }
)


def decode_attribute(context: Context, source: Source, subgraph: Subgraph, depth: int) -> Attribute:
    """The attribute of a message. Small equal ones without tensors and graphs are one object."""
    size = source.stop - source.start
    raw = source.view
    if size <= _CACHED:
        raw = bytes(raw)
        known = context.attributes.get(raw)
        if known is not None:
            return known
    context.descend(depth, source.offset)
    fields = source.fields(messages.ATTRIBUTE)
    kind = _kind(fields, source)
    ref = fields.get("ref_attr_name", "")
    attribute = Attribute.__new__(Attribute).assemble(
        name=fields.get("name", ""), kind=kind, ref=ref, doc_string=fields.get("doc_string", "")
    )
    if kind in _NESTED and not ref:
        extra = {} if fields.get("type") else {"untyped": True}
        value = _nested_payload(context, source, fields, kind, subgraph, depth)
        _keep_defaults(fields, kind)
        residue = context.residue(fields, ("name", "doc_string", "ref_attr_name", "type"), extra)
        attribute.assemble(value=value, source=None, residue=residue)
    else:
        value = None if ref else _plain_payload(context, source, fields, kind, depth)
        attribute.assemble(value=value, source=raw, residue=None)
        if size <= _CACHED:
            context.attributes[bytes(raw)] = attribute
    return attribute


def _kind(fields: Fields, source: Source) -> AttributeKind:
    """The kind of an attribute, stated or, in old files, that of its payload; Malformed if it holds another kind."""
    stated = fields.get("type", 0)
    payloads = [name for name in fields if name in _KIND_OF]
    if stated:
        kind = _KINDS.get(stated)
        if kind is None:
            raise Malformed(f"{stated} is not an attribute type", source.offset).within("type")
    elif len(payloads) == 1:
        kind = _KIND_OF[payloads[0]]
    else:
        actual = " and ".join(payloads) or "no value"
        raise Malformed(f"attribute '{fields.get('name', '')}' has no type, and {actual}", source.offset)
    payload = _PAYLOAD[kind]
    for name in payloads:
        if name != payload and not _is_default(fields[name]):
            raise Malformed(
                f"attribute '{fields.get('name', '')}' is of type {kind.name} but gives '{name}'", source.offset
            )
    if fields.get("ref_attr_name") and payload in fields:
        raise Malformed(f"attribute '{fields.get('name', '')}' both refers and has a value", source.offset)
    return kind


def _is_default(payload: Any) -> bool:
    """Whether a scalar payload is what its absence means: some writers set every field."""
    if isinstance(payload, tuple):
        return bool(payload[0] == payload[1])
    return not isinstance(payload, list) and payload == 0


def _keep_defaults(fields: Fields, kind: AttributeKind) -> None:
    """Put scalars without effect, beside the value of an attribute, among the fields nobody knows."""
    for name, raw in (("f", b"\x15\0\0\0\0"), ("i", b"\x18\0"), ("s", b"\x22\0")):
        if name in fields and name != _PAYLOAD[kind]:
            fields[UNKNOWN] = bytes(fields.get(UNKNOWN, b"")) + raw


def _plain_payload(context: Context, source: Source, fields: Fields, kind: AttributeKind, depth: int) -> Any:
    buffer = source.buffer
    match kind:
        case AttributeKind.INT:
            return fields.get("i", 0)
        case AttributeKind.FLOAT:
            return fields.get("f", 0.0)
        case AttributeKind.STRING:
            start, stop = fields.get("s", (0, 0))
            return text(buffer[start:stop])
        case AttributeKind.INTS:
            return tuple(unpack_numbers(fields.get("ints", []), Kind.INT, buffer, source.base))
        case AttributeKind.FLOATS:
            return tuple(unpack_numbers(fields.get("floats", []), Kind.FLOAT, buffer, source.base))
        case AttributeKind.STRINGS:
            return tuple(text(buffer[start:stop]) for start, stop in fields.get("strings", ()))
        case AttributeKind.TYPES:
            return tuple(each(context, source, fields, "type_protos", lambda part: _type(context, part, depth + 1)))
    if "tp" not in fields:
        raise Malformed("it has no value", source.offset).within("tp")
    with Within("tp"):
        return _type(context, source.inner(fields["tp"]), depth + 1)


def _type(context: Context, source: Source, depth: int) -> Type:
    type_ = decode_type(context, source, depth)
    if type_ is None:
        raise Malformed("the type names no kind", source.offset)
    return type_


def _nested_payload(
    context: Context, source: Source, fields: Fields, kind: AttributeKind, subgraph: Subgraph, depth: int
) -> Any:
    name = _PAYLOAD[kind]
    if kind.is_list:
        element = kind.element
        return tuple(
            each(context, source, fields, name, lambda part: _nested_item(context, part, element, subgraph, depth))
        )
    if name not in fields:
        raise Malformed("it has no value", source.offset).within(name)
    with Within(name):
        return _nested_item(context, source.inner(fields[name]), kind, subgraph, depth)


def _nested_item(context: Context, source: Source, kind: AttributeKind, subgraph: Subgraph, depth: int) -> Any:
    context.messages += 1
    if kind is AttributeKind.TENSOR:
        return decode_tensor(context, source)
    if kind is AttributeKind.SPARSE_TENSOR:
        return decode_sparse(context, source)
    return subgraph(source, depth + 1)
