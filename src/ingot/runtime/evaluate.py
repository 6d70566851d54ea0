"""The reference: a model evaluated node by node with the numpy functions that define its operators."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ingot.dtypes import DType
from ingot.errors import CheckError, IngotError, InputError
from ingot.ir.attribute import Attribute
from ingot.ir.graph import Graph
from ingot.ir.model import Function, FunctionId, Model
from ingot.ir.node import Node
from ingot.ir.sort import captures
from ingot.ir.tensor import SparseTensor, Tensor
from ingot.ir.value import Value
from ingot.ops.arguments import keywords
from ingot.ops.catalog import Catalog
from ingot.ops.define import Operator

Values = dict[Value, Any]
"""What values hold: arrays; lists for sequences, dictionaries for maps, None for an empty optional."""


class Evaluation:
    """One run of a model: `values` holds what was computed and is still needed."""

    def __init__(
        self, model: Model, catalog: Catalog, *, seed: int = 0, proceed: Callable[[], None] = lambda: None
    ) -> None:
        """A run of `model` whose random numbers follow from `seed`; `proceed`, called before each node, may raise."""
        self._model = model
        self._catalog = catalog
        self._seed = seed
        self._drawn = 0
        self.proceed = proceed

    def run(self, feeds: Mapping[str, Any], fetch: Sequence[str] | None = None) -> list[Any]:
        """The outputs, or the values named in `fetch`, for the given inputs."""
        graph = self._model.graph
        values: Values = {}
        for value in graph.inputs:
            if value.name in feeds:
                values[value] = feeds[value.name]
        names = graph.outputs.names if fetch is None else list(fetch)
        wanted = [graph.value(name) for name in names]
        scope = _Scope(self, self._model.opset_imports, values)
        with np.errstate(all="ignore"):
            scope.graph(graph, wanted)
        return [values[value] for value in wanted]

    def operator(self, node: Node, imports: Mapping[str, int]) -> Operator:
        domain = "" if node.domain == "ai.onnx" else node.domain
        version = imports.get(domain, imports.get("ai.onnx") if not domain else None)
        if version is None:
            raise CheckError(f"domain '{domain or 'ai.onnx'}' is not imported")
        return self._catalog.get(domain, node.op_type, version)

    def function(self, node: Node) -> Function | None:
        return self._model.functions.get(FunctionId(node.domain, node.op_type, node.overload))

    def generator(self, seed: float | None) -> np.random.Generator:
        """A new source of random numbers: by the seed of the node, else by that of the run and how many came before."""
        if seed is not None:
            return np.random.Generator(np.random.Philox(np.float32(seed).view(np.uint32).item()))
        self._drawn += 1
        return np.random.Generator(np.random.Philox(key=[self._seed, self._drawn]))


class _Scope:
    """Graphs of one set of imports: the main one with its subgraphs, or the body of a function in one call."""

    def __init__(
        self,
        evaluation: Evaluation,
        imports: Mapping[str, int],
        values: Values,
        arguments: Mapping[str, Attribute | None] | None = None,
    ) -> None:
        self._evaluation = evaluation
        self._imports = imports
        self._values = values
        self._arguments = arguments or {}

    def graph(self, graph: Graph, wanted: Sequence[Value]) -> None:
        """Compute what `wanted` needs."""
        values = self._values
        for value in graph.initializers.values():
            if value not in values and value.constant is not None:
                values[value] = _constant(value.constant)
        needed = _needed(graph, wanted)
        last = _last_uses(needed, wanted)
        for position, node in enumerate(needed):
            for value, result in zip(node.outputs, self.node(node), strict=False):
                values[value] = result
            for value in last.get(position, ()):
                values.pop(value, None)

    def node(self, node: Node) -> Sequence[Any]:
        self._evaluation.proceed()
        inputs = [None if value is None else self._read(node, value) for value in node.inputs]
        try:
            function = self._evaluation.function(node)
            if function is not None:
                return self.call(node, function, inputs)
            return self._evaluate(node, inputs)
        except IngotError as error:
            if not error.where:
                error.where = _place(node, inputs)
            raise

    def _read(self, node: Node, value: Value) -> Any:
        if value not in self._values:
            if value.is_input:
                raise InputError(f"input '{value.name}' was not given")
            raise CheckError(f"node '{node.label}' reads '{value.name}', which nothing defines")
        return self._values[value]

    def _evaluate(self, node: Node, inputs: list[Any]) -> Sequence[Any]:
        operator = self._evaluation.operator(node, self._imports)
        arguments = keywords(operator, self._resolved(node))
        if operator.runtime is not None:
            arguments[operator.runtime] = _NodeRuntime(self, node)
        inputs = _padded(operator, node, inputs)
        result = operator.evaluate(*inputs, **arguments)
        several = len(operator.outputs) != 1 or operator.outputs[0].variadic
        return result if several and isinstance(result, tuple | list) else (result,)

    def _resolved(self, node: Node) -> Node:
        """The node with references to attributes of the function around it replaced by what they are in this call."""
        if not any(attribute.ref for attribute in node.attributes.values()):
            return node
        found = []
        for name, attribute in node.attributes.items():
            actual = self._arguments.get(attribute.ref) if attribute.ref else attribute
            if actual is not None:
                found.append(actual if actual is attribute else Attribute(name, actual.value, actual.kind))
        twin = Node(node.op_type, (), [], domain=node.domain, name=node.name)
        for attribute in found:
            dict.__setitem__(twin.attributes, attribute.name, attribute)
        return twin

    def call(self, node: Node, function: Function, inputs: list[Any]) -> Sequence[Any]:
        """The outputs of a model-local function."""
        attributes: dict[str, Attribute | None] = dict(function.attributes)
        attributes.update({attribute.name: attribute for attribute in self._resolved(node).attributes.values()})
        values: Values = {}
        for index, value in enumerate(function.graph.inputs):
            values[value] = inputs[index] if index < len(inputs) else None
        scope = _Scope(self._evaluation, function.opset_imports, values, attributes)
        wanted = list(function.graph.outputs)[: len(node.outputs)]
        scope.graph(function.graph, wanted)
        return [values[value] for value in wanted]

    def subgraph(self, graph: Graph, inputs: Sequence[Any]) -> list[Any]:
        """The outputs of a graph inside a node; what it computes is its own, what is around it is seen."""
        inner: Values = dict(self._values)
        inner.update(zip(graph.inputs, inputs, strict=False))
        scope = _Scope(self._evaluation, self._imports, inner, self._arguments)
        scope.graph(graph, list(graph.outputs))
        return [inner[value] for value in graph.outputs]

    def generator(self, seed: float | None) -> np.random.Generator:
        return self._evaluation.generator(seed)


class _NodeRuntime:
    def __init__(self, scope: _Scope, node: Node) -> None:
        self._scope = scope
        self.wanted = tuple(bool(value.name) for value in node.outputs)

    def run(self, graph: Graph, inputs: Sequence[Any]) -> list[Any]:
        return self._scope.subgraph(graph, inputs)

    def generator(self, seed: float | None) -> np.random.Generator:
        return self._scope.generator(seed)


def _padded(operator: Operator, node: Node, inputs: list[Any]) -> list[Any]:
    """The inputs without what is omitted at the end; CheckError if there are too many or too few."""
    while inputs and inputs[-1] is None and node.inputs[len(inputs) - 1] is None:
        inputs = inputs[:-1]
    variadic = bool(operator.inputs) and operator.inputs[-1].variadic
    most = len(operator.inputs)
    required = [index for index, formal in enumerate(operator.inputs) if not formal.optional and not formal.variadic]
    least = required[-1] + 1 if required else 0
    if variadic:
        least = len(operator.inputs) - 1 + operator.inputs[-1].at_least if operator.inputs[-1].at_least else 0
    if len(inputs) < least or (len(inputs) > most and not variadic):
        expected = f"at least {least}" if variadic else str(most) if least == most else f"{least} to {most}"
        raise CheckError(f"{operator.name} takes {expected} inputs, {len(inputs)} are given")
    return inputs


def _constant(constant: Tensor | SparseTensor) -> Any:
    return constant.numpy() if isinstance(constant, Tensor) else constant.dense().numpy()


def _needed(graph: Graph, wanted: Sequence[Value]) -> list[Node]:
    """The nodes on the way to what is wanted, in order."""
    nodes = graph.nodes
    own = set(nodes)
    live: set[Node] = set()
    pending = list(wanted)
    while pending:
        producer = pending.pop().producer
        if producer is None or producer in live or producer not in own:
            continue
        live.add(producer)
        pending.extend(value for value in producer.inputs if value is not None)
        for subgraph in producer.subgraphs:
            pending.extend(captures(subgraph))
    return [node for node in nodes if node in live]


def _last_uses(nodes: Sequence[Node], wanted: Sequence[Value]) -> dict[int, list[Value]]:
    """For each position, the values that no later node reads."""
    last: dict[Value, int] = {}
    for position, node in enumerate(nodes):
        for value in node.outputs:
            last[value] = position
        for read in node.inputs:
            if read is not None:
                last[read] = position
        for subgraph in node.subgraphs:
            for value in captures(subgraph):
                last[value] = position
    own = {value for node in nodes for value in node.outputs}
    found: dict[int, list[Value]] = {}
    for value, position in last.items():
        if value in own and value not in wanted:
            found.setdefault(position, []).append(value)
    return found


def _place(node: Node, inputs: Sequence[Any]) -> tuple[str, ...]:
    lines = [f"in node '{node.label}' ({node.op_type})"]
    for value, given in zip(node.inputs, inputs, strict=False):
        if value is not None:
            lines.append(f"{value.name}: {_shown(given)}")
    return tuple(lines)


def _shown(given: Any) -> str:
    if isinstance(given, np.ndarray):
        return f"{DType.of(given.dtype)}{list(given.shape)}"
    return type(given).__name__
