"""The functions that a program in style onnx brings along, as text."""

from __future__ import annotations

NODE = '''\
def node(op_type, inputs, outputs, *attributes, name="", domain="", overload="", **others):
    """Put a node into the graph that is being written; the names of its results."""
    made = onnx.NodeProto(op_type=op_type, input=inputs, output=outputs, name=name)
    made.domain, made.overload = domain, overload
    made.attribute.extend(attributes)
    for key, value in others.items():
        made.attribute.append(helper.make_attribute(key, value))
    written[-1].append(made)
    return outputs[0] if len(outputs) == 1 else outputs'''

SUBGRAPH = '''\
def subgraph(name, inputs, outputs, write, **fields):
    """The graph of the nodes that `write` makes, called with the names of its inputs."""
    written.append([])
    write(*(value.name for value in inputs))
    return helper.make_graph(written.pop(), name, inputs, outputs, **fields)'''

_GRAPHS_OF = '''\
def graphs_of(graph):
    """A graph or function, and the graphs inside of its nodes."""
    yield graph
    for made in graph.node:
        for attribute in made.attribute:
            for inner in ([attribute.g] if attribute.HasField("g") else []) + list(attribute.graphs):
                yield from graphs_of(inner)'''

_NOTE = '''\
def note(message, texts):
    """Put a doc string and metadata onto a message."""
    if "doc_string" in texts:
        message.doc_string = texts["doc_string"]
    for key, value in texts.get("metadata", {}).items():
        message.metadata_props.add(key=key, value=value)'''

_ANNOTATE = '''\
def annotate(model, notes):
    """Put doc strings and metadata onto parts of the model, by their number among all of a kind."""
    functions = list(model.functions)
    graphs = [inner for graph in (model.graph, *functions) for inner in graphs_of(graph)]
    values, tensors = [], []
    for graph in graphs:
        of_function = isinstance(graph, onnx.FunctionProto)
        constants = [] if of_function else [*graph.initializer, *(each.values for each in graph.sparse_initializer)]
        inputs = list(graph.input) if of_function else [value.name for value in graph.input]
        names = [*inputs, *(tensor.name for tensor in constants if tensor.name not in inputs)]
        names += [name for made in graph.node for name in made.output if name]
        infos = [*([] if of_function else [*graph.input, *graph.output]), *graph.value_info]
        by_name = {info.name: info for info in infos}
        values += [by_name.get(name) for name in names]
        tensors += sorted(constants, key=lambda tensor: tensor.name)
    parts = {
        "functions": functions,
        "graphs": graphs,
        "nodes": [made for graph in graphs for made in graph.node],
        "values": values,
        "tensors": tensors,
    }
    for kind, entries in notes.items():
        for number, texts in entries.items():
            note(parts[kind][number], texts)'''

ANNOTATE = (_GRAPHS_OF, _NOTE, _ANNOTATE)
