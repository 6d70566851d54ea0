"""Verification of structure: single assignment, names, scope, order, and links that agree with each other.

What an operator may be given is not looked at here.
"""

from __future__ import annotations

from collections import ChainMap, Counter
from collections.abc import Iterable, Iterator, MutableMapping

from ingot.errors import CheckError
from ingot.ir.domains import spelled_out
from ingot.ir.graph import Graph
from ingot.ir.model import Model
from ingot.ir.node import Node
from ingot.ir.value import Value


def verify(model: Model) -> None:
    """CheckError listing every structural problem; nothing if there is none."""
    messages = list(problems(model))
    if messages:
        more = [f"and {len(messages) - 20} more"] if len(messages) > 20 else []
        count = "1 problem" if len(messages) == 1 else f"{len(messages)} problems"
        raise CheckError(f"the model has {count}", where=(*messages[:20], *more))


def verify_names(model: Model) -> None:
    """CheckError if values share a name so that, written out, one would become the other, or break the standard."""
    for root in model.roots():
        for problem in (*_shared_names(root, {}), *_mistaken_names(root, {})):
            raise CheckError(
                problem, hint="rename one of them: value.name = graph.fresh_name(value.name), or ir.uniquify(model)"
            )


def _mistaken_names(graph: Graph, outer: MutableMapping[str, Value]) -> Iterator[str]:
    """Reads of a value, in a graph or inside it, whose name stands for another there; `outer` are the names around."""
    inner = [subgraph for node in graph.nodes for subgraph in node.attributes.graphs()]
    if not inner and not outer:
        return  # all values have one scope, in which no two share a name
    names = ChainMap({value.name: value for value in graph.values()}, outer)
    readers = [(f"node '{node.label}' reads", node.inputs) for node in graph.nodes]
    for reader, values in (*readers, ("a graph returns", graph.outputs)):
        for value in values:
            if value is not None and (other := names.get(value.name)) is not None and other is not value:
                yield f"{reader} {_definition(value)}, but '{value.name}' there is {_definition(other)}"
    for subgraph in inner:
        yield from _mistaken_names(subgraph, names)


def problems(model: Model) -> Iterator[str]:
    """What breaks the rules of a graph, one sentence each."""
    if not model.opset_imports:
        yield "the model imports no operator set"
    trainings = set(_trainings(model))
    seen_in_training = [set(model.graph.values())] if trainings else []
    for root in model.roots():
        yield from _shared_names(root, {})
        yield from _graph_problems(root, seen_in_training if root in trainings else [])
    local = {function.domain for function in model.functions.values()}
    for function in model.functions.values():
        for domain in sorted({node.domain for node in _all_nodes(function.graph)}):
            if domain not in function.opset_imports and domain not in local:
                yield f"function '{function.id}' uses domain '{spelled_out(domain)}' without importing it"
    for domain in sorted({node.domain for root in (model.graph, *_trainings(model)) for node in _all_nodes(root)}):
        if domain not in model.opset_imports:
            yield f"the model uses domain '{spelled_out(domain)}' without importing it"


def _graph_problems(graph: Graph, outer: list[set[Value]], around: tuple[set[Value], ...] = ()) -> Iterator[str]:
    """The problems of a graph that can see the values in `outer`, innermost last; `around` computes more, but later."""
    here = f"graph '{graph.name}'" if graph.name else "the graph"
    names = Counter(value.name for value in graph.inputs)
    for name, count in names.items():
        if not name:
            yield f"an input of {here} has no name"
        elif count > 1:
            yield f"input '{name}' of {here} is listed {count} times"
    seen = set(graph.inputs) | set(graph.initializers.values())
    scopes = [*outer, seen]
    computed = (*around, {value for node in graph.nodes for value in node.outputs})
    previous: Node | None = None
    for node in graph.nodes:
        if node.graph is not graph or node._previous is not previous:
            yield f"node '{node.label}' is not linked into {here}"
        previous = node
        if not node.op_type:
            yield f"node '{node.label}' names no operator"
        for index, value in enumerate(node.inputs):
            if value is None:
                continue
            if (node, index) not in value._uses:
                yield f"node '{node.label}' reads '{value.name}', which does not know it"
            if not any(value in scope for scope in reversed(scopes)):
                yield f"node '{node.label}' reads '{value.name}', {_why(value, computed)}"
        for subgraph in node.attributes.graphs():
            if subgraph.parent is not node:
                yield f"a subgraph of node '{node.label}' does not know it"
            yield from _graph_problems(subgraph, scopes, computed)
        for index, value in enumerate(node.outputs):
            if value.producer is not node or value.index != index:
                yield f"output '{value.name}' of node '{node.label}' does not know it"
        seen.update(node.outputs)
    for value in graph.outputs:
        if not any(value in scope for scope in reversed(scopes)):
            yield f"{here} returns '{value.name}', which nothing defines"
        if graph not in (value._output_of or ()):
            yield f"output '{value.name}' of {here} does not know it"


def _why(value: Value, computed: Iterable[set[Value]]) -> str:
    is_later = any(value in values for values in computed)
    return "which is defined only later" if is_later else "which nothing in scope defines"


def _shared_names(graph: Graph, names: dict[str, Value]) -> Iterator[str]:
    """Names used twice, as the standard forbids it; `names` are those defined so far around the graph.

    Inputs and initialisers of a subgraph may hide values around it. What a node computes may not have the name of any
    value defined before it, here or around, but may share it with one defined only later, such as an output of the node
    that holds the graph.
    """
    hidden: dict[str, Value | None] = {}

    def define(value: Value) -> None:
        hidden.setdefault(value.name, names.get(value.name))
        names[value.name] = value

    own: dict[str, Value] = {}
    for value in (*graph.inputs, *graph.initializers.values()):
        first = own.setdefault(value.name, value)
        if first is not value:
            yield f"two values are named '{value.name}': {_definition(first)} and {_definition(value)}"
        define(first)
    for node in graph.nodes:
        for subgraph in node.attributes.graphs():
            yield from _shared_names(subgraph, names)
        for value in node.outputs:
            if not value.name:
                continue
            other = names.get(value.name)
            if other is not None:
                yield f"two values are named '{value.name}': {_definition(other)} and {_definition(value)}"
            else:
                define(value)
    for name, outer in hidden.items():
        if outer is None:
            del names[name]
        else:
            names[name] = outer


def _definition(value: Value) -> str:
    if value.producer is not None:
        return f"output {value.index} of node '{value.producer.label}'"
    return "an initialiser" if value.constant is not None else "an input"


def _all_nodes(graph: Graph) -> Iterator[Node]:
    for node in graph.nodes:
        yield node
        for subgraph in node.attributes.graphs():
            yield from _all_nodes(subgraph)


def _trainings(model: Model) -> list[Graph]:
    graphs = [graph for training in model.training for graph in (training.initialization, training.algorithm)]
    return [graph for graph in graphs if graph is not None]
