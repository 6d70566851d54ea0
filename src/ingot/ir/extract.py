"""Extracting the part of a model between two sets of values."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ingot.errors import CheckError, InputError
from ingot.ir.clone import Known, copy_function, copy_node, copy_value
from ingot.ir.graph import Graph
from ingot.ir.model import Function, FunctionId, Model, nested_graphs
from ingot.ir.node import Node
from ingot.ir.sharding import TensorAnnotation
from ingot.ir.sort import reads
from ingot.ir.value import Value


def extract(model: Model, inputs: Iterable[str] | None = None, outputs: Iterable[str] | None = None) -> Model:
    """A new model that computes `outputs` from `inputs`, values of the main graph.

    Without `outputs` it computes all the model does; without `inputs` it takes of the model's own what it needs. Nodes
    that are not on the way are left out, and so are initialisers and functions nobody needs. CheckError if an output
    also needs a graph input that is not among `inputs`; inputs asked for stay, needed or not.
    """
    graph = model.graph
    ends = [graph.value(name) for name in (graph.outputs.names if outputs is None else _listed(outputs))]
    starts = [] if inputs is None else [graph.value(name) for name in _listed(inputs)]
    nodes, leaves = _between(graph, starts, ends)
    if inputs is None:
        starts = [value for value in graph.inputs if value in leaves and value.constant is None]
        leaves = [value for value in leaves if value not in starts]
    needed = [value for value in leaves if value.constant is None]
    if needed:
        names = ", ".join(f"'{value.name}'" for value in needed)
        raise CheckError(
            f"cannot compute {', '.join(repr(v.name) for v in ends)} without {names}",
            hint="list these among the inputs, or cut further up",
        )
    part = _copy_part(graph, starts, ends, nodes, leaves)
    twin = Model(
        part,
        model.opset_imports,
        functions=[copy_function(function) for function in _called(model, part)],
        ir_version=model.ir_version,
        producer_name=model.producer_name,
        producer_version=model.producer_version,
        domain=model.domain,
        model_version=model.model_version,
        doc_string=model.doc_string,
        metadata=model.metadata,
    )
    twin.configurations = list(model.configurations)
    return twin


def _listed(names: Iterable[str]) -> list[str]:
    listed = [names] if isinstance(names, str) else list(names)
    if not listed:
        raise InputError("an empty list of values cuts out nothing")
    if len(set(listed)) < len(listed):
        raise InputError(f"a value is listed twice: {', '.join(listed)}")
    return listed


def _between(graph: Graph, starts: Sequence[Value], ends: Sequence[Value]) -> tuple[list[Node], list[Value]]:
    """The nodes on the way from `starts` to `ends`, in order, and the inputs and initialisers read besides."""
    stop = set(starts)
    on_the_way: set[Node] = set()
    leaves: dict[Value, None] = {}
    pending = [value for value in ends if value not in stop]
    while pending:
        value = pending.pop()
        node = value.producer
        if node is None:
            leaves[value] = None
        elif node not in on_the_way:
            on_the_way.add(node)
            pending.extend(read for read in reads(node) if read not in stop)
    return [node for node in graph.nodes if node in on_the_way], list(leaves)


def _copy_part(
    graph: Graph, starts: Sequence[Value], ends: Sequence[Value], nodes: Sequence[Node], leaves: Sequence[Value]
) -> Graph:
    known: Known = {}
    part = Graph(name=graph.name, doc_string=graph.doc_string)
    for value in starts:
        twin = copy_value(value, known)
        twin.constant = None
        part.inputs.append(twin)
    wanted = set(leaves)
    for value in graph.initializers.values():
        if value in wanted:
            part.initializers.add(copy_value(value, known))
    boundary = set(starts)
    for node in nodes:
        part.append(_copied(node, known, boundary))
    part.outputs.extend(known[value] for value in ends)
    for note in graph.quantization:
        if note.value in known and all(value in known for value in note.parameters.values()):
            parameters = {role: known[value] for role, value in note.parameters.items()}
            part.quantization.append(TensorAnnotation(known[note.value], parameters, note.residue))
    part.metadata = graph.metadata
    return part


def _copied(node: Node, known: Known, starts: set[Value]) -> Node:
    """A copy whose outputs are new, but for those given from outside, which nobody reads any more."""
    outputs = {value: known[value] for value in node.outputs if value in starts}
    for value in outputs:
        del known[value]
    twin = copy_node(node, known)
    for value, stand_in in outputs.items():
        known[value]._name = ""
        known[value] = stand_in
    return twin


def _called(model: Model, graph: Graph) -> list[Function]:
    """The functions a graph calls, directly or not, in the model's order."""
    wanted: set[FunctionId] = set()
    pending = [graph]
    while pending:
        for inner in nested_graphs(pending.pop()):
            for node in inner.nodes:
                function = model.function_of(node)
                if function is not None and function.id not in wanted:
                    wanted.add(function.id)
                    pending.append(function.graph)
    return [function for name, function in model.functions.items() if name in wanted]
