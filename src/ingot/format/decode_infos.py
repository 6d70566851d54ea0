"""ValueInfoProto: what a graph declares of its inputs, outputs and other values, merged into the values."""

from __future__ import annotations

from ingot.format import messages
from ingot.format.context import Context, Source
from ingot.format.decode_types import decode_type
from ingot.format.parts import Within, decode_metadata, each
from ingot.format.residue import Declared
from ingot.format.wire import Fields
from ingot.format.write import field_bytes
from ingot.ir.assemble import add_output
from ingot.ir.graph import Graph
from ingot.ir.scope import Scope
from ingot.ir.value import Value


def decode_outputs(
    context: Context,
    source: Source,
    fields: Fields,
    graph: Graph,
    scope: Scope,
    depth: int,
    extra: dict[str, object],
) -> None:
    differing: dict[int, Declared] = {}
    declarations = each(context, source, fields, "output", lambda part: declared_value(context, part, depth))
    for index, declared in enumerate(declarations):
        value = scope.need(declared.name)
        if not _take(value, declared, graph):
            differing[index] = _as_declared(declared, value)
        add_output(graph, value)
    if differing:
        extra["outputs"] = differing


def decode_value_infos(
    context: Context,
    source: Source,
    fields: Fields,
    graph: Graph,
    scope: Scope,
    depth: int,
    extra: dict[str, object],
    *,
    of_function: bool = False,
) -> None:
    order: list[str | Declared] = []
    for declared in each(context, source, fields, "value_info", lambda part: declared_value(context, part, depth)):
        value = scope.names.get(declared.name)
        if value is not None and declared.name and _take(value, declared, graph, inputs=of_function):
            order.append(declared.name)
        else:
            order.append(_as_declared(declared, value))
    if order:
        extra["value_info"] = tuple(order)


def _take(value: Value, declared: Value, graph: Graph, *, inputs: bool = False) -> bool:
    """Move what is declared into a value this graph computes (or takes); whether the value now says the same."""
    if value.type is None and value.graph is graph and (value.producer is not None or inputs):
        if value.doc_string or value.metadata_if_any or value.residue:
            return False
        value.type = declared.type
        value.doc_string = declared.doc_string
        if metadata := declared.metadata_if_any:
            value.metadata = metadata
        value.residue = declared.residue
        return True
    return (
        value.type is declared.type
        and value.doc_string == declared.doc_string
        and value.metadata_if_any == declared.metadata_if_any
        and value.residue == declared.residue
    )


def _as_declared(declared: Value, value: Value | None) -> Declared:
    return Declared(
        declared.name,
        declared.type,
        declared.doc_string,
        declared.metadata_if_any,
        declared.residue,
        None if value is None else value.type,
    )


_INFO_PLAIN = frozenset({"name", "type"})


def declared_value(context: Context, source: Source, depth: int) -> Value:
    fields = source.fields(messages.VALUE_INFO)
    value = Value(fields.get("name", ""))
    extra: dict[str, object] = {}
    if "type" in fields:
        span = fields["type"]
        with Within("type"):
            value.type = decode_type(context, source.inner(span), depth + 2)
        if value.type is None:
            extra["type"] = field_bytes(2, source.buffer[span[0] : span[1]])
    if extra or not fields.keys() <= _INFO_PLAIN or not fields.get("name"):
        value.doc_string = fields.get("doc_string", "")
        value.metadata = decode_metadata(context, source, fields, extra)
        value.residue = context.residue(fields, ("name", "doc_string"), extra)
    return value
