"""Bytes to a model."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, cast

from ingot.errors import DecodeError, ExternalDataError
from ingot.format import messages
from ingot.format.context import Context, Source, decode_entries
from ingot.format.decode_sharding import decode_annotation, decode_device_configuration, decode_node_configuration
from ingot.format.decode_tensors import decode_sparse, decode_tensor, text
from ingot.format.decode_types import decode_type
from ingot.format.external import ExternalFiles, ExternalPolicy, Refused
from ingot.format.limits import Limits
from ingot.format.residue import Declared, Entries
from ingot.format.wire import UNKNOWN, Fields, Kind, Malformed, Span, unpack_numbers
from ingot.format.write import field_bytes
from ingot.ir.attribute import Attribute, AttributeKind, Attributes
from ingot.ir.graph import Graph
from ingot.ir.model import Function, Model, TrainingInfo
from ingot.ir.node import Node
from ingot.ir.value import Value

if TYPE_CHECKING:
    from pathlib import Path

    from ingot.ir.tensor import SparseTensor, Tensor
    from ingot.ir.types import Type

_Part = TypeVar("_Part")

_MODEL_SCALARS = (
    "ir_version",
    "producer_name",
    "producer_version",
    "domain",
    "model_version",
    "doc_string",
)
_NOT_A_MODEL = "is this an ONNX model?"
_NODE_SCALARS = ("name", "op_type", "domain", "overload", "doc_string")
_NODE_PLAIN = frozenset({"input", "output", "name", "op_type", "attribute"})
_FUNCTION_SCALARS = ("name", "domain", "overload", "doc_string")
_CACHED = 256
"""Bytes up to which equal attributes are decoded once."""


def decode(
    buffer: bytes | bytearray | memoryview,
    *,
    folder: Path | None = None,
    limits: Limits | None = None,
    policy: ExternalPolicy | None = None,
) -> Model:
    """The model that `buffer` holds; constants stay views of it.

    External data is looked for in `folder`. DecodeError, with the offset and the field, if the bytes are not a model.
    """
    view = memoryview(buffer).cast("B").toreadonly()
    context = Context(limits or Limits(), ExternalFiles(folder, policy or ExternalPolicy()))
    collecting = gc.isenabled()
    gc.disable()  # everything made here stays alive, so looking for garbage would only double the time
    try:
        if not len(view):
            raise Malformed("the input is empty", 0)
        return _model(context, Source(view, 0, len(view), 0))
    except Malformed as error:
        kind = ExternalDataError if isinstance(error, Refused) else DecodeError
        path = ".".join(["model", *error.path])
        hint = error.hint or (None if error.path else _NOT_A_MODEL)
        raise kind(error.message, offset=error.offset, path=path, hint=hint) from None
    except RecursionError:
        raise DecodeError("messages are nested too deep", hint="lower Limits.nesting") from None
    finally:
        if collecting:
            gc.enable()


class _Scope:
    """The names a graph can see: its own values, then those of the graphs around it."""

    __slots__ = ("names", "outer")

    def __init__(self, outer: _Scope | None) -> None:
        self.names: dict[str, Value] = {}
        self.outer = outer

    def find(self, name: str) -> Value:
        """The value of that name; one that nothing defines if there is none, the same for every reader."""
        scope: _Scope | None = self
        while scope is not None:
            found = scope.names.get(name)
            if found is not None:
                return found
            scope = scope.outer
        found = self.names[name] = Value(name)
        return found


def _model(context: Context, source: Source) -> Model:
    fields = source.fields(messages.MODEL)
    if "graph" not in fields:
        raise Malformed("it has no graph", source.offset, hint=_NOT_A_MODEL)
    extra: dict[str, object] = {}
    scope = _Scope(None)
    with _Within("graph"):
        graph = _graph(context, source.inner(fields["graph"]), scope, 1)
    model = Model(
        graph,
        _opsets(context, source, fields, extra),
        functions=_functions(context, source, fields),
        ir_version=fields.get("ir_version", 0),
        producer_name=fields.get("producer_name", ""),
        producer_version=fields.get("producer_version", ""),
        domain=fields.get("domain", ""),
        model_version=fields.get("model_version", 0),
        doc_string=fields.get("doc_string", ""),
        metadata=_metadata(context, source, fields, extra),
    )
    model.training.extend(
        _each(context, source, fields, "training_info", lambda part: _training(context, part, model, scope))
    )
    model.configurations.extend(_each(context, source, fields, "configuration", decode_device_configuration))
    model.residue = context.residue(fields, _MODEL_SCALARS, extra)
    return model


def _graph(context: Context, source: Source, scope: _Scope, depth: int) -> Graph:
    context.descend(depth, source.offset)
    fields = source.fields(messages.GRAPH)
    graph = Graph(name=fields.get("name", ""), doc_string=fields.get("doc_string", ""))
    extra: dict[str, object] = {}
    names = scope.names
    for value in _each(context, source, fields, "input", lambda part: _declared_value(context, part, depth)):
        graph.inputs._items.append(value)
        value._graph = graph
        names.setdefault(value.name, value)
    _initializers(context, source, fields, graph, names)
    _nodes(context, source, fields, graph, scope, depth)
    _outputs(context, source, fields, graph, scope, depth, extra)
    _value_info(context, source, fields, graph, scope, depth, extra)
    graph.quantization.extend(
        _each(
            context,
            source,
            fields,
            "quantization_annotation",
            lambda part: decode_annotation(context, part, scope.find),
        )
    )
    graph._metadata = _metadata(context, source, fields, extra)
    graph.residue = context.residue(fields, ("name", "doc_string"), extra)
    return graph


def _initializers(context: Context, source: Source, fields: Fields, graph: Graph, names: dict[str, Value]) -> None:
    members = graph.initializers._members
    for field, decoder in (("initializer", decode_tensor), ("sparse_initializer", decode_sparse)):
        read = cast("Callable[[Context, Source], Tensor | SparseTensor]", decoder)
        for tensor in _each(context, source, fields, field, partial(read, context)):
            value = names.get(tensor.name)
            if value is None or value.constant is not None:
                value = Value(tensor.name, tensor.type)
                value._graph = graph
                names.setdefault(tensor.name, value)
            value.constant = tensor
            members[value] = None


def _nodes(context: Context, source: Source, fields: Fields, graph: Graph, scope: _Scope, depth: int) -> None:
    """Make every node, then look up what each reads: nodes may come in any order, and subgraphs see all of it."""
    context.spend(source, fields, "node")
    names = scope.names
    rows: list[tuple[Node, Fields, Source]] = []
    last: Node | None = None
    spans: list[Span] = fields.get("node", [])
    current: Node | None = None
    try:
        for span in spans:
            part = source.copied(span)
            row = part.fields(messages.NODE)
            context.spend(part, row, "input", "output")
            node = _bare_node(context, part, row)
            for position, name in enumerate(row.get("output", ())):
                value = node._outputs[position]
                value._name, value.producer, value.index = name, node, position
                if name:
                    names.setdefault(name, value)
            node.graph = graph
            node._previous = last
            if last is None:
                graph._head = node
            else:
                last._next = node
            last = node
            if "input" in row or "attribute" in row or "device_configurations" in row:
                rows.append((node, row, part))
            else:
                node._inputs = ()
        graph._tail = last
        graph._count = len(spans)
        for current, row, part in rows:
            inputs: list[Value | None] = []
            for position, name in enumerate(row.get("input", ())):
                if not name:
                    inputs.append(None)
                    continue
                found = names.get(name) or scope.find(name)
                found._uses[current, position] = None
                inputs.append(found)
            current._inputs = tuple(inputs)
            if "attribute" in row:
                _attributes(context, part, row, current, scope, depth + 1)
            if "device_configurations" in row:
                configure = partial(decode_node_configuration, context, scope.find)
                current.device_configurations = tuple(_each(context, part, row, "device_configurations", configure))
    except Malformed as error:
        made = graph.nodes
        at = len(made) if current is None else made.index(current)
        raise error.within(f"node[{at}]") from None


def _bare_node(context: Context, source: Source, row: Fields) -> Node:
    """A node with its outputs made but nothing looked up."""
    node = Node.__new__(Node)
    node.name = row.get("name", "")
    node.op_type = row.get("op_type", "")
    node.domain = row.get("domain", "")
    node.overload = row.get("overload", "")
    node.doc_string = row.get("doc_string", "")
    node.attributes = Attributes(node)
    node.device_configurations = ()
    node.residue = None
    node._metadata = None
    if not row.keys() <= _NODE_PLAIN or not node.op_type or not node.name:
        extra: dict[str, object] = {}
        node._metadata = _metadata(context, source, row, extra)
        node.residue = context.residue(row, _NODE_SCALARS, extra)
    node._live = True
    node._next = node._previous = None
    node._outputs = tuple([Value() for _ in row.get("output", ())])
    return node


def _attributes(context: Context, source: Source, row: Fields, node: Node, scope: _Scope, depth: int) -> None:
    context.spend(source, row, "attribute")
    attributes = node.attributes
    for index, span in enumerate(row["attribute"]):
        try:
            attribute = _attribute(context, source.inner(span), scope, depth)
            if attribute.name in attributes:
                raise Malformed(f"attribute '{attribute.name}' is given twice", source.base + span[0])
        except Malformed as error:
            raise error.within(f"attribute[{index}]") from None
        dict.__setitem__(attributes, attribute.name, attribute)
        for graph in attribute.graphs:
            graph._owner = node


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


def _attribute(context: Context, source: Source, scope: _Scope, depth: int) -> Attribute:
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
    attribute = Attribute.__new__(Attribute)
    attribute.name = fields.get("name", "")
    attribute.ref = fields.get("ref_attr_name", "")
    attribute.doc_string = fields.get("doc_string", "")
    attribute.kind = kind = _kind(fields, source)
    attribute.residue = None
    if kind in _NESTED and not attribute.ref:
        attribute.source = None
        extra = {} if fields.get("type") else {"untyped": True}
        _keep_defaults(fields, kind)
        attribute.residue = context.residue(fields, ("name", "doc_string", "ref_attr_name", "type"), extra)
        attribute.value = _nested_payload(context, source, fields, kind, scope, depth)
    else:
        attribute.source = raw
        attribute.value = None if attribute.ref else _plain_payload(context, source, fields, kind, depth)
        if size <= _CACHED:
            context.attributes[bytes(raw)] = attribute
    return attribute


def _kind(fields: Fields, source: Source) -> AttributeKind:
    """The kind an attribute has, said or, in the oldest files, seen; Malformed if it holds anything of another kind."""
    stated = fields.get("type", 0)
    given = [name for name in fields if name in _KIND_OF]
    if stated:
        kind = _KINDS.get(stated)
        if kind is None:
            raise Malformed(f"{stated} is not an attribute type", source.offset).within("type")
    elif len(given) == 1:
        kind = _KIND_OF[given[0]]
    else:
        found = " and ".join(given) or "no value"
        raise Malformed(f"attribute '{fields.get('name', '')}' has no type, and {found}", source.offset)
    payload = _PAYLOAD[kind]
    for name in given:
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
    """Put scalars that say nothing, beside the value of an attribute, among the fields nobody knows."""
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
            return tuple(_each(context, source, fields, "type_protos", lambda part: _type(context, part, depth + 1)))
    if "tp" not in fields:
        raise Malformed("it has no value", source.offset).within("tp")
    with _Within("tp"):
        return _type(context, source.inner(fields["tp"]), depth + 1)


def _type(context: Context, source: Source, depth: int) -> Type:
    type_ = decode_type(context, source, depth)
    if type_ is None:
        raise Malformed("the type names no kind", source.offset)
    return type_


def _nested_payload(
    context: Context, source: Source, fields: Fields, kind: AttributeKind, scope: _Scope, depth: int
) -> Any:
    name = _PAYLOAD[kind]
    if kind.is_list:
        element = kind.element
        return tuple(
            _each(context, source, fields, name, lambda part: _nested_item(context, part, element, scope, depth))
        )
    if name not in fields:
        raise Malformed("it has no value", source.offset).within(name)
    with _Within(name):
        return _nested_item(context, source.inner(fields[name]), kind, scope, depth)


def _nested_item(context: Context, source: Source, kind: AttributeKind, scope: _Scope, depth: int) -> Any:
    context.messages += 1
    if kind is AttributeKind.TENSOR:
        return decode_tensor(context, source)
    if kind is AttributeKind.SPARSE_TENSOR:
        return decode_sparse(context, source)
    return _graph(context, source, _Scope(scope), depth + 1)


def _outputs(
    context: Context,
    source: Source,
    fields: Fields,
    graph: Graph,
    scope: _Scope,
    depth: int,
    extra: dict[str, object],
) -> None:
    differing: dict[int, Declared] = {}
    each = _each(context, source, fields, "output", lambda part: _declared_value(context, part, depth))
    for index, declared in enumerate(each):
        value = scope.find(declared.name)
        if not _take(value, declared, graph):
            differing[index] = _as_declared(declared, value)
        graph.outputs._items.append(value)
        if value._output_of is None:
            value._output_of = []
        value._output_of.append(graph)
    if differing:
        extra["outputs"] = differing


def _value_info(
    context: Context,
    source: Source,
    fields: Fields,
    graph: Graph,
    scope: _Scope,
    depth: int,
    extra: dict[str, object],
    *,
    of_function: bool = False,
) -> None:
    order: list[str | Declared] = []
    for declared in _each(context, source, fields, "value_info", lambda part: _declared_value(context, part, depth)):
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
        if value.doc_string or value._metadata or value.residue:
            return False
        value.type = declared.type
        value.doc_string = declared.doc_string
        value._metadata = declared._metadata
        value.residue = declared.residue
        return True
    return (
        value.type is declared.type
        and value.doc_string == declared.doc_string
        and value._metadata == declared._metadata
        and value.residue == declared.residue
    )


def _as_declared(declared: Value, value: Value | None) -> Declared:
    return Declared(
        declared.name,
        declared.type,
        declared.doc_string,
        declared._metadata,
        declared.residue,
        None if value is None else value.type,
    )


_INFO_PLAIN = frozenset({"name", "type"})


def _declared_value(context: Context, source: Source, depth: int) -> Value:
    fields = source.fields(messages.VALUE_INFO)
    value = Value(fields.get("name"))
    if "type" in fields:
        span = fields["type"]
        with _Within("type"):
            value.type = decode_type(context, source.inner(span), depth + 2)
        if value.type is None:
            raw = source.buffer[span[0] : span[1]]
            fields[UNKNOWN] = bytes(fields.get(UNKNOWN, b"")) + field_bytes(2, raw)
    if not fields.keys() <= _INFO_PLAIN or not fields.get("name"):
        extra: dict[str, object] = {}
        value.doc_string = fields.get("doc_string", "")
        value._metadata = _metadata(context, source, fields, extra)
        value.residue = context.residue(fields, ("name", "doc_string"), extra)
    value._name = value._name or ""
    return value


def _functions(context: Context, source: Source, fields: Fields) -> list[Function]:
    functions: dict[tuple[str, str, str], Function] = {}
    for function in _each(context, source, fields, "functions", partial(_function, context)):
        if function.id in functions:
            raise Malformed(f"function '{function.id}' is defined twice", source.offset).within("functions")
        functions[function.id] = function
    return list(functions.values())


def _function(context: Context, source: Source) -> Function:
    fields = source.fields(messages.FUNCTION)
    extra: dict[str, object] = {}
    context.spend(source, fields, "input", "output", "attribute")
    scope = _Scope(None)
    graph = Graph()
    for name in fields.get("input", ()):
        value = Value(name)
        value._graph = graph
        graph.inputs._items.append(value)
        scope.names.setdefault(name, value)
    _nodes(context, source, fields, graph, scope, 2)
    for name in fields.get("output", ()):
        value = scope.find(name)
        graph.outputs._items.append(value)
        if value._output_of is None:
            value._output_of = []
        value._output_of.append(graph)
    _value_info(context, source, fields, graph, scope, 2, extra, of_function=True)
    attributes: dict[str, Attribute | None] = dict.fromkeys(fields.get("attribute", ()))
    if len(attributes) < len(fields.get("attribute", ())):
        raise Malformed("an attribute is declared twice", source.offset).within("attribute")
    defaults = _each(context, source, fields, "attribute_proto", lambda part: _attribute(context, part, scope, 3))
    for attribute in defaults:
        if attribute.name in attributes:
            raise Malformed(f"attribute '{attribute.name}' is declared twice", source.offset).within("attribute_proto")
        attributes[attribute.name] = attribute
    function = Function(
        fields.get("domain", ""),
        fields.get("name", ""),
        graph,
        overload=fields.get("overload", ""),
        attributes=attributes,
        opset_imports=_opsets(context, source, fields, extra),
        doc_string=fields.get("doc_string", ""),
    )
    function._metadata = _metadata(context, source, fields, extra)
    function.residue = context.residue(fields, _FUNCTION_SCALARS, extra)
    return function


def _training(context: Context, source: Source, model: Model, scope: _Scope) -> TrainingInfo:
    fields = source.fields(messages.TRAINING)
    training = TrainingInfo()
    extra: dict[str, object] = {}
    for name in ("initialization", "algorithm"):
        if name in fields:
            with _Within(name):
                graph = _graph(context, source.inner(fields[name]), _Scope(scope), 2)
            graph.adopt(model)
            setattr(training, name, graph)
    for name in ("initialization_binding", "update_binding"):
        if name in fields:
            bindings, lost = decode_entries(context, source, fields, name)
            setattr(training, name, bindings)
            if lost:
                extra[name] = lost
    training.residue = context.residue(fields, (), extra)
    return training


def _opsets(context: Context, source: Source, fields: Fields, extra: dict[str, object]) -> dict[str, int]:
    imports: dict[str, int] = {}
    raw: list[bytes] = []
    read = partial(_opset, imports)
    raw.extend(_each(context, source, fields, "opset_import", read))
    if raw:
        extra["opset_import"] = Entries(dict(imports), tuple(raw))
    return imports


def _opset(imports: dict[str, int], source: Source) -> bytes:
    entry = source.fields(messages.OPSET_ID)
    domain, version = entry.get("domain", ""), entry.get("version", 0)
    if imports.setdefault(domain, version) != version:
        raise Malformed(
            f"operator set '{domain or 'ai.onnx'}' is imported in versions {imports[domain]} and {version}",
            source.offset,
        )
    return bytes(source.view)


def _metadata(context: Context, source: Source, fields: Fields, extra: dict[str, object]) -> dict[str, str] | None:
    if "metadata_props" not in fields:
        return None
    metadata, lost = decode_entries(context, source, fields, "metadata_props")
    if lost:
        extra["metadata_props"] = lost
    return metadata


def _each(
    context: Context, source: Source, fields: Fields, name: str, decoder: Callable[[Source], _Part]
) -> Iterator[_Part]:
    """The submessages of a repeated field, decoded; an error in one is given its place."""
    spans = fields.get(name)
    if not spans:
        return
    context.spend(source, fields, name)
    buffer, base = source.buffer, source.base
    for index, (start, stop) in enumerate(spans):
        try:
            part = decoder(Source(buffer, start, stop, base))
        except Malformed as error:
            raise error.within(f"{name}[{index}]") from None
        yield part


class _Within:
    """Adds a field's name to the path of an error."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __enter__(self) -> None:
        return

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if isinstance(error, Malformed):
            error.within(self._name)
