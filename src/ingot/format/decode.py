"""Bytes to a model."""

from __future__ import annotations

import gc
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, cast

from ingot.errors import DecodeError, ExternalDataError
from ingot.format import messages
from ingot.format.context import Context, Source, decode_entries
from ingot.format.decode_attributes import decode_attribute
from ingot.format.decode_infos import declared_value, decode_outputs, decode_value_infos
from ingot.format.decode_sharding import decode_annotation, decode_device_configuration, decode_node_configuration
from ingot.format.decode_tensors import decode_sparse, decode_tensor
from ingot.format.external import ExternalFiles, ExternalPolicy, Refused
from ingot.format.limits import Limits
from ingot.format.ort.schema import is_ort
from ingot.format.parts import Within, decode_metadata, decode_opsets, each
from ingot.format.wire import Fields, Malformed
from ingot.ir.assemble import add_attribute, add_initializer, add_input, add_output, connect, link_nodes, new_node
from ingot.ir.attribute import Attribute
from ingot.ir.domains import canonical
from ingot.ir.graph import Graph
from ingot.ir.model import Function, Model, TrainingInfo
from ingot.ir.node import Node
from ingot.ir.scope import Scope
from ingot.ir.value import Value

if TYPE_CHECKING:
    from pathlib import Path

    from ingot.ir.tensor import SparseTensor, Tensor


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


def decode(
    buffer: bytes | bytearray | memoryview,
    *,
    folder: Path | None = None,
    limits: Limits | None = None,
    policy: ExternalPolicy | None = None,
) -> Model:
    """The model that `buffer` holds, in protobuf or in onnxruntime's own format; constants stay views of it.

    External data is looked for in `folder`. DecodeError, with the offset and the field, if the bytes are not a model.
    """
    view = memoryview(buffer).cast("B").toreadonly()
    context = Context(limits or Limits(), ExternalFiles(folder, policy or ExternalPolicy()))
    collecting = gc.isenabled()
    gc.disable()  # everything made here stays alive, so looking for garbage would only double the time
    try:
        if not len(view):
            raise Malformed("the input is empty", 0)
        if is_ort(view):
            from ingot.format.ort.decode import decode_ort  # rarely needed, and not free to import

            return decode_ort(view, context.limits)
        return _model(context, Source(view, 0, len(view), 0))
    except Malformed as error:
        from ingot.format.other_files import hint_for  # rarely needed, and not free to import

        kind = ExternalDataError if isinstance(error, Refused) else DecodeError
        path = ".".join(["model", *error.path])
        hint = hint_for(view) or error.hint or (None if error.path else _NOT_A_MODEL)
        raise kind(error.message, offset=error.offset, path=path, hint=hint) from None
    except RecursionError:
        raise DecodeError("messages are nested too deep", hint="lower Limits.nesting") from None
    finally:
        if collecting:
            gc.enable()


def _model(context: Context, source: Source) -> Model:
    fields = source.fields(messages.MODEL)
    if "graph" not in fields:
        raise Malformed("it has no graph", source.offset, hint=_NOT_A_MODEL)
    extra: dict[str, object] = {}
    scope = Scope(None)
    with Within("graph"):
        graph = _graph(context, source.inner(fields["graph"]), scope, 1)
    model = Model(
        graph,
        decode_opsets(context, source, fields, extra),
        functions=_functions(context, source, fields),
        ir_version=fields.get("ir_version", 0),
        producer_name=fields.get("producer_name", ""),
        producer_version=fields.get("producer_version", ""),
        domain=fields.get("domain", ""),
        model_version=fields.get("model_version", 0),
        doc_string=fields.get("doc_string", ""),
        metadata=decode_metadata(context, source, fields, extra),
    )
    model.training.extend(
        each(context, source, fields, "training_info", lambda part: _training(context, part, model, scope))
    )
    model.configurations.extend(each(context, source, fields, "configuration", decode_device_configuration))
    model.residue = context.residue(fields, _MODEL_SCALARS, extra)
    return model


def _graph(context: Context, source: Source, scope: Scope, depth: int) -> Graph:
    context.descend(depth, source.offset)
    fields = source.fields(messages.GRAPH)
    graph = Graph(name=fields.get("name", ""), doc_string=fields.get("doc_string", ""))
    extra: dict[str, object] = {}
    names = scope.names
    for value in each(context, source, fields, "input", lambda part: declared_value(context, part, depth)):
        add_input(graph, value)
        names.setdefault(value.name, value)
    _initializers(context, source, fields, graph, names)
    _nodes(context, source, fields, graph, scope, depth)
    decode_outputs(context, source, fields, graph, scope, depth, extra)
    decode_value_infos(context, source, fields, graph, scope, depth, extra)
    graph.quantization.extend(
        each(
            context,
            source,
            fields,
            "quantization_annotation",
            lambda part: decode_annotation(context, part, scope.need),
        )
    )
    graph.metadata = decode_metadata(context, source, fields, extra)
    graph.residue = context.residue(fields, ("name", "doc_string"), extra)
    return graph


def _initializers(context: Context, source: Source, fields: Fields, graph: Graph, names: dict[str, Value]) -> None:
    for field, decoder in (("initializer", decode_tensor), ("sparse_initializer", decode_sparse)):
        read = cast("Callable[[Context, Source], Tensor | SparseTensor]", decoder)
        for tensor in each(context, source, fields, field, partial(read, context)):
            value = names.get(tensor.name)
            if value is None or value.constant is not None:
                value = Value(tensor.name, tensor.type)
                names.setdefault(tensor.name, value)
            value.constant = tensor
            add_initializer(graph, value)


def _nodes(context: Context, source: Source, fields: Fields, graph: Graph, scope: Scope, depth: int) -> None:
    """Make every node, then look up what each reads: nodes may come in any order, and subgraphs see all of it."""
    context.spend(source, fields, "node")
    names = scope.names
    nodes: list[Node] = []
    rows: list[tuple[Node, Fields, Source]] = []
    current: Node | None = None
    try:
        for span in fields.get("node", ()):
            part = source.copied(span)
            row = part.fields(messages.NODE)
            context.spend(part, row, "input", "output")
            node = _bare_node(context, part, row)
            nodes.append(node)
            for name, value in zip(row.get("output", ()), node.outputs, strict=True):
                if name:
                    names.setdefault(name, value)
            if "input" in row or "attribute" in row or "device_configurations" in row:
                rows.append((node, row, part))
        link_nodes(graph, nodes)
        for current, row, part in rows:
            connect(current, [(names.get(name) or scope.need(name)) if name else None for name in row.get("input", ())])
            if "attribute" in row:
                _attributes(context, part, row, current, scope, depth + 1)
            if "device_configurations" in row:
                configure = partial(decode_node_configuration, context, scope.need)
                current.device_configurations = tuple(each(context, part, row, "device_configurations", configure))
    except Malformed as error:
        at = len(nodes) if current is None else nodes.index(current)
        raise error.within(f"node[{at}]") from None


def _bare_node(context: Context, source: Source, row: Fields) -> Node:
    """A node with its outputs made but nothing looked up."""
    node = new_node(row.get("op_type", ""), row.get("output", ()), row.get("name", ""))
    if not row.keys() <= _NODE_PLAIN or not node.op_type or not node.name:
        node.domain = row.get("domain", "")
        node.overload = row.get("overload", "")
        node.doc_string = row.get("doc_string", "")
        extra = _spelling(row)
        node.metadata = decode_metadata(context, source, row, extra)
        node.residue = context.residue(row, _NODE_SCALARS, extra)
    return node


def _spelling(row: Fields) -> dict[str, object]:
    """The domain of a node or function for its residue, where the file does not spell it as the graph does."""
    domain = row.get("domain", "")
    return {} if canonical(domain) == domain else {"domain": domain}


def _attributes(context: Context, source: Source, row: Fields, node: Node, scope: Scope, depth: int) -> None:
    context.spend(source, row, "attribute")
    attributes = node.attributes

    def subgraph(inner: Source, level: int) -> Graph:
        return _graph(context, inner, Scope(scope), level)

    for index, span in enumerate(row["attribute"]):
        try:
            attribute = decode_attribute(context, source.inner(span), subgraph, depth)
            if attribute.name in attributes:
                raise Malformed(f"attribute '{attribute.name}' is given twice", source.base + span[0])
        except Malformed as error:
            raise error.within(f"attribute[{index}]") from None
        add_attribute(node, attribute)


def _functions(context: Context, source: Source, fields: Fields) -> list[Function]:
    functions: dict[tuple[str, str, str], Function] = {}
    for function in each(context, source, fields, "functions", partial(_function, context)):
        if function.id in functions:
            raise Malformed(f"function '{function.id}' is defined twice", source.offset).within("functions")
        functions[function.id] = function
    return list(functions.values())


def _function(context: Context, source: Source) -> Function:
    fields = source.fields(messages.FUNCTION)
    extra = _spelling(fields)
    context.spend(source, fields, "input", "output", "attribute")
    scope = Scope(None)
    graph = Graph()
    for name in fields.get("input", ()):
        value = Value(name)
        add_input(graph, value)
        scope.names.setdefault(name, value)
    _nodes(context, source, fields, graph, scope, 2)
    for name in fields.get("output", ()):
        add_output(graph, scope.need(name))
    decode_value_infos(context, source, fields, graph, scope, 2, extra, of_function=True)
    attributes: dict[str, Attribute | None] = dict.fromkeys(fields.get("attribute", ()))
    if len(attributes) < len(fields.get("attribute", ())):
        raise Malformed("an attribute is declared twice", source.offset).within("attribute")

    def subgraph(inner: Source, level: int) -> Graph:
        return _graph(context, inner, Scope(scope), level)

    defaults = each(
        context, source, fields, "attribute_proto", lambda part: decode_attribute(context, part, subgraph, 3)
    )
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
        opset_imports=decode_opsets(context, source, fields, extra),
        doc_string=fields.get("doc_string", ""),
    )
    function.metadata = decode_metadata(context, source, fields, extra)
    function.residue = context.residue(fields, _FUNCTION_SCALARS, extra)
    return function


def _training(context: Context, source: Source, model: Model, scope: Scope) -> TrainingInfo:
    fields = source.fields(messages.TRAINING)
    training = TrainingInfo()
    extra: dict[str, object] = {}
    for name in ("initialization", "algorithm"):
        if name in fields:
            with Within(name):
                graph = _graph(context, source.inner(fields[name]), Scope(scope), 2)
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
