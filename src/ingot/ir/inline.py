"""Inlining model-local functions: each call is replaced by a copy of the function's body."""

from __future__ import annotations

from collections.abc import Callable

from ingot.errors import CheckError
from ingot.ir.attribute import Attribute
from ingot.ir.clone import Known, copy_node, copy_value
from ingot.ir.domains import spelled_out
from ingot.ir.graph import Graph
from ingot.ir.model import Function, FunctionId, Model, nested_graphs
from ingot.ir.node import Node
from ingot.ir.value import Value

MOST_NODES = 1_000_000
"""A small file can ask for a body copied inside a body copied, doubling each time; this is where that ends."""


def inline(model: Model, which: Callable[[Function], bool] = lambda _: True, *, limit: int = MOST_NODES) -> int:
    """Replace calls of the functions `which` chooses (all, by default) by their bodies; returns how many calls.

    The functions then unused are removed and their operator sets imported. CheckError if a function calls itself, if
    its operator sets differ from the model's, if a call does not fit its function, or past `limit` nodes.
    """
    chosen = {name: function for name, function in model.functions.items() if which(function)}
    _refuse_recursion(model)
    budget = _Budget(limit)
    calls = 0
    for name, function in model.functions.items():  # bodies of what stays may call what goes
        if name not in chosen:
            calls += _inline_graph(function.graph, chosen, function.opset_imports, budget)
    roots = [root for root in model.roots() if root not in {f.graph for f in model.functions.values()}]
    for root in roots:
        calls += _inline_graph(root, chosen, model.opset_imports, budget)
    for name in chosen:
        del model.functions[name]
    return calls


def call_arguments(call: Node, function: Function) -> dict[str, Attribute | None]:
    """What each attribute of the function is in this call: the call's, the default, or None where neither is."""
    arguments: dict[str, Attribute | None] = {}
    for name, default in function.attributes.items():
        arguments[name] = call.attributes.get(name, default)
    unknown = [name for name in call.attributes if name not in function.attributes]
    if unknown:
        raise CheckError(f"node '{call.label}' gives '{unknown[0]}', which function '{function.id}' does not have")
    return arguments


def bind(node: Node, arguments: dict[str, Attribute | None], omitted: set[Value], graph: Graph) -> None:
    """Put the caller's attributes where the body refers to them, in subgraphs too; what the caller omits is dropped."""
    for name, attribute in list(node.attributes.items()):
        if attribute.ref:
            actual = arguments.get(attribute.ref)
            if actual is None:
                del node.attributes[name]
            elif actual.ref:
                node.attributes[name] = Attribute(name, None, actual.kind, ref=actual.ref)
            else:
                node.attributes[name] = Attribute(name, actual.value, actual.kind)
        for subgraph in attribute.graphs:
            for value in list(subgraph.values()):
                value.name = graph.fresh_name(value.name)
            for inner in subgraph.nodes:
                inner.inputs = [None if value in omitted else value for value in inner.inputs]
                bind(inner, arguments, omitted, graph)


class _Budget:
    def __init__(self, limit: int) -> None:
        self._left = self._limit = limit

    def spend(self, count: int) -> None:
        self._left -= count
        if self._left < 0:
            raise CheckError(f"inlining makes more than {self._limit:,} nodes", hint="inline fewer functions")


def _inline_graph(root: Graph, chosen: dict[FunctionId, Function], imports: dict[str, int], budget: _Budget) -> int:
    calls = 0
    pending = [node for graph in nested_graphs(root) for node in graph]
    while pending:
        node = pending.pop()
        function = chosen.get(FunctionId(node.domain, node.op_type, node.overload))
        if function is None or node.graph is None:
            continue
        _import(function, imports)
        budget.spend(len(function.graph))
        copies = _replace_call(node, function)
        calls += 1
        for copy in copies:
            pending.append(copy)
            for subgraph in copy.attributes.graphs():
                pending.extend(inner for graph in nested_graphs(subgraph) for inner in graph)
    return calls


def _replace_call(call: Node, function: Function) -> list[Node]:
    graph = call.graph
    assert graph is not None
    body = function.graph
    if len(call.inputs) > len(body.inputs) or len(call.outputs) > len(body.outputs):
        raise CheckError(
            f"node '{call.label}' gives {len(call.inputs)} inputs and takes {len(call.outputs)} outputs; "
            f"function '{function.id}' has {len(body.inputs)} and {len(body.outputs)}"
        )
    known: Known = {}
    omitted: set[Value] = set()
    for index, value in enumerate(body.inputs):
        actual = call.inputs[index] if index < len(call.inputs) else None
        if actual is None:
            omitted.add(value)
        else:
            known[value] = actual
    attributes = call_arguments(call, function)
    for value in body.initializers.values():
        graph.initializers.add(_fresh(value, known, graph))
    copies: list[Node] = []
    stem = call.name or call.op_type
    for node in body.nodes:
        for output in node.outputs:
            _fresh(output, known, graph)
    for node in body.nodes:
        copy = copy_node(node, known)
        if copy.name:
            copy.name = f"{stem}/{copy.name}"
        copy.inputs = [None if value in omitted else value for value in copy.inputs]
        bind(copy, attributes, omitted, graph)
        copies.append(copy)
    graph.insert_before(call, *copies)
    for formal, actual in zip(body.outputs, call.outputs, strict=False):
        if not actual.name:
            continue
        result = known.get(formal)
        if result is None:
            raise CheckError(f"function '{function.id}' returns its input '{formal.name}', which the call omits")
        actual.replace_uses(result)
    graph.remove(call)
    return copies


def _fresh(value: Value, known: Known, graph: Graph) -> Value:
    twin = copy_value(value, known)
    if value.name:
        twin._name = graph.fresh_name(value.name)
    return twin


def _import(function: Function, imports: dict[str, int]) -> None:
    for domain, version in function.opset_imports.items():
        if imports.setdefault(domain, version) != version:
            raise CheckError(
                f"function '{function.id}' is written in version {version} of '{spelled_out(domain)}', "
                f"its caller in {imports[domain]}",
                hint="convert the model to one version first",
            )


def _refuse_recursion(model: Model) -> None:
    state: dict[FunctionId, bool] = {}  # False while being visited
    for start in model.functions:
        stack = [(start, iter(_callees(model, start)))]
        if start in state:
            continue
        state[start] = False
        while stack:
            name, callees = stack[-1]
            for callee in callees:
                if state.get(callee) is False:
                    raise CheckError(f"function '{callee}' calls itself, by way of '{name}'")
                if callee not in state:
                    state[callee] = False
                    stack.append((callee, iter(_callees(model, callee))))
                    break
            else:
                state[name] = True
                stack.pop()


def _callees(model: Model, name: FunctionId) -> list[FunctionId]:
    callees: dict[FunctionId, None] = {}
    for graph in nested_graphs(model.functions[name].graph):
        for node in graph.nodes:
            callee = model.function_of(node)
            if callee is not None:
                callees[callee.id] = None
    return list(callees)
